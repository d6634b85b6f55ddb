"""Gaussian kernels, against plain loops, plain NumPy and scikit-learn."""

import math
from dataclasses import replace

import numpy as np
import pytest

from nbest import BLEU, WER, LogLinear
from nbest.base.errors import CapabilityError, ParameterError
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.features import GaussianKernels, apply_recipes, reestimate
from nbest.features.kernels import em
from nbest.features.kernels.mixture import (
    LANES,
    MANY,
    GaussianMixture,
    densities,
    neighbours,
    padded_rows,
    room_for,
    together,
)
from nbest.features.kernels.posteriors import hypotheses, kernel_posteriors, largest
from nbest.features.kernels.reestimate import PARTS, MovingKernels, moved
from nbest.objectives import NO_PENALTY, Likelihood
from nbest.objectives.risk import Risk
from nbest.testing import toy_lists, with_scaled


def lists(features, size=5):
    """Lists of `size` hypotheses with these features [H, D]."""
    offsets = np.append(np.arange(0, len(features), size), len(features))
    names = tuple(f"f{d}" for d in range(features.shape[1]))
    return NBest(offsets, features, names, tuple(str(i) for i in range(len(offsets) - 1)))


def clusters(seed, count, width, centres=6):
    rng = np.random.default_rng(seed)
    means = rng.normal(0, 2, (centres, width))
    return means[rng.integers(centres, size=count)] + rng.normal(0, 0.6, (count, width))


def some_mixture(seed, size, width, shared=False):
    rng = np.random.default_rng(seed)
    variances = rng.uniform(0.05, 1.5, (1 if shared else size, width))
    return GaussianMixture(rng.normal(0, 1.5, (size, width)), variances, np.log(rng.dirichlet(np.ones(size))))


def plain_logs(mixture, x):
    """[H, M] log(w_m N(x; mu_m, C_m)) by loops."""
    variances = np.broadcast_to(mixture.variances, mixture.means.shape)
    return np.array([
        [
            log_prior - sum(
                (a - b) ** 2 / (2 * v) + math.log(2 * math.pi * v) / 2 for a, b, v in zip(row, mean, own, strict=True)
            )
            for mean, own, log_prior in zip(mixture.means, variances, mixture.log_priors, strict=True)
        ]
        for row in x
    ])  # fmt: skip


def plain_posteriors(mixture, x):
    logs = plain_logs(mixture, x)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def plain_round(mixture, x, floor):
    """One round of expectation maximisation; the new mixture and the log-likelihood before it."""
    logs = plain_logs(mixture, x)
    top = logs.max(axis=1)
    likelihood = float((top + np.log(np.exp(logs - top[:, None]).sum(axis=1))).mean())
    q = plain_posteriors(mixture, x)
    mass = q.sum(axis=0)
    means = q.T @ x / mass[:, None]
    variances = np.stack([(q[:, m : m + 1] * (x - means[m]) ** 2).sum(axis=0) / mass[m] for m in range(len(mass))])
    return GaussianMixture(means, np.maximum(variances, floor), np.log(mass / mass.sum())), likelihood


# posteriors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "width", "shared"), [(1, 1, False), (7, 3, False), (64, 4, True), (150, 14, False)])
def test_posteriors_are_those_of_the_formula(size, width, shared):
    mixture, x = some_mixture(size, size, width, shared), np.random.default_rng(2).normal(0, 2, (45, width))
    exact = plain_posteriors(mixture, x)
    np.testing.assert_allclose(kernel_posteriors(mixture, x, size, 0.0).toarray(), exact, rtol=1e-11, atol=1e-300)
    for tolerance in (1e-1, 1e-3, 1e-6):
        found = kernel_posteriors(mixture, x, size, tolerance).toarray()
        kept = found > 0
        np.testing.assert_allclose(found[kept], exact[kept], rtol=1e-6)
        dropped = np.where(kept, 0.0, exact).sum(axis=1)
        assert (dropped <= tolerance + 1e-8).all()
        smallest = np.where(kept, exact, np.inf).min(axis=1)
        assert (dropped + smallest > tolerance).all()  # none is kept for nothing
        assert (smallest >= np.where(kept, 0.0, exact).max(axis=1)).all()
    capped = kernel_posteriors(mixture, x, 3, 0.0).toarray()
    assert ((capped > 0).sum(axis=1) <= 3).all()
    np.testing.assert_allclose(capped.max(axis=1), exact.max(axis=1), rtol=1e-11)


