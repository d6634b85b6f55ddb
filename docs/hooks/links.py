"""What the repository shows well and the site would not: links out of the documents, bars and long code in tables."""

from __future__ import annotations

import posixpath
import re
from typing import Any


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn `[text](../examples/asr)` into `text (examples/asr)` where that is no page of the site.

    In code in tables a bar has a backslash, which the site would show.
    """

    def told(found: re.Match[str]) -> str:
        text, target = found[1], found[2]
        place = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_uri), target))
        if place.startswith("docs/"):
            return found[0]
        return f"`{place}`" if text == place else f"{text} (`{place}`)"

    markdown = re.sub(r"^\|.*$", lambda row: _plain_bars(row[0]), markdown, flags=re.MULTILINE)
    return re.sub(r"(?<!!)\[([^\]]+)\]\((\.\./[^)#\s]*)\)", told, markdown)


def _plain_bars(row: str) -> str:
    return re.sub(r"`[^`]+`", lambda code: code[0].replace("\\|", "|"), row)


def on_page_content(html: str, **_: Any) -> str:
    """Code in tables may be broken after a dot, a slash, an underscore or a bracket, and not within an option."""

    def breakable(code: re.Match[str]) -> str:
        options = re.sub(r"(?<![\w-])--?\w[\w-]*", r'<span class="option">\g<0></span>', code[2])
        return code[1] + re.sub(r"[./_(=](?=[\w&.])(?![^<]*>)", r"\g<0><wbr>", options) + "</code>"

    cells = re.compile(r"<td.*?</td>", re.DOTALL)
    return cells.sub(lambda cell: re.sub(r"(<code>)([^<]*)</code>", breakable, cell[0]), html)
