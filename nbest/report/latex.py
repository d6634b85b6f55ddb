"""LaTeX: a page is a whole document; its tables can be copied into another one as they are."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nbest.report.page import Figure, Table
from nbest.report.texts import one_line

_SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}", "≤": r"\ensuremath{\leq}", **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}  # fmt: skip
_SOUGHT = re.compile("[" + re.escape("".join(_SPECIAL)) + "]")
_HEADS = ("section", "subsection", "subsubsection", "paragraph")
_HEAD = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage{textcomp}
\usepackage{svg}
\begin{document}"""


def escaped(text: str) -> str:
    """Text as it is, on one line: nothing in it is a command. Two hyphens stay two."""
    line = one_line(text)
    return _SOUGHT.sub(lambda found: _SPECIAL[found[0]], line).replace("--", "-{}-")


class LaTeX:
    """A document of the class article; pictures by the package svg."""

    suffix = ".tex"

    def heading(self, text: str, level: int) -> str:
        """A section, without a number."""
        return f"\\{_HEADS[min(level, len(_HEADS)) - 1]}*{{{escaped(text)}}}"

    def paragraph(self, text: str) -> str:
        """One line."""
        return escaped(text)

    def items(self, texts: Sequence[str]) -> str:
        """An itemize; brackets after \\item would be its label."""
        lines = [f"\\item{{}} {escaped(text)}" for text in texts]
        return "\n".join([r"\begin{itemize}", *lines, r"\end{itemize}"]) if texts else ""

    def table(self, table: Table) -> str:
        """A table that floats: caption, values, notes below them."""
        sides = [column.align or ("right" if at else "left") for at, column in enumerate(table.heads)]
        heads, *rows = (" & ".join(map(_cell, cells)) + r" \\" for cells in table.texts())
        caption = [f"\\caption{{{escaped(table.caption)}}}"] if table.caption else []
        inner = [f"\\begin{{tabular}}{{{''.join(side[0] for side in sides)}}}", r"\hline", heads, r"\hline", *rows]
        notes = [f"\n\\footnotesize {escaped(note)}" for note in table.notes]
        ends = [r"\hline", r"\end{tabular}", *notes, r"\end{table}"]
        return "\n".join([r"\begin{table}[htbp]", r"\centering", *caption, *inner, *ends])

    def figure(self, figure: Figure) -> str:
        """A figure that floats."""
        image = f"\\includesvg[width=\\linewidth]{{{figure.name}}}"
        lines = [r"\begin{figure}[htbp]", r"\centering", image, f"\\caption{{{escaped(figure.title)}}}"]
        return "\n".join([*lines, r"\end{figure}"])

    def document(self, blocks: Sequence[str]) -> str:
        """With what it needs before and after."""
        return "\n\n".join([_HEAD, *blocks, r"\end{document}"]) + "\n"


def _cell(text: str) -> str:
    """A cell: a bracket at its start would belong to the end of the row before."""
    shown = escaped(text)
    return f"{{}}{shown}" if shown.lstrip().startswith(("[", "*")) else shown
