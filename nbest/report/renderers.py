"""The forms that a report can have: adding one is one file and one line here.

A renderer turns each part of a page into text; `render` walks through the page. Texts come as somebody wrote them, so
a renderer escapes each one, in one place. `nbest.testing.check_renderer` tries it on names that mean to break out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from nbest.base.registry import Registry
from nbest.report.csv import CSV
from nbest.report.html import HTML
from nbest.report.latex import LaTeX
from nbest.report.markdown import Markdown
from nbest.report.page import Figure, Items, Live, Page, Table
from nbest.report.terminal import Terminal


class Renderer(Protocol):
    """One form of reports. A part that it cannot show is empty text, and left out."""

    @property
    def suffix(self) -> str:
        """How the names of its files end."""
        ...

    def heading(self, text: str, level: int) -> str:
        """The title of a page (level 1) or of a section."""
        ...

    def paragraph(self, text: str) -> str: ...

    def items(self, texts: Sequence[str]) -> str: ...

    def table(self, table: Table) -> str:
        """Caption, values and notes."""
        ...

    def figure(self, figure: Figure) -> str:
        """The figure, or where it is found: its file lies beside the page."""
        ...

    def document(self, blocks: Sequence[str]) -> str:
        """The whole file."""
        ...


@runtime_checkable
class Scripted(Protocol):
    """A renderer whose documents have a script."""

    def live(self, part: Live) -> str:
        """A place for what the script makes, and its data."""
        ...


RENDERERS: Registry[Renderer] = Registry(
    "form of a report",
    {
        "terminal": Terminal(),
        "markdown": Markdown(),
        "latex": LaTeX(),
        "csv": CSV(),
        "html": HTML(),
    },
    group="nbest.renderers",
    room="nbest.report",
)
"""Forms of reports by name."""


def render(page: Page, renderer: Renderer) -> str:
    """A page as the text of a file."""
    return renderer.document([block for block in _blocks(page, renderer, 1) if block])


def _blocks(page: Page, renderer: Renderer, level: int) -> Iterator[str]:
    yield renderer.heading(page.title, level)
    for part in page.parts:
        if isinstance(part, Page):
            yield from _blocks(part, renderer, level + 1)
        elif isinstance(part, Table):
            yield renderer.table(part)
        elif isinstance(part, Figure):
            yield renderer.figure(part)
        elif isinstance(part, Items):
            yield renderer.items(part.texts)
        elif isinstance(part, Live):
            yield renderer.live(part) if isinstance(renderer, Scripted) else renderer.paragraph(part.text)
        else:
            yield renderer.paragraph(part)
