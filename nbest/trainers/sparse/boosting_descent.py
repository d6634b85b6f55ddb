"""Descent on the exponential loss of pairs, one column at a time, with the fast update of Collins & Koo (2005)."""

from __future__ import annotations

import numpy as np

from nbest.base.types import Floats
from nbest.compute.parallel import over_ranges
from nbest.trainers.sparse.boosting_kernels import BLOCK, OWN, add_up, line_step, model_step, move, rank, rank_all
from nbest.trainers.sparse.boosting_pairs import GoldPairs

_FALL = 0.1  # of the loss, after which all sums are made anew


class Descent:
    """Margins of pairs, weights of columns, and for every column how far it could lower the loss.

        loss      = sum_q s_q exp(-margin_q) / sum_q s_q + penalty / 2 sum_c weight_c^2
        margin_q  = base margin + sum_c weight_c d_qc

    `smoothing` is the epsilon of Collins & Koo (2005): before the step of a column, two pairs of mass
    epsilon Z are added, one for and one against it, so that no step is infinite; Z = sum_q s_q exp(-margin_q).
    A round costs the entries of the pairs in which its column differs; a pass over everything is made only at the
    start and each time that the loss has fallen tenfold, which keeps exp in range and rounding from adding up.
    """

    def __init__(self, pairs: GoldPairs, margins: Floats, smoothing: float, penalty: float = 0.0) -> None:
        self.pairs, self.smoothing, self.penalty = pairs, smoothing, penalty
        self._margins = margins - np.log(pairs.strengths)  # of one pair without a strength
        self._log_strength = float(np.log(pairs.strengths.sum()))
        width = len(pairs.sizes)
        self._cells, self._keys = np.zeros((width, 4)), np.zeros(width)
        blocks = -(-width // BLOCK)
        self._tops, self._tops_at = np.zeros(blocks), np.zeros(blocks, np.int64)
        self._seen, self._touched = np.zeros(blocks, np.int64), np.zeros(width, np.int64)
        self._number = 0
        self.refresh()

    @property
    def weights(self) -> Floats:
        """[C] weight of each column."""
        return self._cells[:, OWN].copy()

    @property
    def loss(self) -> float:
        """The mean exponential loss of pairs, and the penalty."""
        with np.errstate(over="ignore"):
            return float(self._mass * np.exp(self._shift - self._log_strength) + self._penalised)

    @property
    def log_mass(self) -> float:
        """log Z."""
        return float(np.log(self._mass)) + self._shift

    def masses(self) -> tuple[Floats, float]:
        """[C, 2] masses of the pairs for and against each column and that of all pairs, in units of the largest."""
        return self._cells[:, :2].copy(), self._mass

    def refresh(self) -> None:
        """Weights of pairs from their margins, and all sums from them."""
        self._shift = float(-self._margins.min())
        self._weights = np.exp(-self._margins - self._shift)
        self._mass = self._fresh = float(self._weights.sum())
        own = self._cells[:, OWN]
        self._penalised = 0.5 * self.penalty * float(own @ own)
        self._stiff = self.penalty * float(np.exp(min(self._log_strength - self._shift, 700.0)))
        p = self.pairs
        source = (p.starts, p.rows, p.row_values, self._weights, p.sizes, self._cells, self._keys, self._stiff)
        over_ranges(lambda low, high: add_up(low, high, *source), p.starts)
        rank_all(self._keys, self._tops, self._tops_at)

    def best(self) -> tuple[int, float]:
        """The column that lowers the loss most, the first of equals, and by which share of Z it does."""
        block = int(np.argmax(self._tops))
        return int(self._tops_at[block]), float(self._tops[block] / self._mass)

    def step(self, column: int) -> float:
        """The step of a column that makes the smoothed loss least."""
        p, pseudo = self.pairs, self.smoothing * self._mass
        plus, minus, _, own = self._cells[column]
        size = p.sizes[column]
        step = model_step(
            plus=max(plus, 0.0), minus=max(minus, 0.0), size=size, own=own, pseudo=pseudo, penalty=self._stiff
        )
        if p.uniform[column]:
            return float(step)
        masses, distances = self._profile(column)
        return float(line_step(masses, distances, size, own, pseudo, penalty=self._stiff, start=step))

    def move(self, column: int, step: float) -> None:
        """Add a step to the weight of a column."""
        p, cell = self.pairs, self._cells[column]
        self._penalised += 0.5 * self.penalty * step * (2.0 * cell[OWN] + step)
        cell[OWN] += step
        self._number += 1
        pairs = p.offsets, p.columns, p.values
        state = self._margins, self._weights, self._cells, self._touched
        change, count = move(step, p.column(column), pairs, state, self._shift, number=self._number)
        self._mass += change
        if self._mass < _FALL * self._fresh:
            self.refresh()
        else:
            touched = self._touched[:count]
            rank(
                touched,
                self._cells,
                p.sizes,
                self._keys,
                self._stiff,
                number=self._number,
                seen=self._seen,
                tops=self._tops,
                tops_at=self._tops_at,
            )

    def _profile(self, column: int) -> tuple[Floats, Floats]:
        """Masses and differences of the pairs of a column; where differences are whole, one mass a difference."""
        rows, distances = self.pairs.column(column)
        weights = self._weights[rows]
        if distances.dtype != np.int8:
            return weights, np.asarray(distances)
        sums: Floats = np.bincount(distances.astype(np.int64) + 128, weights).astype(np.float64, copy=False)
        found = np.flatnonzero(sums)
        return sums[found], found - 128.0
