"""MIRA: a plain twin, each step against its quadratic programme, what it learns, what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.randomness import generator
from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.corpus.metric import Metric
from nbest.metrics import BLEU, WER
from nbest.testing import check_trainer, toy_forests, toy_lists
from nbest.trainers.online.mira import MIRA, clipped, list_gains
from nbest.trainers.sparse.base import SparseLists, sparse_lists
from tests.trainers.test_perceptron import informative_rows, mean_range, planted, share_left
from tests.trainers.test_sparse import mixed

BIGRAMS = BLEU(tokenize="none", max_ngram_order=2)
START = {"first": 1.0}


def gain(lists: SparseLists, h: int, document: Any) -> float:
    """Minus the loss, or BLEU of the document with this hypothesis times its reference length."""
    metric = lists.problem.metric
    if not isinstance(metric, BLEU):
        return float(-lists.losses[h])
    totals = document + lists.problem.stats[h]
    return float(replace(metric, smooth_method="none").score(totals)) / 100.0 * float(totals[1])


def first_document(lists: SparseLists, decay: float) -> Any:
    rows = informative_rows(lists)
    best = [min(range(lists.offsets[i], lists.offsets[i + 1]), key=lambda h: (lists.losses[h], h)) for i in rows]
    return min(1.0 / (1.0 - decay), len(rows)) * lists.problem.stats[best].mean(axis=0)


def twin(lists: SparseLists, C: float, decay: float, step: float, rounds: int, seed: int) -> list[Floats]:
    """Averages of all weights so far after each round, written down one by one."""
    dense, w, seen, out = lists.matrix.toarray(), np.zeros(len(lists.names)), [], []
    document, rows = first_document(lists, decay), np.array(informative_rows(lists))
    unit = step / mean_range(np.array([gain(lists, h, document) for h in range(len(lists.base))]), lists)
    for number in range(1, rounds + 1):
        for i in rows[generator(seed, number).permutation(len(rows))]:
            own = list(range(lists.offsets[i], lists.offsets[i + 1]))
            score = {h: lists.base[h] + dense[h] @ w for h in own}
            value = {h: gain(lists, h, document) for h in own}
            hope = max(own, key=lambda h: (score[h] + unit * value[h], value[h], -h))
            fear = max(own, key=lambda h: (score[h] - unit * value[h], -value[h], -h))
            d, cost = dense[hope] - dense[fear], unit * (value[hope] - value[fear])
            if cost > 0 and d.any():
                w = w + max(0.0, min(C * step, (cost - (score[hope] - score[fear])) / (d @ d))) * d
            document = decay * document + lists.problem.stats[hope]
            seen.append(w)
        out.append(np.mean(seen, axis=0))
    return out


@pytest.mark.filterwarnings("ignore:.*start from.* are kept")
@pytest.mark.parametrize("metric", [WER(), BIGRAMS])
@pytest.mark.parametrize("dense", [None, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_weights_are_those_of_the_twin(metric: Metric, dense: bool | None, seed: int) -> None:
    corpus, heldout = (mixed(s).with_metric(metric) for s in (seed, seed + 10))
    options: dict[str, Any] = {"C": 0.05, "decay": 0.9, "base_weight": 2.0}
    trainer = MIRA(**options, rounds=3, patience=9, dense=dense, seed=seed, start=START)
    model = trainer.fit(corpus, heldout)
    lists = sparse_lists(corpus, "the test", start=START, dense=dense)
    assert trainer.result_ is not None
    history = trainer.result_.history
    assert len(history) == 3
    averages = twin(lists, 0.05, 0.9, 0.5, 3, seed)
    assert [e["dev"] for e in history] == pytest.approx([lists.score(v) for v in averages])
    best = int(np.argmax([lists.problem.sign * e["heldout"] for e in history]))
    wanted, sign = averages[best], lists.problem.sign
    if sign * lists.of(heldout).score(0 * wanted) > sign * lists.of(heldout).score(wanted):
        wanted = 0 * wanted  # the base model alone is better
    np.testing.assert_allclose(trainer.result_.weights, wanted, rtol=1e-8, atol=1e-11)
    assert model.scores(corpus) == pytest.approx(lists.scores(wanted))


@pytest.mark.parametrize("C", [0.003, 0.1, 100.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_step_solves_its_quadratic_programme(C: float, seed: int) -> None:
    """scipy's SLSQP on min 1/2 |w|^2 + C slack, slack >= cost - margin, slack >= 0, for one list."""
    corpus = mixed(seed)
    i = informative_rows(sparse_lists(corpus, "the test", start=START))[seed]
    lists = sparse_lists(corpus.select([i]), "the test", start=START, dense=True)
    trainer = MIRA(C=C, rounds=1, base_weight=1.0, dense=True, start=START)
    trainer.fit(corpus.select([i]))
    gains = -lists.losses / np.ptp(lists.losses)
    hope, fear = int(np.argmax(lists.base + gains)), int(np.argmax(lists.base - gains))
    rows = lists.matrix.toarray()
    d, cost, margin = rows[hope] - rows[fear], gains[hope] - gains[fear], lists.base[hope] - lists.base[fear]
    width = len(d)
    slack = [
        {"type": "ineq", "fun": lambda x: x[width] - (cost - margin - x[:width] @ d)},
        {"type": "ineq", "fun": lambda x: x[width]},
    ]
    begin = np.append(np.zeros(width), max(cost - margin, 0.0))
    end = minimize(
        lambda x: 0.5 * x[:width] @ x[:width] + C * x[width],
        begin,
        method="SLSQP",
        constraints=slack,
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert trainer.result_ is not None
    np.testing.assert_allclose(trainer.result_.weights, end.x[:width], atol=1e-5)


def test_clipping() -> None:
    assert clipped(2.0, 1.0, 4.0, 10.0) == 0.25
    assert clipped(2.0, -10.0, 4.0, 0.5) == 0.5
    assert clipped(1.0, 1.0, 4.0, 1.0) == 0.0
    assert clipped(1.0, 0.0, 0.0, 1.0) == 0.0


@pytest.mark.parametrize("order", [1, 2, 4])
def test_gains_are_bleu_of_the_document_times_its_length(order: int) -> None:
    metric = BLEU(tokenize="none", max_ngram_order=order)
    corpus = toy_lists(5, metric=metric)
    assert corpus.stats is not None
    lists = sparse_lists(corpus, "the test")
    for document in (3.5 * corpus.stats[:4].sum(axis=0), np.zeros(corpus.stats.shape[1])):
        out = np.empty(corpus.hypotheses)
        list_gains(0, len(out), (corpus.stats, document, order), out)
        assert out == pytest.approx([gain(lists, h, document) for h in range(len(out))])


@pytest.mark.parametrize("options", [{}, {"C": 1.0}, {"C": float("inf")}])
def test_contract(options: dict[str, Any]) -> None:
    check_trainer(MIRA, **options)


def test_contract_with_bleu() -> None:
    check_trainer(MIRA, metric=BIGRAMS)


@pytest.mark.parametrize("heldout", [planted(8), None])
def test_sparse_features_are_learnt_and_those_of_no_use_are_not(heldout: NBest | None) -> None:
    corpus, test = planted(7), planted(9)
    calls: list[tuple[int, int]] = []
    model = MIRA(progress=lambda done, total: calls.append((done, total))).fit(corpus, heldout)
    assert share_left(test, model) < 0.1
    assert "nowhere" not in model.weights
    assert model.weights["third"] == 1.0
    assert calls[-1][0] == calls[-1][1]
    assert dict(MIRA(threads=1).fit(corpus, heldout).weights) == dict(model.weights)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"C": 0.0}, "'C' of MIRA must be > 0, got 0.0"),
        ({"C": -1.0}, "'C' of MIRA must be > 0"),
        ({"C": float("nan")}, "'C' of MIRA must be > 0"),
        ({"decay": 1.0}, "'decay' of MIRA must be >= 0 and < 1"),
        ({"rounds": 0}, "'rounds' of MIRA must be >= 1, got 0"),
        ({"base_weight": -1.0}, "'base_weight' of MIRA must be > 0"),
    ],
)
def test_bad_settings(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        MIRA(**options).fit(toy_lists())


@pytest.mark.parametrize("metric", [WER(), BIGRAMS])
def test_equal_losses_are_refused(metric: Metric) -> None:
    corpus = toy_lists(metric=metric)
    assert corpus.stats is not None
    with pytest.raises(CapabilityError, match="in every list all hypotheses have the same loss"):
        MIRA().fit(replace(corpus, stats=np.ones_like(corpus.stats)))


def test_forests() -> None:
    forests = toy_forests(1).with_metric(BIGRAMS)
    model = MIRA(rounds=3).fit(forests)
    assert set(model.weights) == set(forests.feature_names)
