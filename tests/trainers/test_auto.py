"""`Auto`: shares and choices are those of a plain recomputation; folds are honest; nothing unlearned is lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nbest
from nbest.corpus import NBest, Texts
from nbest.corpus.grouping import in_folds
from nbest.features import within_scale
from nbest.formats import bundled
from nbest.metrics.paired import resampled
from nbest.trainers import Auto
from nbest.trainers.dense.averaged import best_shares
from nbest.trainers.dense.fits import Fits, chosen_stats, in_proportion
from nbest.trainers.problem import Problem, prepare
from nbest.trainers.validate import left_out
from tests.trainers.test_validate import lists


def problem_of(corpus: NBest) -> Problem[NBest]:
    return prepare(corpus, "Auto", sparse=True)


def noise(seed: int, segments: int = 40, size: int = 5) -> NBest:
    """Lists whose features tell nothing."""
    rng = np.random.default_rng(seed)
    flat = segments * size
    found = NBest(
        np.arange(0, flat + 1, size), rng.normal(size=(flat, 4)), tuple("abcd"),
        tuple(map(str, range(segments))), gains=rng.normal(size=flat),
    )  # fmt: skip
    return found.with_metric(nbest.External())


def test_every_fit_has_a_name_and_sizes_that_add_up_to_one() -> None:
    problem = problem_of(lists(30))
    fits = Fits.of(problem)
    weights = fits.on(np.arange(30))
    assert len(fits.names) == len(set(fits.names)) == len(weights)
    assert np.abs(weights).sum(axis=1) == pytest.approx(1.0)
    assert in_proportion(np.array([[0.0, 0.0], [3.0, -1.0]])).tolist() == [[0.0, 0.0], [0.75, -0.25]]


def test_the_most_likely_fit_is_that_of_likelihood() -> None:
    problem = problem_of(lists(60))
    fits = Fits.of(problem)
    weights = fits.on(np.arange(60))[fits.names.index("likelihood, variance 1")]
    other = nbest.MaxLikelihood(variance=1.0).fit(problem.corpus)
    assert weights == pytest.approx(in_proportion(problem.start(dict(other.weights))), abs=2e-3)


def test_the_base_model_chooses_the_first_hypotheses() -> None:
    corpus = lists(60)
    order = np.argsort(-corpus.features[:, 0].reshape(60, 5), axis=1) + corpus.offsets[:-1, None]
    flat = order.ravel()
    corpus = replace(corpus, features=corpus.features[flat], stats=corpus.stats[flat], gains=None, texts=None)
    fits = Fits.of(problem_of(corpus))
    model = fits.problem.model(fits.base)
    assert (model.predict(corpus) == corpus.offsets[:-1]).mean() > 0.95
    assert (
        Fits.of(problem_of(corpus), {"known": 2.0}).base.tolist() == problem_of(corpus).start({"known": 2.0}).tolist()
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_left_out_statistics_are_those_of_choices(sparse: bool) -> None:
    corpus = lists(30)
    if sparse:
        from scipy.sparse import csr_array

        columns = csr_array(np.random.default_rng(3).integers(0, 2, (corpus.hypotheses, 3)).astype(float))
        corpus = replace(corpus, sparse=columns, sparse_names=("x", "y", "z"))
    problem = problem_of(corpus)
    weights = np.random.default_rng(2).normal(size=(4, len(problem.names)))
    found = chosen_stats(problem, weights)
    for number, each in enumerate(weights):
        assert found[:, number].tolist() == corpus.stats[problem.model(each).predict(corpus)].tolist()


def test_shares_are_how_often_each_is_best() -> None:
    problem = problem_of(lists(25))
    stats = np.random.default_rng(1).normal(size=(25, 6, 2))
    stats[..., 1] = 1.0
    stats[:, 5] = stats[:, 2]  # as good: draws in which both are best count half for each
    drawn = resampled(problem.metric, stats, samples=200, seed=7)
    wanted = np.zeros(6)
    for row in drawn:
        best = [fit for fit in range(6) if row[fit] == pytest.approx(max(row))]
        for fit in best:
            wanted[fit] += 1 / len(best) / len(drawn)
    found = best_shares(problem, stats, 7)
    assert found == pytest.approx(wanted)
    assert found[2] == found[5] > 0


def test_models_of_folds_are_as_sharp_as_the_model() -> None:
    """Decisions and confidence are learned from their posteriors."""
    corpus = lists(80, told=2.0)
    trainer = Auto()
    model = trainer.fit(corpus)
    scale = within_scale(corpus)
    sizes = [np.abs(np.array(list(each.weights.values())) * scale).sum() for each in (model, *trainer.crossed_.models)]
    assert sizes == pytest.approx([sizes[0]] * 6)
    assert not np.isclose(sizes[0], 1.0, rtol=0.1)
    raw = nbest.choose(model, corpus).probability.mean()
    assert trainer.crossed_.probability.mean() == pytest.approx(raw, abs=0.05)


def test_history_tells_what_was_fitted_and_crossed_what_was_chosen() -> None:
    corpus = lists(60)
    trainer = Auto()
    trainer.fit(corpus)
    rows = trainer.result_.history
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)
    assert max(rows, key=lambda row: row["share"])["left_out"] > corpus.score(corpus.offsets[:-1])
    assert trainer.crossed_.fold.tolist() == in_folds(corpus, 5, 1).tolist()
    assert len(trainer.crossed_.models) == 5


@pytest.mark.filterwarnings("ignore::nbest.ConvergenceWarning")
def test_folds_promise_nothing_where_there_is_nothing_to_learn() -> None:
    told, chance = [], []
    for seed in range(12):
        corpus, trainer = noise(seed), Auto(seed=seed, repeats=1)
        trainer.fit(corpus)
        told.append(corpus.score(trainer.crossed_.chosen))
        chance.append(float(corpus.gains.mean()))
    away = np.array(told) - np.array(chance)
    assert abs(away.mean()) < 3 * away.std(ddof=1) / np.sqrt(len(away))


def test_first_hypotheses_are_kept_where_learning_loses() -> None:
    corpus = lists(80, told=0.0, first=3.0)
    trainer = Auto()
    with pytest.warns(nbest.ConvergenceWarning, match="first hypotheses are better on left-out lists and are kept"):
        model = trainer.fit(corpus)
    assert model.predict(corpus).tolist() == corpus.offsets[:-1].tolist()
    assert corpus.score(trainer.crossed_.chosen) == corpus.score(corpus.offsets[:-1])


def test_equal_weights_are_kept_where_learning_loses() -> None:
    rng = np.random.default_rng(5)
    features = rng.normal(size=(12 * 4, 40))
    corpus = NBest(
        np.arange(0, 49, 4), features, tuple(f"f{d}" for d in range(40)), tuple(map(str, range(12))),
        gains=features.sum(axis=1),
    ).with_metric(nbest.External())  # fmt: skip
    trainer = Auto()
    with pytest.warns(nbest.ConvergenceWarning, match="equal weights are better on left-out lists and are kept"):
        model = trainer.fit(corpus)
    assert corpus.score(model.predict(corpus)) > corpus.score(corpus.offsets[:-1])


def test_what_features_tell_is_learned() -> None:
    test = lists(300, seed=9, told=3.0)
    model = Auto().fit(lists(60, told=3.0))
    assert test.score(model.predict(test)) > 0.9 * test.score(nbest.oracle(test))


def test_held_out_lists_count() -> None:
    corpus, other = lists(30, seed=1), lists(200, seed=2, told=-2.0)
    trainer = Auto()
    alone = trainer.fit(corpus)
    both = Auto().fit(corpus, other)
    assert other.score(both.predict(other)) >= other.score(alone.predict(other))
    assert both.scores_["heldout"] == pytest.approx(other.score(both.predict(other)))


def voters(segments: int, seed: int) -> NBest:
    """Nine voters, of which the last three are right most often and the others say the same wrong thing."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(seed)
    right = rng.random((segments, 9)) < np.repeat([0.3, 0.75], [6, 3])
    said = np.where(right, "right", np.where(rng.random((segments, 9)) < 0.7, "wrong", "other")).ravel()
    found = NBest(
        np.arange(0, said.size + 1, 9), np.zeros((said.size, 0)), (), tuple(map(str, range(segments))),
        texts=Texts.of(said.tolist()), answers=Texts.of(said.tolist()), gains=(said == "right").astype(float),
        sparse=csr_array(np.tile(np.eye(9), (segments, 1))), sparse_names=tuple(f"v{v}" for v in range(9)),
    )  # fmt: skip
    return found.with_metric(nbest.External())


