"""Our own format of forests: JSON lines, one segment a line. Holds all that `Forests` holds of the input, exactly.

    {"id": "utt1", "source": "...", "references": ["..."], "group": "...", "features": ["am", "lm"], "root": 1,
     "nodes": [[[[], [-1.5, -0.5], ["house"]]], [[[0], [0.0, -2.25], ["a", 0]], [[0], [0.0, -3.0], ["the", 0]]]]}

A node is the list of its edges, an edge is `[tails, features, words]`: numbers of nodes, one value for each of
"features", and words, with a number for the words of that tail (0 is the first). Edges without "words" are legal where
no edge has them. Only "nodes" is required; "weights" are those of the system that made the forest, by feature.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.base.files import replacing
from nbest.corpus import Forests
from nbest.formats.forests.base import ForestFormat, edge_rows, many_objects, need_vocabulary
from nbest.formats.forests.builder import ForestBuilder
from nbest.formats.forests.parts import Draft
from nbest.formats.json_text import kind, loads, need
from nbest.formats.lists.base import lines_of, shown
from nbest.formats.lists.jsonl import check_keys, group_of, id_of, numbers_of, references_of

_KEYS = ("id", "source", "references", "group", "doc", "features", "weights", "root", "nodes")
_EXPECTED = 'one JSON object a line, with "nodes"'


@many_objects()
def read_forest_jsonl(path: str | Path, *, data: bytes | None = None) -> Forests:
    """Read JSON lines. Keys it does not know are left alone, unless they look like a known one misspelt."""
    builder = ForestBuilder(path, sparse=False)
    for line, text in enumerate(lines_of(path, data, _EXPECTED), 1):
        if not text.strip():
            raise FormatError(path, line, "a blank line between segments; expected one JSON object a line")
        _read_segment(builder, line, need(path, line, "a segment", loads(path, line, text), dict))
    return builder.build()


def _read_segment(builder: ForestBuilder, line: int, segment: dict[str, Any]) -> None:
    path = builder.path
    check_keys(path, line, segment, _KEYS)
    if "nodes" not in segment:
        raise FormatError(path, line, 'the key "nodes" is missing')
    source = segment.get("source")
    if source is not None:
        need(path, line, '"source"', source, str)
    names = _names(path, line, segment.get("features"))
    nodes = need(path, line, '"nodes"', segment["nodes"], list)
    draft = _read_nodes(builder, line, nodes, len(names))
    draft.names, draft.line = tuple(names), line
    builder.add(
        id_of(path, line, segment.get("id")),
        draft,
        len(nodes),
        _root(path, line, segment.get("root"), len(nodes)),
        references=references_of(path, line, segment.get("references")),
        source=source,
        group=group_of(path, line, segment),
        weights=numbers_of(path, line, "weights", segment["weights"]) if "weights" in segment else None,
    )


def _names(path: str | Path, line: int, value: Any) -> list[str]:
    names = [] if value is None else need(path, line, '"features"', value, list)
    for name in names:
        need(path, line, "a name of a feature", name, str)
        if names.count(name) > 1:
            raise FormatError(path, line, f"feature {name!r} is named twice")
    return names


def _root(path: str | Path, line: int, value: Any, nodes: int) -> int | None:
    if value is not None and (type(value) is not int or not 0 <= value < nodes):
        what = f"the number of a node, 0 to {nodes - 1}" if nodes else "left out, as there are no nodes"
        raise FormatError(path, line, f'"root" must be {what}, got {shown(value)}')
    return value


def _read_nodes(builder: ForestBuilder, line: int, nodes: list[Any], width: int) -> Draft:
    draft = Draft()
    heads, counts, tails, values = draft.heads, draft.tail_counts, draft.tails, draft.values
    for head, edges in enumerate(nodes):
        if type(edges) is not list:
            raise FormatError(builder.path, line, f"node {head} must be a list of edges, got {kind(edges)}")
        for edge in edges:
            if type(edge) is not list or not 2 <= len(edge) <= 3 or not all(type(part) is list for part in edge):
                what = f"an edge must be [tails, features, words], three lists, got {shown(edge)}"
                raise FormatError(builder.path, line, f"{what} (edge {len(heads)})")
            if len(edge[1]) != width:
                what = f"an edge has {len(edge[1])} values, and there are {width} features"
                raise FormatError(builder.path, line, f"{what} (edge {len(heads)})")
            heads.append(head)
            counts.append(len(edge[0]))
            tails += edge[0]
            values += edge[1]
            if len(edge) == 3:
                draft.symbol_counts.append(len(edge[2]))
                _read_words(builder, line, draft, edge[2], len(edge[0]))
    if len(draft.symbol_counts) not in (0, len(heads)):
        raise FormatError(builder.path, line, "some edges have words and others have none")
    _check_types(builder.path, line, draft, width)
    return draft


def _read_words(builder: ForestBuilder, line: int, draft: Draft, words: list[Any], arity: int) -> None:
    vocabulary, symbols = builder.vocabulary, draft.symbols
    for word in words:
        if type(word) is str:
            known = vocabulary.get(word)
            symbols.append(builder.word(builder.path, line, word) if known is None else known)
        elif type(word) is int and 0 <= word < arity:
            symbols.append(-1 - word)
        else:
            what = f"words must be strings, or numbers of tails (this edge has {arity}), got {shown(word)}"
            raise FormatError(builder.path, line, f"{what} (edge {len(draft.heads) - 1})")


def _check_types(path: str | Path, line: int, draft: Draft, width: int) -> None:
    """All tails whole numbers, all features numbers; looked at in bulk, and one by one only to complain."""
    if not set(map(type, draft.tails)) <= {int}:
        wrong = next(tail for tail in draft.tails if type(tail) is not int)
        raise FormatError(path, line, f"tails must be numbers of nodes, got {shown(wrong)}")
    if not set(map(type, draft.values)) <= {int, float}:
        at = next(at for at, value in enumerate(draft.values) if type(value) not in (int, float))
        what = f"features must be finite numbers, got {shown(draft.values[at])}"
        raise FormatError(path, line, f"{what} (edge {at // width})")


@many_objects()
def write_forest_jsonl(forests: Forests, path: str | Path) -> None:
    """Write JSON lines. The metric and origins are not kept; all else is, to the last bit."""
    need_vocabulary(forests, "forests")
    with replacing(path) as file:
        for i in range(len(forests)):
            text = json.dumps(_segment(forests, i), ensure_ascii=False, allow_nan=False)
            file.write(text.encode("utf-8", "replace") + b"\n")


def _segment(forests: Forests, i: int) -> dict[str, Any]:
    segment: dict[str, Any] = {"id": forests.ids[i]}
    if forests.sources is not None:
        segment["source"] = forests.sources[i]
    if forests.references is not None:
        segment["references"] = list(forests.references[i])
    if forests.groups is not None:
        segment["group"] = forests.groups[i]
    count = int(forests.node_offsets[i + 1] - forests.node_offsets[i])
    segment["features"] = list(forests.feature_names)
    if forests.own_weights:
        segment["weights"] = dict(forests.own_weights)
    if count:
        segment["root"] = count - 1
    nodes: list[list[Any]] = [[] for _ in range(count)]
    for edge, head, tails in edge_rows(forests, i):
        row: list[Any] = [tails, forests.features[edge].tolist()]
        if forests.symbols is not None and forests.symbol_offsets is not None:
            symbols = forests.symbols[forests.symbol_offsets[edge] : forests.symbol_offsets[edge + 1]].tolist()
            row.append([forests.vocabulary[symbol] if symbol >= 0 else -1 - symbol for symbol in symbols])
        nodes[head].append(row)
    return segment | {"nodes": nodes}


def _sniff(path: Path, head: bytes) -> bool:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start.startswith(b"{") or re.search(rb'"hypotheses"\s*:', start):
        return False
    if re.search(rb'"nodes"\s*:\s*\[\s*\[', start):
        return True
    return re.search(rb'"nodes"\s*:\s*\[\s*\]', start) is not None and re.search(rb'"edges"\s*:', start) is None


FORMAT = ForestFormat(
    name="forests",
    read=read_forest_jsonl,
    write=write_forest_jsonl,
    sniff=_sniff,
    suffixes=(".forests.jsonl", ".forests", ".jsonl"),
    summary="JSON lines, one forest each: the format of nbest itself, which keeps everything",
    keeps=frozenset(
        {
            "ids",
            "tails",
            "deletions",
            "unnamed",
            "hypergraphs",
            "features",
            "weights",
            "references",
            "sources",
            "groups",
            "empty",
        }
    ),
    example={
        "dev.forests.jsonl": '{"id": "u1", "source": "ein Haus", "references": ["a house"], "features": ["am", "lm"], '
        '"root": 0, "nodes": [[[[1], [-1, -0.5], ["a", 0]], [[1, 1], [-2e0, 0.25], [0, "größer", 1]]], '
        '[[[], [0, -0.125], ["house"]], [[], [0.5, -1], []]]]}\n'
        '{"id": 7, "source": "", "references": ["x", "y"], "nodes": []}\n'
        '{"source": "-", "references": ["-"], "features": ["lm", "am"], "nodes": [[], [[[], [0.5, 1], ["-"]]]], '
        '"root": 1}\n'
    },
)