def test_posteriors_where_hundreds_of_kernels_overlap():
    rng = np.random.default_rng(1)
    mixture = GaussianMixture(rng.normal(0, 0.5, (300, 5)), rng.uniform(0.5, 1.5, (300, 5)), np.full(300, -np.log(300)))
    x = rng.normal(0, 1, (40, 5))
    exact = plain_posteriors(mixture, x)
    found = kernel_posteriors(mixture, x, 8, 1e-3).toarray()
    assert ((found > 0).sum(axis=1) == 8).all()
    np.testing.assert_allclose(np.sort(found, axis=1)[:, -8:], np.sort(exact, axis=1)[:, -8:], rtol=1e-5)


def test_ties_go_to_the_lowest_kernel():
    mixture = GaussianMixture(np.zeros((70, 2)), np.ones((1, 2)), np.zeros(70))
    which, values, counts = largest(mixture, np.ones((3, 2)), 4, 1e-3)
    assert which.tolist() == [[0, 1, 2, 3]] * 3
    assert values == pytest.approx(np.full((3, 4), 1 / 70))
    assert counts.tolist() == [4, 4, 4]


def test_far_values_neither_overflow_nor_vanish():
    corpus = lists(clusters(1, 400, 3))
    recipe = GaussianKernels().fit_ml(corpus, 20)
    for size in (1e3, 1e6, 1e30, 1e300):
        found = apply_recipes(lists(np.array([[size, 0, 0], [-size, size, 0], [0, 0, 0]])), [recipe]).sparse
        assert np.isfinite(found.data).all()
        assert (found.sum(axis=1)[:2] > 0.99).all()


