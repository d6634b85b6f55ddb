"""A small SVG writer: escaped text and shapes. The same drawing gives the same bytes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from nbest.base.errors import ParameterError
from nbest.report.texts import clean

FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
GAMMA = "\u03b3"  # the Greek letter
INK, PALE, GRID = "#222222", "#666666", "#e4e4e4"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c6d31")
"""Colours of series that people who see colours differently can tell apart (Okabe & Ito)."""

_ADVANCES = (("'ijlIJ", 0.3), (" ,.:;/|\\f-", 0.36), ('()[]tr!"', 0.42), ("*_`szc?", 0.54),
             ("KAVBRXZCU", 0.73), ("HNDGOQ&w", 0.82), ("#+<=>^~M", 0.86), ("%mW@", 1.0))  # fmt: skip
"""Widths of letters relative to the size of the font, where they are not 0.64."""

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


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide a text is in pixels, in the widest font of `FONT`."""
    return size * (1.1 if bold else 1.0) * sum(map(_advance, text))


def _advance(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return next((width for letters, width in _ADVANCES if letter in letters), 0.64 if letter < "\u00ff" else 0.8)


def place(value: float) -> str:
    """A coordinate, to a hundredth of a pixel."""
    return "0" if abs(value) < 0.005 else f"{value:.2f}".rstrip("0").rstrip(".")


@dataclass
class Canvas:
    """Shapes in the order they are drawn: of a file of its own, or, with `inline`, of a picture within a web page.

    `inline` begins all ids, so that several pictures in one page do not meet.
    """

    inline: str | None = None
    parts: list[str] = field(default_factory=list)
    clips: int = 0

    def __post_init__(self) -> None:
        if self.inline is not None and not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", self.inline):
            raise ParameterError(
                "'inline' of a picture begins its ids: it must be letters, digits, '-' and '_', a letter first, "
                f"got {self.inline!r}"
            )

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
        name = f"clip{self.clips}" if self.inline is None else f"{self.inline}-clip{self.clips}"
        box = f'<rect x="{place(x)}" y="{place(y)}" width="{place(width)}" height="{place(height)}"/>'
        self.parts.append(f'<clipPath id="{name}">{box}</clipPath><g clip-path="url(#{name})">')

    def close(self) -> None:
        """End of what `clip` began."""
        self.parts.append("</g>")

    def document(self, width: float, height: float, title: str) -> str:
        """The whole file, or the whole element where it is inline; on white."""
        size = f'width="{place(width)}" height="{place(height)}" viewBox="0 0 {place(width)} {place(height)}"'
        named = "" if self.inline is None else f' id="{self.inline}-title"'
        role = 'role="img"' if self.inline is None else f'role="img" aria-labelledby="{self.inline}-title"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {role} font-family={quoteattr(FONT)}>'
        body = "\n".join(self.parts)
        white = '<rect width="100%" height="100%" fill="#ffffff"/>'
        name = f"<title{named}>{escape(clean(title))}</title>"
        above = '<?xml version="1.0" encoding="UTF-8"?>\n' if self.inline is None else ""
        return f"{above}{head}\n{name}\n{white}\n{body}\n</svg>\n"


def shade(share: float) -> str:
    """A colour from dark (0) to bright (1)."""
    at = min(max(share, 0.0), 1.0) * (len(_VIRIDIS) - 1)
    low = min(int(at), len(_VIRIDIS) - 2)
    ends = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in _VIRIDIS[low : low + 2]]
    mixed = [round(a + (b - a) * (at - low)) for a, b in zip(*ends, strict=True)]
    return "#{:02x}{:02x}{:02x}".format(*mixed)
