"""Collects forests of any format and makes checked ones of them; every complaint names file and line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import Forests, Origin
from nbest.corpus.order import in_order
from nbest.formats.forests.parts import Draft, Part, Place, part_of
from nbest.formats.lists.base import shown

_MOST = 2**31
"""Values that a table of features may have: 16 GB."""


class ForestBuilder:
    """Makes forests of drafts; every complaint names file and line, or the number of the edge.

    Where `sparse`, a feature that an edge does not have is 0, and `only` names the ones to keep (None: all).
    Else all edges need the same features. All edges have words or none has; so with references and sources of segments.
    """

    def __init__(self, path: str | Path, sparse: bool, only: Sequence[str] | None = None) -> None:
        self.path = path
        self.vocabulary: dict[str, int] = {}
        self._sparse = sparse
        self._only = only.split(",") if isinstance(only, str) else only
        self._columns = {name: d for d, name in enumerate(self._only or ())}
        self._used: set[str] = set()
        self._parts: list[Part] = []
        self._places: dict[str, tuple[str | Path, int | None]] = {}
        self._references: dict[str, tuple[str, ...]] = {}
        self._sources: dict[str, str] = {}
        self._groups: dict[str, str] = {}
        self._words: bool | None = None
        self._weights: dict[str, float] | None = None

    def word(self, path: str | Path, line: int | None, text: str) -> int:
        """The number of a word."""
        known = self.vocabulary.get(text)
        if known is not None:
            return known
        if text.split() != [text]:
            raise FormatError(path, line, f"a word must not be empty or hold white space, got {shown(text)}")
        return self.vocabulary.setdefault(text, len(self.vocabulary))

    def column(self, name: str) -> int:
        """The number of a feature of a sparse format; -1 for one that is not kept."""
        if self._only is None:
            return self._columns.setdefault(name, len(self._columns))
        self._used.add(name)
        return self._columns.get(name, -1)

    def add(
        self,
        name: str,
        draft: Draft,
        nodes: int,
        root: int | None,
        *,
        references: Sequence[str] | None = None,
        source: str | None = None,
        group: str | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        """Add a forest of this many nodes; without `root` it is the one node that is nobody's tail.

        Nodes are put children first, else in the order given. Nodes that have the root among their descendants cannot
        come before it and are left out; other unreachable ones stay.
        """
        line = draft.line
        place = Place(self.path if draft.path is None else draft.path, line, draft)
        if name in self._places:
            file, at = self._places[name]
            raise FormatError(place.path, line, f"segment {name!r} is already {_where(file, at)}")
        self._places[name] = (place.path, line)
        if references:
            self._references[name] = tuple(references)
        if source is not None:
            self._sources[name] = source
        if group is not None:
            self._groups[name] = group
        if weights is not None:  # none at all where forests do not agree
            self._weights = dict(weights) if self._weights in (None, weights) else {}
        if len(draft.heads):
            self._check_words(place, len(draft.symbol_counts) > 0)
        self._parts.append(part_of(place, draft, nodes, root))

    def _check_words(self, place: Place, words: bool) -> None:
        if self._words not in (None, words):
            what = (
                "edges with words; those before have none" if words else "edges without words; those before have some"
            )
            raise FormatError(place.path, place.line, f"edges {what}")
        self._words = words

    def build(self, origins: Mapping[str, Origin] | None = None) -> Forests:
        """The forests; an input without any is an error."""
        if not self._parts:
            raise FormatError(self.path, None, "no forests in it; expected at least one")
        names = in_order(self._places)
        by_name = dict(zip(self._places, self._parts, strict=True))
        self._places = {name: self._places[name] for name in names}
        self._parts = parts = [by_name[name] for name in names]
        features, feature_names = self._features()
        words: dict[str, Any] = {}
        if self._words is not False:
            counts = [part.edge_counts[:0] if part.symbol_counts is None else part.symbol_counts for part in parts]
            words = {"symbol_offsets": _offsets(counts), "symbols": np.concatenate([part.symbols for part in parts])}
        return Forests(
            node_offsets=_offsets([np.array([len(part.edge_counts)]) for part in parts]),
            edge_offsets=_offsets([part.edge_counts for part in parts]),
            tail_offsets=_offsets([part.tail_counts for part in parts]),
            tails=np.concatenate([part.tails for part in parts]),
            features=features,
            feature_names=feature_names,
            ids=tuple(names),
            vocabulary=tuple(self.vocabulary),
            references=self._complete(self._references, names, "references"),
            sources=self._complete(self._sources, names, "source"),
            groups=self._complete(self._groups, names, "group"),
            origins={name: origin for name, origin in (origins or {}).items() if name in feature_names},
            own_weights={name: weight for name, weight in (self._weights or {}).items() if name in feature_names},
            absent_is_zero=self._sparse and self._only is None,
            **words,
        )

    def _features(self) -> tuple[Floats, tuple[str, ...]]:
        edges = _offsets([np.array([len(part.tail_counts)]) for part in self._parts])
        names = tuple(self._columns) if self._sparse else self._common_names()
        if int(edges[-1]) * len(names) > _MOST:
            what = f"{len(names)} features of {edges[-1]} edges do not fit"
            raise FormatError(self.path, None, f"{what}; choose some with features=[...]" if self._sparse else what)
        for name in () if self._only is None else self._only:
            if name not in self._used:
                raise FormatError(self.path, None, f"no feature {name!r} in it; it has {', '.join(sorted(self._used))}")
        table = np.zeros((int(edges[-1]), len(names)))
        for part, low, high in zip(self._parts, edges[:-1], edges[1:], strict=True):
            if isinstance(part.features, tuple):
                rows, columns, values = part.features
                table[rows + low, columns] = values
            elif high > low and names:
                table[low:high] = part.features[:, [(part.names or ()).index(name) for name in names]]
        return table, names

    def _common_names(self) -> tuple[str, ...]:
        """The features that all forests have; those without edges do not count."""
        first: tuple[str, ...] | None = None
        for part, (path, line) in zip(self._parts, self._places.values(), strict=True):
            if part.names is None or len(part.tail_counts) == 0:
                continue
            first = part.names if first is None else first
            for name in first:
                if name not in part.names:
                    known = ", ".join(first)
                    raise FormatError(path, line, f"feature {name!r} is missing; every edge needs {known}")
            for name in part.names:
                if name not in first:
                    known = ", ".join(first) or "none"
                    raise FormatError(path, line, f"feature {name!r} is not in the forests before; they have {known}")
        return first or next((part.names for part in self._parts if part.names), ())

    def _complete(self, given: dict[str, Any], names: list[str], what: str) -> tuple[Any, ...] | None:
        """One entry a segment, or None when no segment has any."""
        if not given:
            return None
        for name in names:
            if name not in given:
                path, line = self._places[name]
                raise FormatError(path, line, f"segment {name!r} has no {what} while others have")
        return tuple(given[name] for name in names)


def _where(path: str | Path, line: int | None) -> str:
    return f"in {path}" if line is None else f"on line {line}"


def _offsets(counts: Sequence[Ints]) -> Ints:
    return segments.offsets_of(np.concatenate(counts))
