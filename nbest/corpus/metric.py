"""What a corpus asks of a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from nbest.base.types import Floats, Ints, References
from nbest.corpus.texts import Texts


@runtime_checkable
class Metric(Protocol):
    """A corpus metric with additive statistics.

    Statistics of a corpus are the sum of those of the chosen hypotheses; `score` is a pure function of
    such totals, defined for all-zero totals, and works on any array whose last axis holds the M statistics.
    """

    @property
    def name(self) -> str: ...

    @property
    def higher_is_better(self) -> bool: ...

    @property
    def stat_names(self) -> tuple[str, ...]: ...

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, M] statistics of every hypothesis against the references of its segment."""
        ...

    def score(self, totals: Floats) -> Floats:
        """[...] scores of totals [..., M], in the metric's usual unit (percent)."""
        ...

    def losses(self, stats: Floats) -> Floats:
        """[H] loss of each hypothesis alone, >= 0, smaller is better (for gold sets and oracles)."""
        ...

    def signature(self, references: int = 1) -> str:
        """How the score was computed, so that two scores can be compared. `references` per segment, -1 if varied."""
        ...


class SmoothMetric(Metric, Protocol):
    """A metric that can be trained on smoothly: its formula, larger is better, written with `nbest.compute.jets`."""

    def smooth(self, s: Sequence[Any]) -> Any:
        """The formula of M expected totals, plain arrays or jets alike."""
        ...
