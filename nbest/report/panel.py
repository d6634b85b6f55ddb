"""What `nbest.report.picture` draws axes and legends around."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from nbest.report.axes import Scale, Ticks
from nbest.report.svg import Canvas

LINE = 15.0
"""Height of a line of the label of an axis."""


@dataclass(frozen=True)
class Key:
    """One entry of a legend: a line, a box or a mark."""

    name: str
    colour: str
    shape: str = "solid"  # a style of line, "box", "cross" or "ring"


@dataclass(frozen=True)
class Axis:
    """Ticks of its own, if any; whether it is logarithmic; whether only whole numbers are values."""

    ticks: Ticks | None = None
    log: bool = False
    whole: bool = False


class Panel(Protocol):
    """What a picture draws axes around."""

    @property
    def title(self) -> str: ...

    @property
    def x_label(self) -> str: ...

    @property
    def y_label(self) -> str: ...

    def extent(self) -> tuple[float, float, float, float]:
        """Lowest and highest x, lowest and highest y."""
        ...

    def inset(self) -> float:
        """Pixels between the frame and the lowest or highest x, so that what stands there is whole."""
        ...

    def x_axis(self) -> Axis: ...

    def y_axis(self) -> Axis: ...

    def keys(self) -> list[Key]: ...

    def room(self, height: float) -> float:
        """Pixels wanted to the right of a plot of this height."""
        ...

    def paint(self, canvas: Canvas, x: Scale, y: Scale) -> None:
        """What is inside of the frame."""
        ...
