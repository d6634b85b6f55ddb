"""Is all of a picture to be seen: nothing cut at a frame or at the edge, no text over another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple
from xml.etree import ElementTree

from nbest.report.svg import text_width

_SVG = "{http://www.w3.org/2000/svg}"
_CUT = 0.06  # pixels; coordinates are to a hundredth
_TOUCH = 1.0  # pixels that texts may overlap: widths are rounded up


class Box(NamedTuple):
    """What a shape covers, with its stroke."""

    left: float
    top: float
    right: float
    bottom: float

    def holds(self, other: Box) -> bool:
        """Whether another box is inside."""
        low = other.left >= self.left - _CUT and other.top >= self.top - _CUT
        return low and other.right <= self.right + _CUT and other.bottom <= self.bottom + _CUT

    def meets(self, other: Box) -> bool:
        """Whether two boxes overlap by more than a touch."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        return wide > _TOUCH and min(self.bottom, other.bottom) - max(self.top, other.top) > _TOUCH


def check_picture(svg: str) -> None:
    """Whether a picture is whole: shapes with their strokes inside of their clip, and all inside of the picture; no
    text over another outside of the plots."""
    root = ElementTree.fromstring(svg.encode("utf-8"))
    page = Box(0.0, 0.0, float(root.get("width", "0")), float(root.get("height", "0")))
    texts: list[tuple[str, Box]] = []
    clips: dict[str, Box] = {}
    for shape, clip in _shapes(root, clips):
        box = _box(shape)
        if box is None:
            continue
        what = f"{shape.tag.removeprefix(_SVG)} {shape.text or ''}at {tuple(round(each, 1) for each in box)}"
        assert page.holds(box), f"{what} sticks out of the picture, {page[2:]}"
        assert clip is None or clip.holds(box), f"{what} is cut at the frame {tuple(clip or ())}"
        if shape.tag == f"{_SVG}text" and clip is None:
            texts.append((shape.text or "", box))
    for (one, here), (other, there) in combinations(texts, 2):
        assert not here.meets(there), f"the texts {one!r} and {other!r} overlap at {here} and {there}"


def _shapes(root: ElementTree.Element, clips: dict[str, Box]) -> Iterator[tuple[ElementTree.Element, Box | None]]:
    """The shapes of a picture, each with the rectangle it is clipped to, if any."""
    for part in root:
        if part.tag == f"{_SVG}clipPath":
            box = _box(part[0])
            assert box is not None
            clips[part.get("id", "")] = box
        elif part.tag == f"{_SVG}g":
            clip = clips[part.get("clip-path", "").removeprefix("url(#").removesuffix(")")]
            yield from ((shape, clip) for shape in part)
        elif part.get("width") != "100%":  # the ground
            yield part, None


def _box(shape: ElementTree.Element) -> Box | None:
    kind = shape.tag.removeprefix(_SVG)
    if kind == "text":
        return _text_box(shape)
    if kind not in ("circle", "line", "path", "polygon", "rect"):
        return None
    value = {key: float(text) for key, text in shape.items() if re.fullmatch(r"-?[\d.]+", text)}
    half = value.get("stroke-width", 1.0) / 2 if shape.get("stroke", "none") != "none" else 0.0
    if kind == "circle":
        x, y, size = value["cx"], value["cy"], value["r"] + half
        return Box(x - size, y - size, x + size, y + size)
    if kind == "rect":
        left, top = value.get("x", 0.0), value.get("y", 0.0)
        return Box(left - half, top - half, left + value["width"] + half, top + value["height"] + half)
    if kind == "line":
        ends = [value[key] for key in ("x1", "x2", "y1", "y2")]
        wide = 0.0 if ends[2] == ends[3] else half  # a line has no stroke past its ends
        high = 0.0 if ends[0] == ends[1] else half
        return Box(min(ends[:2]) - wide, min(ends[2:]) - high, max(ends[:2]) + wide, max(ends[2:]) + high)
    numbers = [float(each) for each in re.findall(r"-?[\d.]+", shape.get("d", shape.get("points", "")))]
    across, down = numbers[::2], numbers[1::2]
    return Box(min(across) - half, min(down) - half, max(across) + half, max(down) + half)


def _text_box(shape: ElementTree.Element) -> Box | None:
    if not (shape.text or "").strip():
        return None
    x, y, size = (float(shape.get(key, "0")) for key in ("x", "y", "font-size"))
    wide = text_width(shape.text or "", size, bold=shape.get("font-weight") == "bold")
    before = {"start": 0.0, "middle": wide / 2, "end": wide}[shape.get("text-anchor", "start")]
    up, down = 0.76 * size, 0.24 * size
    turned = re.match(r"rotate\((-?90) ", shape.get("transform", ""))
    if turned is None:
        return Box(x - before, y - up, x - before + wide, y + down)
    if turned[1] == "-90":  # reads upwards
        return Box(x - up, y + before - wide, x + down, y + before)
    return Box(x - down, y - before, x + up, y - before + wide)
