"""Annealed minimum risk: schedules, stopping, polishing, and what must not matter."""

from dataclasses import replace

import numpy as np
import pytest

from nbest.base.errors import ParameterError
from nbest.compute.executors import Threads, using
from nbest.metrics import BLEU, METRICS, WER, External, make_metric
from nbest.objectives import Risk
from nbest.testing import toy_lists, with_scaled
from nbest.trainers import MERT
from nbest.trainers import MinRisk as Trainer
from tests.compute.elsewhere import Elsewhere

SCHEDULES = ("temperature", "gamma", "both")
SEEDS = (1, 2)


def MinRisk(**options):  # noqa: N802
    """The trainer on one thread, which is quicker for small lists and must not matter."""
    return Trainer(**{"threads": 1} | options)


def lists(metric="bleu", seed=1, noise=0.3, **options):
    """Noisy lists with the statistics of a metric."""
    if metric == "external":
        corpus = toy_lists(seed, noise=noise, **options)
        values = -corpus.stats[:, 0] / np.maximum(corpus.stats[:, 1], 1)
        return replace(corpus, metric=External(), stats=External().stats_of(values))
    options = {"segments_": 16} | options
    return toy_lists(seed, metric=make_metric(metric) if isinstance(metric, str) else metric, noise=noise, **options)


def best_single(corpus):
    """The best score of one feature alone, of either sign."""
    from nbest.model.loglinear import LogLinear

    sign = 1 if corpus.metric.higher_is_better else -1
    scores = [corpus.score(LogLinear({f: way}).predict(corpus)) for f in corpus.feature_names for way in (1.0, -1.0)]
    return max(scores, key=lambda score: sign * score)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("order", [1, 2])
def test_schedules(schedule, order):
    corpus = lists()
    trainer = MinRisk(schedule=schedule, order=order, polish=False)
    model = trainer.fit(corpus)
    history = trainer.result_.history
    temperatures, gammas = [h["temperature"] for h in history], [h["gamma"] for h in history]
    assert temperatures == sorted(temperatures, reverse=True)
    assert gammas == sorted(gammas)
    hot = [t for t in temperatures if t > 0]
    assert bool(hot) == (schedule != "gamma")
    np.testing.assert_allclose(np.divide(hot[1:], hot[:-1]), 0.5)
    assert temperatures[-1] == 0
    assert all(g == 1 for t, g in zip(temperatures, gammas, strict=True) if t > 0)
    cold = [g for t, g in zip(temperatures, gammas, strict=True) if t == 0]
    np.testing.assert_allclose(np.divide(cold[1:], cold[:-1]), 2.0)
    assert model.scores_["dev"] >= best_single(corpus)
    assert model.scores_["dev"] == max(h["dev"] for h in history)  # the best point of the path
    assert trainer.result_.evaluations >= len(history)
    assert f"{len(history)} steps" in trainer.result_.message


def test_settings_of_the_schedule():
    corpus = lists()
    trainer = MinRisk(t0=2.0, t1=0.5, cooling=0.25, polish=False)
    trainer.fit(corpus)
    hot = [h["temperature"] for h in trainer.result_.history if h["temperature"] > 0]
    assert len(hot) == 2
    # log BLEU is in nats: T = t / N for the segments with hypotheses, 15 of 16, times about one
    np.testing.assert_allclose(np.array(hot) * 15, [2.0, 0.5], rtol=0.35)


@pytest.mark.parametrize(("entropy", "unit"), [("mean", 1 / 15), ("sum", 1.0)])
def test_temperatures_as_they_are(entropy, unit):
    """T = t beside the mean of the entropy over the 15 segments with hypotheses, or beside its sum."""
    trainer = MinRisk(t0=2.0, t1=0.5, cooling=0.25, entropy=entropy, polish=False)
    trainer.fit(lists())
    hot = [h["temperature"] for h in trainer.result_.history if h["temperature"] > 0]
    np.testing.assert_allclose(hot, [2.0 * unit, 0.5 * unit])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_sum_is_the_mean_times_the_segments(schedule):
    """Temperatures and variances of the one reading are those of the other times N."""
    ends = []
    for entropy, times in (("mean", 15.0), ("sum", 1.0)):
        trainer = MinRisk(
            schedule=schedule, entropy=entropy, t0=0.1 * times, t1=0.01 * times, variance=2.0 / times, polish=False
        )
        ends.append(trainer.fit(lists()).weights)
    assert ends[0] == pytest.approx(ends[1])


