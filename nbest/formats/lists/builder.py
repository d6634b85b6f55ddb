"""Collects hypotheses one by one, whatever the format, and makes checked lists of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.corpus import NBest, Origin, Texts
from nbest.corpus.order import in_order


class Builder:
    """Groups hypotheses by segment id; every complaint names file and line.

    Segments stand in the order of their ids where these are whole numbers, else in order of first appearance.
    Every hypothesis must have the same dense features; sparse ones (absent means 0) are given apart.
    Texts and gains are there for all hypotheses or for none; so are references, sources and groups of segments. An
    answer or system that is absent while others have one is "".
    `names` are the dense features of earlier parts of the file, where it is read in parts.
    """

    def __init__(self, path: str | Path, names: tuple[str, ...] | None = None) -> None:
        self.path = path
        self._segments: dict[str, int] = {}
        self._lines: dict[str, int | None] = {}
        self._references: dict[str, tuple[str, ...]] = {}
        self._sources: dict[str, str] = {}
        self._groups: dict[str, str] = {}
        self._owners: list[int] = []
        self._texts: list[str] = []
        self._gains: list[float] = []
        self._answers: dict[int, str] = {}  # by row
        self._systems: dict[int, str] = {}
        self._names = names
        self._rows: list[tuple[float, ...]] = []
        self._sparse_names: dict[str, int] = {}
        self._sparse: list[tuple[int, int, float]] = []

    def segment(
        self,
        name: str,
        references: Sequence[str] | None = None,
        source: str | None = None,
        line: int | None = None,
        *,
        group: str | None = None,
    ) -> None:
        """Declare a segment, so that it is there even with an empty list, and what belongs to it."""
        self._number(name, line)
        if references:
            self._references[name] = tuple(references)
        if source is not None:
            self._sources[name] = source
        if group is not None:
            self._groups[name] = group

    def has(self, name: str) -> bool:
        """Whether a segment of this name was there before."""
        return name in self._segments

    def line(self, name: str) -> int | None:
        """The line that a segment was first seen on."""
        return self._lines[name]

    def hypothesis(
        self,
        segment: str,
        text: str | None,
        features: Mapping[str, float],
        line: int | None,
        sparse: Mapping[str, float] | None = None,
        *,
        gain: float | None = None,
        answer: str | None = None,
        system: str | None = None,
    ) -> None:
        """Add a hypothesis to the list of a segment: what it is worth (`gain`) and says (`answer`), and who made it
        (`system`), where known."""
        row = len(self._rows)
        self._rows.append(self._checked(features, line))
        self._owners.append(self._number(segment, line))
        if text is not None:
            self._texts.append(text)
        if gain is not None:
            if not math.isfinite(gain):
                raise FormatError(self.path, line, f"the score of a hypothesis must be a finite number, got {gain}")
            self._gains.append(gain)
        if answer is not None:
            self._answers[row] = answer
        if system is not None:
            self._systems[row] = system
        for what, value, known in (("text", text, self._texts), ("score", gain, self._gains)):
            if len(known) != (0 if value is None else row + 1):
                how = ("without", "one") if value is None else ("with", "none")
                raise FormatError(self.path, line, f"a hypothesis {how[0]} {what}; those before have {how[1]}")
        for name, value in (sparse or {}).items():
            self._add_sparse(row, name, value, line)

    def _number(self, segment: str, line: int | None) -> int:
        if segment not in self._segments:
            self._segments[segment] = len(self._segments)
            self._lines[segment] = line
        return self._segments[segment]

    def _checked(self, features: Mapping[str, float], line: int | None) -> tuple[float, ...]:
        """The row of a hypothesis, in the order of the first one's names."""
        for name, value in features.items():
            if not math.isfinite(value):
                raise FormatError(self.path, line, f"feature {name!r} must be a finite number, got {value}")
        if self._names is None:
            self._names = tuple(features)
        if tuple(features) == self._names:
            return tuple(features.values())
        if features.keys() != set(self._names):
            self._complain_of_names(features, line)
        return tuple(features[name] for name in self._names)

    def _add_sparse(self, row: int, name: str, value: float, line: int | None) -> None:
        if not math.isfinite(value):
            raise FormatError(self.path, line, f"feature {name!r} must be a finite number, got {value}")
        column = self._sparse_names.setdefault(name, len(self._sparse_names))
        if name in (self._names or ()):
            raise FormatError(self.path, line, f"feature {name!r} is both dense and sparse")
        self._sparse.append((row, column, value))

    def _complain_of_names(self, features: Mapping[str, float], line: int | None) -> None:
        known = self._names or ()
        missing = [name for name in known if name not in features]
        if missing:
            message = f"feature {missing[0]!r} is missing; every hypothesis needs {', '.join(known)}"
        else:
            extra = next(name for name in features if name not in known)
            message = f"feature {extra!r} is not in the hypotheses before; they have {', '.join(known) or 'none'}"
        raise FormatError(self.path, line, message)

    def build(self, origins: Mapping[str, Origin] | None = None) -> NBest:
        """The lists; an input without any segment is an error."""
        if not self._segments:
            raise FormatError(self.path, None, "no hypotheses in it; expected at least one segment")
        names = in_order(self._segments)
        place = np.empty(len(names), np.int64)
        place[[self._segments[name] for name in names]] = np.arange(len(names))
        owners = place[np.array(self._owners, np.int64)]
        rows = np.argsort(owners, kind="stable")
        grouped = bool((np.diff(rows) == 1).all())
        features = np.array(self._rows, np.float64).reshape(len(self._rows), len(self._names or ()))
        return NBest(
            offsets=segments.offsets_of(np.bincount(owners, minlength=len(names))),
            features=features[rows],
            feature_names=self._names or (),
            ids=tuple(names),
            texts=Texts.of(self._texts).take(rows) if len(self._texts) == len(self._rows) else None,
            gains=np.array(self._gains)[rows] if self._gains else None,
            answers=_by_row(self._answers, rows),
            systems=_by_row(self._systems, rows),
            references=self._complete(self._references, names, "references"),
            sources=self._complete(self._sources, names, "source"),
            groups=self._complete(self._groups, names, "group"),
            sparse=self._sparse_matrix(rows),
            sparse_names=tuple(self._sparse_names),
            positions=None if grouped else rows,
            origins=origins or {},
        )

    def _complete(self, given: dict[str, Any], names: list[str], what: str) -> tuple[Any, ...] | None:
        """One entry a segment, or None when no segment has any."""
        if not given:
            return None
        for name in names:
            if name not in given:
                raise FormatError(self.path, self._lines[name], f"segment {name!r} has no {what} while others have")
        return tuple(given[name] for name in names)

    def _sparse_matrix(self, rows: Ints) -> Any:
        if not self._sparse_names:
            return None
        from scipy.sparse import coo_array

        row, column, value = zip(*self._sparse, strict=True)
        shape = (len(self._rows), len(self._sparse_names))
        return coo_array((np.array(value, np.float64), (row, column)), shape=shape).tocsr()[rows]


def _by_row(given: dict[int, str], rows: Ints) -> Texts | None:
    """Texts of hypotheses in this order, where some have one."""
    return Texts.of(given.get(row, "") for row in rows.tolist()) if given else None
