"""`nbest.validate`: scores, intervals and p are those of a plain recomputation; verdicts are as they should be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nbest
from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import NBest, Texts
from nbest.corpus.grouping import in_folds
from nbest.evaluation import significance
from nbest.model.evidence import Evidence, evidence_of
from nbest.model.loglinear import LogLinear
from nbest.trainers.crossfit import crossfit
from nbest.trainers.validate import held_out, left_out
from tests.cli.conftest import sausages

FIT = nbest.MaxLikelihood()


def lists(number: int = 80, seed: int = 1, *, told: float = 1.0, first: float = 0.0, groups: int = 0) -> NBest:
    """Lists of five hypotheses whose worth a feature tells, as does, less or more, that they are first."""
    rng = np.random.default_rng(seed)
    worth = rng.normal(size=(number, 5))
    worth[:, 0] += first
    known = told * worth + rng.normal(size=worth.shape)
    features = np.stack([known.ravel(), rng.normal(size=worth.size)], axis=1)
    ids = tuple(map(str, range(number)))
    named = tuple(f"g{i * groups // number}" for i in range(number)) if groups else None
    found = NBest(
        np.arange(0, worth.size + 1, 5), features, ("known", "noise"), ids, gains=worth.ravel(), groups=named,
        texts=Texts.of([f"t{k}" for k in range(worth.size)]),
    )  # fmt: skip
    return found.with_metric(nbest.External())


def check(found: Evidence, corpus: NBest, chosen: np.ndarray) -> None:
    """The evidence of these choices, computed the plain way."""
    gains = corpus.gains
    firsts, filled = corpus.offsets[:-1][corpus.lengths > 0], chosen >= 0
    stats = corpus.need_stats()[0]
    groups = None if corpus.groups is None else [g for g, some in zip(corpus.groups, filled, strict=True) if some]
    own, other = (significance.by_group(stats[at], groups) for at in (chosen[filled], firsts))
    metric = corpus.need_metric()
    tested = significance.permutation(metric, other, own)
    low, high = significance.interval(significance.resampled(metric, own))
    assert found.tuned == pytest.approx(gains[chosen[filled]].mean())
    assert found.first == pytest.approx(gains[firsts].mean())
    assert found.oracle == pytest.approx(
        np.mean([part.max() for part in np.split(gains, corpus.offsets[1:-1]) if len(part)])
    )
    assert (found.p, found.low, found.high) == (tested.p, low, high)
    assert found.segments == filled.sum()
    assert found.groups == (0 if groups is None else len(set(groups)))


@pytest.mark.parametrize("groups", [0, 12])
def test_held_out_lists_tell_what_a_plain_computation_tells(groups: int) -> None:
    heldout, model = lists(60, 3, groups=groups), LogLinear({"known": 1.0, "noise": 0.5})
    found = nbest.validate(model, heldout).validation
    check(found, heldout, model.predict(heldout))
    spread = [np.sqrt(np.mean([np.var(part) for part in np.split(heldout.features[:, d], 60)])) for d in range(2)]
    equal = heldout.score(LogLinear({"known": 1 / spread[0], "noise": 1 / spread[1]}).predict(heldout))
    assert found.equal == pytest.approx(equal)
    other = LogLinear({"known": 1 / spread[0], "noise": 1 / spread[1]}).predict(heldout)
    both = (significance.by_group(heldout.stats[at], heldout.groups) for at in (other, model.predict(heldout)))
    assert found.p_equal == significance.permutation(nbest.External(), *both).p
    assert found.gain_over_equal == pytest.approx(found.tuned - equal)
    assert found.how == "held-out lists"


@pytest.mark.parametrize("groups", [0, 12])
def test_folds_tell_what_models_of_the_other_folds_choose(groups: int) -> None:
    dev = lists(60, 4, told=0.3, groups=groups)
    found = nbest.validate(LogLinear({}), dev, trainer=FIT, folds=4, seed=2).validation
    fold, chosen = in_folds(dev, 4, 2), np.zeros(60, np.int64)
    for number in range(4):
        model = FIT.fit(dev.select(np.flatnonzero(fold != number)))
        chosen[fold == number] = model.predict(dev)[fold == number]
    check(found, dev, chosen)
    assert found.how == "4 folds"


def test_empty_lists_are_left_out_and_lists_need_no_texts() -> None:
    full = lists(30, 5)
    dev = replace(full, offsets=np.append(full.offsets[:20], [95] + [150] * 10), texts=None)
    assert (dev.lengths == 0).sum() == 10
    model = LogLinear({"known": 1.0})
    check(held_out(model, dev), dev, model.predict(dev))
    crossed = crossfit(FIT.fit, dev, folds=3)
    check(left_out(crossed, dev), dev, crossed.chosen)
    with pytest.raises(CapabilityError, match="no segment has hypotheses"):
        held_out(model, dev.select(np.flatnonzero(dev.lengths == 0)))


def test_folds_choose_by_the_decision_of_the_model() -> None:
    dev = replace(lists(40, 6), texts=Texts.of([f"t{k % 3}" for k in range(200)]))
    crossed = crossfit(FIT.fit, dev, folds=4)
    found = left_out(crossed, dev, {"kind": "vote"})
    chosen = np.full(40, -1)
    for number, model in enumerate(crossed.models):
        mine = crossed.fold == number
        chosen[mine] = nbest.choose(model, dev, "vote").chosen[mine]
    assert (chosen != crossed.chosen).any()
    check(found, dev, chosen)
    assert left_out(crossed, dev, {}) == left_out(crossed, dev)


def test_many_segments_are_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval is nearly that of segments that are drawn one by one."""
    heldout, model = lists(400, 7), LogLinear({"known": 1.0})
    alone = held_out(model, heldout)
    monkeypatch.setattr("nbest.trainers.validate._MOST", 100)
    together = held_out(model, heldout)
    assert together.tuned == alone.tuned
    assert together.low != alone.low
    assert together.high - together.low == pytest.approx(alone.high - alone.low, rel=0.3)