def test_the_sum_of_entropies_is_still_flat_where_their_mean_has_cooled():
    """At the paper's last temperature, beside one number for the corpus; after that both are quenched."""
    left = {}
    for entropy in ("mean", "sum"):
        trainer = MinRisk(t0=100.0, t1=0.01, entropy=entropy, polish=False)
        trainer.fit(lists())
        hot = [h["entropy"] for h in trainer.result_.history if h["temperature"] > 0]
        assert len(hot) == 14
        left[entropy] = hot[-1] / hot[0]
        assert trainer.result_.history[-1]["entropy"] < 0.1 * hot[0]
    assert left["mean"] < 0.2
    assert left["sum"] > 2 * left["mean"]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_point_of_the_path_is_the_end_with_and_without_held_out_lists(seed):
    corpus, heldout = lists("bleu", seed), lists("bleu", seed + 10)
    trainer, alone = MinRisk(take="last", polish=False), MinRisk(take="last", polish=False)
    model = trainer.fit(corpus, heldout)
    assert model.scores_["dev"] == trainer.result_.history[-1]["dev"]
    assert model.scores_["heldout"] == trainer.result_.history[-1]["heldout"]
    assert dict(alone.fit(corpus).weights) == dict(model.weights)  # held-out lists choose nothing
    with pytest.raises(ParameterError, match="'take' asks for the last"):
        MinRisk(take="last", folds=3).fit(corpus)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("metric", ["wer", "bleu"])
def test_after_the_quench_expected_and_one_best_agree(schedule, metric):
    """In the median: a path may end where two hypotheses stay tied, and then they differ by these."""
    gaps, differences = [], []
    for seed in (1, 2, 3):
        trainer = MinRisk(schedule=schedule, polish=False, threads=1)
        trainer.fit(lists(metric, seed))
        end = trainer.result_.history[-1]
        gaps.append(end["gap"])
        assert end["gap"] < 0.1 * max(h["gap"] for h in trainer.result_.history)
        shown = np.log(end["dev"] / 100) if metric == "bleu" else -end["dev"] / 100
        differences.append(abs(-end["expected"] - shown))  # but for the floor of counts
    assert np.median(gaps) < 1e-3
    assert np.median(differences) < 0.01


def test_the_path_is_a_path_of_optima():
    """At each step the value is no worse than at the point where the step before ended."""
    corpus = lists()
    entropies = []

    class Watched(Risk):
        def combine(self, moments):
            entropies.append((self.temperature, moments.entropy))
            return super().combine(moments)

    from nbest.trainers.dense import risk as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "Risk", Watched)
        MinRisk(polish=False).fit(corpus)
    last = {}
    for temperature, entropy in entropies:
        if temperature > 0:
            last[temperature] = entropy
    cooled = [last[t] for t in sorted(last, reverse=True)]
    assert cooled[0] > 2 * cooled[-1]  # flat at first, sharp later
    assert all(after <= before + 1e-3 for before, after in zip(cooled, cooled[1:], strict=False))