def test_votes_are_counted_where_they_are_better() -> None:
    dev, test = voters(120, 1), voters(400, 2)
    trainer = Auto()
    model = trainer.fit(dev)
    assert model.decision["kind"] == "vote"
    assert {row["fit"].startswith("votes: ") for row in trainer.result_.history} == {False, True}
    chosen = nbest.choose(model, test).chosen
    assert test.score(chosen) > test.score(nbest.MaxLikelihood().fit(dev).predict(test)) + 0.05
    assert test.score(chosen) > test.score(nbest.vote(None, test)) + 0.05
    assert all(each.decision == model.decision for each in trainer.crossed_.models)
    assert nbest.validate(model, dev, trainer=Auto(repeats=1)).validation.tuned > 0.7


def test_votes_are_not_counted_where_hypotheses_tell_more() -> None:
    answers = Texts.of(["same", "same", "t2", "t3", "t4"] * 80)
    trainer = Auto()
    assert not trainer.fit(replace(lists(80, told=3.0), answers=answers)).decision
    assert any(row["fit"].startswith("votes") for row in trainer.result_.history)


def test_a_known_base_model_is_leaned_to_where_nothing_better_was_learned() -> None:
    """A base model that is as good as can be, told apart from none by few lists."""
    away = []
    for seed in range(6):
        corpus = lists(20, seed=seed, told=3.0)
        start = {"known": 1.0, "noise": 0.0}
        given, free = (Auto(start=each, repeats=1).fit(corpus) for each in (start, None))
        scale = within_scale(corpus)[1] / within_scale(corpus)[0]
        away.append([abs(m.weights["noise"] / m.weights["known"]) * scale for m in (given, free)])
    with_base, without = np.mean(away, axis=0)
    assert with_base < 0.8 * without


