"""A metric of a plain function is a metric like any other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nbest
from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus.texts import Texts
from nbest.decisions import mbr
from nbest.lines.formulas import formula_of
from nbest.metrics import Exact, External
from nbest.testing import check_metric


def right(hypothesis, references):
    return hypothesis.split() in [each.split() for each in references]


def lists(sources=None) -> nbest.NBest:
    random = np.random.default_rng(1)
    texts = [f"{word} {i}" for i in range(30) for word in ("a", "b", "a", "c")]
    truth = np.array([text.startswith("b") for text in texts])
    features = np.stack([truth + random.normal(size=120), random.normal(size=120)], axis=1)
    return nbest.NBest(
        offsets=np.arange(0, 121, 4), features=features, feature_names=("good", "noise"),
        ids=tuple(map(str, range(30))), texts=Texts.of(texts), references=tuple((f"b {i}",) for i in range(30)),
        sources=sources,
    )  # fmt: skip


def test_contract():
    check_metric(nbest.metric(right, name="right"))
    check_metric(nbest.metric(lambda hypothesis, references: not right(hypothesis, references), higher_is_better=False))


def test_as_exact_trains_and_chooses():
    mine, theirs = (lists().with_metric(metric) for metric in (nbest.metric(right), Exact()))
    np.testing.assert_array_equal(mine.stats, theirs.stats)
    assert mine.score(mine.oracle()) == 1
    model = nbest.MERT(restarts=2, seed=1).fit(mine)
    assert model.scores_["dev"] > mine.score(mine.offsets[:-1])
    assert model.metric.startswith("function|nrefs:1|label:function|function:right|better:higher")
    assert formula_of(nbest.metric(right)) == formula_of(External()) is not None  # the compiled climbs know it
    assert (
        mbr(nbest.LogLinear({}), lists(), gain=nbest.metric(right)) == lists().offsets[:-1]
    ).all()  # a is there twice


def test_equal_hypotheses_are_asked_for_once():
    asked = []
    lists().with_metric(nbest.metric(lambda h, r: asked.append(h) or 0.0))
    assert len(asked) == 90


def test_sources():
    metric = nbest.metric(lambda h, r, source: float(source in h), name="has")
    found = lists(tuple(str(i) for i in range(30))).with_metric(metric)
    assert found.stats[:, 0].all()
    with pytest.raises(CapabilityError, match="takes the source, and there are none"):
        lists().with_metric(metric)


def test_a_function_of_the_hypothesis_alone_needs_no_references():
    metric = nbest.metric(lambda hypothesis: float(hypothesis.startswith("b")), name="b")
    bare = replace(lists(), references=None)
    found = bare.with_metric(metric)
    np.testing.assert_array_equal(found.stats, lists().with_metric(nbest.metric(right)).stats)
    np.testing.assert_array_equal(found.stats, lists().with_metric(metric).stats)
    model = nbest.MERT(restarts=1).fit(found)
    assert model.scores_["dev"] > found.score(found.offsets[:-1])
    assert model.metric.startswith("b|nrefs:0|")
    with pytest.raises(CapabilityError, match="function needs references and these lists carry none; give them"):
        bare.with_metric(nbest.metric(right))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (3, "must be a function, got 3"),
        (lambda: 1.0, "it takes 0 arguments"),
        (lambda h, r: None, "must return a number, got None for 'a 0'"),
        (lambda h, r: float("nan"), "must be finite, got nan for hypothesis 0"),
    ],
)
def test_what_is_no_such_function(function, message):
    with pytest.raises(ParameterError, match=message):
        lists().with_metric(nbest.metric(function))
