"""Pictures are whole: nothing cut at a frame, texts that fit, ticks of rounds whole, ratios on logarithmic axes."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbest.base.errors import ParameterError
from nbest.loop.report import picture as loop_picture
from nbest.report.axes import geometric, log_ticks, places_of
from nbest.report.charts import DotChart, HeatMap, Histogram, LineChart, RangeChart, Series
from nbest.report.lettering import told_apart, wrapped
from nbest.report.panel import Panel
from nbest.report.picture import Picture
from nbest.report.svg import text_width
from nbest.testing import check_picture

LONG = "a title that says at length what was measured, on which lists, by which metric and with how many held out"
SVG = "{http://www.w3.org/2000/svg}"


def lines(**more: object) -> LineChart:
    at_the_edge = Series("edge", [1, 2, 3, 4], [2.0, 1.0, 2.0, 3.0], dots=True, band=([1.0] * 4, [4.0] * 4))
    return LineChart([at_the_edge, Series("wide", [1, 2, 3, 4], [4.0] * 4, width=9.0)], **more)  # type: ignore[arg-type]


def heat(**more: object) -> HeatMap:
    grid = np.arange(41.0)
    marks = [(0.0, 0.0, "corner", "ring"), (40.0, 40.0, "other corner", "cross"), (99.0, 0.0, "nowhere", "cross")]
    return HeatMap(grid, grid, np.add.outer(grid, grid), (0.0, 80.0), marks=marks, **more)  # type: ignore[arg-type]


PANELS: dict[str, Panel] = {
    "lines": lines(rules=[(1.0, "first"), (4.0, "the last one"), (9.0, "outside")]),
    "log": LineChart([Series("a", [0.01, 0.1, 1, 10], [1.0, 2.0, 3.0, 4.0], dots=True)], log=True),
    "one point": LineChart([Series("a", [1], [1.0], dots=True)]),
    "ranges": RangeChart([Series("a", [0.0, 2.0], [1.0, 2.0])], "", "x", "y",
                         strips=(("up", [(0.0, 2.0, 0)]), ("down", [(0.0, 1.0, 0), (1.0, 2.0, 1)])),
                         colours=("#000000", "#ff0000")),
    "heat": heat(),
    "bars": Histogram([("a", [1.0, 2.0, 2.0], "#000000"), ("b", [3.0], "#ff0000")]),
    "dots": DotChart([("a", 1.0, 0.5, 2.0, "#000000"), ("b", 2.0, 2.0, 2.0, "#ff0000")], rule=2.0),
    "long": lines(title=LONG, x_label=LONG, y_label=LONG),
    "long heat": heat(title=LONG, x_label=LONG, y_label=LONG, value_label=LONG),
    "long names": DotChart([(f"{LONG * 5} {n}", 1.0, 0.0, 2.0, "#000000") for n in range(5)]),
    "long legend": LineChart([Series(f"{LONG} {n} {LONG}", [0, 1], [0.0, n]) for n in range(4)]),
    "long ticks": LineChart([Series("", [0, 1], [0.0, 1.0])], x_ticks=[(0.0, LONG[:40]), (1.0, LONG[-40:])]),
}  # fmt: skip


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg.encode()).iter(f"{SVG}text")]


def x_ticks(svg: str) -> list[str]:
    """What is written below the first frame."""
    root = ElementTree.fromstring(svg.encode())
    frame = next(node for node in root.iter(f"{SVG}rect") if node.get("fill") == "none")
    below = float(frame.get("y", "0")) + float(frame.get("height", "0")) + 17
    return [node.text or "" for node in root.iter(f"{SVG}text") if abs(float(node.get("y", "0")) - below) < 0.1]


@pytest.mark.parametrize("name", PANELS)
def test_panels_are_whole(name: str) -> None:
    panel = PANELS[name]
    check_picture(Picture("Title", "subtitle", [panel]).svg())
    check_picture(Picture(LONG, f"{LONG}; {LONG}", [panel, lines(), panel], width=240, height=190).svg())


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12, unique=True), st.booleans())
def test_lines_are_whole(rounds: list[int], dots: bool) -> None:
    series = Series("a", sorted(rounds), [float(at % 5) for at in rounds], dots=dots)
    svg = Picture("Rounds", "", [LineChart([series], "", "round", "BLEU")]).svg()
    check_picture(svg)
    assert all(re.fullmatch(r"-?\d+", each) for each in x_ticks(svg))


@pytest.mark.parametrize(
    ("part", "broken"),
    [
        ('r="2.6"', 'r="9"'),
        ('x="18" y="28"', 'x="-1" y="28"'),
        (">Title<", f">{LONG}<"),
        ('y="48"', 'y="30"'),
        ('stroke-width="9"', 'stroke-width="99"'),
    ],
)
def test_broken_pictures_are_found(part: str, broken: str) -> None:
    svg = Picture("Title", "subtitle", [PANELS["lines"]]).svg()
    assert part in svg
    with pytest.raises(AssertionError):
        check_picture(svg.replace(part, broken))


def test_long_titles_and_labels_are_all_there() -> None:
    svg = Picture(LONG, "", [PANELS["long heat"]], width=240, height=240).svg()
    found = " ".join(texts(svg))
    assert found.count(LONG) == 5
    assert "…" not in found


def test_long_names_still_differ() -> None:
    for name in ("long names", "long legend"):
        named = [each for each in texts(Picture("", "", [PANELS[name]]).svg()) if "measured" in each or "title" in each]
        assert len(named) == len(set(named)) == {"long names": 5, "long legend": 4}[name]


@given(st.lists(st.text("ab", max_size=40), max_size=8), st.integers(6, 20))
def test_cut_texts_fit_and_differ(names: list[str], width: int) -> None:
    found = told_apart(names, lambda text: len(text) <= width)
    assert all(len(text) <= width for text in found)
    assert len(set(found)) == len(set(names))
    assert all(a == b for a, b in zip(names, found, strict=True) if len(a) <= width)


@given(st.text(max_size=200), st.floats(40.0, 300.0))
def test_wrapped_lines_fit(text: str, width: float) -> None:
    found = wrapped(text, width, 12, most=1000)
    assert all(text_width(line, 12) <= width or len(line) == 1 for line in found)
    assert "".join(found).replace(" ", "") == "".join(text.split())
    assert len(wrapped(text, width, 12)) <= 4


def test_huge_texts_are_no_burden() -> None:
    huge = "x" * 1_000_000
    chart = LineChart([Series(huge, [0, 1], [0.0, 1.0]), Series(huge + "y", [0, 1], [1.0, 1.0])], huge, huge, huge)
    check_picture(Picture("", huge, [chart]).svg())


@pytest.mark.parametrize(
    ("values", "log"),
    [
        ([0.01, 0.1, 1, 10], True),
        ([10, 1, 0.1], True),
        ([1, 2, 5, 10, 20], True),
        ([25, 50, 100], True),
        ([0.001, 1000], True),
        ([0.1, 0.5, 0.9], False),
        ([10, 20, 30, 40, 50], False),
        ([1, 2], False),
        ([3], False),
        ([0, 0.1, 1, 10], False),
        ([-10, -1, 1, 10], False),
        ([], False),
    ],
)
def test_which_values_have_a_logarithmic_axis(values: list[float], log: bool) -> None:
    assert geometric(values) is log


def test_where_values_stand() -> None:
    assert places_of([0.01, 0.1, 1]) == ([0.01, 0.1, 1.0], True)
    assert places_of([1, 2, 3]) == ([1.0, 2.0, 3.0], False)
    assert places_of([0, 0.01, 0.1, 1]) == ([0.0, 1.0, 2.0, 3.0], False)
    assert places_of(["a", "b"]) == ([0.0, 1.0], False)
    assert places_of([True, False]) == ([0.0, 1.0], False)


def test_ticks_of_logarithmic_axes() -> None:
    assert [name for _, name in log_ticks(1, 20)] == ["1", "2", "5", "10", "20"]
    assert [name for _, name in log_ticks(0.01, 100)] == ["0.01", "0.1", "1", "10", "100"]
    assert len(log_ticks(1e-9, 1e9)) <= 6
    assert [name for _, name in log_ticks(0.1, 5, whole=True)] == ["1", "2", "5"]
    assert len(log_ticks(3.1, 4.1)) > 2


def test_rounds_of_a_loop_are_whole() -> None:
    row = {"dev": 20.0, "heldout": None, "trained_dev": None}
    for count in (1, 2, 3):
        svg = loop_picture([{**row, "round": at + 1, "dev": 20.0 + at} for at in range(count)], "BLEU|x").svg()
        check_picture(svg)
        assert x_ticks(svg) == [str(at + 1) for at in range(count)]


def test_pictures_within_a_page() -> None:
    picture = Picture("A <title>", "", [lines(), lines()])
    svg = picture.svg(inline="figure-1")
    assert svg.startswith("<svg ")
    root = ElementTree.fromstring(svg)
    names = [node.get("id", "") for node in root.iter() if node.get("id")]
    assert names == ["figure-1-title", "figure-1-clip1", "figure-1-clip2"]
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == names[0]
    assert root[0].text == "A <title>"
    assert {node.get("clip-path") for node in root.iter(f"{SVG}g")} == {f"url(#{name})" for name in names[1:]}
    check_picture(svg)
    alone = picture.svg()
    assert alone.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<svg ')
    assert svg.count("\n") == alone.count("\n") - 1
    for wrong in ("", "1", 'a"b', "a b", "ü"):
        with pytest.raises(ParameterError, match="'inline' of a picture"):
            picture.svg(inline=wrong)
