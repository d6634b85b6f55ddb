"""Scores computed elsewhere (COMET, a classifier, people), one number a hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.parameters import parameter
from nbest.base.types import Floats, Ints, References
from nbest.compute.jets import Value
from nbest.corpus.texts import Texts
from nbest.metrics.rates import smooth_rate, versioned


@dataclass(frozen=True, kw_only=True)
class External:
    """Mean of given values, in their own unit. Statistics: value, count (1).

    `stats_of(values)` gives the statistics; there is nothing to compute from texts. The corpus score of no
    hypotheses is 0. Losses are distances to the best of the values given together.
    """

    label: str = parameter("external", "its name in scores")
    higher_is_better: bool = parameter(True, "whether higher scores are better")

    stat_names = ("value", "count")

    @property
    def name(self) -> str:
        """The label."""
        return self.label

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """Always a `CapabilityError`: the values come from outside."""
        raise CapabilityError(
            f"{self.label} is not computed from texts; give one value for each hypothesis, as 'score' of JSON lines, a "
            f"column of the lists or a file (in Python: with_metric uses corpus.gains, or stats_of(values))"
        )

    def stats_of(self, values: npt.ArrayLike) -> Floats:
        """[H, 2] statistics of values [H]."""
        column = np.asarray(values, np.float64)
        if column.ndim != 1:
            raise ParameterError(f"values of {self.label} must be one number a hypothesis, got shape {column.shape}")
        if not np.isfinite(column).all():
            place = int(np.argmax(~np.isfinite(column)))
            raise ParameterError(f"values of {self.label} must be finite, got {column[place]} for hypothesis {place}")
        return np.stack([column, np.ones(len(column))], axis=1)

    def score(self, totals: Floats) -> Floats:
        """[...] mean value of totals [..., 2]; 0 where nothing was counted."""
        totals = np.asarray(totals, np.float64)
        value, count = totals[..., 0], totals[..., 1]
        return np.divide(value, count, out=np.zeros(value.shape), where=count > 0)

    def smooth(self, s: Sequence[Value]) -> Value:
        """The mean of expected totals, negated where lower is better."""
        return smooth_rate(s[0], s[1]) if self.higher_is_better else -smooth_rate(s[0], s[1])

    def losses(self, stats: Floats) -> Floats:
        """[H] largest value - value; for a cost the cost itself, or cost - smallest cost where one is negative."""
        values = stats[:, 0]
        if self.higher_is_better:
            return np.asarray(values.max(initial=-np.inf) - values)
        return np.asarray(values - min(values.min(initial=0.0), 0.0))

    def signature(self, references: int = 1) -> str:
        """The label and which way is better."""
        return versioned(references, label=self.label, better="higher" if self.higher_is_better else "lower")