# expectation maximisation ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "width"), [(5, 3), (70, 6)])
@pytest.mark.parametrize("overlap", [0.0, 2.0])
def test_rounds_equal_plain_ones(size, width, overlap, monkeypatch):
    """Both ways to sum (few kernels near, or all of them) give what NumPy gives."""
    from nbest.features.kernels import expect as gaussian_expect

    expect = gaussian_expect.expect.py_func
    monkeypatch.setitem(expect.__globals__, "_OVERLAP", overlap)  # 0: all kernels by chunks, 2: one at a time
    x = clusters(size, 90, width).astype(np.float32).astype(np.float64)
    ours = plain = some_mixture(3, size, width)
    random = np.random.default_rng(1)
    monkeypatch.setattr(em, "expect", expect)
    for _ in range(2):
        ours, past = em.em_round(ours, em.row_shards(x), 0.2, 0.01, random, threads=1)
        plain, likelihood = plain_round(plain, x, 0.01)
        assert past.log_likelihood == pytest.approx(likelihood, abs=2e-6)
        live = np.exp(plain.log_priors) * len(x) > 1e-2  # those that lost their mass are re-seeded in ours
        if not live.all():
            break
        np.testing.assert_allclose(np.exp(ours.log_priors), np.exp(plain.log_priors), rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(ours.means, plain.means, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(ours.variances, plain.variances, rtol=1e-3, atol=1e-4)
    assert past.kernels == size


def test_rounds_equal_those_of_scikit_learn():
    """GaussianMixture of scikit-learn 1.9, from the same start."""
    mixture_module = pytest.importorskip("sklearn.mixture", reason="scikit-learn is not installed")
    x = clusters(5, 600, 4).astype(np.float32).astype(np.float64)
    start = some_mixture(1, 8, 4)
    peer = mixture_module.GaussianMixture(
        8, covariance_type="diag", reg_covar=0.0, tol=0.0, max_iter=6, init_params="random_from_data", random_state=1,
        weights_init=np.exp(start.log_priors), means_init=start.means, precisions_init=1 / start.variances,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="did not converge"):
        peer.fit(x)
    ours = start
    for _ in range(6):
        ours, _ = em.em_round(ours, em.row_shards(x), 0.2, 1e-9, np.random.default_rng(1))
    np.testing.assert_allclose(ours.means, peer.means_, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ours.variances, peer.covariances_, rtol=1e-4, atol=1e-4)
    assert em.mean_log_likelihood(ours, x) == pytest.approx(peer.score(x), abs=1e-6)


def check_rising(history):
    """The likelihood never falls among rounds of one size between re-seedings."""
    for before, after in zip(history[:-1], history[1:], strict=True):
        if before.kernels == after.kernels and before.reseeded == 0:
            assert after.log_likelihood >= before.log_likelihood - 1e-6, (before, after)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("floor", [1e-3, 0.3])
def test_the_likelihood_rises(seed, floor):
    fitter = GaussianKernels()
    done = []
    fitter.progress = lambda *pair: done.append(pair)
    recipe = fitter.fit_ml(lists(clusters(seed, 3000, 5, 40)), 100, iterations=4, seed=seed, floor=floor)
    assert [past.kernels for past in fitter.history_[::4]] == [2, 4, 8, 16, 32, 64, 100]
    check_rising(fitter.history_)
    assert fitter.history_[-1].log_likelihood > fitter.history_[0].log_likelihood + (0.5 if floor < 0.1 else 0.0)
    assert done[-1][0] == done[-1][1] == 4 * 226
    assert recipe["means"].shape == (100, 5)
    assert recipe["variances"].min() >= floor
    assert recipe["priors"].sum() == pytest.approx(1.0)


def test_the_check_of_rising_fails_for_a_wrong_round(monkeypatch):
    """Known-bad: variances half as large as they should be."""
    right = em.em_round

    def wrong(mixture, *rest, **options):
        found, past = right(mixture, *rest, **options)
        return replace(found, variances=np.maximum(found.variances / 2, 1e-3)), past

    monkeypatch.setattr(em, "em_round", wrong)
    fitter = GaussianKernels()
    fitter.fit_ml(lists(clusters(1, 1000, 4)), 8)
    with pytest.raises(AssertionError):
        check_rising(fitter.history_)


def test_the_same_bits_for_any_number_of_threads():
    corpus = lists(clusters(1, 2500, 4, 30))
    first, second = (GaussianKernels(threads=threads).fit_ml(corpus, 70, iterations=2) for threads in (1, 3))
    for key in ("means", "variances", "priors"):
        assert first[key].tobytes() == second[key].tobytes()
    one, two = (apply_recipes(corpus, [{**first, "threads": threads}]).sparse for threads in (1, 4))
    assert one.data.tobytes() == two.data.tobytes()
    assert np.array_equal(one.indices, two.indices)
    other = GaussianKernels().fit_ml(corpus, 70, iterations=2, seed=2)
    assert not np.array_equal(other["means"], first["means"])


@pytest.mark.parametrize(
    "features",
    [
        np.repeat(np.array([[0.0, 1.0], [1.0, -1.0]]), 30, axis=0),  # two distinct points
        np.array([[0.0, 1.0], [2.0, 5.0], [1.0, 1.0]]),  # fewer points than kernels
        np.concatenate([np.zeros((50, 2)), [[1e6, -1e6]]]),  # an outlier
        np.stack([np.arange(40.0), np.full(40, 7.0)], axis=1),  # a constant
        np.random.default_rng(1).normal(1e6, 1e-3, (60, 2)),
        np.random.default_rng(1).normal(0, 1e200, (60, 2)),
    ],
)
def test_nothing_breaks_on_odd_points(features):
    fitter = GaussianKernels()
    recipe = fitter.fit_ml(lists(features), 37)
    for key in ("means", "variances", "priors"):
        assert np.isfinite(recipe[key]).all()
    assert (recipe["priors"] > 0).all()
    check_rising(fitter.history_)
    found = apply_recipes(lists(features), [{**recipe, "top": 37}])
    assert np.isfinite(found.sparse.data).all()
    assert (found.sparse.sum(axis=1) >= 1 - 1e-3 - 1e-9).all()


def test_a_kernel_without_mass_takes_half_of_the_heaviest():
    x = clusters(1, 200, 2)
    far = GaussianMixture(np.array([[0.0, 0.0], [1e4, 1e4], [1.0, 1.0]]), np.ones((3, 2)), np.log(np.full(3, 1 / 3)))
    found, past = em.em_round(far, em.row_shards(x), 0.2, 1e-3, np.random.default_rng(1))
    assert past.reseeded == 1
    assert found.log_priors[1] in found.log_priors[[0, 2]]  # what the two share
    assert np.abs(found.means[1]).max() < 10
    assert np.exp(found.log_priors).sum() == pytest.approx(1.0)


# recipes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ml", "perceptron"])
def test_units_do_not_matter(kind):
    corpus = toy_lists(segments_=60, noise=0.3)
    scaled = with_scaled(corpus, [1e-6, 3.7e5, 0.12])
    weights = np.array([1.0, 0.2, 0.1])
    matrices = []
    for lists_, factors in ((corpus, np.ones(3)), (scaled, np.array([1e-6, 3.7e5, 0.12]))):
        fitter = GaussianKernels()
        model = LogLinear(dict(zip(corpus.feature_names, weights / factors, strict=True)))
        recipe = fitter.fit_ml(lists_, 12) if kind == "ml" else fitter.fit_perceptron(lists_, model)
        matrices.append(apply_recipes(lists_, [recipe]).sparse.toarray())
    np.testing.assert_allclose(matrices[0], matrices[1], atol=2e-3)


def test_perceptron_kernels():
    corpus = toy_lists(segments_=50)
    model = LogLinear({"first": 1.0})
    recipe = GaussianKernels(top=5).fit_perceptron(corpus, model, width=1.0)
    same = GaussianKernels(top=5).fit_perceptron(corpus, model.weights, width=1.0)
    assert np.array_equal(recipe["means"], same["means"])
    x = (corpus.features - corpus.features.mean(axis=0)) / corpus.features.std(axis=0)
    stats, metric = corpus.need_stats()
    losses, chosen, means = metric.losses(stats), model.predict(corpus), []
    for low, high, choice in zip(corpus.offsets[:-1], corpus.offsets[1:], chosen, strict=True):
        if high > low:
            oracle = min(range(low, high), key=lambda h: (losses[h], h))
            if oracle != choice:
                means += [h for h in (choice, oracle) if not any(np.array_equal(x[h], x[m]) for m in means)]
    np.testing.assert_allclose(recipe["means"], x[means], atol=1e-12)
    distances = ((x[:, None] - x[means][None]) ** 2).sum(axis=2)
    others = distances.min(axis=1) > 1e-20
    squares = (x - x[means][distances.argmin(axis=1)]) ** 2
    np.testing.assert_allclose(recipe["variances"], squares[others].mean(axis=0)[None], rtol=1e-9)
    assert (recipe["priors"] == 1 / len(means)).all()
    narrow = GaussianKernels(top=5).fit_perceptron(corpus, model)
    np.testing.assert_allclose(narrow["variances"], recipe["variances"] / 4)
    found = apply_recipes(corpus, [recipe])
    assert found.sparse_names == tuple(f"kernel:{m}" for m in range(len(means)))
    assert np.diff(found.sparse.indptr).max() <= 5
    first = segments.ranks(np.zeros(corpus.hypotheses), corpus.offsets) == 0
    with pytest.raises(CapabilityError, match="needs a segment whose choice is not its oracle"):
        GaussianKernels().fit_perceptron(corpus.keep(first), model)


def test_the_global_covariance_is_that_of_all_hypotheses():
    corpus = toy_lists(segments_=30)
    recipe = GaussianKernels().fit_perceptron(corpus, {"first": 1.0}, covariance="global", width=2.0)
    values = np.stack([corpus.column(name) for name in recipe["names"]], axis=1)
    np.testing.assert_allclose(recipe["variances"], 4 * (values.var(axis=0) / recipe["scale"] ** 2)[None])


def test_recipes_through_npz_other_columns_and_empty_lists(tmp_path):
    corpus = toy_lists(sparse=True)
    recipe = GaussianKernels(features=["third", "first"]).fit_ml(corpus, 5)
    assert recipe["names"] == ["third", "first"]
    np.savez(tmp_path / "r.npz", **recipe)
    with np.load(tmp_path / "r.npz", allow_pickle=False) as packed:
        back = {**recipe, **{k: packed[k] for k in ("centre", "scale", "means", "variances", "priors")}}
    found = apply_recipes(corpus, [back])
    assert np.array_equal(found.sparse.toarray(), apply_recipes(corpus, [recipe]).sparse.toarray())
    assert found.sparse_names[8:] == tuple(f"kernel:{m}" for m in range(5))
    assert np.array_equal(found.features, corpus.features)
    empty = corpus.keep(np.zeros(corpus.hypotheses, bool))
    assert apply_recipes(empty, [recipe]).sparse.shape == (0, 13)
    one = corpus.keep(segments.ranks(np.zeros(corpus.hypotheses), corpus.offsets) == 0)
    assert apply_recipes(one, [GaussianKernels().fit_ml(one, 3)]).sparse.shape == (one.hypotheses, 11)
    single = replace(corpus, features=corpus.features.astype(np.float32))
    assert np.abs((apply_recipes(single, [recipe]).sparse - found.sparse).toarray()).max() < 1e-3


def test_bad_options():
    corpus = toy_lists()
    for options, message in (
        ({"kernels": 0}, r"'kernels' of fit_ml must be in 1..262144, got 0"),
        ({"kernels": 300_000}, "'kernels' of fit_ml must be"),
        ({"iterations": 0}, "'iterations' of fit_ml must be >= 1, got 0"),
        ({"fraction": 0.0}, "'fraction' of fit_ml must be > 0, got 0.0"),
        ({"floor": math.nan}, "'floor' of fit_ml must be in"),
    ):
        with pytest.raises(ParameterError, match=message):
            GaussianKernels().fit_ml(corpus, **options)
    for fitter, message in (
        (GaussianKernels(top=0), "'top' of GaussianKernels must be >= 1, got 0"),
        (GaussianKernels(tolerance=1.0), "'tolerance' of GaussianKernels must be in"),
    ):
        with pytest.raises(ParameterError, match=message):
            fitter.fit_ml(corpus)
    with pytest.raises(ParameterError, match="'width' of fit_perceptron must be > 0"):
        GaussianKernels().fit_perceptron(corpus, {"first": 1.0}, width=0.0)
    with pytest.raises(ParameterError, match="'covariance' of fit_perceptron must be nearest or global, got wide"):
        GaussianKernels().fit_perceptron(corpus, {"first": 1.0}, covariance="wide")
    with pytest.raises(CapabilityError, match=r"fit_ml needs the feature 'frist' .* did you mean 'first'"):
        GaussianKernels(features=["frist"]).fit_ml(corpus)
    with pytest.raises(CapabilityError, match="fit_ml needs a dense feature that varies"):
        GaussianKernels().fit_ml(corpus.keep(np.zeros(corpus.hypotheses, bool)))
    recipe = GaussianKernels().fit_ml(corpus, 3)
    with pytest.raises(CapabilityError, match="the feature 'gaussians' needs the feature 'second'"):
        apply_recipes(corpus.without_features(["second"]), [recipe])
    with pytest.raises(ParameterError, match="already have a feature 'kernel:0'"):
        apply_recipes(corpus, [recipe, recipe])
    for key, value in (("means", np.zeros((3, 2))), ("variances", np.zeros((3, 3))), ("priors", np.zeros(3))):
        with pytest.raises(ParameterError, match="a recipe of gaussians needs"):
            apply_recipes(corpus, [{**recipe, key: value}])


# re-estimation --------------------------------------------------------------------------------------------------


def problem(objective, corpus, size=5, **options):
    recipe = {**GaussianKernels().fit_ml(corpus, size), **options}
    rng = np.random.default_rng(1)
    weights = {"first": 1.0, "second": 0.3} | {f"kernel:{m}": w for m, w in enumerate(rng.normal(0, 2, size))}
    return recipe, weights, MovingKernels(recipe, corpus, objective, weights)


def differences(function, point, step=1e-5):
    """Central differences of a function of an array."""
    slope = np.zeros_like(point)
    for at in np.ndindex(*point.shape):
        move = np.zeros_like(point)
        move[at] = step
        slope[at] = (function(point + move)[0] - function(point - move)[0]) / (2 * step)
    return slope


def along(kernels, part):
    """Value and slope as functions of one part, in the units in which it is moved."""
    start = {
        "means": kernels.mixture.means,
        "variances": np.log(kernels.mixture.variances),
        "priors": kernels.mixture.log_priors,
    }

    def function(point):
        value, slopes = kernels.value_and_slopes(moved(kernels.mixture, (part,), point.ravel()))
        return value, slopes[part]

    return function, start[part]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", ["risk", "annealed", "bleu", "likelihood"])
def test_slopes_are_finite_differences(name, part):
    corpus = toy_lists(segments_=20, metric=BLEU(tokenize="none") if name == "bleu" else WER())
    objective = {
        "risk": Risk(corpus.metric),
        "annealed": Risk(corpus.metric, gamma=1.7, temperature=0.3),
        "bleu": Risk(corpus.metric),
        "likelihood": Likelihood(NO_PENALTY),
    }[name]
    _, _, kernels = problem(objective, corpus, top=5, tolerance=0.0)
    function, point = along(kernels, part)
    value, slope = function(point)
    expected = differences(function, point)
    assert np.isfinite(value)
    assert np.abs(expected).max() > 1e-4
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


def test_the_slope_of_a_shared_variance():
    corpus = toy_lists(segments_=20)
    recipe = GaussianKernels(top=50, tolerance=0.0).fit_perceptron(corpus, {"first": 1.0}, width=2.0)
    weights = {"first": 1.0} | {f"kernel:{m}": np.sin(m) for m in range(len(recipe["means"]))}
    function, point = along(MovingKernels(recipe, corpus, Risk(corpus.metric), weights), "variances")
    assert point.shape == (1, len(recipe["names"]))
    expected = differences(function, point)
    np.testing.assert_allclose(function(point)[1], expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


def test_the_printed_derivative_would_fail():
    """Known-bad: leaving out how a mean changes the other kernel_posteriors (r != m)."""
    corpus = toy_lists(segments_=20)
    recipe, _, means = problem(Risk(corpus.metric), corpus, top=5, tolerance=0.0)
    expected = differences(*along(means, "means"))
    q = kernel_posteriors(means.mixture, means.x, 5, 0.0).toarray()
    scores = means.linear + q @ means.kernel_weights
    _, credit = means.objective.combine(means.objective.moments(scores, means.shard))
    share = means.objective.gradient(scores, means.shard, credit)
    own = q * (1 - q) * share[:, None] * means.kernel_weights
    slope = (own.T @ means.x - own.sum(axis=0)[:, None] * recipe["means"]) / recipe["variances"]
    assert np.abs(slope - expected).max() > 0.1 * np.abs(expected).max()


@pytest.mark.parametrize("parts", [("means",), PARTS])
@pytest.mark.parametrize("options", [{"top": 5, "tolerance": 0.0}, {"top": 2, "tolerance": 1e-2}])
def test_re_estimation_never_makes_the_objective_worse(options, parts):
    corpus = toy_lists(segments_=60, noise=0.5)
    objective = Risk(corpus.metric)
    recipe, weights, _ = problem(objective, corpus, **options)

    def value(of):
        kernels = MovingKernels(of, corpus, objective, weights)
        return kernels.value_and_slopes(kernels.mixture)[0]

    before = value(recipe)
    found = reestimate(recipe, corpus, objective, weights, parts=parts)
    assert value(found) < before
    assert all(found[key] is recipe[key] for key in recipe if key not in parts)
    assert not any(np.array_equal(found[key], recipe[key]) for key in parts)
    assert apply_recipes(corpus, [found]).sparse.shape[1] == len(recipe["means"])
    huge = reestimate(recipe, corpus, objective, weights, parts=parts, iterations=2, step=1e3)
    assert value(huge) <= before


def test_bad_options_of_re_estimation():
    corpus = toy_lists(segments_=20)
    objective = Risk(corpus.metric)
    recipe, weights, _ = problem(objective, corpus)
    with pytest.raises(ParameterError, match="'iterations' of reestimate must be >= 1, got 0"):
        reestimate(recipe, corpus, objective, weights, iterations=0)
    with pytest.raises(CapabilityError, match="reestimate needs the feature 'first'"):
        reestimate(recipe, corpus.without_features(["first"]), objective, weights)
    for parts, got in (((), "none"), (("means", "median"), "'median'")):
        with pytest.raises(ParameterError, match=f"must be some of means, variances, priors, got {got}"):
            reestimate(recipe, corpus, objective, weights, parts=parts)


# chunks that are left out ---------------------------------------------------------------------------------------


def active_chunks(mixture, x, cutoff=20.0):
    """Which chunks are looked at for the first hypotheses, and the largest log density of each chunk for each."""
    packed, room = mixture.packed(), room_for(-(-len(mixture) // LANES))
    count = densities(padded_rows(x), 0, packed, cutoff, room)
    logs = plain_logs(mixture, x)[:, packed.order]
    tops = np.maximum.reduceat(logs, np.arange(0, len(mixture), LANES), axis=1)
    return set(room.active[:count].tolist()), tops


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_chunks_that_are_too_far_are_left_out_and_no_others(seed, shared):
    rng, size, width = np.random.default_rng(seed), 40 * LANES + 7, 5
    variances = rng.uniform(0.005, 0.05, (1 if shared else size, width))
    mixture = GaussianMixture(clusters(seed, size, width), variances, np.log(rng.dirichlet(np.ones(size))))
    x = np.repeat(clusters(seed, 4, width), 4, axis=0) + rng.normal(0, 0.05, (16, width))  # as lists are: by fours
    active, tops = active_chunks(mixture, x)
    needed = np.flatnonzero((tops >= tops.max(axis=1, keepdims=True) - 19.99).any(axis=0))
    assert set(needed.tolist()) <= active
    assert len(active) < tops.shape[1]


def test_all_chunks_are_looked_at_where_all_posteriors_are_wanted():
    rng, size = np.random.default_rng(3), 5 * LANES
    mixture = GaussianMixture(clusters(3, size, 3), np.full((1, 3), 0.01), np.full(size, -np.log(size)))
    assert active_chunks(mixture, rng.normal(0, 1, (16, 3)), 1e30)[0] == set(range(5))


@pytest.mark.parametrize("seed", range(3))
def test_posteriors_of_many_narrow_kernels_are_those_of_the_formula(seed):
    rng, size, width = np.random.default_rng(seed), 9 * LANES + 5, 4
    mixture = GaussianMixture(
        clusters(seed, size, width), rng.uniform(0.01, 0.1, (size, width)), np.log(rng.dirichlet(np.ones(size)))
    )
    x = clusters(seed + 10, 33, width)
    which, values, counts = largest(mixture, x, 8, 1e-6)
    exact = plain_posteriors(mixture, x)
    for h in range(len(x)):
        kept = which[h, : counts[h]]
        np.testing.assert_allclose(values[h, : counts[h]], exact[h, kept], rtol=1e-7)
        assert np.array_equal(kept, np.argsort(-exact[h], kind="stable")[: counts[h]])


def test_neighbours_are_an_order_of_all_in_full_chunks():
    points = np.random.default_rng(5).normal(size=(7 * LANES + 3, 3))
    order = neighbours(points)
    assert np.array_equal(np.sort(order), np.arange(len(points)))
    widths = [np.ptp(points[order[low : low + LANES]], axis=0).prod() for low in range(0, 7 * LANES, LANES)]
    assert np.mean(widths) < 0.3 * np.ptp(points, axis=0).prod()
    assert np.array_equal(neighbours(points[:5]), np.arange(5))


def test_the_order_in_which_hypotheses_pass_many_kernels_does_not_matter():
    """Posteriors to the last bit, sums of expectation maximisation to rounding."""
    rng, width = np.random.default_rng(3), 3
    mixture = GaussianMixture(
        clusters(3, MANY, width), rng.uniform(0.01, 0.1, (MANY, width)), np.full(MANY, -np.log(MANY))
    )
    x = clusters(4, 300, width)
    order = together(x, MANY)
    assert np.array_equal(np.sort(order), np.arange(len(x)))
    assert not np.array_equal(order, np.arange(len(x)))
    assert np.array_equal(together(x, MANY - 1), np.arange(len(x)))
    as_given = largest(mixture, hypotheses(x, MANY - 1), 8, 1e-3)
    for found, plain in zip(largest(mixture, hypotheses(x, MANY), 8, 1e-3), as_given, strict=True):
        np.testing.assert_array_equal(found, plain)
    own, sums = em._statistics(mixture, em.row_shards(x[order]), 1)
    plain, expected = em._statistics(mixture, em.row_shards(x), 1)
    assert own == pytest.approx(plain, rel=1e-12)
    np.testing.assert_allclose(sums, expected, rtol=1e-6, atol=1e-9)


def test_of_equal_kernels_the_first_comes_first():
    mixture = GaussianMixture(np.zeros((3 * LANES, 2)), np.ones((1, 2)), np.full(3 * LANES, -np.log(3 * LANES)))
    which, values, counts = largest(mixture, np.zeros((1, 2)), 4, 1e-3)
    assert which[0].tolist() == [0, 1, 2, 3]
    assert counts.tolist() == [4]
    np.testing.assert_allclose(values[0], 1 / (3 * LANES), rtol=1e-6)
