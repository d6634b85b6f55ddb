"""Re-estimating Gaussian kernels (means, variances, priors) through an objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats
from nbest.compute.executors import executor_of, using
from nbest.corpus import NBest
from nbest.features.bins import need_features
from nbest.features.kernels.gaussians import mixture_of, standardised
from nbest.features.kernels.mixture import GaussianMixture
from nbest.features.kernels.posteriors import (
    Hypotheses,
    hypotheses,
    kernel_posteriors,
    largest_on,
    on_device,
    rows_on,
)
from nbest.objectives.base import Objective

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from nbest.compute.cuda.mixtures import DeviceMixture
    from nbest.objectives.shard import Shard

PARTS = ("means", "variances", "priors")
"""What of kernels can be moved."""
_BOUNDS = (-27.0, 27.0)  # of logarithms of variances: within what a recipe may have


def reestimate(
    recipe: Mapping[str, Any],
    corpus: NBest,
    objective: Objective,
    weights: Mapping[str, float],
    *,
    parts: Sequence[str] = ("means",),
    iterations: int = 20,
    step: float | None = None,
    threads: int | None = None,
) -> dict[str, Any]:
    """The recipe with other means, under which `objective` (minimised) is no larger than before; weights stay.

    `parts`: what is moved, some of "means", "variances" and "priors" (the last two by their logarithms). `corpus` has
    statistics and not yet the recipe's columns; `weights` are of its own features and of `kernel:m`, in plain units. At
    most `iterations` evaluations of value and gradient with steps along the gradient, the first one `step` long
    (default: 0.05 a kernel, in standardised units), longer after success and shorter after failure.
    Nguyen, Mahajan & He (2007), WMT, section 3.5. Differs: gradient steps that are checked, and derivatives that are
    right (see `value_and_slopes`); with truncated posteriors a step may gain less than the slope promises; the paper
    has the formula of means only. Cost: one application of the recipe an evaluation.
    """
    from nbest.optimisers.ascent import adaptive

    odd = next((part for part in parts if part not in PARTS), None)
    if odd is not None or not parts:
        got = "none" if odd is None else repr(odd)
        raise ParameterError(f"'parts' of reestimate must be some of {', '.join(PARTS)}, got {got}")
    if iterations < 1:
        raise ParameterError(f"'iterations' of reestimate must be >= 1, got {iterations}")
    if step is not None and not 0 < step < np.inf:
        raise ParameterError(f"'step' of reestimate must be > 0 and finite, got {step}")
    problem = MovingKernels(recipe, corpus, objective, weights, threads)
    first = 0.05 * float(np.sqrt(len(problem.mixture))) if step is None else step

    def flat(point: Floats) -> tuple[float, Floats]:
        value, slopes = problem.value_and_slopes(moved(problem.mixture, parts, point))
        return value, np.concatenate([slopes[part].ravel() for part in parts])

    start = np.concatenate([_place(problem.mixture, part).ravel() for part in parts])
    found = adaptive(flat, start, iterations=iterations, step=first)
    mixture = moved(problem.mixture, parts, np.asarray(found.weights))
    every = {"means": mixture.means, "variances": mixture.variances, "priors": np.exp(mixture.log_priors)}
    return {**recipe, **{part: every[part] for part in parts}}


def _place(mixture: GaussianMixture, part: str) -> Floats:
    """Where a part of a mixture is, in the units in which it is moved."""
    places = {"means": mixture.means, "variances": np.log(mixture.variances), "priors": mixture.log_priors}
    return places[part]


def moved(mixture: GaussianMixture, parts: Sequence[str], point: Floats) -> GaussianMixture:
    """The mixture with these parts at a point: means, logarithms of variances and of priors, one after the other."""
    places = {part: _place(mixture, part) for part in PARTS}
    ends = np.cumsum([places[part].size for part in parts])
    for part, values in zip(parts, np.split(point, ends[:-1]), strict=True):
        places[part] = values.reshape(places[part].shape)
    log_priors = places["priors"] - np.logaddexp.reduce(places["priors"])
    return GaussianMixture(places["means"], np.exp(np.clip(places["variances"], *_BOUNDS)), log_priors)


class MovingKernels:
    """An objective as a function of the kernels of a recipe, in standardised units."""

    def __init__(
        self,
        recipe: Mapping[str, Any],
        corpus: NBest,
        objective: Objective,
        weights: Mapping[str, float],
        threads: int | None = None,
    ) -> None:
        need_features(corpus, recipe["names"], "reestimate")
        stats, metric = corpus.need_stats()
        self.recipe, self.objective, self.threads = recipe, objective, threads
        names, centre, scale = (recipe[name] for name in ("names", "centre", "scale"))
        self.x = standardised(corpus, names, centre, scale, recipe.get("within", False))
        self.mixture = mixture_of(self.x.shape[1], recipe["means"], recipe["variances"], recipe["priors"])
        self.shards = hypotheses(self.x, len(self.mixture), threads)
        self.kernel_weights = np.array([weights.get(f"kernel:{m}", 0.0) for m in range(len(self.mixture))])
        self.linear = corpus.features @ np.array([weights.get(name, 0.0) for name in corpus.feature_names])
        if corpus.sparse is not None:
            self.linear += corpus.sparse @ np.array([weights.get(name, 0.0) for name in corpus.sparse_names])
        self.shard = _identity(corpus, metric.losses(stats))

    def value_and_slopes(self, mixture: GaussianMixture) -> tuple[float, dict[str, Floats]]:
        """Value (without the penalty on weights, which is constant here) and its derivatives.

            d q_m / d mu_m =  q_m (1 - q_m) C_m^-1 (h - mu_m)
            d q_r / d mu_m = -q_r q_m       C_m^-1 (h - mu_m),  r != m
            pull_m(h)      = dJ / d score_h  q_m(h) (weight_m - sum_r weight_r q_r(h))
            dJ / d mu_m    = sum_h pull_m(h) C_m^-1 (h - mu_m)                     "means" [M, D]
            dJ / d log C_m = sum_h pull_m(h) (C_m^-1 (h - mu_m)^2 - 1) / 2         "variances" [M, D]; [1, D] if shared
            dJ / d log w_m = sum_h pull_m(h)                                       "priors" [M]

        (The paper prints the first two with a stray w and a slip of sign.)
        """
        top, tolerance = self.recipe["top"], self.recipe["tolerance"]
        device = on_device(mixture, top)
        pulls: Pulls | DevicePulls
        if device is not None:
            pulls = DevicePulls(device, self.shards, self.kernel_weights, min(top, len(mixture)), tolerance)
        else:
            pulls = Pulls(kernel_posteriors(mixture, self.shards, top, tolerance, self.threads), self.kernel_weights)
        scores = self.linear + pulls.added
        with using(executor_of(self.threads)):
            value, credit = self.objective.combine(self.objective.moments(scores, self.shard))
            share = self.objective.gradient(scores, self.shard, credit)
        return value, _slopes(mixture, *pulls.sums(share, self.x))


def _slopes(mixture: GaussianMixture, mass: Floats, first: Floats, second: Floats) -> dict[str, Floats]:
    """Derivatives from sums of pulls, of pulls * x and of pulls * x^2."""
    around = second - 2 * mixture.means * first + mass[:, None] * mixture.means**2
    widths = (around / mixture.variances - mass[:, None]) / 2
    shared = len(mixture.variances) == 1
    return {
        "means": (first - mass[:, None] * mixture.means) / mixture.variances,
        "variances": widths.sum(axis=0, keepdims=True) if shared else widths,
        "priors": mass,
    }


class Pulls:
    """What hypotheses do to the means: share_h q_m(h) (weight_m - sum_r weight_r q_r(h))."""

    def __init__(self, q: csr_array, weights: Floats) -> None:
        self.q, self.weights, self.added = q, weights, q @ weights  # [H] what kernels add to scores

    def sums(self, share: Floats, x: Floats) -> tuple[Floats, Floats, Floats]:
        """[M] sums of pulls, [M, D] of pulls * x and of pulls * x^2."""
        sizes = np.diff(self.q.indptr)
        pull = self.q.copy()
        gain = self.weights[self.q.indices] - np.repeat(self.added, sizes)
        pull.data = self.q.data * np.repeat(share, sizes) * gain
        return pull.T @ np.ones(len(x)), pull.T @ x, pull.T @ x**2


class DevicePulls:
    """The same on a device."""

    def __init__(
        self, mixture: DeviceMixture, shards: list[Hypotheses], weights: Floats, top: int, tolerance: float
    ) -> None:
        self.mixture, self.device, self.shards = mixture, mixture.device, shards
        self.found, added = [], []
        with self.device.working():
            own = self.device.put(weights)
            for shard in shards:
                which, q, counts = largest_on(mixture, top, tolerance, shard)
                kept = self.device.torch.arange(which.shape[1], device=self.device.device)[None, :] < counts[:, None]
                gains = own[which.long()]
                sums = (self.device.torch.where(kept, q, 0.0) * gains).sum(1)
                self.found.append((which, q * (gains - sums[:, None]), kept))
                added.append(self.device.get(sums))
        self.added = np.concatenate(added)

    def sums(self, share: Floats, x: Floats) -> tuple[Floats, Floats, Floats]:
        """[M] sums of pulls, [M, D] of pulls * x and of pulls * x^2."""
        from nbest.compute.cuda.sparse import by_column

        count, at = len(self.mixture.means), 0
        total = np.zeros((count, 1 + 2 * x.shape[1]))
        with self.device.working():
            for shard, (which, pull, kept) in zip(self.shards, self.found, strict=True):
                rows = rows_on(self.mixture, shard)
                own = self.device.put(share[at : at + len(rows)])
                at += len(rows)
                entries = by_column(self.device, which, pull * own[:, None], kept, count)
                factors = [self.device.torch.ones_like(own), *rows.T.contiguous(), *(rows.T.contiguous() ** 2)]
                total += np.stack([self.device.get(entries.long(each))[:count] for each in factors], axis=1)
        first, second = np.split(total[:, 1:], 2, axis=1)
        return total[:, 0], first, second


def _identity(corpus: NBest, losses: Floats) -> Shard:
    """A shard that has one feature a hypothesis: its weights are the scores, its gradient is dJ / d score [H]."""
    from nbest.objectives.shard import Shard

    class Identity(Shard):
        def scores(self, weights: Floats) -> Floats:
            return weights

        def dense_and_extra(self, weights: Floats) -> tuple[Floats, Floats]:
            return np.zeros(0), weights

        def with_extra(self, dense: Floats, share: Floats) -> Floats:
            return share

        def weighted_sum(self, amounts: Floats) -> Floats:
            return amounts

    return Identity(corpus.only_features(()), np.zeros(0), losses)
