from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.base.errors import CapabilityError
from nbest.compute.executors import Serial
from nbest.metrics import make_metric
from nbest.objectives import Likelihood, Quadratic, Risk, Shard, value_and_gradient
from nbest.objectives.backends import NUMBA, computing_on, current_backend
from nbest.objectives.cuda import CudaBackend
from nbest.objectives.forest_shard import shards_of
from nbest.testing import check_backend, toy_lists


def test_the_contract_of_a_backend(backend: CudaBackend) -> None:
    check_backend(backend, segments=4)


def _parts(single: bool, sparse: bool, count: int = 5) -> tuple[list[Shard], nbest.corpus.metric.Metric]:
    lists = toy_lists(1, noise=0.3, metric=make_metric("bleu"), sparse=sparse, segments_=count)
    stats, metric = lists.need_stats()
    scale = np.linspace(0.5, 2.0, len(lists.names))
    return [Shard(lists, scale, metric.losses(stats), single)], metric


@pytest.mark.parametrize("sparse", [False, True])
def test_large_lists_in_float32_are_within_a_millionth(backend: CudaBackend, sparse: bool) -> None:
    for make in (
        lambda metric, who: Risk(metric, temperature=0.2, gamma=1.7, backend=who),
        lambda metric, who: Likelihood(Quadratic(2.0), backend=who),
    ):
        found = []
        for who in (NUMBA, backend):
            shards, metric = _parts(True, sparse)
            weights = np.random.default_rng(0).normal(size=len(shards[0].scale))
            found.append(value_and_gradient(make(metric, who), weights, shards))
        (value, slope), (own, gradient) = found
        assert own == pytest.approx(value, rel=1e-6)
        assert np.abs(gradient - slope).max() < 1e-6 * (1 + np.abs(slope).max())


def test_shards_that_are_sent_in_every_pass_give_the_same_bits(device: str) -> None:
    found = []
    for memory in (None, 0):
        shards, metric = _parts(False, True)
        risk = Risk(metric, temperature=0.1, backend=CudaBackend(device, memory))
        for _ in range(2):
            found.append(value_and_gradient(risk, np.linspace(-1, 1, len(shards[0].scale)), shards))
    assert all(value == found[0][0] and (slope == found[0][1]).all() for value, slope in found)
    assert "columns" not in shards[0].room["cuda"].room, "nothing that is as large as the features stays"


def test_long_lists_go_by_blocks(backend: CudaBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    from nbest.compute.cuda import lists

    monkeypatch.setattr(lists, "_MOST", 16)
    monkeypatch.setattr(lists, "_COLUMNS", 2)
    one = toy_lists(3, noise=0.3, metric=make_metric("wer"), segments_=3)
    long = replace(one, offsets=np.array([0, one.hypotheses - 1, one.hypotheses - 1, one.hypotheses]))
    stats, metric = long.need_stats()
    found = []
    for who in (NUMBA, backend):
        shards = [Shard(long, np.ones(3), metric.losses(stats))]
        for objective in (Risk(metric, temperature=0.3, backend=who), Likelihood(Quadratic(1.0), backend=who)):
            found.append(value_and_gradient(objective, np.array([0.3, -1.0, 0.7]), shards))
    for (value, slope), (own, gradient) in zip(found[:2], found[2:], strict=True):
        assert own == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)


def test_trainers_give_the_model_of_the_processor(device: str) -> None:
    lists = toy_lists(3, segments_=4, noise=0.3, metric=make_metric("wer"))
    for trainer in (nbest.SoftBLEU(iterations=3), nbest.MaxLikelihood(iterations=3)):
        with pytest.warns(nbest.ConvergenceWarning):
            here = trainer.fit(lists)
        with pytest.warns(nbest.ConvergenceWarning):
            there = trainer.set_params(device=device).fit(lists)
        assert there.weights == pytest.approx(here.weights, rel=1e-9)
        assert "device" not in there.trainer
    assert current_backend() is NUMBA, "only what is trained inside"


def test_shards_are_larger_on_a_device(backend: CudaBackend) -> None:
    lists = toy_lists(3, segments_=6, metric=make_metric("wer"))
    assert backend.block(lists) >= len(lists)
    assert replace(backend, memory=2048 * 2 * lists.hypotheses // 6).block(lists) == 2
    stats, metric = lists.need_stats()
    assert len(shards_of(lists, np.ones(3), stats, metric, 2)) == 3


# where something is missing -----------------------------------------------------------------------------------------


def test_without_a_device_it_is_said(device: str) -> None:
    if device == "cuda":
        pytest.skip("there is one")
    for fit in (nbest.MinRisk(device="cuda").fit, nbest.SoftBLEU(device="cuda:1").fit):
        with pytest.raises(CapabilityError, match=r"no CUDA device .* leave out the device"):
            fit(toy_lists())


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with (
        pytest.raises(CapabilityError, match=r"needs PyTorch and Triton .*pip install 'nbest\[gpu\]'"),
        computing_on("cuda:7"),
    ):
        pass


def test_an_unknown_device(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(CapabilityError, match=r"'tpu' is unknown; give cuda or cuda:N"):
        nbest.MinRisk(device="tpu").fit(toy_lists())


_NO_NUMBA = """
import sys
sys.modules["numba"] = sys.modules["llvmlite"] = None
import warnings
warnings.simplefilter("error")
import nbest
from nbest.testing import toy_lists
model = nbest.MinRisk().fit(toy_lists(3, segments_=5))
nbest.write(toy_lists(3, segments_=5), "lists.jsonl")
assert len(nbest.read("lists.jsonl")) == 5
if len(sys.argv) > 1:
    device = nbest.MaxLikelihood(device=sys.argv[1]).fit(toy_lists(3, segments_=3))
print(*model.weights.values())
"""


def test_everything_imports_and_runs_where_numba_is_absent(device: str, tmp_path: Path) -> None:
    given = [sys.executable, "-c", _NO_NUMBA, device]
    done = subprocess.run(given, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = nbest.MinRisk().fit(toy_lists(3, segments_=5)).weights.values()
    assert [float(each) for each in done.stdout.split()] == pytest.approx(list(expected), rel=1e-6)


# real hardware ------------------------------------------------------------------------------------------------------


@pytest.mark.device
def test_many_lists_twice_the_same_bits(hardware: str) -> None:
    from benchmarks.accelerator import made_lists

    lists = made_lists(5000, 200)
    stats, metric = lists.need_stats()
    weights, found = np.linspace(-0.5, 0.5, 14), []
    for who in (NUMBA, CudaBackend(hardware), CudaBackend(hardware)):
        shards = shards_of(lists, np.ones(14), stats, metric, who.block(lists))
        found.append(value_and_gradient(Risk(metric, temperature=1e-4, backend=who), weights, shards, Serial()))
    (value, slope), (own, gradient), (again, same) = found
    assert own == pytest.approx(value, rel=1e-6)
    assert np.abs(gradient - slope).max() < 1e-6 * np.abs(slope).max()
    assert own == again
    assert (gradient == same).all()
