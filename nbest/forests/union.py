"""The union of several forests of the same segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.corpus import Forests
from nbest.corpus.container import OF_SEGMENTS
from nbest.corpus.joining import over_vocabulary
from nbest.corpus.order import in_order


def union(parts: Sequence[Forests]) -> Forests:
    """One forest a segment whose derivations are those of all parts: a new root above their roots.

    Segments are told by id and stand in the order of `nbest.corpus.order`; what belongs to them comes from the first
    part. A derivation of two parts is there twice, which changes no best derivation but doubles its share of a
    posterior. Statistics on edges are not kept.
    """
    if not parts:
        raise ParameterError("there are no forests to unite")
    first = parts[0]
    if len(parts) == 1:
        return first
    for number, part in enumerate(parts[1:], 2):
        if set(part.feature_names) != set(first.feature_names):
            odd = sorted(set(part.feature_names) ^ set(first.feature_names))[0]
            raise ParameterError(f"forests to unite must have the same features; {odd!r} is not in both 1 and {number}")
    ids = in_order(dict.fromkeys(name for part in parts for name in part.ids))
    vocabulary = list(dict.fromkeys(word for part in parts for word in part.vocabulary))
    alike = [over_vocabulary(part.only_features(first.feature_names), vocabulary) for part in parts]
    places = [{name: i for i, name in enumerate(part.ids)} for part in alike]
    joined = _Joined(alike)
    for name in ids:
        joined.add([(part, place[name]) for part, place in zip(alike, places, strict=True) if name in place])
    owner = {name: (part, place[name]) for part, place in zip(alike[::-1], places[::-1], strict=True) for name in place}
    homes = [owner[name] for name in ids]
    own = {field: _of_segments([(getattr(part, field), i) for part, i in homes]) for field in OF_SEGMENTS[1:]}
    return replace(
        first,
        **joined.fields(),
        **own,
        vocabulary=tuple(vocabulary),
        ids=tuple(ids),
        stats=None,
    )


def _of_segments(values: Sequence[tuple[Any, int]]) -> Any:
    return None if any(each is None for each, _ in values) else tuple(each[i] for each, i in values)


class _Joined:
    """Arrays of forests that are put under common roots, one segment after the other."""

    def __init__(self, parts: Sequence[Forests]) -> None:
        self.width = len(parts[0].feature_names)
        self.words = all(part.symbols is not None for part in parts)
        self.nodes: list[int] = []  # of each segment
        self.degrees: list[Ints] = []  # edges into each node
        self.edges: list[dict[str, Any]] = []

    def add(self, found: Sequence[tuple[Forests, int]]) -> None:
        """A segment: its forests, then the root with an edge to the root of each that has nodes."""
        roots, shift = [], 0
        for part, i in found:
            one = part.select([i])
            if one.nodes == 0:
                continue
            fields = one.edge_fields(np.arange(one.edges))
            fields["tails"] = fields["tails"] + shift
            self.degrees.append(segments.lengths(one.edge_offsets))
            self.edges.append(fields)
            shift += one.nodes
            roots.append(shift - 1)
        count = len(roots)
        self.nodes.append(shift + 1 if count else 0)
        if count:
            self.degrees.append(np.array([count]))
            top: dict[str, Any] = {"tail_offsets": np.arange(count + 1), "tails": np.array(roots, np.int32)}
            top["features"] = np.zeros((count, self.width))
            if self.words:
                top |= {"symbol_offsets": np.arange(count + 1), "symbols": np.full(count, -1, np.int32)}
            self.edges.append(top)

    def fields(self) -> dict[str, Any]:
        """The fields of the united forests."""
        empty = np.zeros(0, np.int32)
        out: dict[str, Any] = {
            "symbol_offsets": None,
            "symbols": None,
            "node_offsets": segments.offsets_of(np.array(self.nodes, np.int64)),
            "edge_offsets": segments.offsets_of(np.concatenate([empty, *self.degrees])),
            "features": np.concatenate([np.zeros((0, self.width)), *(each["features"] for each in self.edges)]),
        }
        for offsets, values in (("tail_offsets", "tails"), *([("symbol_offsets", "symbols")] if self.words else [])):
            sizes = [segments.lengths(each[offsets]) for each in self.edges]
            out[offsets] = segments.offsets_of(np.concatenate([empty, *sizes]))
            out[values] = np.concatenate([empty, *(each[values] for each in self.edges)])
        return out
