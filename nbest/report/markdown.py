"""Markdown: nothing that somebody called a feature or a file is taken for HTML, a link or a heading."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nbest.report.page import Column, Figure, Table
from nbest.report.texts import one_line

_ENTITY = re.compile(r"&(?=#?\w+;)")
_BLOCK = re.compile(r"^\s*(?=[#>+*-]+(?:\s|$)|\d+[.)]\s|[-_*=]{3,}|`{3}|~{3}|\[[^]]*\]:)")
"""What makes a line more than a paragraph: a heading, a quote, an item, a rule, code, the target of a link."""
_RULES = {None: "---", "left": ":---", "right": "---:"}


def escaped(text: str) -> str:
    """Text as it is, on one line: no tags, no links."""
    line = one_line(text)
    return _ENTITY.sub("&amp;", line).replace("<", "&lt;").replace("](", "]\\(")


def _paragraph(text: str) -> str:
    """Text that stands on its own, and is no heading, item or rule."""
    return _BLOCK.sub("\\\\", escaped(text))


def _cell(text: str) -> str:
    """Text within a row; a backslash before a bar must not undo the one that escapes it."""
    return escaped(text).replace("\\|", "\\&#124;").replace("|", "\\|")


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


class Markdown:
    """As GitHub shows it."""

    suffix = ".md"

    def heading(self, text: str, level: int) -> str:
        """A title after as many # as its level."""
        return f"{'#' * level} {escaped(text)}"

    def paragraph(self, text: str) -> str:
        """One line."""
        return _paragraph(text)

    def items(self, texts: Sequence[str]) -> str:
        """One line each."""
        return "\n".join(f"- {_paragraph(text)}" for text in texts)

    def table(self, table: Table) -> str:
        """Caption, table with pipes, notes."""
        heads, *rows = table.texts()
        lines = [_row(heads), _rule(table.heads), *map(_row, rows)]
        caption = [_paragraph(table.caption)] if table.caption else []
        return "\n\n".join([*caption, "\n".join(lines), *map(_paragraph, table.notes)])

    def figure(self, figure: Figure) -> str:
        """The image."""
        title = escaped(figure.title).replace("[", "\\[").replace("]", "\\]")
        return f"![{title}]({figure.file})"

    def document(self, blocks: Sequence[str]) -> str:
        """Blank lines between all parts."""
        return "\n\n".join(blocks) + "\n"


def _rule(heads: Sequence[Column]) -> str:
    return "| " + " | ".join(_RULES[column.align] for column in heads) + " |"
