"""The averaged perceptron: a plain twin with explicit averages, what it learns, what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.randomness import generator
from nbest.corpus import NBest
from nbest.decisions import oracle
from nbest.metrics import BLEU
from nbest.model.loglinear import LogLinear
from nbest.testing import check_trainer, toy_forests, toy_lists
from nbest.trainers.online.perceptron import AveragedPerceptron, mean_step
from nbest.trainers.sparse.base import SparseLists, sparse_lists
from tests.trainers.test_sparse import mixed


def planted(seed: int, segments_: int = 150, columns: int = 12) -> NBest:
    """Lists whose losses follow sparse counts, which the only dense feature knows little of; one column is empty."""
    lists = toy_lists(seed, segments_=segments_).only_features(["third"])
    truth = np.random.default_rng(0).integers(-3, 4, columns)
    counts = np.random.default_rng(seed).integers(0, 2, (lists.hypotheses, columns + 1))
    counts[:, columns] = 0
    errors = counts[:, :columns] @ truth
    stats = np.stack([errors - errors.min() + 0.0, np.full(len(errors), 10.0)], axis=1)
    names = [f"s{c}" for c in range(columns)]
    return replace(lists.with_sparse([*names, "nowhere"], csr_array(counts.astype(np.float64))), stats=stats)


def informative_rows(lists: SparseLists) -> list[int]:
    """Segments whose losses differ."""
    pairs = zip(lists.offsets[:-1], lists.offsets[1:], strict=True)
    return [i for i, (a, b) in enumerate(pairs) if len(set(lists.losses[a:b])) > 1]


def mean_range(values: Any, lists: SparseLists) -> float:
    """Mean range of values in informative lists."""
    return float(np.mean([np.ptp(values[lists.offsets[i] : lists.offsets[i + 1]]) for i in informative_rows(lists)]))


def twin(lists: SparseLists, begin: Any, step: float, sensitive: str, rounds: int, seed: int) -> list[Any]:
    """Averages of all weights so far after each round, written down one by one."""
    dense, w, seen, out = lists.matrix.toarray(), np.array(begin), [], []
    losses = lists.losses / mean_range(lists.losses, lists)
    for number in range(1, rounds + 1):
        rows = np.array(informative_rows(lists))
        for i in rows[generator(seed, number).permutation(len(rows))]:
            own = range(lists.offsets[i], lists.offsets[i + 1])
            score = {h: lists.base[h] + dense[h] @ w for h in own}
            good = max(own, key=lambda h: (-losses[h], score[h], -h))
            extra = step if sensitive in ("margin", "both") else 0.0
            rival = max(own, key=lambda h: (score[h] + extra * losses[h], losses[h], -h))
            if losses[rival] > losses[good]:
                times = losses[rival] - losses[good] if sensitive in ("step", "both") else 1.0
                w = w + step * times * (dense[good] - dense[rival])
            seen.append(w)
        out.append(np.mean(seen, axis=0))
    return out


@pytest.mark.filterwarnings("ignore:.*start from.* are kept")
@pytest.mark.parametrize("sensitive", ["none", "step", "margin", "both"])
@pytest.mark.parametrize("dense", [None, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_weights_are_those_of_the_twin(sensitive: str, dense: bool | None, seed: int) -> None:
    corpus, heldout = mixed(seed), mixed(seed + 10)
    trainer = AveragedPerceptron(
        rounds=4, patience=9, sensitive=sensitive, base_weight=2.0, dense=dense, seed=seed, start={"first": 1.0}
    )
    model = trainer.fit(corpus, heldout)
    lists = sparse_lists(corpus, "the test", start={"first": 1.0}, dense=dense)
    assert trainer.result_ is not None
    history = trainer.result_.history
    assert len(history) == 4 or history[-1]["updates"] == 0
    averages = twin(lists, np.zeros(len(lists.names)), 0.5, sensitive, len(history), seed)
    assert [e["dev"] for e in history] == pytest.approx([lists.score(v) for v in averages])
    assert [e["heldout"] for e in history] == pytest.approx([lists.of(heldout).score(v) for v in averages])
    best = int(np.argmin([e["heldout"] for e in history]))
    wanted = averages[best]
    if lists.of(heldout).score(0 * wanted) < lists.of(heldout).score(wanted):  # the base model alone is better
        wanted = 0 * wanted
        assert "no round is better than the base model" in trainer.result_.message
    np.testing.assert_allclose(trainer.result_.weights, wanted, rtol=1e-9, atol=1e-12)
    assert model.scores(corpus) == pytest.approx(lists.scores(wanted))


def test_dense_features_begin_with_the_mean_step() -> None:
    corpus = toy_lists(3, noise=0.3)
    trainer = AveragedPerceptron(rounds=5)
    trainer.fit(corpus)
    lists = sparse_lists(corpus, "the test")
    dense, rows = lists.matrix.toarray(), informative_rows(lists)
    steps = []
    for i in rows:
        own, losses = (x[lists.offsets[i] : lists.offsets[i + 1]] for x in (dense, lists.losses))
        steps.append(own[losses == losses.min()].mean(axis=0) - own.mean(axis=0))
    begin = np.mean(steps, axis=0)
    np.testing.assert_allclose(mean_step(lists, np.array(rows)), begin)
    assert trainer.result_ is not None
    averages = twin(lists, begin, 1.0, "none", len(trainer.result_.history), 1)
    best = int(np.argmin([lists.score(v) for v in averages]))
    np.testing.assert_allclose(trainer.result_.weights, averages[best], rtol=1e-9)


@pytest.mark.parametrize("sensitive", ["none", "step", "margin", "both"])
def test_contract(sensitive: str) -> None:
    check_trainer(AveragedPerceptron, sensitive=sensitive)


@pytest.mark.parametrize("heldout", [planted(8), None])
def test_sparse_features_are_learnt_and_those_of_no_use_are_not(heldout: NBest | None) -> None:
    corpus, test = planted(7), planted(9)
    calls: list[tuple[int, int]] = []
    trainer = AveragedPerceptron(progress=lambda done, total: calls.append((done, total)))
    model = trainer.fit(corpus, heldout)
    assert share_left(test, model) < 0.1
    assert "nowhere" not in model.weights
    assert model.weights["third"] == 1.0
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1][0] == calls[-1][1]
    assert trainer.result_ is not None
    assert ("heldout" if heldout else "left_out") in trainer.result_.history[0]
    again = AveragedPerceptron(threads=1).fit(corpus, heldout)
    assert dict(again.weights) == dict(model.weights)


def share_left(corpus: NBest, model: LogLinear) -> float:
    """What is left of the way from the first hypotheses (1) to the best ones (0)."""
    first = corpus.score(np.where(corpus.lengths > 0, corpus.offsets[:-1], -1))
    best = corpus.score(oracle(corpus))
    return (corpus.score(model.predict(corpus)) - best) / (first - best)


def test_a_round_without_mistakes_ends_the_training() -> None:
    trainer = AveragedPerceptron(rounds=500, patience=500)
    trainer.fit(planted(4), planted(5))
    assert trainer.result_ is not None
    assert trainer.result_.history[-1]["updates"] == 0
    assert len(trainer.result_.history) < 500
    assert trainer.result_.converged


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"rounds": 0}, "'rounds' of AveragedPerceptron must be >= 1, got 0"),
        ({"patience": 0}, "'patience' of AveragedPerceptron must be >= 1"),
        ({"base_weight": 0.0}, "'base_weight' of AveragedPerceptron must be > 0"),
        ({"base_weight": float("nan")}, "'base_weight' of AveragedPerceptron must be > 0"),
        ({"sensitive": "stpe"}, "did you mean 'step'"),
        ({"seed": -1}, "'seed' must be >= 0"),
        ({"start": {"frist": 1.0}}, "start weights name 'frist'"),
    ],
)
def test_bad_settings(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        AveragedPerceptron(**options).fit(toy_lists())


def test_equal_losses_are_refused() -> None:
    corpus = toy_lists()
    assert corpus.stats is not None
    with pytest.raises(CapabilityError, match="in every list all hypotheses have the same loss by WER"):
        AveragedPerceptron().fit(replace(corpus, stats=np.ones_like(corpus.stats)))


def test_forests() -> None:
    forests = toy_forests(1).with_metric(BLEU(tokenize="none", max_ngram_order=2))
    model = AveragedPerceptron(rounds=3).fit(forests)
    assert set(model.weights) == set(forests.feature_names)
