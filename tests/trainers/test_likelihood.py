"""Maximum likelihood: the optimum, the prior, sparse features; and the calibration of other trainers."""

import numpy as np
import pytest
from scipy.optimize import minimize

from nbest.base.errors import ConvergenceWarning, ParameterError
from nbest.compute import segments
from nbest.features import within_scale
from nbest.testing import toy_lists
from nbest.trainers import MERT, MaxLikelihood


def objective(corpus, scaled, variance):
    """Minus the penalised log-likelihood of weights in scaled units."""
    scores = corpus.features @ (scaled / within_scale(corpus))
    losses = corpus.metric.losses(corpus.stats)
    least = np.repeat(-segments.maxima(-losses, corpus.offsets), corpus.lengths)
    gold = np.where(losses == least, scores, -np.inf)
    filled = corpus.lengths > 0
    gaps = segments.logsumexp(scores, corpus.offsets)[filled] - segments.logsumexp(gold, corpus.offsets)[filled]
    return gaps.sum() + (scaled**2 / (2 * variance)).sum()


@pytest.mark.parametrize("variance", [0.25, 1.0, 100.0])
def test_the_optimum_is_that_of_another_optimiser(variance):
    """scipy's Nelder-Mead, which uses no gradient."""
    corpus = toy_lists(noise=0.5)
    trainer = MaxLikelihood(variance=variance)
    model = trainer.fit(corpus)
    other = minimize(lambda w: objective(corpus, w, variance), np.zeros(3), method="Nelder-Mead", tol=1e-10)
    assert trainer.result_.value == pytest.approx(other.fun, rel=1e-6)
    np.testing.assert_allclose(trainer.result_.weights, other.x, atol=1e-3)
    plain = np.array([model.weights[name] for name in corpus.feature_names])
    np.testing.assert_allclose(plain * within_scale(corpus), trainer.result_.weights, rtol=1e-12)
    assert trainer.result_.converged


def test_a_variance_for_each_feature():
    corpus = toy_lists(noise=0.5)
    same = MaxLikelihood(variance=1.0).fit(corpus).weights
    named = MaxLikelihood(variance={"third": 1e-8}).fit(corpus).weights
    assert abs(named["third"]) < 1e-4 < abs(same["third"])
    assert MaxLikelihood(variance={"first": 1.0, "second": 1.0}).fit(corpus).weights == same


@pytest.mark.parametrize("variance", [0.0, -1.0, float("nan"), {"first": 0.0}])
def test_bad_variances(variance):
    with pytest.raises(ParameterError, match="'variance' of MaxLikelihood must be > 0, got"):
        MaxLikelihood(variance=variance).fit(toy_lists())


def test_sparse_features_help():
    corpus = toy_lists(sparse=True, noise=1.0)
    trainer = MaxLikelihood(variance=1.0)
    model = trainer.fit(corpus)
    assert set(model.weights) == {*corpus.feature_names, *corpus.sparse_names}
    assert any(model.weights[name] for name in corpus.sparse_names)
    from dataclasses import replace

    dense = MaxLikelihood(variance=1.0)
    dense.fit(replace(corpus, sparse=None, sparse_names=()))
    assert trainer.result_.value < dense.result_.value


def test_too_few_iterations_are_reported():
    trainer = MaxLikelihood(iterations=1)
    with pytest.warns(ConvergenceWarning, match="MaxLikelihood: L-BFGS stopped after 1 iterations"):
        trainer.fit(toy_lists(noise=0.5))
    assert trainer.result_.status == "limit"


def test_no_prior_on_separable_lists_can_be_saved(tmp_path):
    model = MaxLikelihood(variance=float("inf")).fit(toy_lists())
    model.save(tmp_path / "m.json")
    assert all(np.isfinite(list(model.weights.values())))


def test_calibrated_posteriors_make_the_gold_most_likely():
    """MERT's weights are scaled so that no other factor makes the best hypotheses more probable."""
    corpus = toy_lists(noise=0.4)
    model = MERT(restarts=4).fit(corpus)
    losses = corpus.metric.losses(corpus.stats)
    gold = losses == np.repeat(-segments.maxima(-losses, corpus.offsets), corpus.lengths)

    def likelihood(gamma):
        posterior = model.posterior(corpus, gamma)
        mass = segments.sums(np.where(gold, posterior, 0.0), corpus.offsets)
        return np.log(mass[corpus.lengths > 0]).sum()

    assert likelihood(1.0) >= max(likelihood(0.9), likelihood(1.1))