@pytest.mark.parametrize("metric", ["wer", "bleu", "external"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_quench_goes_on_from_where_the_cooling_ended(metric, seed):
    """A penalty around 0 pulls weights back that the cooling made large, and the expected loss jumps."""
    trainer = MinRisk(polish=False)
    trainer.fit(lists(metric, seed))
    history = trainer.result_.history
    cooled = next(number for number, step in enumerate(history) if step["temperature"] == 0) - 1
    assert history[cooled + 1]["expected"] <= history[cooled]["expected"] + 1e-9


@pytest.mark.parametrize("name", [name for name, kind in METRICS.items() if hasattr(kind, "smooth")])
def test_every_smooth_metric(name):
    corpus = lists(name)
    trainer = MinRisk(iterations=30, t1=0.2)
    model = trainer.fit(corpus)
    sign = 1 if corpus.metric.higher_is_better else -1
    assert sign * model.scores_["dev"] >= sign * best_single(corpus) - 1e-9
    assert np.isfinite(list(model.weights.values())).all()


def test_alpha():
    corpus = lists("bleu")
    assert MinRisk(alpha=50.0).fit(corpus).scores_["dev"] >= best_single(corpus)


def test_several_references():
    corpus = lists("bleu")
    more = [(refs[0], f"{refs[0]} ant") for refs in corpus.references]
    corpus = corpus.with_metric(BLEU(), more)
    assert MinRisk(order=2).fit(corpus).scores_["dev"] >= best_single(corpus)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_sparse_features(schedule):
    corpus = lists("wer", sparse=True)
    model = MinRisk(schedule=schedule).fit(corpus)
    assert set(model.weights) == {*corpus.feature_names, *corpus.sparse_names}
    assert any(model.weights[name] for name in corpus.sparse_names)
    assert model.scores_["dev"] <= best_single(corpus)
    only = replace(corpus, features=np.zeros((corpus.hypotheses, 0)), feature_names=())
    alone = MinRisk(schedule=schedule).fit(only)
    assert set(alone.weights) == set(corpus.sparse_names)
    assert alone.scores_["dev"] < corpus.score(corpus.offsets[:-1] - (corpus.lengths == 0) * (corpus.offsets[:-1] + 1))


# where to stop ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("metric", ["wer", "bleu"])
def test_held_out_lists_choose_the_best_point_of_the_path(schedule, metric):
    for seed in SEEDS:
        corpus, heldout = lists(metric, seed, noise=0.6), lists(metric, 50 + seed, noise=0.6)
        trainer = MinRisk(schedule=schedule)
        model = trainer.fit(corpus, heldout)
        path = [h["heldout"] for h in trainer.result_.history]
        assert model.scores_["heldout"] == (max(path) if metric == "bleu" else min(path))
        equals = [h["dev"] for h in trainer.result_.history if h["heldout"] == model.scores_["heldout"]]
        assert model.scores_["dev"] in equals


def test_patience_ends_the_path():
    shorter = []
    for seed in range(1, 5):
        corpus, heldout = lists("wer", seed, noise=1.0), lists("wer", 50 + seed, noise=1.0)
        steps = []
        for patience in (1, 1000):
            trainer = MinRisk(patience=patience)
            trainer.fit(corpus, heldout)
            steps.append(len(trainer.result_.history))
        assert steps[0] <= steps[1]
        shorter.append(steps[0] < steps[1])
    assert any(shorter)


def test_folds_choose_a_step_of_the_path():
    for seed in (1, 2):
        corpus = lists("wer", seed, noise=1.0)
        whole = MinRisk(polish=False)
        whole.fit(corpus)
        trainer = MinRisk(folds=3, seed=seed)
        model = trainer.fit(corpus)
        history = trainer.result_.history
        assert 1 <= len(history) <= len(whole.result_.history)
        assert history == whole.result_.history[: len(history)]  # the same path, only shorter
        assert model.scores_["dev"] == history[-1]["dev"]
        assert dict(MinRisk(folds=3, seed=seed).fit(corpus).weights) == dict(model.weights)


def test_folds_are_the_same_on_threads_and_processes():
    found = []
    for executor in (Threads(1), Threads(2), Threads(8), Elsewhere(2)):
        trainer = MinRisk(folds=3, order=1, threads=None)
        with using(executor):
            model = trainer.fit(lists("wer", 1, noise=1.0))
        found.append((dict(model.weights), trainer.result_.history, trainer.result_.evaluations, trainer.result_.value))
    assert all(each == found[0] for each in found[1:])


def test_folds_and_held_out_lists_are_not_both_given():
    corpus = lists()
    with pytest.raises(ParameterError, match="give one of them"):
        MinRisk(folds=3).fit(corpus, corpus)


@pytest.mark.parametrize("folds", [-3, 1, 1000])
def test_folds_that_cannot_be_made_are_refused(folds):
    with pytest.raises(ParameterError, match="'folds' of MinRisk must be 0 or between 2 and"):
        MinRisk(folds=folds).fit(lists())


def test_an_infinite_start_of_the_cooling_is_refused():
    with pytest.raises(ParameterError, match="'t0' of MinRisk must be > 0 and finite"):
        MinRisk(t0=float("inf")).fit(lists())


def test_progress_with_folds_never_goes_back():
    calls = []
    MinRisk(folds=3, threads=2, progress=lambda *call: calls.append(call)).fit(lists())
    assert sorted(calls) == [(1, 4), (2, 4), (3, 4)]


@pytest.mark.parametrize("metric", ["wer", "bleu", "f1"])
def test_polishing_never_harms_on_dev(metric):
    for seed in SEEDS:
        corpus = lists(metric, seed, noise=0.8)
        sign = 1 if corpus.metric.higher_is_better else -1
        with_it, without = MinRisk(polish=True), MinRisk(polish=False)
        better, worse = with_it.fit(corpus).scores_["dev"], without.fit(corpus).scores_["dev"]
        assert sign * better >= sign * worse - 1e-9
        assert with_it.result_.value == pytest.approx(better)
        assert ("then" in with_it.result_.message) == (sign * better > sign * worse + 1e-9)


# what must not matter --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"t1": 0.2}, {"schedule": "gamma", "order": 1}, {"folds": 2, "t1": 0.4, "iterations": 20}]
)
def test_threads(options):
    corpus = lists("bleu", 4, segments_=70)
    found = [dict(MinRisk(threads=threads, **options).fit(corpus).weights) for threads in (1, 2, 3)]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_units_of_features(schedule):
    for seed in (1, 2):
        corpus = lists("bleu", seed)
        plain = MinRisk(schedule=schedule, polish=False).fit(corpus)
        for factors in ((1e-6, 1.0, 1e6), (1e6, 1e-6, 1e-3)):
            scaled = with_scaled(corpus, factors)
            other = MinRisk(schedule=schedule, polish=False).fit(scaled)
            assert (other.predict(scaled) == plain.predict(corpus)).mean() >= 0.95  # rounding may decide a tie
            assert other.scores_["dev"] == pytest.approx(plain.scores_["dev"], rel=0.02)
        binary = (2.0**20, 2.0**-20, 1.0)  # nothing is rounded, so nothing differs
        exact = MinRisk(schedule=schedule, polish=False).fit(with_scaled(corpus, binary))
        found = [exact.weights[name] * factor for name, factor in zip(corpus.feature_names, binary, strict=True)]
        assert found == list(plain.weights.values())


def test_the_start_hardly_matters():
    """The first steps are nearly flat, so paths from elsewhere end as well (unlike a single climb)."""
    ends = []
    for start in (None, {"first": 3.0}, {"second": -5.0, "third": 2.0}):
        ends.append(MinRisk(start=start, polish=False).fit(lists("bleu", 5)).scores_["dev"])
    assert max(ends) - min(ends) < 1.0


def test_start_is_in_the_features_own_units():
    corpus = lists()
    scaled = with_scaled(corpus, (1024.0, 1.0, 1.0))
    one = MinRisk(start={"first": 2.0}, polish=False).fit(corpus)
    other = MinRisk(start={"first": 2.0 / 1024}, polish=False).fit(scaled)
    assert np.array_equal(one.predict(corpus), other.predict(scaled))
    with pytest.raises(ParameterError, match=r"start weights name 'frist'.*did you mean 'first'"):
        MinRisk(start={"frist": 1.0}).fit(corpus)


def test_a_strong_penalty_keeps_weights_near_zero():
    corpus = lists("wer")
    sizes = []
    for variance in (1e-6, 1.0, 1e6):
        trainer = MinRisk(schedule="both", variance=variance, polish=False)
        trainer.fit(corpus)
        sizes.append(float(np.abs(trainer.result_.weights).sum()))
    assert sizes[0] < sizes[1] < sizes[2]


def test_near_mert_on_dev():
    """Both climb the same metric; on easy lists neither is far behind."""
    gaps = []
    for seed in SEEDS:
        corpus = lists("bleu", seed)
        gaps.append(MERT().fit(corpus).scores_["dev"] - MinRisk().fit(corpus).scores_["dev"])
    assert np.median(gaps) < 2.0


def test_progress():
    calls = []
    trainer = MinRisk(progress=lambda done, of: calls.append((done, of)))
    trainer.fit(lists())
    assert [done for done, _ in calls] == list(range(1, len(trainer.result_.history) + 1))
    assert len({of for _, of in calls}) == 1
    assert calls[-1][0] <= calls[-1][1]


def test_lists_with_little_to_gain():
    """All but one hypothesis equally good."""
    corpus = lists("wer")
    stats = np.tile([1.0, 5.0], (corpus.hypotheses, 1))
    stats[0, 0] = 2.0
    model = MinRisk().fit(replace(corpus, stats=stats))
    assert model.scores_["dev"] == 20.0
    assert np.isfinite(list(model.weights.values())).all()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"schedule": "warm"}, "'schedule' of MinRisk must be temperature, gamma or both, got 'warm'"),
        ({"t0": 0.01, "t1": 1.0}, "MinRisk needs t1 <= t0, got t0 0.01 and t1 1.0"),
        ({"t1": 0.0}, "'t1' of MinRisk must be > 0, got 0.0"),
        ({"cooling": 1.0}, "'cooling' of MinRisk must be between 0 and 1"),
        ({"patience": 0}, "'patience' of MinRisk must be >= 1, got 0"),
        ({"variance": -1.0}, "'variance' of MinRisk must be > 0"),
        ({"order": 3}, "'order' of .* must be 1 or 2, got 3"),
    ],
)
def test_parameters(options, reason):
    with pytest.raises(ParameterError, match=reason):
        MinRisk(**options).fit(lists("wer"))


def test_the_metric_of_the_lists_is_what_is_trained():
    corpus = lists(WER())
    trainer = MinRisk()
    model = trainer.fit(corpus)
    assert model.metric.startswith("WER|")
    assert model.trainer["schedule"] == "temperature"
