"""A small SVG writer: escaped text, shapes, and axes with round ticks. The same drawing gives the same bytes."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from nbest.report.texts import clean

FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
GAMMA = "\u03b3"  # the Greek letter
INK, PALE, GRID = "#222222", "#666666", "#e4e4e4"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c6d31")
"""Colours of series that people who see colours differently can tell apart (Okabe & Ito)."""

_VIRIDIS = (
    "#440154",
    "#482878",
    "#3e4989",
    "#31688e",
    "#26828e",
    "#1f9e89",
    "#35b779",
    "#6ece58",
    "#b5de2b",
    "#fde725",
)


def text_width(text: str, size: float) -> float:
    """About how wide a text is in pixels."""
    return size * sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.56 for c in text)


def shorten(text: str, width: float, size: float) -> str:
    """The text, cut with an ellipsis where it would be wider than `width` pixels."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return text + "…"


def place(value: float) -> str:
    """A coordinate, to a hundredth of a pixel."""
    return "0" if abs(value) < 0.005 else f"{value:.2f}".rstrip("0").rstrip(".")


@dataclass
class Canvas:
    """Shapes in the order they are drawn."""

    parts: list[str] = field(default_factory=list)
    clips: int = 0

    def element(self, name: str, content: str | None = None, /, **attributes: str | float | None) -> None:
        """An element; underscores in names of attributes are hyphens, None is left out."""
        given = {key.strip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
        shown = "".join(
            f" {key}={quoteattr(clean(value) if isinstance(value, str) else place(value))}"
            for key, value in given.items()
        )
        inside = "/>" if content is None else f">{escape(clean(content))}</{name}>"
        self.parts.append(f"<{name}{shown}{inside}")

    def rect(self, x: float, y: float, width: float, height: float, fill: str, **more: str | float | None) -> None:
        """A filled rectangle."""
        self.element("rect", x=x, y=y, width=width, height=height, fill=fill, **more)

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str, **more: str | float | None) -> None:
        """A straight line."""
        self.element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **more)

    def path(self, points: Sequence[tuple[float, float]], stroke: str, **more: str | float | None) -> None:
        """A line through points."""
        if points:
            steps = " L".join(f"{place(x)} {place(y)}" for x, y in points)
            self.element("path", d=f"M{steps}", fill="none", stroke=stroke, stroke_linejoin="round", **more)

    def text(
        self, x: float, y: float, content: str, size: float = 12, anchor: str = "start", **more: str | float | None
    ) -> None:
        """Text; `anchor` is start, middle or end."""
        more.setdefault("fill", INK)
        self.element("text", content, x=x, y=y, font_size=size, text_anchor=anchor, **more)

    def clip(self, x: float, y: float, width: float, height: float) -> None:
        """What follows up to `close` shows only inside this rectangle."""
        self.clips += 1
        name = f"clip{self.clips}"
        box = f'<rect x="{place(x)}" y="{place(y)}" width="{place(width)}" height="{place(height)}"/>'
        self.parts.append(f'<clipPath id="{name}">{box}</clipPath><g clip-path="url(#{name})">')

    def close(self) -> None:
        """End of what `clip` began."""
        self.parts.append("</g>")

    def document(self, width: float, height: float, title: str) -> str:
        """The whole file, on white."""
        size = f'width="{place(width)}" height="{place(height)}" viewBox="0 0 {place(width)} {place(height)}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family={quoteattr(FONT)}>'
        body = "\n".join(self.parts)
        white = '<rect width="100%" height="100%" fill="#ffffff"/>'
        name = f"<title>{escape(clean(title))}</title>"
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}\n{name}\n{white}\n{body}\n</svg>\n'


# axes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """From values low..high to pixels start..end."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        at = math.log(value) if self.log else value
        return self.start + (self.end - self.start) * (at - low) / (high - low)


def step_of(span: float, count: int) -> float:
    """The round step (1, 2, 2.5 or 5 times a power of ten) that cuts `span` into at most about `count` parts."""
    rough = span / count
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if power * factor >= rough * (1 - 1e-9))


def ticks(low: float, high: float, count: int = 6, *, whole: bool = False) -> list[tuple[float, str]]:
    """Round values from low to high, with labels of equal precision; `whole` takes only whole numbers."""
    step = step_of(high - low, count)
    if whole and step % 1:
        step = 1.0 if step < 1 else 5.0  # 2.5 is the only other step that is not whole
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [step * number for number in range(first, last + 1)]
    largest = max((abs(value) for value in values), default=0.0)
    if largest >= 1e6 or step < 1e-4:
        return [(value, _minus(f"{value:.3g}")) for value in values]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    digits += 1 if round(step * 10**digits, 9) % 1 else 0  # a step of 2.5 needs one more
    return [(value, _minus(f"{value + 0.0:.{digits}f}")) for value in values]


def padded(low: float, high: float, share: float = 0.05) -> tuple[float, float]:
    """The range with a margin on both sides; never empty."""
    if not high > low:
        margin = max(abs(low) * 0.01, 1e-3)
        return low - margin, high + margin
    return low - share * (high - low), high + share * (high - low)


def label(value: float) -> str:
    """A number as a label, to four digits."""
    return _minus(f"{value:.4g}")


def _minus(text: str) -> str:
    return text.replace("-", "\u2212")


def shade(share: float) -> str:
    """A colour from dark (0) to bright (1)."""
    at = min(max(share, 0.0), 1.0) * (len(_VIRIDIS) - 1)
    low = min(int(at), len(_VIRIDIS) - 2)
    ends = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in _VIRIDIS[low : low + 2]]
    mixed = [round(a + (b - a) * (at - low)) for a, b in zip(*ends, strict=True)]
    return "#{:02x}{:02x}{:02x}".format(*mixed)
