"""Every form of reports keeps to the contract; broken ones are found; tables are read back by other programs."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

import nbest
from nbest.base.errors import ParameterError
from nbest.report import RENDERERS, Column, Figure, Items, Page, Table
from nbest.report.charts import LineChart, Series
from nbest.report.csv import CSV, escaped
from nbest.report.latex import LaTeX
from nbest.report.markdown import Markdown
from nbest.report.page import probability
from nbest.report.picture import Picture
from nbest.report.terminal import Terminal, show
from nbest.testing import check_renderer


def read_csv(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def read_markdown(text: str) -> list[list[str]]:
    """As GitHub reads a table: cells end at a pipe that has no backslash before it."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    return [rows[0], *rows[2:]]


def read_latex(text: str) -> list[list[str]]:
    """The cells of the tabular; what is left must have no command but those for single characters."""
    inner = text.partition("\\hline\n")[2].partition("\\end{tabular}")[0].replace("\\hline\n", "")
    rows = [row for row in inner.split(" \\\\\n") if row]
    for row in rows:
        rest = re.sub(r"\\text[a-z]+\{\}|\\[&%$#_{}]|\{\}", "", row)
        assert not re.search(r"[\\{}$%#_^~]", rest), row
    return [re.split(r"(?<!\\)&", row) for row in rows]


READERS = {"csv": read_csv, "markdown": read_markdown, "latex": read_latex}


@pytest.mark.parametrize("name", sorted(RENDERERS))
def test_contract(name: str) -> None:
    check_renderer(RENDERERS[name], READERS.get(name))


class NoEscape(Markdown):
    def table(self, table: Table) -> str:
        rows = ["| " + " | ".join(row) + " |" for row in table.texts()]
        return "\n".join([rows[0], "| - | - | - |", *rows[1:]])


class RawTitle(LaTeX):
    def heading(self, text: str, level: int) -> str:
        return f"\\section{{{text}}}"


class LostText(Terminal):
    def paragraph(self, text: str) -> str:
        return text


class JoinedCells(CSV):
    def table(self, table: Table) -> str:
        return "".join(",".join(map(escaped, row)) + "\n" for row in table.texts())


@pytest.mark.parametrize(
    ("renderer", "read"),
    [(NoEscape(), read_markdown), (RawTitle(), None), (LostText(), None), (JoinedCells(), read_csv)],
)
def test_broken_renderers_are_found(renderer: Markdown | LaTeX | Terminal | CSV, read: object) -> None:
    with pytest.raises(AssertionError):
        check_renderer(renderer, read)  # type: ignore[arg-type]


def test_values_are_shown_by_their_columns() -> None:
    columns = ("name", "score", Column("p", probability), Column("time", ".1f", "s"), Column("n", align="left"))
    table = Table(columns, [("a", 1.0, 0.00001, 2.0, 3), ("b", float("nan"), None, 1.23, None)])
    assert table.texts() == [
        ["name", "score", "p", "time (s)", "n"],
        ["a", "1.00", "≤ 0.0001", "2.0", "3"],
        ["b", "-", "-", "1.2", "-"],
    ]
    assert table.render().splitlines()[1] == "| --- | --- | --- | --- | :--- |"
    assert r"\begin{tabular}{lrrrl}" in table.render("latex")
    assert r"\ensuremath{\leq} 0.0001" in table.render("latex")
    assert read_csv(table.render("csv"))[1:] == [["a", "1.0", "1e-05", "2.0", "3"], ["b", "", "", "1.23", ""]]
    assert table.render("terminal").splitlines()[1].split() == ["a", "1.00", "≤", "0.0001", "2.0", "3"]


@pytest.mark.parametrize(
    ("p", "shown"),
    [(1 / 10001, "≤ 0.0001"), (2 / 10001, "0.0002"), (0.37, "0.3700"), (0.0, "≤ 0.0001"), (1.0, "1.0000")],
)
def test_p_values_have_one_form(p: float, shown: str) -> None:
    assert probability(p) == shown


def test_zero_has_no_sign() -> None:
    table = Table(["name", Column("x", ".4f"), Column("y", "+.1f")], [("a", -1e-9, 0.01), ("b", -0.5, -0.5)])
    assert table.texts()[1:] == [["a", "0.0000", "0.0"], ["b", "-0.5000", "-0.5"]]


def test_rows_are_as_long_as_the_columns_are_many() -> None:
    with pytest.raises(ValueError, match="zip"):
        Table(("a", "b"), [("x",)]).texts()


def test_texts_that_are_numbers_are_no_formulas() -> None:
    assert [escaped(text) for text in ("-1.5", "+0.4", "-x", "=1", "1_0")] == ["-1.5", "+0.4", "'-x", "'=1", "1_0"]


@pytest.mark.parametrize("text", ["# a", "- a", "1. a", "```", "> a", "---", "[a]: b"])
def test_paragraphs_of_markdown_are_paragraphs(text: str) -> None:
    assert Markdown().paragraph(text) == f"\\{text}"
    assert Markdown().paragraph(f"a {text}") == f"a {text}"


def test_a_page_is_written_with_its_figures(tmp_path: Path) -> None:
    chart = LineChart([Series("a", [1, 2], [1.0, 2.0])])
    figure = Figure("curve", "A curve", Picture("curve", "", [chart]), [{"x": 1, "y": 2.0}])
    page = Page("Title", ["Text.", Page("Section", [Table(("a",), [(1,)]), figure]), Items(["one", "two"])])
    found = page.write(tmp_path, "page", tuple(RENDERERS))
    assert sorted(path.name for path in found) == [
        "curve.svg",
        "page.csv",
        "page.html",
        "page.md",
        "page.tex",
        "page.txt",
    ]
    assert (tmp_path / "page.md").read_text() == (
        "# Title\n\nText.\n\n## Section\n\n| a |\n| --- |\n| 1 |\n\n![A curve](curve.svg)\n\n- one\n- two\n"
    )
    assert (tmp_path / "page.csv").read_text() == "Title\n\nSection\n\na\n1\n\nA curve\nx,y\n1,2.0\n"
    tex = (tmp_path / "page.tex").read_text()
    assert tex.index(r"\section*{Title}") < tex.index(r"\subsection*{Section}") < tex.index(r"\includesvg")
    with pytest.raises(ParameterError, match="form of a report"):
        page.render("marckdown")
    with pytest.raises(ParameterError, match="'name' of a Figure"):
        Figure("../curve", "", Picture("", "", [chart]))


def test_tables_on_a_stream_are_plain_text() -> None:
    out = io.StringIO()
    show(Table(("feature", "weight"), [("lm", 0.5)], caption="bleu", notes=["a note"]), out)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert lines == ["bleu", "feature  weight", "lm         0.50", "a note"]


def test_nothing_else_formats_tables_or_draws() -> None:
    package = Path(nbest.__file__).parent
    tools = re.compile(r'rich\.table|report\.svg import [^\n]*Canvas|"\| "|<svg|import csv|tabular')
    rooms = ("report", "formats")  # those of formats are files that programs read
    outside = [path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in rooms]
    assert len(outside) > 300
    assert [path.name for path in outside if tools.search(path.read_text(encoding="utf-8"))] == []
