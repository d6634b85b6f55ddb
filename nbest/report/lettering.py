"""Texts that fit: over several lines, or cut in the middle so that different ones stay different."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from nbest.report.svg import text_width

_LONGEST = 1000  # characters that are looked at: no line of a picture or a terminal has room for more
_CUT = "…"


def wrapped(text: str, width: float, size: float, *, bold: bool = False, most: int = 4) -> list[str]:
    """The text in lines of at most `width` pixels; past `most` lines the end is cut off."""
    found: list[str] = []
    lines = _lines(text[:_LONGEST], partial(text_width, size=size, bold=bold), width)
    for line in lines:
        if len(found) == most - 1:
            rest = " ".join((line, *lines))
            found.append(cut(rest, lambda each: text_width(each, size, bold=bold) <= width, tail=0.0))
        else:
            found.append(line)
    return found


def _lines(text: str, measure: Callable[[str], float], width: float) -> Iterator[str]:
    """As many words as fit, then the next; words that are too long are broken, as is writing without spaces."""
    line = ""
    for word in re.findall(r"\S+(?: %)?(?!\S)|\S+", text):  # 95 % is one word
        joined = f"{line} {word}" if line else word
        if measure(joined) <= width:
            line = joined
            continue
        if line:
            yield line
        while measure(word) > width and len(word) > 1:
            kept = max(1, bisect_right(range(len(word)), width, key=lambda n: measure(word[:n])) - 1)
            yield word[:kept]
            word = word[kept:]
        line = word
    if line:
        yield line


def cut(text: str, fits: Callable[[str], bool], tail: float = 0.5) -> str:
    """The text if it fits, else its beginning, an ellipsis, and its end, which is `tail` of what is kept."""
    if len(text) <= _LONGEST and fits(text):
        return text
    kept = bisect_right(range(min(len(text), _LONGEST)), False, key=lambda n: not fits(_without(text, n, tail))) - 1
    return _without(text, max(kept, 0), tail)


def _without(text: str, kept: int, tail: float) -> str:
    end = int(kept * tail)
    return text[: kept - end].rstrip() + _CUT + (text[-end:].lstrip() if end else "")


def told_apart(texts: Sequence[str], fits: Callable[[str], bool]) -> list[str]:
    """Each text cut until it fits; those that differ still do.

    The middle is left out. Texts that would look alike so are shown from where they differ; if that is not enough,
    their number among all goes before them.
    """
    names = list(dict.fromkeys(texts))
    shown = {name: cut(name, fits) for name in names}
    for alike in _alike(names, shown):
        start = max(0, _first_difference(alike) - 2)
        shown |= {name: cut(f"{_CUT}{name[start:]}", fits) for name in alike}
    for alike in _alike(names, shown):
        shown |= {name: cut(f"({names.index(name) + 1}) {name}", fits, tail=0.0) for name in alike}
    return [shown[name] for name in texts]


def _first_difference(texts: Sequence[str]) -> int:
    shortest = min(map(len, texts))
    return next((at for at in range(shortest) if len({text[at] for text in texts}) > 1), shortest)


def _alike(names: Sequence[str], shown: dict[str, str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(shown[name], []).append(name)
    return [group for group in groups.values() if len(group) > 1]
