"""Writes lattices in HTK's format, words on links."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.types import Bools
from nbest.compute import segments
from nbest.corpus import Forests
from nbest.formats.forests.base import edge_rows, need_vocabulary, write_single
from nbest.formats.forests.slf_fields import FIELDS, SCALES, spoken

SUFFIXES = (".slf", ".lat", ".htk")
_SHORT = {name: field for field, name in reversed(FIELDS.items())}


def write_slf(forests: Forests, path: str | Path) -> None:
    """Write lattices: forests whose edges have at most one tail and one word, which comes after the tail.

    Edges without tails become links from the start: a node that has nothing but one empty such edge, or one that is
    added. Features must be those that the format knows; `words` must be 1 on edges with a word, is not written and
    comes again on reading. Not kept: references and sources.
    """
    columns = _columns(forests)
    words = _words(forests)
    # a scale that is missing reads as 1, a penalty as 0: write all, where there are any
    weights = {field: forests.own_weights.get(name, 0.0) for field, name in SCALES.items() if name in _held(forests)}
    scales = [f"{field}={weight!r}" for field, weight in weights.items()] if forests.own_weights else []
    need_vocabulary(forests, "slf", lambda word: spoken(word, fillers=True) != word)

    def render(i: int) -> str:
        nodes = int(forests.node_offsets[i + 1] - forests.node_offsets[i])
        start = _start(forests, i, words)
        size = nodes if start >= 0 or nodes == 0 else nodes + 1
        links: list[str] = []
        for edge, head, tails in edge_rows(forests, i):
            if tails or head != start:
                word = f" W={_escaped(words[edge])}" if words[edge] else " W=!NULL"
                scores = "".join(f" {field}={float(forests.features[edge, d])!r}" for d, field in columns.items())
                links.append(f"J={len(links)} S={tails[0] if tails else size - 1} E={head}{word}{scores}")
        lines = ["VERSION=1.0", *scales, f"N={size} L={len(links)}"]
        if nodes:
            lines.insert(len(scales) + 1, f"start={start if start >= 0 else size - 1} end={nodes - 1}")
        return "\n".join([*lines, *(f"I={node}" for node in range(size)), *links]) + "\n"

    write_single(forests, path, "slf", SUFFIXES[0], render)


def _held(forests: Forests) -> set[str]:
    """Features that come again on reading."""
    return {*forests.feature_names, "words"}


def _columns(forests: Forests) -> dict[int, str]:
    """The field of each feature."""
    for name in forests.feature_names:
        if name not in _SHORT and name != "words":
            known = ", ".join(name for name in _SHORT if name[0] != "x")
            raise CapabilityError(f"slf cannot hold a feature called {name!r}; it has {known}, words, x1, x2, ...")
    return {d: _SHORT[name] for d, name in enumerate(forests.feature_names) if name != "words"}


def _words(forests: Forests) -> list[str]:
    """[E] the word of each edge, empty for none."""
    offsets, symbols = forests.need_words("slf")
    arities, sizes = forests.arities, segments.lengths(offsets)
    own = sizes - arities
    last = np.where(sizes > 0, np.append(symbols, -1)[np.maximum(offsets[1:] - 1, 0)], -1)
    first = np.where(sizes > 0, np.append(symbols, 0)[offsets[:-1]], 0)
    bad = (arities > 1) | (own < 0) | (own > 1) | ((arities == 1) & (first != -1)) | ((own == 1) & (last < 0))
    if bad.any():
        what = "edges of at most one tail and at most one word after it"
        raise CapabilityError(f"slf holds lattices, {what}; edge {int(bad.argmax())} is another")
    if "words" in forests.feature_names and (forests.column("words") != own).any():
        raise CapabilityError("slf counts words itself, and the feature 'words' is not that count; rename it")
    return [forests.vocabulary[symbol] if said else "" for symbol, said in zip(last.tolist(), own > 0, strict=True)]


def _start(forests: Forests, i: int, words: list[str]) -> int:
    """The node that is a start as it stands: its one edge is empty, and no other edge is without tails; else -1."""
    rows = [(edge, head) for edge, head, tails in edge_rows(forests, i) if not tails]
    if len(rows) != 1:
        return -1
    edge, head = rows[0]
    node = int(forests.node_offsets[i]) + head
    alone = forests.edge_offsets[node + 1] - forests.edge_offsets[node] == 1
    empty: Bools = (forests.features[edge] == 0) & ~np.signbit(forests.features[edge])
    return head if alone and not words[edge] and bool(empty.all()) else -1


def _escaped(word: str) -> str:
    word = word.replace("\\", "\\\\")
    return f"\\{word}" if word[0] in "\"'" else word
