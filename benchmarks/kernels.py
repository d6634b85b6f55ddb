"""Gaussian kernels: expectation maximisation against scikit-learn, 16,384 kernels, and 20,000 perceptron kernels."""

from __future__ import annotations

import time

import numpy as np

import nbest
from benchmarks.lists import best_of, files
from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.features import Bins, GaussianKernels, apply_recipes
from nbest.features.kernels.em import em_round, fit_gaussians, mean_log_likelihood, row_shards
from nbest.features.kernels.gaussians import _standard, standardised
from nbest.features.kernels.mixture import GaussianMixture

_ROUNDS = 3


def main() -> None:
    """Print seconds and ratios."""
    corpus = nbest.read(files()[0])
    given = standardised(corpus, *_standard(corpus, None, "benchmark"))
    print(f"{corpus.hypotheses} hypotheses, {given.shape[1]} features; given lists:")
    _expectation_maximisation(given)
    print("clustered, 300 centres:")
    _expectation_maximisation(_clustered(len(given), given.shape[1]))
    _all_sizes(corpus, 1024)
    _all_sizes(corpus, 16384)
    _perceptron(given)
    seconds, recipe = best_of(lambda: Bins(20).fit(corpus), 2)
    applied, _ = best_of(lambda: apply_recipes(corpus, [recipe]), 2)
    print(f"20 bins a feature: fitted in {seconds:.2f} s, applied in {applied:.2f} s")


def _clustered(count: int, width: int) -> Floats:
    rng = np.random.default_rng(1)
    centres, spreads = rng.normal(0, 2, (300, width)), 0.3 + rng.gamma(2, 0.3, (300, width))
    own = rng.integers(300, size=count)
    x = centres[own] + spreads[own] * rng.normal(size=(count, width))
    return np.asarray((x - x.mean(axis=0)) / x.std(axis=0))


def _expectation_maximisation(x: Floats) -> None:
    """Rounds from one start, ours and scikit-learn's, and the likelihoods they reach."""
    start, _ = fit_gaussians(x, 1024, iterations=2, fraction=0.2, floor=1e-3, seed=1)
    shards, random = row_shards(x), np.random.default_rng(1)
    seconds, _ = best_of(lambda: em_round(start, shards, 0.2, 1e-9, random), 3)
    mixture, reseeded = start, 0
    for _ in range(_ROUNDS):
        mixture, past = em_round(mixture, shards, 0.2, 1e-9, random)
        reseeded += past.reseeded
    reached = mean_log_likelihood(mixture, x)
    found = f"log-likelihood {reached:.4f} after {_ROUNDS}, {reseeded} re-seeded"
    print(f"  a round with 1,024 kernels: {seconds:.2f} s; {found}, least variance {mixture.variances.min():.1g}")
    try:
        theirs, value = _peer(start, x)
    except ImportError:
        print("  scikit-learn is not installed: no ratio")
        return
    assert abs(value - reached) < 1e-3, (value, reached)
    print(f"  scikit-learn: {theirs:.2f} s, log-likelihood {value:.4f}: {theirs / seconds:.0f} times slower")


def _peer(start: GaussianMixture, x: Floats) -> tuple[float, float]:
    """Seconds of one E and M step of scikit-learn (the best of two), and the likelihood that it reaches by `fit`."""
    import warnings

    from sklearn.mixture import GaussianMixture

    peer = GaussianMixture(
        len(start), covariance_type="diag", reg_covar=1e-9, tol=0.0, max_iter=_ROUNDS, random_state=1,
        init_params="random_from_data", weights_init=np.exp(start.log_priors), means_init=start.means,
        precisions_init=1.0 / start.variances,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(x)
    reached = float(peer.score(x))

    def one() -> None:
        peer._m_step(x, peer._e_step(x)[1])

    seconds, _ = best_of(one, 2)
    return seconds, reached


def _all_sizes(corpus: NBest, kernels: int) -> None:
    fitter = GaussianKernels()
    begin = time.perf_counter()
    recipe = fitter.fit_ml(corpus, kernels)
    fitted = time.perf_counter() - begin
    seconds, found = best_of(lambda: apply_recipes(corpus, [recipe]), 1)
    kept = found.sparse.sum() / corpus.hypotheses  # type: ignore[union-attr]
    print(
        f"{kernels} kernels: fitted in {fitted:.1f} s ({len(fitter.history_)} rounds from 2 kernels), "
        f"log-likelihood {fitter.history_[-1].log_likelihood:.3f}; applied in {seconds:.1f} s, mass kept {kept:.3f}"
    )


def _perceptron(x: Floats, kernels: int = 20000) -> None:
    """Kernels on hypotheses drawn at random, with the covariance that `fit_perceptron` would give them."""
    from nbest.features.kernels.posteriors import kernel_posteriors

    means = x[np.random.default_rng(1).choice(len(x), kernels, replace=False)]
    spread = GaussianKernels()._spread(x, means)
    for width in (1.0, 0.5):
        mixture = GaussianMixture(means, width**2 * spread[None], np.zeros(kernels))
        seconds, found = best_of(lambda mixture=mixture: kernel_posteriors(mixture, x, 8, 1e-3), 1)  # type: ignore[misc]
        kept, entries = found.sum() / len(x), found.nnz / len(x)
        print(
            f"{kernels} perceptron kernels of width {width} on {len(x)} hypotheses: {seconds:.1f} s, "
            f"{entries:.1f} entries a hypothesis, mass kept {kept:.3f}"
        )


if __name__ == "__main__":
    main()
