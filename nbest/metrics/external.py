"""Scores computed elsewhere (COMET, a classifier, people), one number a hypothesis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from nbest.base.errors import CapabilityError
from nbest.base.parameters import parameter
from nbest.base.types import Floats, Ints, References
from nbest.corpus.texts import Texts
from nbest.metrics.rates import Mean, values_as_stats, versioned


@dataclass(frozen=True, kw_only=True)
class External(Mean):
    """Mean of given values, in their own unit. Statistics: value, count (1).

    `stats_of(values)` gives the statistics; there is nothing to compute from texts. The corpus score of no
    hypotheses is 0. Losses are distances to the best of the values given together.
    """

    label: str = parameter("external", "its name in scores")
    higher_is_better: bool = parameter(True, "whether higher scores are better")

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
        return values_as_stats(self.label, values)

    def signature(self, references: int = 1) -> str:
        """The label and which way is better."""
        return versioned(references, label=self.label, better="higher" if self.higher_is_better else "lower")
