"""Panels side by side, with titles, axes and legends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nbest.report.charts import DASHES, HeatMap, Key, Panel, Ticks, mark
from nbest.report.svg import GRID, INK, PALE, Canvas, Scale, shorten, text_width, ticks

_HEAD, _FOOT, _EDGE = 24.0, 50.0, 24.0  # room for a panel's title, its x axis, the right margin
_KEY, _ROW = 26.0, 18.0  # width of a sample in a legend, height of a line of it


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
        lefts = [max(_left(row[c], self.height) for row in rows if c < len(row)) for c in range(columns)]
        rights = [max(row[c].room() for row in rows if c < len(row)) + _EDGE for c in range(columns)]
        total = sum(lefts) + sum(rights) + columns * self.width
        top = 64.0
        for row in rows:
            head = _HEAD if any(panel.title for panel in row) else 4.0
            legend = max(len(list(_legend_rows(panel.keys(), self.width))) for panel in row) * _ROW
            left = 0.0
            for c, panel in enumerate(row):
                self._panel(canvas, panel, left=left + lefts[c], top=top, head=head, legend=legend)
                left += lefts[c] + self.width + rights[c]
            top += head + legend + self.height + _FOOT
        for size, at, text, colour, weight in ((16, 28, self.title, INK, "bold"), (12, 48, self.subtitle, PALE, None)):
            canvas.text(18, at, shorten(text, total - 36, size), size, fill=colour, font_weight=weight)
        return canvas.document(total, top + 4, self.title)

    def _panel(self, canvas: Canvas, panel: Panel, left: float, top: float, head: float, legend: float) -> None:
        canvas.text(left, top + 14, shorten(panel.title, self.width, 13), 13, font_weight="bold")
        _draw_legend(canvas, panel.keys(), left, top + head, self.width)
        top += head + legend
        low, high, bottom, ceiling = panel.extent()
        own, log = panel.x_axis()
        x = Scale(low, high, left, left + self.width, log)
        y = Scale(bottom, ceiling, top + self.height, top)
        heat = isinstance(panel, HeatMap)
        if not heat:
            _grid(canvas, x, y, own, panel)
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


def _y_ticks(y: Scale, panel: Panel) -> list[tuple[float, str]]:
    own = panel.y_axis()
    return ticks(y.low, y.high, _count(y.start - y.end, 44)) if own is None else list(own)


def _grid(canvas: Canvas, x: Scale, y: Scale, own: Ticks | None, panel: Panel) -> None:
    for value, _ in _x_ticks(x, own):
        canvas.line(x(value), y.start, x(value), y.end, GRID)
    for value, _ in _y_ticks(y, panel):
        canvas.line(x.start, y(value), x.end, y(value), GRID)


def _axes(canvas: Canvas, x: Scale, y: Scale, own: Ticks | None, panel: Panel) -> None:
    for value, name in _x_ticks(x, own):
        canvas.line(x(value), y.start, x(value), y.start + 4, PALE)
        canvas.text(x(value), y.start + 17, name, 11, "middle")
    for value, name in _y_ticks(y, panel):
        canvas.line(x.start - 4, y(value), x.start, y(value), PALE)
        canvas.text(x.start - 7, y(value) + 4, name, 11, "end")
    canvas.text((x.start + x.end) / 2, y.start + 36, shorten(panel.x_label, x.end - x.start, 12), 12, "middle")
    at, middle = x.start - _left(panel, y.start - y.end) + 20, (y.start + y.end) / 2
    text = shorten(panel.y_label, y.start - y.end, 12)
    canvas.text(at, middle, text, 12, "middle", transform=f"rotate(-90 {at:.2f} {middle:.2f})")


def _left(panel: Panel, height: float) -> float:
    """Room for the y axis of a panel."""
    _, _, low, high = panel.extent()
    widest = max((text_width(name, 11) for _, name in _y_ticks(Scale(low, high, height, 0.0), panel)), default=0.0)
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
            if key.shape in DASHES:
                dash = DASHES[key.shape]
                canvas.line(at, middle, at + 20, middle, key.colour, stroke_width=2, stroke_dasharray=dash)
            elif key.shape == "box":
                canvas.rect(at + 6, middle - 6, 12, 12, key.colour)
            else:
                mark(canvas, at + 11, middle, key.shape)
            canvas.text(at + _KEY, middle + 4, shorten(key.name, width - _KEY, 11), 11)
