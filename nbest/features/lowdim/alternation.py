"""Algorithm 1 of low-dimensional reranking: directions and multipliers of the margins in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbest.base.types import Floats
from nbest.compute import segments
from nbest.features.lowdim.feature import dot_products
from nbest.features.lowdim.solver import Directions
from nbest.features.lowdim.views import Views
from nbest.optimisers.block_cg import Products

_SETTLED = 1e-6  # total slack that changes by less, relatively, has settled


@dataclass(frozen=True)
class Slacks:
    """Where the margins stand under some directions."""

    margins: Floats  # [H] x_i' A B' (y_i - y_ij)
    least: Floats  # [N] xi_i of step 11, with which at least one constraint holds
    slacks: Floats  # [N] the smallest xi_i with which all constraints of eq. 6 hold

    @property
    def total(self) -> float:
        """The sum of all slacks of eq. 6."""
        return float(self.slacks.sum())


def slacks_of(views: Views, directions: Directions, threads: int | None = None) -> Slacks:
    """Steps 10 and 11: psi_ij = (1 - x_i' A B' r_ij) L_ij; xi_i = the least positive psi_ij, 0 where none is positive.

    The paper's step 11 takes the minimum with 0 in the set, which is always 0; its text says the above. The constraints
    of eq. 6 all hold with the largest psi_ij, which is what is to become smaller; the least may well grow when the
    constraint that it belongs to is met and the next one takes its place. Hypotheses of loss 0 carry no constraint.
    """
    size = [directions.k]
    N, offsets = len(views.offsets) - 1, views.offsets
    own, _, _ = dot_products(
        views.inputs, views.references, np.arange(N + 1), A=directions.A, B=directions.B, sizes=size, threads=threads
    )
    each, _, _ = dot_products(
        views.inputs, views.outputs, offsets, directions.A, directions.B, sizes=size, threads=threads
    )
    margins = np.repeat(own[:, 0], np.diff(offsets)) - each[:, 0]
    psi = (1 - margins) * views.losses
    least = -segments.maxima(np.where(psi > 0, -psi, -np.inf), offsets)
    return Slacks(margins, np.where(np.isfinite(least), least, 0.0), np.maximum(segments.maxima(psi, offsets), 0.0))


def stepped(views: Views, multipliers: Floats, slacks: Slacks, step: float) -> Floats:
    """Steps 12 to 14: alpha_ij -= step (x_i' A B' r_ij - (1 - xi_i / L_ij)) where xi_i > 0, and never below 0."""
    xi = np.repeat(slacks.least, np.diff(views.offsets))
    active = (xi > 0) & (views.losses > 0)
    share = np.divide(xi, views.losses, out=np.zeros_like(xi), where=active)
    moved = np.maximum(multipliers - step * (slacks.margins - (1 - share)), 0.0)
    return np.where(active, moved, multipliers)


def alternate(
    views: Views,
    solve: Callable[[Products, Directions | None], Directions],
    lam: float,
    *,
    rounds: int = 5,
    step: float = 1.0,
    start: Directions | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Directions, list[dict[str, Any]]]:
    """Rounds of solving for the directions and stepping along the multipliers; the directions of least total slack.

    Multipliers start at the losses, so that round 0 is the softened model. Differs from the paper: multipliers stay
    >= 0, and where a round raises the total slack the next one starts again from the best with half the step.
    Objective (eq. 6): (1 - lam) / lam sum_c a_c' X'Y b_c - total slack. Each solve starts from the last directions.
    """
    multipliers, history = views.losses, []
    best: tuple[Slacks, Floats, Directions] | None = None
    for number in range(rounds):
        directions = solve(Products(views.targets("discriminative", lam, multipliers), threads), start)
        slacks, start = slacks_of(views, directions, threads), directions
        history.append(_record(views, directions, slacks, lam, number, step=step))
        if progress is not None:
            progress(number + 1, rounds)
        before = None if best is None else best[0].total
        if best is None or slacks.total < best[0].total:
            best = slacks, multipliers, directions
        else:
            step /= 2
        if slacks.total == 0 or (before is not None and abs(before - slacks.total) <= _SETTLED * before):
            break
        multipliers = stepped(views, best[1], best[0], step)
    assert best is not None
    return best[2], history


def _record(
    views: Views, directions: Directions, slacks: Slacks, lam: float, number: int, step: float
) -> dict[str, Any]:
    fit = float(((views.inputs @ directions.A) * (views.references @ directions.B)).sum())
    return {
        "round": number,
        "slack": slacks.total,
        "least": float(slacks.least.sum()),
        "objective": (1 - lam) / lam * fit - slacks.total,
        "open": int((slacks.slacks > 0).sum()),
        "step": step,
        "k": directions.k,
    }
