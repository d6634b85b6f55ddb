"""Travatar's forests of translations: JSON, one forest a line.

    {"nodes": [{"id": 0, "sym": "S", "span": [0, 2]}, {"id": 1, "sym": "N", "span": [1, 2]}],
     "edges": [{"id": 0, "head": 0, "tails": [1], "trg": [{"words": ["a", -1]}], "features": {"lm": -1.5}},
               {"id": 1, "head": 1, "trg": ["\\"house\\""]}], "words": ["ein", "Haus"]}

Node 0 is the root. The target side, the first of "trg", is an object with "words" (-1 is the first tail) or a text such
as `"a" x0` (x0 is the first tail). "words" is the source. A feature that an edge does not have is 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.base.files import replacing
from nbest.corpus import Forests
from nbest.formats.forests.base import ForestFormat, edge_rows, many_objects, need_vocabulary, sparse_values
from nbest.formats.forests.builder import ForestBuilder
from nbest.formats.forests.parts import Draft
from nbest.formats.json_text import loads, need, need_number
from nbest.formats.lists.base import lines_of, shown

_TOKEN = re.compile(r'\s*(?:x([0-9]{1,6})|"((?:[^"\\]|\\.)*)")(?=\s|$)')


@many_objects()
def read_travatar(path: str | Path, *, data: bytes | None = None, features: Sequence[str] | None = None) -> Forests:
    """Read forests, called 0, 1, ... `features` names those to keep. Scores of edges, which mix them, are not read."""
    builder = ForestBuilder(path, sparse=True, only=features)
    lines = list(enumerate(lines_of(path, data, 'one JSON object a line, with "nodes" and "edges"'), 1))
    parsed = [_Line(builder, line, text) for line, text in lines]
    known = any(each.source for each in parsed)
    for number, each in enumerate(parsed):
        each.add(str(number), known)
    return builder.build()


class _Line:
    """One forest."""

    def __init__(self, builder: ForestBuilder, line: int, text: str) -> None:
        self.builder, self.path, self.line = builder, builder.path, line
        if not text.strip():
            raise FormatError(self.path, line, "a blank line between forests; expected one JSON object a line")
        forest = need(self.path, line, "a forest", loads(self.path, line, text), dict)
        for key in ("nodes", "edges"):
            if key not in forest:
                raise FormatError(self.path, line, f'the key "{key}" is missing')
        words = need(self.path, line, '"words"', forest.get("words", []), list)
        self.source = " ".join(need(self.path, line, "a source word", word, str) for word in words)
        self.nodes = self._nodes(need(self.path, line, '"nodes"', forest["nodes"], list))
        self.draft = Draft(line=self.line)
        for edge in need(self.path, line, '"edges"', forest["edges"], list):
            self._edge(need(self.path, line, "an edge", edge, dict))

    def add(self, name: str, with_source: bool) -> None:
        source = self.source if with_source else None
        root = self.nodes - 1 if self.nodes else None
        self.builder.add(name, self.draft, self.nodes, root, source=source)

    def error(self, message: str) -> FormatError:
        return FormatError(self.path, self.line, f"{message} (edge {len(self.draft.heads)})")

    def _nodes(self, nodes: list[Any]) -> int:
        for number, node in enumerate(nodes):
            given = need(self.path, self.line, f"node {number}", node, dict).get("id", number)
            if type(given) is not int or given != number:
                raise FormatError(self.path, self.line, f'"id" of node {number} must be its place, got {shown(given)}')
        return len(nodes)

    def _node(self, value: Any, what: str) -> int:
        """A node of the file, counted from the end, so that the root comes last."""
        if type(value) is not int or not 0 <= value < self.nodes:
            raise self.error(f"{what} must be the number of a node, 0 to {self.nodes - 1}, got {shown(value)}")
        return self.nodes - 1 - value

    def _edge(self, edge: dict[str, Any]) -> None:
        draft, path, line = self.draft, self.path, self.line
        tails = [self._node(tail, "a tail") for tail in need(path, line, '"tails"', edge.get("tails", []), list)]
        symbols = self._target(need(path, line, '"trg"', edge.get("trg", []), list), len(tails))
        features = need(path, line, '"features"', edge.get("features", {}), dict)
        for name, value in features.items():
            column = self.builder.column(name)
            if column >= 0:
                draft.rows.append(len(draft.heads))
                draft.columns.append(column)
                draft.values.append(need_number(path, line, f"feature {name!r} of edge {len(draft.heads)}", value))
        draft.heads.append(self._node(edge.get("head"), '"head"'))
        draft.tail_counts.append(len(tails))
        draft.tails += tails
        draft.symbol_counts.append(len(symbols))
        draft.symbols += symbols

    def _target(self, targets: list[Any], arity: int) -> list[int]:
        if not targets:
            raise self.error('no target side ("trg"): forests of parses, without translations, are not read')
        first = targets[0]
        parts = self._words(first.get("words", [])) if isinstance(first, dict) else self._text(first)
        symbols = []
        for part in parts:
            if isinstance(part, int) and part >= arity:
                raise self.error(f"the target side names tail {part} (from 0), and there are {arity} tails")
            symbols.append(-1 - part if isinstance(part, int) else self.builder.word(self.path, self.line, part))
        return symbols

    def _words(self, words: Any) -> list[str | int]:
        for word in need(self.path, self.line, '"words" of a target side', words, list):
            if type(word) is not str and (type(word) is not int or word >= 0):
                raise self.error(f"a target word must be a string, or -1, -2, ... for a tail, got {shown(word)}")
        return [-1 - word if isinstance(word, int) else word for word in words]

    def _text(self, text: Any) -> list[str | int]:
        if type(text) is not str:
            raise self.error(f"a target side must be an object or a string, got {shown(text)}")
        parts: list[str | int] = []
        at = 0
        text = re.split(r"\s@\s", text + " ")[0].rstrip()  # after it comes the label
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise self.error(f'expected x0, x1, ... or "word" in the target side, got {shown(text[at:])}')
            parts.append(int(found[1]) if found[1] is not None else re.sub(r"\\(.)", r"\1", found[2]))
            at = found.end()
        return parts


@many_objects()
def write_travatar(forests: Forests, path: str | Path) -> None:
    """Write forests, one a line, with the symbol X and empty spans. Not kept: ids and references."""
    forests.need_words("travatar")
    need_vocabulary(forests, "travatar")
    with replacing(path) as file:
        for i in range(len(forests)):
            file.write(json.dumps(_forest(forests, i), ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _forest(forests: Forests, i: int) -> dict[str, Any]:
    count = int(forests.node_offsets[i + 1] - forests.node_offsets[i])
    offsets, symbols = forests.need_words("travatar")
    edges: list[dict[str, Any]] = []
    for edge, head, tails in edge_rows(forests, i):
        row = symbols[offsets[edge] : offsets[edge + 1]].tolist()
        words = [forests.vocabulary[symbol] if symbol >= 0 else symbol for symbol in row]
        entry: dict[str, Any] = {"id": len(edges), "head": count - 1 - head}
        if tails:
            entry["tails"] = [count - 1 - tail for tail in tails]
        entry["trg"] = [{"words": words}]
        edges.append(entry | {"features": sparse_values(forests, edge)})
    nodes = [{"id": number, "sym": "X", "span": [0, 0]} for number in range(count)]
    return {"nodes": nodes, "edges": edges, "words": forests.sources[i].split() if forests.sources else []}


def _sniff(path: Path, head: bytes) -> bool:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start.startswith(b"{"):
        return False
    if re.search(rb'"nodes"\s*:\s*\[\s*\{', start):
        return True
    return bool(re.search(rb'"nodes"\s*:\s*\[\s*\]', start) and re.search(rb'"edges"\s*:\s*\[', start))


FORMAT = ForestFormat(
    name="travatar",
    read=read_travatar,
    write=write_travatar,
    sniff=_sniff,
    suffixes=(".travatar.jsonl", ".travatar"),
    summary="Travatar's forests of translations, JSON, one a line",
    keeps=frozenset({"tails", "deletions", "hypergraphs", "features", "sources", "empty"}),
    example={
        "dev.travatar": '{"nodes": [{"id": 0, "sym": "S", "span": [0, 2]}, {"id": 1, "sym": "N", "span": [1, 2]}], '
        '"edges": [{"id": 0, "head": 0, "tails": [1], "trg": [{"label": -1, "words": ["a", -1]}], '
        '"features": {"lm": -1.5}}, {"id": 1, "head": 0, "tails": [1, 1], "trg": ["x1 \\"größer\\" x0 @ S"]}, '
        '{"id": 2, "head": 1, "trg": [{"words": ["house"]}], "features": {"a=b": 1, "lm": -2e0}, "score": -1}], '
        '"words": ["ein", "Haus"]}\n{"nodes": [], "edges": [], "words": []}\n'
    },
)
