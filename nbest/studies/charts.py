"""Panels (lines, heat map, histogram) and the picture that puts them side by side with titles, axes and legends."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nbest.studies.svg import (
    COLOURS,
    GRID,
    INK,
    PALE,
    Canvas,
    Scale,
    label,
    padded,
    shade,
    shorten,
    step_of,
    text_width,
    ticks,
)
from nbest.types import Floats

Ticks = Sequence[tuple[float, str]]
_DASHES = {"solid": None, "dashed": "6 4", "dotted": "1.5 3.5"}
_HEAD, _FOOT, _EDGE = 24.0, 50.0, 18.0  # room for a panel's title, its x axis, the right margin
_KEY, _ROW = 26.0, 18.0  # width of a sample in a legend, height of a line of it
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

    def keys(self) -> list[Key]: ...

    def room(self) -> float:
        """Pixels wanted to the right of the plot."""
        ...

    def paint(self, canvas: Canvas, x: Scale, y: Scale) -> None: ...


@dataclass(frozen=True)
class Series:
    """A line through points; without a name it is not in the legend. NaN breaks the line."""

    name: str
    x: Sequence[float] | Floats
    y: Sequence[float] | Floats
    colour: str = COLOURS[0]
    style: str = "solid"
    width: float = 1.8
    dots: bool = False


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
        y = np.concatenate([np.asarray(s.y, np.float64) for s in self.series] or [np.zeros(1)])
        low, high = float(np.nanmin(x)), float(np.nanmax(x))
        if not high > low:
            low, high = (low / 1.5, high * 1.5) if self.log else (low - 0.5, high + 0.5)
        return low, high, *padded(float(np.nanmin(y)), float(np.nanmax(y)))

    def x_axis(self) -> tuple[Ticks | None, bool]:
        """As given."""
        return self.x_ticks, self.log

    def keys(self) -> list[Key]:
        """One entry a named series."""
        return [Key(s.name, s.colour, s.style) for s in self.series if s.name]

    def room(self) -> float:
        """Nothing stands beside the plot."""
        return 0.0

    def paint(self, canvas: Canvas, x: Scale, y: Scale) -> None:
        """Rules, then lines in their order."""
        for at, name in self.rules:
            canvas.line(x(at), y.start, x(at), y.end, PALE, stroke_dasharray="3 3")
            canvas.text(x(at) + 4, y.end + 13, name, 11, fill=PALE)
        for series in self.series:
            points = [(x(a), y(b)) for a, b in zip(series.x, series.y, strict=True) if not math.isnan(b)]
            canvas.path(points, series.colour, stroke_width=series.width, stroke_dasharray=_DASHES[series.style])
            for at, height in points if series.dots else ():
                canvas.element("circle", cx=at, cy=height, r=2.6, fill=series.colour)


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
            _mark(canvas, x(a), y(b), shape)

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
        turn = f"rotate(90 {left + 68:.2f} {middle:.2f})"
        canvas.text(left + 68, middle, self.value_label, 12, "middle", transform=turn)


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

    def counts(self) -> list[Floats]:
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
class Picture:
    """Panels in rows of `columns`, under a title and a line that says what was measured."""

    title: str
    subtitle: str
    panels: Sequence[Panel]
    columns: int = 2
    width: float = 400.0  # of a plot without its margins
    height: float = 300.0

    def svg(self) -> str:
        """The picture as an SVG document."""
        canvas = Canvas()
        columns = max(1, min(self.columns, len(self.panels)))
        rows = [self.panels[at : at + columns] for at in range(0, len(self.panels), columns)]
        lefts = [max(_left(row[c]) for row in rows if c < len(row)) for c in range(columns)]
        rights = [max(row[c].room() for row in rows if c < len(row)) + _EDGE for c in range(columns)]
        total = sum(lefts) + sum(rights) + columns * self.width
        top = 64.0
        for row in rows:
            legend = max(len(list(_legend_rows(panel.keys(), self.width))) for panel in row) * _ROW
            left = 0.0
            for c, panel in enumerate(row):
                self._panel(canvas, panel, left + lefts[c], top, legend)
                left += lefts[c] + self.width + rights[c]
            top += _HEAD + legend + self.height + _FOOT
        for size, at, text, colour, weight in ((16, 28, self.title, INK, "bold"), (12, 48, self.subtitle, PALE, None)):
            # bold is wider than `text_width` thinks, small print narrower
            canvas.text(18, at, shorten(text, total - 36, size), size, fill=colour, font_weight=weight)
        return canvas.document(total, top + 4, self.title)

    def _panel(self, canvas: Canvas, panel: Panel, left: float, top: float, legend: float) -> None:
        canvas.text(left, top + 14, shorten(panel.title, self.width, 13), 13, font_weight="bold")
        _draw_legend(canvas, panel.keys(), left, top + _HEAD, self.width)
        top += _HEAD + legend
        low, high, bottom, ceiling = panel.extent()
        own, log = panel.x_axis()
        x = Scale(low, high, left, left + self.width, log)
        y = Scale(bottom, ceiling, top + self.height, top)
        heat = isinstance(panel, HeatMap)
        if not heat:
            _grid(canvas, x, y, own)
        canvas.clip(left, top, self.width, self.height)
        panel.paint(canvas, x, y)
        canvas.close()
        canvas.rect(left, top, self.width, self.height, "none", stroke=PALE, stroke_width=0.8)
        _axes(canvas, x, y, own, panel)
        if isinstance(panel, HeatMap):
            panel.bar(canvas, left + self.width + 14, top, self.height)


def _count(pixels: float, each: float) -> int:
    """How many ticks an axis has room for."""
    return max(2, int(pixels / each))


def _x_ticks(x: Scale, own: Ticks | None) -> list[tuple[float, str]]:
    """The ticks inside the axis; of those given only as many as have room."""
    if own is None:
        return ticks(x.low, x.high, _count(x.end - x.start, 62))
    kept: list[tuple[float, str]] = []
    for value, name in own:
        wide = text_width(name, 11) / 2 + 4
        if not x.low <= value <= x.high:
            continue
        if kept and x(value) - wide < x(kept[-1][0]) + text_width(kept[-1][1], 11) / 2:
            continue
        kept.append((value, name))
    return kept


def _y_ticks(y: Scale) -> list[tuple[float, str]]:
    return ticks(y.low, y.high, _count(y.start - y.end, 44))


def _grid(canvas: Canvas, x: Scale, y: Scale, own: Ticks | None) -> None:
    for value, _ in _x_ticks(x, own):
        canvas.line(x(value), y.start, x(value), y.end, GRID)
    for value, _ in _y_ticks(y):
        canvas.line(x.start, y(value), x.end, y(value), GRID)


def _axes(canvas: Canvas, x: Scale, y: Scale, own: Ticks | None, panel: Panel) -> None:
    for value, name in _x_ticks(x, own):
        canvas.line(x(value), y.start, x(value), y.start + 4, PALE)
        canvas.text(x(value), y.start + 17, name, 11, "middle")
    for value, name in _y_ticks(y):
        canvas.line(x.start - 4, y(value), x.start, y(value), PALE)
        canvas.text(x.start - 7, y(value) + 4, name, 11, "end")
    canvas.text((x.start + x.end) / 2, y.start + 36, shorten(panel.x_label, x.end - x.start, 12), 12, "middle")
    at, middle = x.start - _left(panel) + 20, (y.start + y.end) / 2
    text = shorten(panel.y_label, y.start - y.end, 12)
    canvas.text(at, middle, text, 12, "middle", transform=f"rotate(-90 {at:.2f} {middle:.2f})")


def _left(panel: Panel) -> float:
    """Room for the y axis of a panel."""
    _, _, low, high = panel.extent()
    widest = max((text_width(name, 11) for _, name in ticks(low, high)), default=0.0)
    return 42.0 + widest + (8.0 if panel.y_label else 0.0)


def _legend_rows(keys: Sequence[Key], width: float) -> Iterator[list[tuple[float, Key]]]:
    """The entries of each line of a legend, with their places."""
    row: list[tuple[float, Key]] = []
    left = 0.0
    for key in keys:
        wide = _KEY + min(text_width(key.name, 11), width - _KEY) + 16
        if row and left + wide - 16 > width:
            yield row
            row, left = [], 0.0
        row.append((left, key))
        left += wide
    if row:
        yield row


def _draw_legend(canvas: Canvas, keys: Sequence[Key], left: float, top: float, width: float) -> None:
    for number, row in enumerate(_legend_rows(keys, width)):
        middle = top + number * _ROW + 6
        for shift, key in row:
            at = left + shift
            if key.shape in _DASHES:
                dash = _DASHES[key.shape]
                canvas.line(at, middle, at + 20, middle, key.colour, stroke_width=2, stroke_dasharray=dash)
            elif key.shape == "box":
                canvas.rect(at + 6, middle - 6, 12, 12, key.colour)
            else:
                _mark(canvas, at + 11, middle, key.shape)
            canvas.text(at + _KEY, middle + 4, shorten(key.name, width - _KEY, 11), 11)


def _mark(canvas: Canvas, x: float, y: float, shape: str) -> None:
    """A mark that is seen on dark and on bright ground."""
    for colour, width in (("#ffffff", 4.0), (INK, 1.8)):
        if shape == "ring":
            canvas.element("circle", cx=x, cy=y, r=5, fill="none", stroke=colour, stroke_width=width)
        else:
            canvas.line(x - 5, y - 5, x + 5, y + 5, colour, stroke_width=width)
            canvas.line(x - 5, y + 5, x + 5, y - 5, colour, stroke_width=width)


def _runs(colours: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Stretches of one colour: from, up to, colour."""
    start = 0
    for at in range(1, len(colours) + 1):
        if at == len(colours) or colours[at] != colours[start]:
            yield start, at, colours[start]
            start = at
