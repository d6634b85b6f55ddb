"""HTML: one file with all that it needs, which asks nothing of any other place.

Texts are escaped; data of the script stand in blocks of JSON in which no tag can end; a content-security policy lets
run this script and this style, known by their sums, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from nbest.base.json_values import json_value
from nbest.report.csv import CSV
from nbest.report.latex import LaTeX
from nbest.report.markdown import Markdown
from nbest.report.page import Figure, Live, Table
from nbest.report.texts import one_line

SCRIPTS = ("base", "tools", "metrics", "lists", "charts", "steps", "differences", "explorer", "segments", "main")
"""Files of the script, in this order."""
_COPIES: dict[str, Markdown | LaTeX | CSV] = {"Markdown": Markdown(), "LaTeX": LaTeX(), "CSV": CSV()}
_ROWS = 5000  # numbers of a figure that can be copied, at most
_FOLLOWED = "connect-src 'self'; "


@cache
def web(name: str) -> str:
    """A file of the page's own."""
    return (Path(__file__).parent / "web" / name).read_text(encoding="utf-8")


def _text(text: str) -> str:
    return escape(one_line(text))


def _json(content: Mapping[str, Any]) -> str:
    """A block of data, in which nothing is a tag or the end of a line."""
    text = json.dumps(json_value(content), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    plain = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return f'<script type="application/json">{plain}</script>'


def _sum(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


@dataclass(frozen=True)
class HTML:
    """A page that opens by double click; `follow` asks where it came from whether there is a newer one."""

    follow: bool = False
    suffix = ".html"

    def heading(self, text: str, level: int) -> str:
        """A title, to which a link can go."""
        slug = re.sub(r"\W+", "-", text.lower()).strip("-") or "section"
        return f'<h{min(level, 6)} id="{_text(slug)}">{_text(text)}</h{min(level, 6)}>'

    def paragraph(self, text: str) -> str:
        """A paragraph."""
        return f"<p>{_text(text)}</p>"

    def items(self, texts: Sequence[str]) -> str:
        """A list."""
        return "<ul>" + "".join(f"<li>{_text(text)}</li>" for text in texts) + "</ul>" if texts else ""

    def table(self, table: Table) -> str:
        """Caption, values, notes, and the same in other forms to copy."""
        heads, *rows = table.texts()
        sides = [column.align or ("right" if at else "left") for at, column in enumerate(table.heads)]
        head = "".join(f'<th scope="col" class="{s}">{_text(t)}</th>' for s, t in zip(sides, heads, strict=True))
        body = "".join(
            "<tr>" + "".join(f'<td class="{s}">{_text(t)}</td>' for s, t in zip(sides, row, strict=True)) + "</tr>"
            for row in rows
        )
        caption = f"<figcaption>{_text(table.caption)}</figcaption>" if table.caption else ""
        notes = "".join(f'<p class="note">{_text(note)}</p>' for note in table.notes)
        name = _text(table.caption or "table")
        inner = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        scroll = f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">{inner}</div>'
        copies = {form: renderer.table(table) for form, renderer in _COPIES.items()}
        return f'<figure class="table">{caption}{scroll}{notes}{_json(copies)}</figure>'

    def figure(self, figure: Figure) -> str:
        """The picture itself, its title, and its numbers to copy."""
        drawn = one_line(figure.picture.svg(inline=figure.name))
        copies = {"CSV": CSV().table(figure.table())} if 0 < len(figure.rows) <= _ROWS else {}
        return (
            f'<figure class="picture" data-name="{_text(figure.name)}"><div class="scroll" tabindex="0" role="region" '
            f'aria-label="{_text(figure.title)}">{drawn}</div>'
            f"<figcaption>{_text(figure.title)}</figcaption>{_json(copies)}</figure>"
        )

    def live(self, part: Live) -> str:
        """A place for what the script makes of the data; without one the text stands there."""
        inner = f'<p class="fallback">{_text(part.text)}</p>{_json(part.data)}'
        return f'<div class="live" data-kind="{_text(part.kind)}">{inner}</div>'

    def document(self, blocks: Sequence[str]) -> str:
        """The whole file."""
        style, script = web("page.css"), _script()
        policy = (
            f"default-src 'none'; script-src {_sum(script)}; style-src {_sum(style)}; "
            f"{_FOLLOWED if self.follow else ''}base-uri 'none'; form-action 'none'"
        )
        title = re.sub(r"<[^>]*>", "", blocks[0]) if blocks else "nbest"
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{title}</title>\n<style>{style}</style></head>\n"
            f'<body{" data-follow" if self.follow else ""}><a class="skip" href="#main">To the content</a>'
            '<header id="top"></header>\n<main id="main">\n' + "\n".join(blocks) + "\n</main>\n"
            f"<script>{script}</script></body></html>\n"
        )


@cache
def _script() -> str:
    """The files of the script in a function of their own."""
    return '"use strict";(() => {\n' + "\n".join(web(f"{name}.js") for name in SCRIPTS) + "\n})();"
