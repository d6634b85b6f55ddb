"""The SVG writer: well-formed, escaped, deterministic, and true to its numbers."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbest.report.axes import Scale, padded, step_of, ticks
from nbest.report.charts import HeatMap, Histogram, LineChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import Canvas, place, shade

NAMES = ("plain", '<lm&"x>', "it's", "\x00\x1b\ud800", "翻訳モデル" * 20, "")


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg.encode("utf-8"))
    return [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}text")]


def picture(name: str) -> Picture:
    rng = np.random.default_rng(1)
    lines = LineChart([Series(name, [1.0, 2.0, 4.0], [3.0, float("nan"), 5.0], dots=True)], name, name, name, log=True)
    heat = HeatMap(np.arange(4.0), np.arange(3.0), rng.random((3, 4)), (0.0, 1.0), name, name, name, name,
                   [(1.0, 1.0, name, "ring"), (2.0, 1.0, name, "cross")])  # fmt: skip
    bars = Histogram([(name, rng.normal(size=50), "#000000"), ("other", rng.normal(size=20), "#ff0000")], name, name)
    return Picture(name, name, [lines, heat, bars], columns=2)


@pytest.mark.parametrize("name", NAMES)
def test_any_name_gives_well_formed_xml_that_reads_back(name: str) -> None:
    svg = picture(name).svg()
    found = texts(svg)
    if name in ("plain", '<lm&"x>', "it's"):
        assert found.count(name) >= 5
    assert svg == picture(name).svg()


@given(st.text())
def test_text_and_attributes_are_escaped(text: str) -> None:
    canvas = Canvas()
    canvas.text(1, 2, text, data_name=text)
    ElementTree.fromstring(canvas.document(10, 10, text).encode("utf-8"))


@given(st.floats(-1e7, 1e7), st.floats(1e-6, 1e7))
def test_ticks_are_round_inside_and_even(low: float, span: float) -> None:
    high = low + span
    if not high > low:
        return
    found = ticks(low, high)
    values = np.array([value for value, _ in found])
    slack = 1e-6 * max(abs(low), abs(high), span)
    assert len(found) <= 9
    assert ((values >= low - slack) & (values <= high + slack)).all()
    if len(values) > 2:
        assert np.allclose(np.diff(values), step_of(high - low, 6), rtol=1e-6, atol=slack)


@pytest.mark.parametrize(
    ("low", "high", "whole", "labels"),
    [
        (0.0, 1.0, False, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (-5.1, 5.1, False, ["-4", "-2", "0", "2", "4"]),
        (0.0, 12.0, False, ["0", "2", "4", "6", "8", "10", "12"]),
        (0.0, 13.0, True, ["0", "5", "10"]),
        (0.0, 2.0, True, ["0", "1", "2"]),
        (0.0, 0.13, False, ["0.000", "0.025", "0.050", "0.075", "0.100", "0.125"]),
    ],
)
def test_labels_of_ticks(low: float, high: float, whole: bool, labels: list[str]) -> None:
    assert [name.replace("\u2212", "-") for _, name in ticks(low, high, whole=whole)] == labels


def test_scales_go_from_end_to_end() -> None:
    assert [Scale(0, 10, 100, 200)(v) for v in (0, 5, 10)] == [100, 150, 200]
    assert [Scale(1, 100, 0, 2, log=True)(v) for v in (1, 10, 100)] == pytest.approx([0, 1, 2])
    low, high = padded(3.0, 3.0)
    assert low < 3.0 < high


def test_small_helpers() -> None:
    assert [place(v) for v in (-0.001, 1.5, 2.0, 100.0, -3.456)] == ["0", "1.5", "2", "100", "-3.46"]
    assert shade(0) == "#440154"
    assert shade(1) == shade(2) == "#fde725"


def test_histogram_counts_every_value_once() -> None:
    for values in ([1.0], [2.0, 2.0], np.random.default_rng(3).normal(size=200), [0.1, 0.2, 0.3]):
        chart = Histogram([("a", values, "#000000")])
        edges, counts = chart.edges(), chart.counts()[0]
        assert counts.sum() == len(values)
        assert edges[0] <= min(values) + 1e-9
        assert max(values) <= edges[-1] + 1e-9


def test_cells_of_a_heat_map_have_the_colour_of_their_value() -> None:
    chart = HeatMap(np.arange(2.0), np.arange(2.0), np.array([[0.0, 1.0], [1.0, 1.0]]), (0.0, 1.0))
    canvas = Canvas()
    chart.paint(canvas, Scale(-0.5, 1.5, 0, 20), Scale(-0.5, 1.5, 20, 0))
    assert [part.split('fill="')[1][:7] for part in canvas.parts] == [shade(0), shade(1), shade(1)]
    assert 'width="20"' in canvas.parts[2]  # neighbours of one colour are one cell


def test_a_band_is_drawn_between_its_ends_and_has_room() -> None:
    chart = LineChart([Series("a", [0, 1], [1.0, 2.0], band=([0.0, 1.0], [4.0, 3.0]))])
    low, high = chart.extent()[2:]
    assert low <= 0.0 < 4.0 <= high
    svg = Picture("t", "", [chart]).svg()
    (shape,) = [each for each in ElementTree.fromstring(svg.encode()).iter() if each.tag.endswith("polygon")]
    points = [tuple(map(float, each.split(","))) for each in shape.get("points", "").split()]
    assert [x for x, _ in points] == [points[0][0], points[1][0], points[1][0], points[0][0]]
    assert points[0][1] > points[3][1]
