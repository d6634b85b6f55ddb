"""Panels of a picture: lines, heat map, histogram. `nbest.report.picture` draws axes and legends around them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.report.svg import COLOURS, INK, PALE, Canvas, Scale, label, padded, place, shade, step_of, text_width, ticks

Ticks = Sequence[tuple[float, str]]
Range = tuple[float, float, int]
"""From an x to an x, and the number of what is chosen there."""
DASHES = {"solid": None, "dashed": "6 4", "dotted": "1.5 3.5"}
"""Styles of lines."""

_STRIP = 0.11  # of the height of a panel, above and below the curves
_BAR = 92.0  # room for a colour bar


@dataclass(frozen=True)
class Key:
    """One entry of a legend: a line, a box or a mark."""

    name: str
    colour: str
    shape: str = "solid"  # a style of line, "box", "cross" or "ring"


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

    def x_axis(self) -> tuple[Ticks | None, bool]:
        """Ticks of its own, if any, and whether the axis is logarithmic."""
        ...

    def y_axis(self) -> Ticks | None:
        """Ticks of its own, if any."""
        ...

    def keys(self) -> list[Key]: ...

    def room(self) -> float:
        """Pixels wanted to the right of the plot."""
        ...

    def paint(self, canvas: Canvas, x: Scale, y: Scale) -> None: ...


@dataclass(frozen=True)
class Series:
    """A line through points, over its band; without a name it is not in the legend. NaN breaks the line."""

    name: str
    x: Sequence[float] | Floats
    y: Sequence[float] | Floats
    colour: str = COLOURS[0]
    style: str = "solid"
    width: float = 1.8
    dots: bool = False
    band: tuple[Sequence[float] | Floats, Sequence[float] | Floats] | None = None  # lower and upper ends


@dataclass(frozen=True)
class LineChart:
    """Several series over the same axes; `rules` are vertical lines with labels."""

    series: Sequence[Series]
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    x_ticks: Ticks | None = None
    log: bool = False
    rules: Ticks = ()

    def extent(self) -> tuple[float, float, float, float]:
        """The range of all points, y with a margin."""
        x = np.concatenate([np.asarray(s.x, np.float64) for s in self.series] or [np.zeros(1)])
        heights = [np.asarray(each, np.float64) for s in self.series for each in (s.y, *(s.band or ()))]
        y = np.concatenate(heights or [np.zeros(1)])
        low, high = float(np.nanmin(x)), float(np.nanmax(x))
        if not high > low:
            low, high = (low / 1.5, high * 1.5) if self.log else (low - 0.5, high + 0.5)
        return low, high, *padded(float(np.nanmin(y)), float(np.nanmax(y)))

    def x_axis(self) -> tuple[Ticks | None, bool]:
        """As given."""
        return self.x_ticks, self.log

    def y_axis(self) -> Ticks | None:
        """Round ticks."""
        return None

    def keys(self) -> list[Key]:
        """One entry a named series."""
        return [Key(s.name, s.colour, s.style) for s in self.series if s.name]

    def room(self) -> float:
        """Nothing stands beside the plot."""
        return 0.0

    def paint(self, canvas: Canvas, x: Scale, y: Scale) -> None:
        """Rules, bands, lines in their order, names of the rules."""
        for at, _ in self.rules:
            canvas.line(x(at), y.start, x(at), y.end, PALE, stroke_dasharray="3 3")
        for series in self.series:
            if series.band is not None:
                there, back = ([(x(a), y(b)) for a, b in zip(series.x, end, strict=True)] for end in series.band)
                _shade(canvas, [*there, *reversed(back)], series.colour)
        for series in self.series:
            points = [(x(a), y(b)) for a, b in zip(series.x, series.y, strict=True) if not math.isnan(b)]
            canvas.path(points, series.colour, stroke_width=series.width, stroke_dasharray=DASHES[series.style])
            for at, height in points if series.dots else ():
                canvas.element("circle", cx=at, cy=height, r=2.6, fill=series.colour)
        for at, name in self.rules:  # on top, with a white rim
            rim = {"stroke": "#ffffff", "paint_order": "stroke"}
            canvas.text(x(at) + 4, y.end + 13, name, 11, fill=PALE, stroke_width=3.0, **rim)


@dataclass(frozen=True)
class RangeChart(LineChart):
    """A line chart with two strips that tell what is chosen where, one above and one below the curves."""

    strips: tuple[tuple[str, Sequence[Range]], ...] = ()  # name and ranges; above, below
    colours: tuple[str, ...] = ()  # of each hypothesis

    def extent(self) -> tuple[float, float, float, float]:
        """The range of all points, y with room for the strips."""
        low, high, bottom, top = super().extent()
        return low, high, *padded(bottom, top, 2.2 * _STRIP)

    def paint(self, canvas: Canvas, x: Scale, y: Scale) -> None:
        """Curves, then the strips."""
        super().paint(canvas, x, y)
        height = _STRIP * abs(y.end - y.start)
        for (name, ranges), middle in zip(self.strips, (y.end + height, y.start - height / 2), strict=True):
            canvas.text(x.start + 6, middle - 9, name, 11, fill=PALE)
            for low, high, number in ranges:
                colour = self.colours[number]
                canvas.line(x(low) + 1, middle, x(high) - 1, middle, colour, stroke_width=6.0)
                shown = f"H{number + 1}"
                if x(high) - x(low) > text_width(shown, 11) + 6:
                    canvas.text((x(low) + x(high)) / 2, middle + 16, shown, 11, "middle", fill=colour)


@dataclass(frozen=True)
class HeatMap:
    """A colour for each cell of a grid; bright is good. `marks` are (x, y, name, "cross" or "ring")."""

    x: Floats  # [X] middles of the cells
    y: Floats  # [Y]
    values: Floats  # [Y, X]
    bounds: tuple[float, float]  # values of the darkest and the brightest colour; the first may be the larger
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    value_label: str = ""
    marks: Sequence[tuple[float, float, str, str]] = ()

    def extent(self) -> tuple[float, float, float, float]:
        """To the outer edges of the outer cells."""
        half_x, half_y = (self.x[1] - self.x[0]) / 2, (self.y[1] - self.y[0]) / 2
        return self.x[0] - half_x, self.x[-1] + half_x, self.y[0] - half_y, self.y[-1] + half_y

    def x_axis(self) -> tuple[Ticks | None, bool]:
        """Round ticks."""
        return None, False

    def y_axis(self) -> Ticks | None:
        """Round ticks."""
        return None

    def keys(self) -> list[Key]:
        """The marks."""
        return [Key(name, INK, shape) for _, _, name, shape in self.marks]

    def room(self) -> float:
        """The colour bar."""
        return _BAR

    def paint(self, canvas: Canvas, x: Scale, y: Scale) -> None:
        """Cells, neighbours of one colour in a row as one; marks."""
        height = abs(y.end - y.start) / len(self.y)
        edges = np.linspace(x.start, x.end, len(self.x) + 1)
        for at, row in zip(self.y, self.values, strict=True):
            for low, high, colour in _runs([self._colour(value) for value in row]):
                width = edges[high] - edges[low]
                canvas.rect(edges[low], y(at) - height / 2, width, height, colour, shape_rendering="crispEdges")
        for a, b, _, shape in self.marks:
            mark(canvas, x(a), y(b), shape)

    def _colour(self, value: float) -> str:
        dark, bright = self.bounds
        return shade(0.5 if dark == bright else (value - dark) / (bright - dark))

    def bar(self, canvas: Canvas, left: float, top: float, height: float) -> None:
        """The colour bar: bright on top."""
        dark, bright = self.bounds
        steps = 64
        for k in range(steps):
            canvas.rect(left, top + k * height / steps, 14, height / steps + 0.5, shade(1 - (k + 0.5) / steps))
        canvas.rect(left, top, 14, height, "none", stroke=PALE, stroke_width=0.8)
        if dark == bright:
            canvas.text(left + 20, top + height / 2 + 4, label(dark), 11)
        else:
            scale = Scale(dark, bright, top + height, top)
            for value, name in ticks(min(dark, bright), max(dark, bright)):
                canvas.line(left + 14, scale(value), left + 18, scale(value), PALE)
                canvas.text(left + 21, scale(value) + 4, name, 11)
        middle = top + height / 2
        turn = f"rotate(90 {left + 62:.2f} {middle:.2f})"
        canvas.text(left + 62, middle, self.value_label, 12, "middle", transform=turn)


@dataclass(frozen=True)
class Histogram:
    """How many values fall into bins of equal, round width; several series side by side in each bin."""

    groups: Sequence[tuple[str, Sequence[float] | Floats, str]]  # name, values, colour
    title: str = ""
    x_label: str = ""
    y_label: str = "number of starts"
    parts: int = 20

    def edges(self) -> Floats:
        """The edges of the bins, at multiples of their width."""
        values = np.concatenate([np.asarray(group, np.float64) for _, group, _ in self.groups])
        low, high = float(values.min()), float(values.max())
        if high - low <= 1e-9 * max(abs(low), abs(high), 1.0):
            low, high = padded(low, low, 0)
        step = step_of(high - low, self.parts)
        first, last = math.floor(low / step + 1e-9), math.floor(high / step + 1e-9) + 1
        return step * np.arange(first, last + 1)

    def counts(self) -> list[Ints]:
        """For each series, the number of values in each bin (from its lower edge up to below its upper edge)."""
        edges = self.edges()
        step = edges[1] - edges[0]
        places = [np.floor((np.asarray(g, np.float64) - edges[0]) / step + 1e-9).astype(int) for _, g, _ in self.groups]
        return [np.bincount(np.clip(p, 0, len(edges) - 2), minlength=len(edges) - 1) for p in places]

    def extent(self) -> tuple[float, float, float, float]:
        """All bins; from 0."""
        edges = self.edges()
        top = max(float(counts.max(initial=1)) for counts in self.counts())
        return float(edges[0]), float(edges[-1]), 0.0, top * 1.06

    def x_axis(self) -> tuple[Ticks | None, bool]:
        """Round ticks."""
        return None, False

    def y_axis(self) -> Ticks | None:
        """Whole numbers."""
        _, _, low, high = self.extent()
        return ticks(low, high, 6, whole=True)

    def keys(self) -> list[Key]:
        """One box a series."""
        return [Key(name, colour, "box") for name, _, colour in self.groups if name]

    def room(self) -> float:
        """Nothing stands beside the plot."""
        return 0.0

    def paint(self, canvas: Canvas, x: Scale, y: Scale) -> None:
        """Bars."""
        edges, shown = self.edges(), len(self.groups)
        width = (x(edges[1]) - x(edges[0])) * 0.9 / shown
        for number, ((_, _, colour), counts) in enumerate(zip(self.groups, self.counts(), strict=True)):
            for low, count in zip(edges, counts, strict=False):
                if count:
                    left = x(low) + width * (number + 0.05 * shown)
                    canvas.rect(left, y(count), width, y.start - y(count), colour)


@dataclass(frozen=True)
class DotChart:
    """Named values one below the other, each with its interval; `rule` is a vertical line to compare with."""

    dots: Sequence[tuple[str, float, float, float, str]]  # name, value, lower and upper end, colour
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    rule: float | None = None

    def extent(self) -> tuple[float, float, float, float]:
        """All intervals, with a margin."""
        values = [end for _, value, low, high, _ in self.dots for end in (value, low, high)]
        values += [] if self.rule is None else [self.rule]
        return *padded(min(values), max(values)), -0.6, len(self.dots) - 0.4

    def x_axis(self) -> tuple[Ticks | None, bool]:
        """Round ticks."""
        return None, False

    def y_axis(self) -> Ticks | None:
        """The names, the first on top."""
        return [(float(at), name) for at, (name, *_) in zip(range(len(self.dots))[::-1], self.dots, strict=True)]

    def keys(self) -> list[Key]:
        """Names stand at the axis."""
        return []

    def room(self) -> float:
        """Nothing stands beside the plot."""
        return 0.0

    def paint(self, canvas: Canvas, x: Scale, y: Scale) -> None:
        """The rule, then intervals with their dots."""
        if self.rule is not None:
            canvas.line(x(self.rule), y.start, x(self.rule), y.end, PALE, stroke_dasharray="3 3")
        for at, (_, value, low, high, colour) in zip(range(len(self.dots))[::-1], self.dots, strict=True):
            canvas.line(x(low), y(at), x(high), y(at), colour, stroke_width=2.0)
            canvas.element("circle", cx=x(value), cy=y(at), r=3.4, fill=colour)


def mark(canvas: Canvas, x: float, y: float, shape: str) -> None:
    """A mark that is seen on dark and on bright ground."""
    for colour, width in (("#ffffff", 4.0), (INK, 1.8)):
        if shape == "ring":
            canvas.element("circle", cx=x, cy=y, r=5, fill="none", stroke=colour, stroke_width=width)
        else:
            canvas.line(x - 5, y - 5, x + 5, y + 5, colour, stroke_width=width)
            canvas.line(x - 5, y + 5, x + 5, y - 5, colour, stroke_width=width)


def _shade(canvas: Canvas, points: Sequence[tuple[float, float]], colour: str) -> None:
    """A pale area inside of a line."""
    shape = " ".join(f"{place(a)},{place(b)}" for a, b in points)
    canvas.element("polygon", points=shape, fill=colour, fill_opacity=0.14)


def _runs(colours: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Stretches of one colour: from, up to, colour."""
    start = 0
    for at in range(1, len(colours) + 1):
        if at == len(colours) or colours[at] != colours[start]:
            yield start, at, colours[start]
            start = at
