"""Panels of a picture: lines, heat map, histogram. `nbest.report.picture` draws axes and legends around them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.report.axes import Scale, Ticks, label, padded, step_of, ticks
from nbest.report.lettering import wrapped
from nbest.report.panel import LINE, Axis, Key
from nbest.report.svg import COLOURS, INK, PALE, Canvas, place, shade, text_width

Range = tuple[float, float, int]
"""From an x to an x, and the number of what is chosen there."""
DASHES = {"solid": None, "dashed": "6 4", "dotted": "1.5 3.5"}
"""Styles of lines."""

_STRIP = 0.11  # of the height of a panel, above and below the curves
_DOT = 2.6  # radius of the dots of a line
_GAP, _BAR = 14.0, 14.0  # between a heat map and its colour bar, and the width of that


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

    def inset(self) -> float:
        """Half of the widest line, or a dot."""
        return 2.0 + max((max(s.width / 2, _DOT if s.dots else 0.0) for s in self.series), default=0.0)

    def x_axis(self) -> Axis:
        """As given; where all x are whole numbers (rounds, features) there are no ticks between these."""
        return Axis(self.x_ticks, self.log, all(float(at).is_integer() for s in self.series for at in s.x))

    def y_axis(self) -> Axis:
        """Round ticks."""
        return Axis()

    def keys(self) -> list[Key]:
        """One entry a named series."""
        return [Key(s.name, s.colour, s.style) for s in self.series if s.name]

    def room(self, height: float) -> float:
        """Nothing stands beside the plot."""
        return 0.0

    def paint(self, canvas: Canvas, x: Scale, y: Scale) -> None:
        """Rules, bands, lines in their order, names of the rules."""
        rules = [(x(at), name) for at, name in self.rules if x.low <= at <= x.high]
        for at, _ in rules:
            canvas.line(at, y.start, at, y.end, PALE, stroke_dasharray="3 3")
        for series in self.series:
            if series.band is not None:
                there, back = ([(x(a), y(b)) for a, b in zip(series.x, end, strict=True)] for end in series.band)
                _shade(canvas, [*there, *reversed(back)], series.colour)
        for series in self.series:
            points = [(x(a), y(b)) for a, b in zip(series.x, series.y, strict=True) if not math.isnan(b)]
            canvas.path(points, series.colour, stroke_width=series.width, stroke_dasharray=DASHES[series.style])
            for at, height in points if series.dots else ():
                canvas.element("circle", cx=at, cy=height, r=_DOT, fill=series.colour)
        for at, name in rules:  # on top, with a white rim, on the side that has room
            rim = {"stroke": "#ffffff", "paint_order": "stroke"}
            left = at + 6 + text_width(name, 11) > max(x.start, x.end)
            where, anchor = (at - 4, "end") if left else (at + 4, "start")
            canvas.text(where, y.end + 13, name, 11, anchor, fill=PALE, stroke_width=3.0, **rim)


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
        middles = (y.end + max(height, 22.0), y.start - max(height / 2, 21.0))  # names above, numbers below
        for (name, ranges), middle in zip(self.strips, middles, strict=True):
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

    def inset(self) -> float:
        """Cells touch the frame."""
        return 0.0

    def x_axis(self) -> Axis:
        """Round ticks."""
        return Axis()

    def y_axis(self) -> Axis:
        """Round ticks."""
        return Axis()

    def inside(self) -> list[tuple[float, float, str, str]]:
        """The marks that are on the map."""
        low, high, bottom, top = self.extent()
        return [each for each in self.marks if low <= each[0] <= high and bottom <= each[1] <= top]

    def keys(self) -> list[Key]:
        """The marks."""
        return [Key(name, INK, shape) for _, _, name, shape in self.inside()]

    def room(self, height: float) -> float:
        """The colour bar, its ticks and its label."""
        return self._label_at() + LINE * len(wrapped(self.value_label, height, 12)) - 8

    def paint(self, canvas: Canvas, x: Scale, y: Scale) -> None:
        """Cells, neighbours of one colour in a row as one."""
        height = abs(y.end - y.start) / len(self.y)
        edges = np.linspace(x.start, x.end, len(self.x) + 1)
        for at, row in zip(self.y, self.values, strict=True):
            for low, high, colour in _runs([self._colour(value) for value in row]):
                width = edges[high] - edges[low]
                canvas.rect(edges[low], y(at) - height / 2, width, height, colour, shape_rendering="crispEdges")

    def draw_marks(self, canvas: Canvas, x: Scale, y: Scale) -> None:
        """The marks, over the frame where they stand at the edge."""
        for a, b, _, shape in self.inside():
            mark(canvas, x(a), y(b), shape)

    def _colour(self, value: float) -> str:
        dark, bright = self.bounds
        return shade(0.5 if dark == bright else (value - dark) / (bright - dark))

    def _bar_ticks(self) -> Ticks:
        dark, bright = self.bounds
        return [(dark, label(dark))] if dark == bright else ticks(min(dark, bright), max(dark, bright))

    def _label_at(self) -> float:
        """Where the label of the colour bar begins, from the frame."""
        return _GAP + _BAR + 7 + max((text_width(name, 11) for _, name in self._bar_ticks()), default=0.0) + 12

    def bar(self, canvas: Canvas, left: float, top: float, height: float) -> None:
        """The colour bar right of the frame, which ends at `left`: bright on top."""
        dark, bright = self.bounds
        steps, at = 64, left + _GAP
        for k in range(steps):
            canvas.rect(at, top + k * height / steps, _BAR, height / steps + 0.5, shade(1 - (k + 0.5) / steps))
        canvas.rect(at, top, _BAR, height, "none", stroke=PALE, stroke_width=0.8)
        scale = Scale(*((dark - 1, dark + 1) if dark == bright else (dark, bright)), top + height, top)
        for value, name in self._bar_ticks():
            canvas.line(at + _BAR, scale(value), at + _BAR + 4, scale(value), PALE)
            canvas.text(at + _BAR + 7, scale(value) + 4, name, 11)
        middle, lines = top + height / 2, wrapped(self.value_label, height, 12)
        for number, line in enumerate(lines):  # reads downwards, so the first line is the outer one
            across = left + self._label_at() + LINE * (len(lines) - 1 - number)
            canvas.text(across, middle, line, 12, "middle", transform=f"rotate(90 {across:.2f} {middle:.2f})")


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

    def inset(self) -> float:
        """Bars end before the frame."""
        return 0.0

    def x_axis(self) -> Axis:
        """Round ticks."""
        return Axis()

    def y_axis(self) -> Axis:
        """Whole numbers."""
        return Axis(whole=True)

    def keys(self) -> list[Key]:
        """One box a series."""
        return [Key(name, colour, "box") for name, _, colour in self.groups if name]

    def room(self, height: float) -> float:
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

    def inset(self) -> float:
        """As much as a dot."""
        return 4.4

    def x_axis(self) -> Axis:
        """Round ticks."""
        return Axis()

    def y_axis(self) -> Axis:
        """The names, the first on top."""
        return Axis([(float(at), name) for at, (name, *_) in zip(range(len(self.dots))[::-1], self.dots, strict=True)])

    def keys(self) -> list[Key]:
        """Names stand at the axis."""
        return []

    def room(self, height: float) -> float:
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
