"""Soft BLEU: optimisers, prior, entropy term, any metric."""

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from nbest.base.errors import CapabilityError, ConvergenceWarning, ParameterError
from nbest.compute import segments
from nbest.decisions.chosen import first_score
from nbest.features import corpus_scale, within_scale
from nbest.metrics import METRICS, External, make_metric
from nbest.model.loglinear import LogLinear
from nbest.objectives import Quadratic, Risk, Shard, value_and_gradient
from nbest.optimisers import OPTIMISERS
from nbest.testing import toy_lists, with_scaled
from nbest.trainers import SoftBLEU as Trainer

SEEDS = (1, 2, 3)
PRIOR = 1.0  # of the tests in which an optimum has to exist: separable lists have none


def SoftBLEU(**options):  # noqa: N802
    """The trainer on one thread, which is quicker for small lists and must not matter."""
    return Trainer(**{"threads": 1} | options)


@pytest.fixture(autouse=True)
def _quiet():
    """A limit may be reached; where it matters it is tested."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def lists(metric="bleu", seed=1, noise=0.3, **options):
    options = {"segments_": 16} | options
    if metric == "external":
        corpus = toy_lists(seed, noise=noise, **options)
        values = -corpus.stats[:, 0] / np.maximum(corpus.stats[:, 1], 1)
        return replace(corpus, metric=External(), stats=External().stats_of(values))
    return toy_lists(seed, metric=make_metric(metric), noise=noise, **options)


def scaled_weights(corpus, model):
    return np.array([model.weights[name] for name in corpus.feature_names]) * corpus_scale(corpus, within_scale(corpus))


def unit(corpus, **options):
    """A nat of the metric's logarithm for each filled segment, in units of its formula: from uniform to the oracle."""
    parts = [corpus.stats[low:high] for low, high in pairwise(corpus.offsets) if high > low]
    uniform = sum(part.mean(axis=0) for part in parts)
    best = sum(part[corpus.metric.losses(part).argmin()] for part in parts)
    gain = corpus.metric.smooth(best, **options) - corpus.metric.smooth(uniform, **options)
    return abs(gain / np.log(corpus.metric.score(best) / corpus.metric.score(uniform))) / len(parts)


def objective(corpus, weights, variance=np.inf, entropy=0.0, alpha=100.0):
    """What SoftBLEU minimises, at weights in scaled units."""
    count = len(corpus)
    nat = unit(corpus, alpha=alpha, segments=count)
    shard = Shard(corpus, corpus_scale(corpus, within_scale(corpus)), corpus.metric.losses(corpus.stats))
    risk = Risk(
        corpus.metric,
        order=1,
        temperature=entropy * nat,
        penalty=Quadratic(variance / nat),
        alpha=alpha,
        segments=count,
    )
    return value_and_gradient(risk, weights, [shard])


def entropy_of(corpus, trainer):
    """The mean entropy of lists at the weights found (before calibration)."""
    scale = corpus_scale(corpus, within_scale(corpus))
    p = segments.softmax(corpus.features @ (trainer.result_.weights / scale), corpus.offsets)
    return float(-(p * np.log(np.maximum(p, 1e-300))).sum() / len(corpus))


def best_single(corpus):
    sign = 1 if corpus.metric.higher_is_better else -1
    scores = [corpus.score(LogLinear({f: way}).predict(corpus)) for f in corpus.feature_names for way in (1.0, -1.0)]
    return max(scores, key=lambda score: sign * score)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_optimisers_find_the_same_optimum(optimiser):
    for seed in SEEDS:
        corpus = lists(seed=seed)
        trainer = SoftBLEU(optimiser=optimiser, variance=PRIOR, iterations=2000)
        trainer.fit(corpus)
        found, _ = objective(corpus, trainer.result_.weights, PRIOR)
        reference = SoftBLEU(optimiser="lbfgs", variance=PRIOR)
        reference.fit(corpus)
        best, _ = objective(corpus, reference.result_.weights, PRIOR)
        assert trainer.result_.converged
        assert found == pytest.approx(best, abs=2e-3)
        assert found < objective(corpus, np.zeros(3), PRIOR)[0]


def test_what_is_minimised():
    """The history of RProp is the objective of order 1 with the sigmoid brevity penalty, from zero weights."""
    corpus = lists()
    for alpha, entropy in ((100.0, 0.0), (5.0, 0.3)):
        trainer = SoftBLEU(variance=2.0, entropy=entropy, alpha=alpha)
        trainer.fit(corpus)
        first, _ = objective(corpus, np.zeros(3), 2.0, entropy, alpha)
        last, _ = objective(corpus, trainer.result_.weights, 2.0, entropy, alpha)
        values = [entry["value"] for entry in trainer.result_.history]
        assert values[0] == pytest.approx(first, rel=1e-12)
        assert min(values) == pytest.approx(last, rel=1e-9)


