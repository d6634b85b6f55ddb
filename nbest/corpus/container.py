"""What the containers have in common: segments with what belongs to them, and rows of features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, _known, need_metric
from nbest.base.mapped import all_finite, room
from nbest.base.types import Floats, References
from nbest.compute.bounds import rises
from nbest.compute.executors import new_key
from nbest.corpus.blocks import blocks
from nbest.corpus.metric import Metric
from nbest.corpus.recipes import same_recipe

OF_SEGMENTS = ("ids", "references", "sources", "groups")
"""Fields with an entry a segment."""


class Said(NamedTuple):
    """How messages call the parts of a container."""

    many: str  # lists
    one: str  # list
    choices: str  # hypotheses: what a segment is chosen from
    texts: str  # hypotheses, as far as they are texts
    row: str  # hypothesis: what a row of features belongs to
    larger: str  # longer


class Container:
    """Base of the containers, which are frozen dataclasses of read-only arrays; their fields are all there is to them.

    They are equal where their fields are, and pickle and copy by their fields: what was derived and kept is left out,
    and what the copy is made of is checked and read-only as in any other.
    """

    features: Floats
    feature_names: tuple[str, ...]
    ids: tuple[str, ...]
    references: tuple[tuple[str, ...], ...] | None
    sources: tuple[str, ...] | None
    groups: tuple[str, ...] | None
    metric: Metric | None

    @property
    def said(self) -> Said:
        """How messages call the parts."""
        raise NotImplementedError

    @property
    def sparse_names(self) -> tuple[str, ...]:
        """D' names of sparse features."""
        raise NotImplementedError

    @property
    def sizes(self) -> dict[str, int]:
        """How many segments, and how many of each part; rows of features last."""
        raise NotImplementedError

    @property
    def size(self) -> str:
        """The number of rows of features, in words."""
        what, count = list(self.sizes.items())[-1]
        return f"{count} {what}"

    def __len__(self) -> int:
        raise NotImplementedError

    def __repr__(self) -> str:
        sizes = ", ".join(f"{count} {what}" for what, count in self.sizes.items())
        sparse = f" and {len(self.sparse_names)} sparse ones" if self.sparse_names else ""
        metric = "" if self.metric is None else f", {self.metric.name}"
        return f"{type(self).__name__}({sizes}, {len(self.feature_names)} features{sparse}{metric})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, others = ({k: _parts(v) for k, v in each._fields().items()} for each in (self, other))
        return same_recipe(mine, others)

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), self._fields())

    def _fields(self) -> dict[str, Any]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}

    @property
    def key(self) -> str:
        """A name of its own, by which an executor knows it again; a copy has another."""
        if "_key" not in self.__dict__:
            self.__dict__["_key"] = new_key()
        return str(self.__dict__["_key"])

    # columns -----------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """D + D' names of dense and sparse features."""
        return (*self.feature_names, *self.sparse_names)

    def place(self, name: str) -> int:
        """Which dense column has this name; an error that names the nearest where none has."""
        if name not in self.feature_names:
            raise ParameterError(f"no feature {name!r} in these {self.said.many}; {_known(self.feature_names, name)}")
        return self.feature_names.index(name)

    def column(self, name: str) -> Floats:
        """[rows] one dense feature."""
        return np.asarray(self.features[:, self.place(name)], np.float64)

    def with_features(self, names: Sequence[str], columns: Floats) -> Self:
        """The same with further dense columns [rows, len(names)]."""
        columns = np.asarray(columns, np.float64)
        if columns.ndim == 1 and len(names) == 1:
            columns = columns[:, None]
        want = (len(self.features), len(names))
        if columns.shape != want:
            raise ParameterError(f"'columns' of with_features must have shape {want}, got {columns.shape}")
        both = room(
            (len(columns), self.features.shape[1] + len(names)), np.result_type(self.features, columns), self.features
        )
        np.concatenate([self.features, columns], axis=1, out=both)
        return self._replaced(features=both, feature_names=(*self.feature_names, *names))

    def only_features(self, names: Sequence[str]) -> Self:
        """The same with only these dense columns, in this order."""
        index = [self.place(name) for name in names]
        features = room((len(self.features), len(index)), self.features.dtype, self.features)
        np.take(self.features, index, axis=1, out=features, mode="clip")
        return self._replaced(features=features, feature_names=tuple(names), **self._said_of(names))

    def without_features(self, names: Sequence[str]) -> Self:
        """The same without these dense columns."""
        return self.only_features([name for name in self.feature_names if name not in names])

    def _said_of(self, names: Sequence[str]) -> dict[str, Any]:
        """The fields that tell of dense columns, for these columns."""
        raise NotImplementedError

    # segments ----------------------------------------------------------------------------------------------

    def with_references(self, references: References) -> Self:
        """The same with these references, one sequence of texts a segment; what was measured by others is gone."""
        return self._replaced(references=tuple(tuple(refs) for refs in references), stats=None, metric=None)

    def need_readable(self, what: str) -> None:
        """Complain where choices cannot be read out, as `what` needs them."""

    def to_measure(self, metric: Metric, references: References | None) -> tuple[Self, References]:
        """The same with references for a metric, its own when none are given, and these."""
        need_metric(f"{type(self).__name__}.with_metric", metric)
        corpus = self if references is None else self.with_references(references)
        if corpus.references is None and getattr(metric, "needs_references", True):
            raise CapabilityError(
                f"{metric.name} needs references and these {self.said.many} carry none; "
                "give them (in Python to with_metric, on the command line with --refs)"
            )
        return corpus, corpus.references or ()

    def of_segments(self, chosen: Iterable[int]) -> dict[str, Any]:
        """The fields that belong to segments, for these segments."""
        given = {name: getattr(self, name) for name in OF_SEGMENTS}
        return {name: None if value is None else tuple(value[i] for i in chosen) for name, value in given.items()}

    def between(self, low: int, high: int) -> Self:
        """The segments from `low` to before `high`."""
        raise NotImplementedError

    def shards(self, block: int | None = None) -> list[Self]:
        """The corpus cut after every `block` segments (default `BLOCK`); made once, itself where there is one only."""
        cuts = blocks(len(self), block)
        if len(cuts) == 1:  # not kept: what holds itself is not freed at once
            return [self]
        if self.__dict__.get("_cut", ((), ()))[0] != cuts:
            self.__dict__["_cut"] = cuts, [self.between(*ends) for ends in cuts]
        return list(self.__dict__["_cut"][1])

    def _replaced(self, **changes: Any) -> Self:
        return replace(self, **changes)  # type: ignore[type-var]

    # at construction ---------------------------------------------------------------------------------------

    def freeze(self, **kinds: Any) -> None:
        """Make the arrays of these fields read-only ones of these types (None: as they are), and names and mappings
        such that nobody changes them."""
        put = object.__setattr__
        for name, kind in kinds.items():
            value = getattr(self, name)
            put(self, name, None if value is None else frozen_view(value, kind))
        for name in ("feature_names", "ids"):
            put(self, name, tuple(getattr(self, name)))
        for name, value in self._fields().items():
            if isinstance(value, dict):
                put(self, name, MappingProxyType(value))

    def check_columns(self, rows: int) -> None:
        """Features are finite numbers, a row and a name each; names differ."""
        owner, features, names = type(self).__name__, self.features, self.feature_names
        if features.shape != (rows, len(names)):
            raise ParameterError(f"'features' of {owner} must have shape {(rows, len(names))}, got {features.shape}")
        if features.dtype not in (np.float32, np.float64):
            raise ParameterError(f"'features' of {owner} must be float32 or float64, got {features.dtype}")
        if not all_finite(features):
            row, column = np.argwhere(~np.isfinite(features))[0]
            where = f"for {names[column]!r} in {self.said.row} {row}"
            raise ParameterError(f"features of {owner} must be finite, got {features[row, column]} {where}")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ParameterError(f"feature names of {owner} must differ, got {twice!r} twice")

    def check_segments(self) -> None:
        """Ids that differ, and one entry a segment of all that belongs to segments."""
        for name in OF_SEGMENTS:
            self.check_entries(name, len(self))
        if len(set(self.ids)) != len(self.ids):
            raise ParameterError(f"'ids' of {type(self).__name__} must differ")

    def check_entries(self, name: str, size: int) -> None:
        """A field that is there has this many entries."""
        value = getattr(self, name)
        if value is not None and len(value) != size:
            raise ParameterError(f"'{name}' of {type(self).__name__} must have {size} entries, got {len(value)}")

    def check_offsets(self, name: str, size: int | None = None) -> None:
        """Offsets start at 0, never fall and, if it is known, have this size."""
        offsets = getattr(self, name)
        if offsets.ndim != 1 or len(offsets) == 0 or offsets[0] != 0 or not rises(offsets):
            raise ParameterError(f"'{name}' of {type(self).__name__} must start at 0 and never fall")
        if size is not None:
            self.check_entries(name, size)


def _parts(value: Any) -> Any:
    """A sparse matrix as its arrays, other fields as they are."""
    return (value.shape, value.indptr, value.indices, value.data) if hasattr(value, "indptr") else value


def _made(kind: type, values: dict[str, Any]) -> Any:
    return kind(**values)


def frozen_view(array: Any, dtype: Any) -> Any:
    """A read-only view of an array (a copy only where the type must change)."""
    view = np.asarray(array, dtype).view()
    view.flags.writeable = False
    return view
