"""Gaussian kernels: posteriors of a mixture over the dense features as new columns, so that regions can be weighted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.features.bins import need_features
from nbest.features.kernels.em import Round, fit_gaussians
from nbest.features.kernels.mixture import LIMIT, GaussianMixture
from nbest.features.kernels.posteriors import kernel_posteriors, largest
from nbest.features.recipes import record

MOST = 1 << 18
"""The largest number of maximum-likelihood kernels."""
_SAMPLE = 20000  # hypotheses that the covariance of perceptron kernels is measured on


class Chooser(Protocol):
    """A model, as far as kernels are concerned."""

    def predict(self, corpus: NBest) -> Ints:
        """[N] the hypothesis that it chooses of each segment."""
        ...


@dataclass
class GaussianKernels:
    """Kernels over standardised dense features, and the recipe that adds their posteriors as sparse columns.

        q_m(h) = w_m N(h; mu_m, C_m) / sum_r w_r N(h; mu_r, C_r),    C_m diagonal

    Features are centred and divided by their standard deviation over all training hypotheses (both are kept in the
    recipe), so that their units do not matter; constants are left out. With `within` it is not features but their
    differences from the mean of the list: kernels of where a hypothesis stands among the others.
    Each hypothesis keeps its largest posteriors until those left out sum to at most `tolerance`, and at most `top`;
    they are not renormalised.
    New columns start with weight 0 beside the weights of the linear model.
    Nguyen, Mahajan & He (2007), WMT, section 3.4.3. Differs: see `fit_perceptron` for its covariance.
    Cost to apply: H x M x D x 2 multiply-adds in single precision, then `top` entries a hypothesis.
    """

    features: Sequence[str] | None = None  # None: all dense ones
    top: int = 8
    tolerance: float = 1e-3
    within: bool = False  # kernels over differences from the mean of the list
    threads: int | None = None
    progress: Callable[[int, int], None] | None = None  # called with (done, total)
    history_: list[Round] = field(default_factory=list, init=False)  # of `fit_ml`

    def fit_ml(
        self,
        corpus: NBest,
        kernels: int = 1024,
        *,
        iterations: int = 5,
        fraction: float = 0.2,
        floor: float = 1e-3,
        seed: int = 1,
    ) -> dict[str, Any]:
        """Maximum-likelihood kernels by splitting and expectation maximisation; the recipe.

        From one Gaussian: each becomes two, means moved by +- `fraction` of the standard deviation with random signs
        (`seed`), then `iterations` rounds, until there are `kernels`; in the last split only the heaviest.
        Variances are at least `floor` (in standardised units); a Gaussian that loses its mass takes half of the
        heaviest one's. `history_` has the mean log-likelihood before every round: it never falls among rounds of one
        size (up to 1e-6: densities are in single precision) unless some were re-seeded.
        """
        self._check()
        _check("kernels", "fit_ml", f"in 1..{MOST}", 1 <= kernels <= MOST, kernels)
        _check("iterations", "fit_ml", ">= 1", iterations >= 1, iterations)
        _check("fraction", "fit_ml", "> 0", fraction > 0, fraction)
        _check("floor", "fit_ml", "in (0, 1]", 0 < floor <= 1, floor)
        names, centre, scale = _standard(corpus, self.features, "fit_ml", self.within)
        mixture, self.history_ = fit_gaussians(
            standardised(corpus, names, centre, scale, self.within),
            kernels,
            iterations=iterations,
            fraction=fraction,
            floor=floor,
            seed=seed,
            threads=self.threads,
            progress=self.progress,
        )
        arrays = centre, scale, mixture.means, mixture.variances, np.exp(mixture.log_priors)
        return self._recipe(names, arrays)

    def fit_perceptron(
        self,
        corpus: NBest,
        model: Chooser | Mapping[str, float],
        *,
        width: float = 0.5,
        covariance: str = "nearest",
        floor: float = 1e-3,
        among: int | None = None,
    ) -> dict[str, Any]:
        """Perceptron kernels: where the choice of `model` (or these weights) is not the oracle, both are means.

        The oracle hypothesis has the smallest loss of its list, ties to the first; with `among` the smallest of the so
        many best ones under the weights `model`: local updates (Liang et al. 2006). Equal priors, one covariance:

            nearest:  C_d = width^2 * mean over hypotheses of (h_d - mu_d)^2,    mu the nearest mean
            global:   C_d = width^2 * variance of feature d over all hypotheses

        (nearest: at most 20,000 hypotheses, evenly spaced, those that are means themselves left out; at least `floor`).
        The paper says "a global covariance matrix": `covariance="global", width=1` is that to the letter, and makes
        thousands of kernels overlap everywhere. Differs: the default shrinks as means get denser (20,000 of
        the synthetic lists of benchmarks/kernels.py: at width 0.5 four posteriors hold 0.999 of the mass, at width 1
        eight hold 0.8). Means that are equal are taken once.
        """
        self._check()
        _check("width", "fit_perceptron", "> 0 and finite", 0 < width < np.inf, width)
        _check("covariance", "fit_perceptron", "nearest or global", covariance in ("nearest", "global"), covariance)
        _check("floor", "fit_perceptron", "in (0, 1]", 0 < floor <= 1, floor)
        _check("among", "fit_perceptron", ">= 1", among is None or among >= 1, among)
        names, centre, scale = _standard(corpus, self.features, "fit_perceptron", self.within)
        scores: Floats | None = None
        if isinstance(model, Mapping):
            scores = _scores(corpus, model)
            chosen = segments.argmax(scores, corpus.offsets)
        else:
            chosen = model.predict(corpus)
        oracle = corpus.oracle() if among is None else _local_oracle(corpus, scores, among)
        wrong = chosen != oracle
        if not wrong.any():
            raise CapabilityError(
                "fit_perceptron needs a segment whose choice is not its oracle; these lists have none"
            )
        x = standardised(corpus, names, centre, scale, self.within)
        means = _distinct(x[np.stack([chosen[wrong], oracle[wrong]], axis=1).ravel()])
        spread = self._spread(x, means) if covariance == "nearest" else x.var(axis=0)
        variances = np.maximum(width**2 * spread, floor)
        priors = np.full(len(means), 1.0 / len(means))
        return self._recipe(names, (centre, scale, means, variances[None], priors))

    def _spread(self, x: Floats, means: Floats) -> Floats:
        """[D] mean squared difference from the nearest mean."""
        sample = x[:: -(-len(x) // _SAMPLE)]
        even = GaussianMixture(means, np.ones((1, x.shape[1])), np.zeros(len(means)))
        nearest, _, _ = largest(even, sample, 1, 1.0, self.threads)
        squares = (sample - means[nearest[:, 0]]) ** 2
        squares = squares[squares.any(axis=1)]
        return np.asarray(squares.mean(axis=0)) if len(squares) else np.ones(x.shape[1])

    def _check(self) -> None:
        _check("top", "GaussianKernels", ">= 1", self.top >= 1, self.top)
        _check("tolerance", "GaussianKernels", "in [0, 1)", 0 <= self.tolerance < 1, self.tolerance)

    def _recipe(self, names: list[str], arrays: Sequence[Floats]) -> dict[str, Any]:
        keys = ("centre", "scale", "means", "variances", "priors")
        given = dict(zip(keys, arrays, strict=True))
        kept = {"top": int(self.top), "tolerance": float(self.tolerance)}
        return {"kind": "gaussians", "names": names, **given, **kept} | ({"within": True} if self.within else {})


def gaussians(
    corpus: NBest,
    names: Sequence[str],
    centre: Floats,
    scale: Floats,
    means: Floats,
    variances: Floats,
    priors: Floats,
    top: int = 8,
    tolerance: float = 1e-3,
    within: bool = False,
    threads: int | None = None,
) -> NBest:
    """Adds the sparse columns `kernel:0`, `kernel:1`, ... of a recipe that `GaussianKernels` made.

    `centre` and `scale` [D] standardise the features `names`; `means` [M, D], `variances` [M, D] or [1, D] and `priors`
    [M] are in standardised units. Standardised features beyond +-1e5 count as that.
    """
    need_features(corpus, names, "the feature 'gaussians'")
    _check("top", "the feature 'gaussians'", ">= 1", top >= 1, top)
    _check("tolerance", "the feature 'gaussians'", "in [0, 1)", 0 <= tolerance < 1, tolerance)
    _check_standard(len(names), centre, scale)
    mixture = mixture_of(len(names), means, variances, priors)
    x = standardised(corpus, names, centre, scale, within)
    found = kernel_posteriors(mixture, x, top, tolerance, threads)
    return record(
        corpus, corpus.with_sparse([f"kernel:{m}" for m in range(len(mixture))], found), "gaussians", names=names,
        centre=centre, scale=scale, means=means, variances=variances, priors=priors, top=top, tolerance=tolerance,
        **({"within": True} if within else {}),
    )  # fmt: skip


def _check_standard(width: int, centre: Floats, scale: Floats) -> None:
    """What features are standardised by, in a recipe."""
    shapes = np.shape(centre), np.shape(scale)
    if shapes != ((width,), (width,)) or not (np.asarray(scale) > 0).all():
        rule = f"centre [{width}] and scale [{width}] > 0"
        raise ParameterError(f"a recipe of gaussians needs {rule}, got shapes {shapes[0]} and {shapes[1]}")


def mixture_of(width: int, means: Floats, variances: Floats, priors: Floats) -> GaussianMixture:
    """The mixture in a recipe, checked."""
    means, variances, priors = (np.asarray(value, np.float64) for value in (means, variances, priors))
    size = len(means)
    if means.shape != (size, width) or priors.shape != (size,) or variances.shape not in ((size, width), (1, width)):
        got = f"{means.shape}, {variances.shape} and {priors.shape}"
        raise ParameterError(
            f"a recipe of gaussians needs means [M, {width}], variances [M or 1, {width}] and priors [M], got {got}"
        )
    bounded = (np.abs(means) <= 1e9).all() and ((variances >= 1e-12) & (variances <= 1e12)).all()
    if not (size and bounded and (priors >= 0).all() and 0 < priors.sum() < np.inf):
        rule = "at least one kernel, means within +-1e9, variances in [1e-12, 1e12] and priors >= 0, not all 0"
        raise ParameterError(f"a recipe of gaussians needs {rule}, got others")
    with np.errstate(divide="ignore"):
        return GaussianMixture(means, variances, np.log(priors))


def standardised(corpus: NBest, names: Sequence[str], centre: Floats, scale: Floats, within: bool = False) -> Floats:
    """[H, D] (feature - centre) / scale, within +-1e5; `within`: of differences from the mean of the list."""
    index = [corpus.feature_names.index(name) for name in names]
    values: Floats = np.asarray(corpus.features[:, index], np.float64)
    if within:
        values = _differences(values, corpus.offsets)
    with np.errstate(over="ignore"):
        return np.clip((values - np.asarray(centre)) / np.asarray(scale), -LIMIT, LIMIT)


def _differences(values: Floats, offsets: Ints) -> Floats:
    """Values [H, ...] less the mean of their list."""
    lengths = segments.lengths(offsets)
    means = segments.sums(values, offsets) / np.maximum(lengths, 1).reshape(-1, *(1,) * (values.ndim - 1))
    return np.asarray(values - np.repeat(means, lengths, axis=0))


def _standard(
    corpus: NBest, features: Sequence[str] | None, owner: str, within: bool = False
) -> tuple[list[str], Floats, Floats]:
    """The features that vary, their means and standard deviations over all hypotheses."""
    wanted = corpus.feature_names if features is None else features
    need_features(corpus, wanted, owner)
    names, centre, scale = [], [], []
    for name in wanted:
        values = _differences(corpus.column(name), corpus.offsets) if within else corpus.column(name)
        size = np.abs(values).max(initial=0.0)
        if size == 0:
            continue
        middle = float((values / size).mean())  # squares of huge features must not overflow
        deviation = float(np.sqrt(np.mean((values / size - middle) ** 2)))
        if deviation > 1e-13:
            names.append(name)
            centre.append(middle * size)
            scale.append(deviation * size)
    if not names:
        raise CapabilityError(f"{owner} needs a dense feature that varies and these lists have none")
    return names, np.array(centre), np.array(scale)


def _distinct(rows: Floats) -> Floats:
    """Rows without repetitions, in order of first appearance."""
    _, first = np.unique(rows, axis=0, return_index=True)
    return np.asarray(rows[np.sort(first)])


def _check(name: str, owner: str, rule: str, holds: bool, got: object) -> None:
    if not holds:
        raise ParameterError(f"'{name}' of {owner} must be {rule}, got {got}")


def _scores(corpus: NBest, weights: Mapping[str, float]) -> Floats:
    """[H] scores by weights of dense features."""
    scores = np.zeros(corpus.hypotheses)
    for name, weight in weights.items():
        scores += weight * corpus.column(name)
    return scores


def _local_oracle(corpus: NBest, scores: Floats | None, among: int) -> Ints:
    """[N] the hypothesis of smallest loss among the best-scored ones, ties to the first."""
    if scores is None:
        raise ParameterError("'among' of fit_perceptron needs weights for 'model', got an object that chooses")
    stats, metric = corpus.need_stats()
    near = segments.ranks(scores, corpus.offsets) < among
    return segments.argmax(np.where(near, -metric.losses(stats), -np.inf), corpus.offsets)
