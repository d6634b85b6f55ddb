"""A fit in a few steps, for choices that have to be made many times: cross-entropy to targets that losses soften."""

from __future__ import annotations

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments

_STEPS = 15
_ENOUGH = 0.02  # twice what a step would gain at most, in nats of the corpus: far less than noise
_LEAST = 1e-3  # of a step


def soft_targets(losses: Floats, offsets: Ints, temperature: float) -> Floats:
    """[H] softmax of minus the losses within lists, in units of `temperature` times their spread within lists.

    Near 0 that is the hypotheses of least loss; larger ones let good hypotheses count that are not the best.
    """
    spread = segments.deviation(losses, offsets)
    return segments.softmax(-losses / (temperature * spread if spread > 0 else 1.0), offsets)


def fit_targets(
    columns: Floats,
    offsets: Ints,
    targets: Floats,
    counts: Floats,
    *,
    variance: float = 1.0,
    start: Floats | None = None,
) -> Floats:
    """[D] weights that make the posterior nearest to the targets [H] in lists that count `counts` [N], by Newton steps.

        value    = sum_i c_i KL(q_i || p_i) + |w|^2 / (2 variance)
        gradient = sum_i c_i sum_k (p_ik - q_ik) f_ik + w / variance
        Hessian  = sum_i c_i Cov_p(f) + 1 / variance

    Convex, with one optimum; `columns` [H, D] should be centred within lists and of unit spread. Cost: H D^2 a step.
    """
    each = np.repeat(counts, segments.lengths(offsets))
    wanted = (each * targets) @ columns
    weights = np.zeros(columns.shape[1]) if start is None else start.astype(np.float64)

    def value_at(point: Floats) -> tuple[float, Floats]:
        scores = columns @ point
        logs = segments.logsumexp(scores, offsets)
        filled = segments.lengths(offsets) > 0
        return float(counts[filled] @ logs[filled] - wanted @ point + point @ point / (2 * variance)), scores

    value, scores = value_at(weights)
    for _ in range(_STEPS):
        mass = each * segments.softmax(scores, offsets)
        gradient = mass @ columns - wanted + weights / variance
        weighed = mass[:, None] * columns
        means = segments.sums(weighed, offsets)  # of lists that count 1 or 0
        hessian = weighed.T @ columns - means.T @ means + np.eye(len(weights)) / variance
        step = np.linalg.solve(hessian, gradient)
        gain, size = float(gradient @ step), 1.0
        if gain < _ENOUGH:
            break
        while True:
            point = weights - size * step
            found, scores = value_at(point)
            if found <= value - 1e-4 * size * gain or size < _LEAST:
                break
            size /= 2
        weights, value = point, found
    return weights
