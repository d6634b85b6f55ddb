"""Writes forests as cdec does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nbest.corpus import Forests
from nbest.formats.forests.base import edge_rows, many_objects, need_vocabulary, sparse_values, write_single

SUFFIXES = (".json",)


@many_objects()
def write_cdec(forests: Forests, path: str | Path) -> None:
    """Write cdec's JSON, one forest a file.

    Rules have the category X and a source side of nothing but tails (`<unk>` without any), as the source is not known.
    Not kept: references and sources.
    """
    need_vocabulary(forests, "cdec", lambda word: "|||" in word or (word[0] == "[" and word[-1] == "]"))
    columns = {name: d for d, name in enumerate(forests.feature_names)}

    def render(i: int) -> str:
        into: list[list[str]] = [[] for _ in range(int(forests.node_offsets[i + 1] - forests.node_offsets[i]))]
        rules: dict[str, int] = {}
        for edge, head, tails in edge_rows(forests, i):
            feats = [part for name, value in sparse_values(forests, edge).items() for part in (columns[name], value)]
            entry: dict[str, Any] = {"tail": tails, "spans": [-1, -1, -1, -1], "feats": feats}
            if forests.symbols is not None:
                entry["rule"] = rules.setdefault(_rule(forests, edge, len(tails)), len(rules) + 1)
            into[head].append(_dump(entry))
        numbered = [part for text, number in rules.items() for part in (number, text)]
        parts = [f'"rules":{_dump(numbered)}'] if rules else []
        parts.append(f'"features":{_dump(list(forests.feature_names))}')
        count = 0
        for edges in into:
            parts.append(f'"edges":[{",".join(edges)}]')
            parts.append(f'"node":{_dump({"in_edges": list(range(count, count + len(edges))), "cat": "X"})}')
            count += len(edges)
        return "{" + ",".join(parts) + "}\n"

    write_single(forests, path, "cdec", SUFFIXES[0], render)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _rule(forests: Forests, edge: int, arity: int) -> str:
    offsets, symbols = forests.need_words("cdec")
    row = symbols[offsets[edge] : offsets[edge + 1]].tolist()
    target = [forests.vocabulary[symbol] if symbol >= 0 else f"[{-symbol}]" for symbol in row]
    source = [f"[X,{tail + 1}]" for tail in range(arity)] or ["<unk>"]
    return f"[X] ||| {' '.join(source)} ||| {' '.join(target)}"
