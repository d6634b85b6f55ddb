"""What hypotheses are worth, and what of them is compared: through every operation, metric and decision."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nbest
from nbest.base.errors import ParameterError
from nbest.corpus import Texts
from nbest.decisions import mbr
from nbest.metrics import Exact, External
from nbest.model.loglinear import LogLinear
from nbest.testing import toy_lists


def lists(seed: int = 1) -> nbest.NBest:
    plain = toy_lists(seed)
    count = plain.hypotheses
    return replace(
        plain,
        gains=np.arange(count, dtype=float),
        answers=Texts.of(str(h % 3) for h in range(count)),
        groups=tuple(f"g{i // 3}" for i in range(len(plain))),
    )


def rows(corpus: nbest.NBest) -> list[tuple[str, float, str]]:
    assert corpus.texts is not None
    assert corpus.gains is not None
    assert corpus.answers is not None
    return list(zip(corpus.texts, corpus.gains.tolist(), corpus.answers, strict=True))


def test_they_follow_their_hypotheses():
    whole = lists()
    every = rows(whole)
    chosen = whole.select([5, 0])
    low, high = whole.offsets[[5, 6]]
    assert rows(chosen) == every[low:high] + every[: whole.offsets[1]]
    assert chosen.groups == ("g1", "g0")
    mask = np.arange(whole.hypotheses) % 2 == 0
    assert rows(whole.keep(mask)) == every[::2]
    assert rows(whole.between(3, 6)) == every[whole.offsets[3] : whole.offsets[6]]
    merged = nbest.merge(whole.between(0, 10), whole.between(10, len(whole)))
    assert rows(merged) == rows(nbest.dedupe(whole, by="text+features"))
    assert merged.groups == whole.groups


def test_parts_without_gains_leave_none():
    whole = lists()
    merged = nbest.merge(whole.between(0, 10), replace(whole.between(10, 20), gains=None, groups=None))
    assert merged.gains is None
    assert merged.groups is None
    assert merged.answers is not None


def test_an_external_metric_takes_the_gains():
    whole = lists().with_metric(External())
    best = whole.oracle()
    filled = whole.lengths > 0
    assert best[filled].tolist() == (whole.offsets[1:][filled] - 1).tolist()
    assert whole.score(best) == pytest.approx(best[filled].mean())


def test_gains_are_finite_and_as_many():
    whole = lists()
    with pytest.raises(ParameterError, match="'gains' of NBest must have"):
        replace(whole, gains=np.zeros(3))
    with pytest.raises(ParameterError, match="'gains' of NBest must be one finite number"):
        replace(whole, gains=np.full(whole.hypotheses, np.nan))


def test_answers_are_what_metrics_and_votes_compare():
    corpus = nbest.NBest(
        offsets=np.array([0, 4]),
        features=np.zeros((4, 1)),
        feature_names=("f",),
        ids=("a",),
        texts=Texts.of(["it is 7", "so 8", "thus 7", "7, I think"]),
        answers=Texts.of(["7", "8", "7", "7"]),
        references=(("7",),),
    )
    assert corpus.with_metric(Exact()).losses().tolist() == [0.0, 1.0, 0.0, 0.0]
    model = LogLinear({"f": 1.0})
    assert mbr(model, corpus, gain="exact", gamma=0.0).tolist() == [0]
    other = replace(corpus, answers=Texts.of(["1", "8", "8", "7"]))
    assert mbr(model, other, gain="exact", gamma=0.0).tolist() == [1]