def test_forests() -> None:
    forests = sausages(1).with_metric(nbest.WER())
    model = nbest.MERT(restarts=2).fit(forests)
    found = held_out(model, sausages(2).with_metric(nbest.WER()))
    assert found.verdict == "helped"
    assert found.oracle == 0.0
    assert found.tuned < found.first
    assert found.low <= found.tuned <= found.high
    assert held_out(model, replace(sausages(2), own_weights={}).with_metric(nbest.WER())).verdict == ""
    with pytest.raises(CapabilityError, match="these are forests"):
        nbest.validate(model, forests, trainer=nbest.MERT())


def test_what_helps_is_not_warned_of_and_what_does_not_is() -> None:
    """Labels that features tell; labels shuffled within lists; and first hypotheses that are better than tuned ones."""
    seeds = range(12)
    assert all(_verdict(lists(100, seed)) == "helped" for seed in seeds)
    shuffled = [_verdict(_shuffled(lists(100, seed), seed)) for seed in seeds]
    assert sum(each == "helped" for each in shuffled) <= 2
    assert all(_verdict(lists(100, seed, told=0.0, first=1.5)) == "hurt" for seed in seeds)


def _verdict(dev: NBest) -> str:
    return left_out(crossfit(FIT.fit, dev, folds=5), dev).verdict


def _shuffled(dev: NBest, seed: int) -> NBest:
    gains = np.random.default_rng(seed).permuted(dev.gains.reshape(-1, 5), axis=1).ravel()
    return replace(dev, gains=gains).with_metric(nbest.External())


def test_verdicts() -> None:
    base = Evidence(
        "5 folds", 10, 0, tuned=2.0, low=1.0, high=3.0, oracle=5.0, higher_is_better=True, first=1.0, p=0.01
    )
    assert base.verdict == "helped"
    assert replace(base, p=0.05).verdict == "unsure"
    assert replace(base, higher_is_better=False).verdict == "hurt"
    assert replace(base, higher_is_better=False, p=0.5).verdict == "no help"
    assert replace(base, first=2.0, p=1.0).verdict == "no help"
    assert replace(base, first=None, p=None).verdict == ""


def test_a_model_file_keeps_it(tmp_path) -> None:
    heldout = lists(30, 8)
    model = nbest.validate(LogLinear({"known": 1.0}), heldout)
    model.save(tmp_path / "m.json")
    assert nbest.load(tmp_path / "m.json").validation == model.validation
    again = nbest.calibrate(model, heldout, right=1.0)
    assert again.validation == model.validation
    assert nbest.calibrate(model, heldout, right=1.0, decision="vote").validation is None  # another decision


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tuned": "x"}, "'tuned' must be a number"),
        ({"low": 9.0}, "'low' must not be above 'high'"),
        ({"p": 1.5}, "'p' must be a number from 0 to 1"),
        ({"higher_is_better": 1}, "'higher_is_better' must be true or false"),
        ({"how": 3}, "'how' must be text"),
        ({"segments": -1}, "'segments'"),
    ],
)
def test_wrong_evidence_is_refused(wrong: dict, message: str) -> None:
    content = nbest.validate(LogLinear({"known": 1.0}), lists(30, 8)).evidence
    assert evidence_of(content) is not None
    with pytest.raises(ParameterError, match=message):
        evidence_of({**content, **wrong})
