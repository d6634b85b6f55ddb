"""The contract of renderers of reports: nothing that somebody wrote breaks out of its place."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from nbest.report import Column, Figure, Items, Page, Renderer, Table
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.report.renderers import render

NASTY = (
    "", "a|b | c", "core\\|b", "<script>core</script>", "[core](javascript:x)", "![core](x)",
    "one\ncore\r\nthree\u2028four", "=core(A1)", "+core", "@core", "\t=core", '"core", "b"', "core, b;c",
    "\\input{core}", "50% of $x_1^2$ & ~#{core}",
    "\\core\\\\", "\\", "`core`", "```core", "# core", "- core", "1. core", "> core", "[core]: x", "---", "===",
    "&lt;core&gt;", "core\x1b[31m\x07\x00\x85", "\u202ecore", "核心は日本語の文です", "ﷺcore", "[core]", "*core*",
)  # fmt: skip
"""Texts that mean something in one form of reports or another; most hold the word core."""
_PLAIN = "harmless"

Read = Callable[[str], list[list[str]]]
"""From a rendered table to its rows of cells, the names of the columns first."""


def check_renderer(renderer: Renderer, read: Read | None = None) -> None:
    """Whether a renderer keeps to the contract of `nbest.report.Renderer`.

    Texts of all kinds stand where they belong: as many lines as harmless ones have, no control characters, their
    letters still there. `read` reads a table back: the cells must then be as many as went in.
    """
    assert renderer.suffix.startswith("."), "'suffix' must begin with a dot"
    lines = render(_page(_PLAIN), renderer).count("\n")
    for text in NASTY:
        page = _page(text)
        found = render(page, renderer)
        assert found == render(page, renderer), f"{text!r} is not rendered the same twice"
        assert found.endswith("\n"), "a document must end with the end of a line"
        assert found.count("\n") == lines, f"{text!r} changes the number of lines"
        odd = [c for c in found if (unicodedata.category(c) in ("Cc", "Cs") and c != "\n") or c in "\u2028\u2029"]
        assert not odd, f"of {text!r} the control characters {odd} are left"
        assert "core" not in text or "core" in found, f"{text!r} is not to be found"
        if read is not None:
            _check_cells(renderer, text, read)


def _check_cells(renderer: Renderer, text: str, read: Read) -> None:
    rows = read(renderer.table(_table(text)))
    assert [len(row) for row in rows] == [3, 3, 3], f"{text!r} changes the number of cells: {rows}"
    places = (rows[0][0], rows[1][0], rows[1][2])
    assert "core" not in text or all("core" in cell for cell in places), f"{text!r} is not in its cell: {rows}"


def _table(text: str) -> Table:
    """A table with the text in a head and in two cells."""
    return Table((text, Column("number", ".1f", "%"), "last"), [(text, 1.25, text), ("x", None, "y")])


def _page(text: str) -> Page:
    """A page with the text wherever a page can hold one; an empty one only in tables: elsewhere it may be left out."""
    said = text or _PLAIN
    picture = Picture(said, said, [LineChart([Series(said, [1, 2], [1.0, 2.0])], said, said, said)])
    figure = Figure("figure", said, picture, [{text: 1, "text": text}])
    captioned = Table(("a", "b"), [(text, 1)], caption=said, notes=[said])
    return Page(said, [said, Page(said, [_table(text), captioned, figure, Items([said, said])])])
