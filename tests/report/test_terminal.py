"""Tables in a narrow terminal: rows that differ look different, and numbers are whole."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from nbest.report import Column, Table
from nbest.report.terminal import _print, blocks

LONG = "lm_score_of_a_very_long_name_that_nobody_wants_to_read_to_its_end"


def shown(table: Table, width: int = 80) -> list[str]:
    out = io.StringIO()
    _print(table, out, width)
    return out.getvalue().splitlines()


def names_of(lines: list[str], width: int) -> list[str]:
    """The first column, with what was folded joined again: a row begins where there is a number."""
    found: list[str] = []
    for line in lines:
        if re.search(r"\d\.\d\d$", line.rstrip()):
            found.append("")
        if found and not line.strip():  # the end of the first block
            break
        if found:
            found[-1] += line[:width].strip()
    return found


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("many", [1, 3, 6])
def test_names_with_a_common_beginning(width: int, many: int) -> None:
    names = [f"{LONG}_{number}" for number in range(3)] + ["lm"]
    heads = [Column(f"p against the first hypotheses {number}") for number in range(many)]
    table = Table(("feature", *heads), [(name, *[12345.25 + at] * many) for at, name in enumerate(names)])
    lines = shown(table, width)
    assert all(cell_len(line) <= width for line in lines)
    first = next(iter(blocks(*(lambda texts: (texts[0], texts[1:]))(table.texts()), width)))
    assert names_of(lines, first[0])[:4] == names
    assert "…" not in "".join(lines)
    for at in range(4):
        assert "\n".join(lines).count(f"{12345.25 + at:.2f}") == many


def test_names_too_long_for_any_terminal_still_differ() -> None:
    names = ["a" * 300 + letter + "a" * 300 for letter in "xy"] + ["a" * 601, "b" * 601]
    lines = shown(Table(("feature", "weight"), [(name, 0.25) for name in names]))
    found = names_of(lines, 72)
    assert len(found) == len(set(found)) == 4


def test_columns_without_room_go_below() -> None:
    table = Table(("name", *map(str, range(20))), [("lm", *[1234567.25] * 20)])
    lines = shown(table)
    assert sum(line.startswith("lm ") for line in lines) == sum(line.startswith("name ") for line in lines) == 4
    assert "\n".join(lines).count("1234567.25") == 20


@given(
    st.lists(st.tuples(st.text("ab c", max_size=90), st.floats(-1e12, 1e12)), max_size=4),
    st.integers(1, 6),
    st.integers(45, 120),
)
def test_numbers_are_whole_and_lines_fit(rows: list[tuple[str, float]], many: int, width: int) -> None:
    heads = ("name", *(f"a head of column {number}" for number in range(many)))
    lines = shown(Table(heads, [(name, *[value] * many) for name, value in rows]), width)
    assert all(cell_len(line) <= width for line in lines)
    words = " ".join(lines).split()
    for _, value in rows:
        number = f"{value:.2f}"
        assert words.count("0.00" if number == "-0.00" else number) >= many
        assert "-0.00" not in words


def test_tables_that_fit_are_as_they_were() -> None:
    lines = [line.rstrip() for line in shown(Table(("feature", "weight"), [("lm", 0.5), ("words", None)]))]
    assert lines == ["feature  weight", "lm         0.50", "words         -"]
    assert [line.strip() for line in shown(Table(("a", ""), []))] == ["a"]