def test_result():
    corpus = lists()
    trainer = SoftBLEU(variance=PRIOR)
    model = trainer.fit(corpus)
    result = trainer.result_
    assert result.value == model.scores_["dev"]
    assert result.message.startswith("RProp")
    assert result.evaluations == len(result.history)
    assert model.trainer["optimiser"] == "rprop"
    assert model.scores_["dev"] >= best_single(corpus) - 5.0


def test_a_limit_is_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning, match="SoftBLEU: RProp: stopped after 3 iterations"):
            SoftBLEU(iterations=3).fit(lists())


def test_the_prior_shrinks_weights():
    for seed in SEEDS:
        corpus, sizes = lists(seed=seed), []
        for variance in (1e-3, 0.03, 1.0, 30.0):
            trainer = SoftBLEU(variance=variance, optimiser="lbfgs")
            trainer.fit(corpus)
            sizes.append(float(np.linalg.norm(trainer.result_.weights)))
        assert sizes == sorted(sizes)
        assert sizes[0] < 0.1 * sizes[-1]


def test_the_entropy_term_flattens():
    for seed in SEEDS:
        corpus, entropies = lists(seed=seed), []
        for entropy in (0.0, 0.3, 1.0, 100.0):
            trainer = SoftBLEU(variance=10.0, entropy=entropy, optimiser="lbfgs")
            trainer.fit(corpus)
            entropies.append(entropy_of(corpus, trainer))
        assert entropies == sorted(entropies)
        sizes = corpus.lengths[corpus.lengths > 0]
        assert entropies[-1] == pytest.approx(np.log(sizes).sum() / len(corpus), rel=0.01)  # nearly uniform


@pytest.mark.parametrize("name", [name for name, kind in METRICS.items() if hasattr(kind, "smooth")])
def test_any_smooth_metric(name):
    corpus = lists(name)
    sign = 1 if corpus.metric.higher_is_better else -1
    trainer = SoftBLEU()
    model = trainer.fit(corpus)
    uniform = corpus.score(LogLinear({"third": 1.0}).predict(corpus))  # noise
    assert sign * model.scores_["dev"] > sign * uniform
    values = [entry["value"] for entry in trainer.result_.history]
    assert min(values) < values[0]


def test_for_an_error_rate_it_is_the_expected_rate():
    corpus = lists("wer")
    trainer = SoftBLEU(variance=PRIOR)
    trainer.fit(corpus)
    scale = corpus_scale(corpus, within_scale(corpus))
    p = segments.softmax(corpus.features @ (trainer.result_.weights / scale), corpus.offsets)
    errors, words = p @ corpus.stats
    penalty = float(trainer.result_.weights @ trainer.result_.weights) / 2 * unit(corpus)
    least = min(entry["value"] for entry in trainer.result_.history)
    assert least == pytest.approx(errors / (words + 0.1) + penalty, rel=1e-6)


@pytest.mark.filterwarnings("ignore:.*first hypotheses are kept")
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_held_out_lists_choose_among_the_points_visited(optimiser, monkeypatch):
    visited = []

    def watched(function, start, callback, **options):
        def noted(iteration, weights, value):
            visited.append(weights.copy())
            return callback(iteration, weights, value)

        return OPTIMISERS[optimiser](function, start, callback=noted, **options)

    monkeypatch.setattr("nbest.trainers.dense.softbleu.OPTIMISERS", {optimiser: watched})
    for seed in SEEDS:
        corpus, heldout = lists(seed=seed, noise=0.8), lists(seed=50 + seed, noise=0.8)
        visited.clear()
        trainer = SoftBLEU(optimiser=optimiser, iterations=100)
        model = trainer.fit(corpus, heldout)
        scale = corpus_scale(corpus, within_scale(corpus))
        models = [LogLinear(dict(zip(corpus.feature_names, w / scale, strict=True))) for w in visited]
        reached = [heldout.score(m.predict(heldout)) for m in models]
        assert model.scores_["heldout"] == pytest.approx(max(*reached, first_score(heldout)))
        assert any(np.array_equal(trainer.result_.weights, w) for w in visited)
        assert max(reached) < first_score(heldout) or model.scores_["dev"] == trainer.result_.value


def test_sparse_features():
    corpus = lists(sparse=True)
    model = SoftBLEU(variance=PRIOR).fit(corpus)
    assert set(model.weights) == {*corpus.feature_names, *corpus.sparse_names}
    assert any(model.weights[name] for name in corpus.sparse_names)
    only = replace(corpus, features=np.zeros((corpus.hypotheses, 0)), feature_names=())
    assert set(SoftBLEU(variance=PRIOR).fit(only).weights) == set(corpus.sparse_names)


