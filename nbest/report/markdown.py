"""Text for Markdown: nothing that somebody called a feature or a file is taken for HTML or a link."""

from __future__ import annotations

from nbest.report.svg import clean


def escaped(text: str) -> str:
    """Text as it is, on one line: no tags, no links."""
    line = " ".join(clean(text).splitlines())
    return line.replace("<", "&lt;").replace("](", "]\\(")


def row(cells: list[str]) -> str:
    """A row of a table."""
    return "| " + " | ".join(escaped(cell).replace("|", "\\|") for cell in cells) + " |"
