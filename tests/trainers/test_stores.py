"""Training on a store: the same models as on lists in memory, and nothing as large as the lists stays in memory."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbest
from nbest.base import mapped
from nbest.base.errors import FormatError
from nbest.base.mapped import room, root_of, taken
from nbest.corpus import NBest, blocks, split
from nbest.formats.lists.store import read_store, write_store
from nbest.lines.forests import lines_of
from nbest.metrics import BLEU
from nbest.objectives.backends import NUMBA
from nbest.objectives.forest_shard import shards_of
from nbest.testing import toy_lists
from nbest.trainers import TRAINERS

METHODS: dict[str, dict[str, Any]] = {
    "auto": {},
    "mert": {"restarts": 3, "hops": 1},
    "risk": {"t0": 0.5, "iterations": 20},
    "likelihood": {},
    "softbleu": {"iterations": 20},
    "grid": {},
    "random": {"trials": 70},
    "perceptron": {},
    "mira": {},
    "pro": {},
    "msr2": {},
    "boosting": {"rounds": 3},
    "vote": {},
    "weak": {},
}
DENSE = ("mert", "grid", "random")


def lists(sparse: bool) -> NBest:
    return replace(toy_lists(5, segments_=40, sparse=sparse, noise=0.1), stats=None, metric=None)


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that is made of mapped arrays is large; shards have seven segments."""
    monkeypatch.setattr(mapped, "SMALL", 0)
    monkeypatch.setattr(blocks, "BLOCK", 7)


def stored(corpus: NBest, folder: Path) -> NBest:
    write_store(corpus, folder / "a.store")
    return read_store(folder / "a.store")


def test_all_methods_are_tried() -> None:
    assert set(TRAINERS) - set(METHODS) == {"cobleu", "msr", "lowdim"}


@pytest.mark.filterwarnings("ignore::nbest.base.errors.ConvergenceWarning")
@pytest.mark.parametrize("heldout", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_the_same_model(method: str, heldout: bool, on_disk: None, tmp_path: Path) -> None:
    corpus = lists(method not in DENSE)
    other = stored(corpus, tmp_path)
    assert root_of(other.features) is not None
    models = []
    for each in (corpus, other):
        each = each.with_metric(BLEU(tokenize="none"))
        parts = split(each, 0.7) if heldout else (each, None)
        models.append(TRAINERS[method](**METHODS[method]).fit(*parts))
    for place, model in zip("ab", models, strict=True):
        model.save(tmp_path / f"{place}.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_folds_give_the_same_model(on_disk: None, tmp_path: Path) -> None:
    corpus = lists(False)
    first, second = (
        nbest.MinRisk(folds=3).fit(each.with_metric(BLEU(tokenize="none")))
        for each in (corpus, stored(corpus, tmp_path))
    )
    assert dict(first.weights) == dict(second.weights)


def test_what_is_large_is_on_disk(on_disk: None, tmp_path: Path) -> None:
    corpus = stored(lists(True), tmp_path).with_metric(BLEU(tokenize="none"))
    metric = corpus.need_metric()
    assert corpus.stats is not None
    assert corpus.texts is not None
    some = corpus.select(np.arange(0, 40, 2))
    wider = corpus.with_features(["sum"], corpus.features.sum(axis=1))
    made = {
        "statistics": corpus.stats,
        "losses": corpus.losses(),
        "selected features": some.features,
        "selected statistics": some.stats,
        "selected texts": some.texts.starts if some.texts is not None else None,
        "selected sparse features": some.sparse.data if some.sparse is not None else None,
        "wider": wider.features,
        "narrower": wider.only_features(["sum"]).features,
    }
    for shard in shards_of(corpus, np.ones(len(corpus.names)), corpus.stats, metric):
        laid = NUMBA._laid_out(shard)
        made |= {f"risk, {name}": getattr(laid, name) for name in ("columns", "stats", "posterior", "log_posterior")}
    lines = lines_of(corpus, corpus.features)
    scores = lines.scores(np.ones(3))
    made |= {"scores": scores, "moved scores": lines.moved(scores, np.ones(3), 0.5)}
    made |= {"columns": lines.shards[1].columns, "narrow statistics": lines.shards[1].stats}
    in_memory = [name for name, array in made.items() if root_of(array) is None]
    assert in_memory == []
    assert os.listdir(tmp_path) == ["a.store"]  # files without a name


def test_lists_in_memory_stay_there(on_disk: None) -> None:
    corpus = lists(True).with_metric(BLEU(tokenize="none"))
    assert corpus.select([1, 2]).sparse is not None
    for array in (corpus.stats, corpus.losses(), corpus.select([3, 4]).features):
        assert root_of(array) is None


# room on disk ---------------------------------------------------------------------------------------------------


def test_room_is_made_of_zeros_and_can_be_written_to(on_disk: None, tmp_path: Path) -> None:
    corpus = stored(lists(False), tmp_path)
    array = room((5, 3), np.float32, corpus.features, zero=True)
    assert array.dtype == np.float32
    assert not array.any()
    array[2, 1] = 7.0
    assert array.sum() == 7.0
    again = room(4, np.int64, array)  # what is made of it is on disk as well
    assert root_of(again) is not None
    assert taken(array, np.array([2, 2, 0])).tolist() == array[[2, 2, 0]].tolist()


def test_a_full_disk_is_told_of(on_disk: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = stored(lists(False), tmp_path)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(FormatError, match=r"has no room for 80 bytes: No space left on device; name another in TMPDIR"):
        room(10, np.float64, corpus.features)


def test_the_folder_of_temporary_files_can_be_named(
    on_disk: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: list[str] = []
    corpus = stored(lists(False), tmp_path)
    real = mapped.tempfile.TemporaryFile
    monkeypatch.setattr(mapped.tempfile, "TemporaryFile", lambda dir: (places.append(str(dir)), real(dir=dir))[1])
    monkeypatch.delenv("TMPDIR", raising=False)
    room(10, np.float64, corpus.features)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    room(10, np.float64, corpus.features)  # the next one that will do
    assert places == [str(tmp_path), str(tmp_path / "missing"), str(tmp_path)]