def test_threads():
    corpus = lists(segments_=70)
    found = [dict(Trainer(threads=threads).fit(corpus).weights) for threads in (1, 2, 3)]
    assert found[0] == found[1] == found[2]


def test_units_of_features():
    for seed in SEEDS:
        corpus = lists(seed=seed)
        plain = SoftBLEU(variance=PRIOR).fit(corpus)
        for factors in ((1e-6, 1.0, 1e6), (1e6, 1e-6, 1e-3)):
            scaled = with_scaled(corpus, factors)
            other = SoftBLEU(variance=PRIOR).fit(scaled)
            assert (other.predict(scaled) == plain.predict(corpus)).mean() >= 0.95


def test_start():
    corpus = lists()
    trainer = SoftBLEU(start={"first": 0.7}, variance=PRIOR)
    trainer.fit(corpus)
    at = np.array([0.7, 0.0, 0.0]) * corpus_scale(corpus, within_scale(corpus))
    assert trainer.result_.history[0]["value"] == pytest.approx(objective(corpus, at, PRIOR)[0], rel=1e-12)
    # from elsewhere to the same optimum
    other = SoftBLEU(variance=PRIOR)
    other.fit(corpus)
    least = [min(entry["value"] for entry in t.result_.history) for t in (trainer, other)]
    assert least[0] == pytest.approx(least[1], abs=2e-3)


def test_progress():
    for optimiser in OPTIMISERS:
        calls = []
        SoftBLEU(optimiser=optimiser, iterations=20, progress=lambda *c, calls=calls: calls.append(c)).fit(lists())
        assert calls
        assert all(1 <= done <= of == 20 for done, of in calls)
        assert [done for done, _ in calls] == sorted(done for done, _ in calls)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"variance": 0.0}, "'variance' of SoftBLEU must be > 0, got 0.0"),
        ({"entropy": -1.0}, "'entropy' of SoftBLEU must be >= 0, got -1.0"),
        ({"alpha": float("nan")}, "'alpha' of SoftBLEU must be >= 0, got nan"),
        ({"optimiser": "rpop"}, r"'optimiser' of SoftBLEU must be .* got 'rpop'; did you mean 'rprop'"),
        ({"start": {"frist": 1.0}}, "start weights name 'frist'"),
    ],
)
def test_parameters(options, reason):
    with pytest.raises(ParameterError, match=reason):
        SoftBLEU(**options).fit(lists())


def test_metrics_without_a_smooth_formula_are_refused():
    class Rough:
        """The statistics and score of WER and nothing more."""

        def __init__(self):
            self.base = make_metric("wer")
            self.name, self.higher_is_better, self.stat_names = "rough", False, self.base.stat_names
            self.losses, self.score, self.signature = self.base.losses, self.base.score, self.base.signature

    corpus = replace(lists("wer"), metric=Rough())
    with pytest.raises(CapabilityError, match=r"Risk needs a smooth formula .*; rough has none"):
        SoftBLEU().fit(corpus)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_prior_on_sparse_weights_leaves_the_dense_model_as_it_is(seed):
    corpus = lists(seed=seed)
    rng = np.random.default_rng(seed)
    columns = csr_array((rng.random((corpus.hypotheses, 3)) < 0.3).astype(float))
    wide = corpus.with_sparse(("a", "b", "c"), columns)
    alone = SoftBLEU().fit(corpus)
    trainer = SoftBLEU(variance=1e-6, prior="sparse")
    held = trainer.fit(wide)
    weights = np.abs(trainer.result_.weights)
    assert weights[3:].max() < 1e-4 * weights[:3].max()
    assert held.scores_["dev"] == pytest.approx(alone.scores_["dev"], abs=0.5)
    trainer = SoftBLEU(variance=1e-6)  # on all weights: the posterior stays flat
    trainer.fit(wide)
    assert np.abs(trainer.result_.weights).max() < 0.01
    free = SoftBLEU(variance=np.inf, prior="sparse").fit(wide)
    assert dict(free.weights) == dict(SoftBLEU().fit(wide).weights)


def test_what_a_prior_may_be_on():
    with pytest.raises(ParameterError, match="prior"):
        SoftBLEU(prior="dense").fit(lists())


def test_weights_as_they_were_left():
    """Those of the model, but for the sharpness: a training that starts there begins with its value."""
    corpus = lists()
    trainer = SoftBLEU(variance=PRIOR)
    model = trainer.fit(corpus)
    ratios = [trainer.weights_[name] / weight for name, weight in model.weights.items()]
    assert ratios == pytest.approx([ratios[0]] * len(ratios))
    assert ratios[0] > 0
    again = SoftBLEU(variance=PRIOR, start=trainer.weights_, iterations=1)
    again.fit(corpus)
    best = min(row["value"] for row in trainer.result_.history)
    assert again.result_.history[0]["value"] == pytest.approx(best)
