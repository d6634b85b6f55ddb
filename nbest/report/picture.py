"""Panels side by side, with titles, axes and legends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nbest.report.axes import Scale, log_ticks, ticks
from nbest.report.charts import DASHES, HeatMap, mark
from nbest.report.lettering import told_apart, wrapped
from nbest.report.panel import LINE, Key, Panel
from nbest.report.svg import GRID, PALE, Canvas, text_width

_HEAD, _FOOT, _EDGE = 24.0, 50.0, 24.0  # room for a panel's title, its x axis, the right margin
_TITLE, _SUBTITLE, _PANEL_TITLE = 20.0, 16.0, 17.0  # height of a further line of each
_KEY, _ROW = 26.0, 18.0  # width of a sample in a legend, height of a line of it
_NAME = 260.0  # width of a name at an axis


@dataclass(frozen=True)
class Picture:
    """Panels in rows of `columns`, under a title and a line that says what was measured."""

    title: str
    subtitle: str
    panels: Sequence[Panel]
    columns: int = 2
    width: float = 400.0  # of a plot without its margins
    height: float = 300.0

    def svg(self, *, inline: str | None = None) -> str:
        """The picture as an SVG document, or as an element of a web page whose ids begin with `inline`."""
        canvas = Canvas(inline)
        columns = max(1, min(self.columns, len(self.panels)))
        rows = [self.panels[at : at + columns] for at in range(0, len(self.panels), columns)]
        lefts = [max(self._left(row[c]) for row in rows if c < len(row)) for c in range(columns)]
        rights = [max(self._right(row[c]) for row in rows if c < len(row)) for c in range(columns)]
        total = sum(lefts) + sum(rights) + columns * self.width
        top = self._draw_titles(canvas, total)
        for row in rows:
            head = max(_head(panel, self.width) for panel in row)
            legend = max(len(list(_legend_rows(panel.keys(), self.width))) for panel in row) * _ROW
            left = 0.0
            for c, panel in enumerate(row):
                self._panel(canvas, panel, left=left + lefts[c], top=top, head=head, legend=legend)
                left += lefts[c] + self.width + rights[c]
            labels = max(len(wrapped(panel.x_label, self.width, 12)) for panel in row)
            top += head + legend + self.height + _FOOT + LINE * max(0, labels - 1)
        return canvas.document(total, top + 4, self.title)

    def _draw_titles(self, canvas: Canvas, total: float) -> float:
        """The title and the line below it, over several lines where they are long; where the panels begin."""
        titles = wrapped(self.title, total - 36, 16, bold=True) or [""]
        subtitles = wrapped(self.subtitle, total - 36, 12) or [""]
        for number, line in enumerate(titles):
            canvas.text(18, 28 + _TITLE * number, line, 16, font_weight="bold")
        below = 48 + _TITLE * (len(titles) - 1)
        for number, line in enumerate(subtitles):
            canvas.text(18, below + _SUBTITLE * number, line, 12, fill=PALE)
        return below + _SUBTITLE * len(subtitles)

    def _scales(self, panel: Panel, left: float, top: float) -> tuple[Scale, Scale]:
        low, high, bottom, ceiling = panel.extent()
        inset = panel.inset()
        x = Scale(low, high, left + inset, left + self.width - inset, panel.x_axis().log)
        return x, Scale(bottom, ceiling, top + self.height, top)

    def _left(self, panel: Panel) -> float:
        """Room for the y axis of a panel, and for the first tick of its x axis."""
        x, y = self._scales(panel, 0.0, 0.0)
        widest = max((text_width(name, 11) for _, name in _y_ticks(y, panel)), default=0.0)
        lines = len(wrapped(panel.y_label, self.height, 12))
        over = max((text_width(name, 11) / 2 - x(at) for at, name in _x_ticks(x, panel)), default=0.0)
        return max(42.0 + widest + (8.0 + LINE * (lines - 1) if lines else 0.0), over + 8.0)

    def _right(self, panel: Panel) -> float:
        """Room for what is beside a panel, and for the last tick of its x axis."""
        x, _ = self._scales(panel, -self.width, 0.0)
        over = max((text_width(name, 11) / 2 + x(at) for at, name in _x_ticks(x, panel)), default=0.0)
        return max(panel.room(self.height) + _EDGE, over + 8.0)

    def _panel(self, canvas: Canvas, panel: Panel, left: float, top: float, head: float, legend: float) -> None:
        for number, line in enumerate(wrapped(panel.title, self.width, 13, bold=True)):
            canvas.text(left, top + 14 + _PANEL_TITLE * number, line, 13, font_weight="bold")
        _draw_legend(canvas, panel.keys(), left, top + head, self.width)
        top += head + legend
        x, y = self._scales(panel, left, top)
        if not isinstance(panel, HeatMap):
            _grid(canvas, x, y, panel)
        canvas.clip(left, top, self.width, self.height)
        panel.paint(canvas, x, y)
        canvas.close()
        canvas.rect(left, top, self.width, self.height, "none", stroke=PALE, stroke_width=0.8)
        _axes(canvas, x, y, panel)
        self._draw_labels(canvas, panel, left, top + self.height)
        if isinstance(panel, HeatMap):
            panel.draw_marks(canvas, x, y)
            panel.bar(canvas, left + self.width, top, self.height)

    def _draw_labels(self, canvas: Canvas, panel: Panel, left: float, bottom: float) -> None:
        """The names of both axes."""
        for number, line in enumerate(wrapped(panel.x_label, self.width, 12)):
            canvas.text(left + self.width / 2, bottom + 36 + LINE * number, line, 12, "middle")
        middle = bottom - self.height / 2
        for number, line in enumerate(wrapped(panel.y_label, self.height, 12)):
            at = left - self._left(panel) + 20 + LINE * number
            canvas.text(at, middle, line, 12, "middle", transform=f"rotate(-90 {at:.2f} {middle:.2f})")


def _head(panel: Panel, width: float) -> float:
    """Room for the title of a panel."""
    lines = len(wrapped(panel.title, width, 13, bold=True))
    return _HEAD + _PANEL_TITLE * (lines - 1) if lines else 4.0


def _count(pixels: float, each: float) -> int:
    """How many ticks an axis has room for."""
    return max(2, int(pixels / each))


def _x_ticks(x: Scale, panel: Panel) -> list[tuple[float, str]]:
    """The ticks inside the axis that have room: first those at the ends, then from left to right."""
    axis = panel.x_axis()
    if axis.ticks is None:
        round_ticks = log_ticks if axis.log else ticks
        return round_ticks(x.low, x.high, _count(x.end - x.start, 62), whole=axis.whole)
    inside = [(value, name) for value, name in axis.ticks if x.low <= value <= x.high]
    kept: list[tuple[float, str]] = []
    for value, name in (*inside[:1], *inside[-1:], *inside[1:-1]):
        wide = text_width(name, 11) / 2 + 4
        if all(abs(x(value) - x(at)) >= wide + text_width(other, 11) / 2 for at, other in kept):
            kept.append((value, name))
    return sorted(kept)


def _y_ticks(y: Scale, panel: Panel) -> list[tuple[float, str]]:
    axis = panel.y_axis()
    if axis.ticks is None:
        return ticks(y.low, y.high, _count(y.start - y.end, 44), whole=axis.whole)
    names = told_apart([name for _, name in axis.ticks], lambda name: text_width(name, 11) <= _NAME)
    return [(value, name) for (value, _), name in zip(axis.ticks, names, strict=True)]


def _grid(canvas: Canvas, x: Scale, y: Scale, panel: Panel) -> None:
    inset = panel.inset()
    for value, _ in _x_ticks(x, panel):
        canvas.line(x(value), y.start, x(value), y.end, GRID)
    for value, _ in _y_ticks(y, panel):
        canvas.line(x.start - inset, y(value), x.end + inset, y(value), GRID)


def _axes(canvas: Canvas, x: Scale, y: Scale, panel: Panel) -> None:
    edge = x.start - panel.inset()
    for value, name in _x_ticks(x, panel):
        canvas.line(x(value), y.start, x(value), y.start + 4, PALE)
        canvas.text(x(value), y.start + 17, name, 11, "middle")
    for value, name in _y_ticks(y, panel):
        canvas.line(edge - 4, y(value), edge, y(value), PALE)
        canvas.text(edge - 7, y(value) + 4, name, 11, "end")


def _legend_rows(keys: Sequence[Key], width: float) -> Iterator[list[tuple[float, Key]]]:
    """The entries of each line of a legend, with their places; names that are too long are cut and still differ."""
    row: list[tuple[float, Key]] = []
    left = 0.0
    names = told_apart([key.name for key in keys], lambda name: text_width(name, 11) <= width - _KEY)
    for key, name in zip(keys, names, strict=True):
        wide = _KEY + text_width(name, 11) + 16
        if row and left + wide - 16 > width:
            yield row
            row, left = [], 0.0
        row.append((left, replace(key, name=name)))
        left += wide
    if row:
        yield row


def _draw_legend(canvas: Canvas, keys: Sequence[Key], left: float, top: float, width: float) -> None:
    for number, row in enumerate(_legend_rows(keys, width)):
        middle = top + number * _ROW + 6
        for shift, key in row:
            at = left + shift
            if key.shape in DASHES:
                dash = DASHES[key.shape]
                canvas.line(at, middle, at + 20, middle, key.colour, stroke_width=2, stroke_dasharray=dash)
            elif key.shape == "box":
                canvas.rect(at + 6, middle - 6, 12, 12, key.colour)
            else:
                mark(canvas, at + 11, middle, key.shape)
            canvas.text(at + _KEY, middle + 4, key.name, 11)