class Plain:
    """External scores without a formula to climb."""

    def __init__(self) -> None:
        self.inner = nbest.External()

    def __getattr__(self, name: str) -> object:
        if name in ("smooth", "inner"):
            raise AttributeError(name)
        return getattr(self.inner, name)


def test_a_metric_without_a_formula_has_fits_of_likelihood() -> None:
    corpus = replace(lists(40), metric=Plain())
    trainer = Auto()
    trainer.fit(corpus)
    assert {row["fit"].split(",")[0] for row in trainer.result_.history} == {
        "likelihood", "base model", "likelihood around the base model",
    }  # fmt: skip


@pytest.mark.parametrize("segments", [1, 2, 3])
def test_very_few_segments(segments: int) -> None:
    corpus, trainer = lists(segments, seed=4), Auto()
    trainer.fit(corpus)
    assert (trainer.crossed_ is None) == (segments == 1)


def test_groups_stay_together() -> None:
    corpus, trainer = lists(40, groups=8), Auto()
    trainer.fit(corpus)
    fold = trainer.crossed_.fold
    assert all(len({fold[i] for i in range(40) if corpus.groups[i] == name}) == 1 for name in set(corpus.groups))


def test_of_many_lists_some_are_fitted_in_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbest.trainers.dense.averaged._ROWS", 200)
    corpus, trainer = lists(100, told=3.0), Auto()
    model = trainer.fit(corpus)
    rows = np.flatnonzero(trainer.crossed_.fold >= 0)
    assert len(rows) == 40
    assert (trainer.crossed_.chosen >= 0).tolist() == (trainer.crossed_.fold >= 0).tolist()
    assert left_out(trainer.crossed_, corpus).segments == 40
    assert corpus.score(model.predict(corpus)) > 0.9 * corpus.score(nbest.oracle(corpus))


def test_models_of_folds_decide_as_sharply_as_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbest.trainers.finishing.decision_gamma", lambda model, corpus: 4.0)
    dev = bundled.lists("tune").select(range(60)).with_metric(nbest.BLEU(tokenize="none"))
    trainer = nbest.Auto(decision="mbr")
    model = trainer.fit(dev)
    assert model.gamma == 4.0
    assert trainer.crossed_ is not None
    own, said = (left_out(trainer.crossed_, dev, {"kind": "mbr"} | more) for more in ({}, {"gamma": 4.0}))
    assert own == said != left_out(trainer.crossed_, dev, {"kind": "mbr", "gamma": 1.0})
