"""Scores of one list of dictionaries, without making lists of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.formats.candidates import NO_FEATURES, Candidate, features_beside, rows_of, table_of
from nbest.model.loglinear import LogLinear, added_up

ANSWERED = "answered"  # a recipe, and the column that it adds
_MOST = 64  # sets of names that are remembered

Columns = tuple[list[str], Callable[..., Any] | None, Ints, Floats]


class QuickScores:
    """[H] scores of one list as `LogLinear.scores` has them; None where only the long way knows, or says what is wrong.

    The long way is for models that add other features than `answered`, for features that are missing or no numbers, and
    for sparse features where a model does not say which of its weights are dense.
    """

    def __init__(self, model: LogLinear) -> None:
        self.model = model
        self.added = tuple(str(recipe["kind"]) for recipe in model.features)
        self.sparse = model.dense is not None and len(model.dense) < len(model.weights)
        self._known: dict[tuple[str, ...], Columns | None] = {}

    def __call__(self, candidates: Sequence[Candidate], added: Mapping[str, Floats]) -> Floats | None:
        """The scores of hypotheses, of which there is one at least, with the columns that the model adds."""
        rows = rows_of(candidates) if {ANSWERED}.issuperset(self.added) else None
        if rows is None:
            return None
        columns = self._columns(rows[0], beside=features_beside(candidates[0]))
        if columns is None or (self.sparse and any(row.keys() != rows[0].keys() for row in rows)):
            return None
        names, get, which, weights = columns
        table = table_of(rows, names, get)
        if table is None:
            return None
        _check_finite(table, names)
        if added:
            table = np.column_stack([table, *(added[name] for name in self.added)])
        scores = added_up(table, which, weights)
        if self.sparse and rows is not candidates:
            further = self._sparse(candidates)
            if further is None:
                return None
            scores += further
        return scores if np.isfinite(scores).all() else None

    def _columns(self, row: Candidate, *, beside: bool) -> Columns | None:
        """Which features of a hypothesis have a weight; None where some are missing."""
        key = tuple(row)
        if key not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = self._found(key, beside=beside)
        return self._known[key]

    def _found(self, key: tuple[str, ...], *, beside: bool) -> Columns | None:
        own = set(self.model.weights if self.model.dense is None else self.model.dense).difference(self.added)
        if not own <= set(key) or (beside and (self.sparse or not NO_FEATURES.isdisjoint(own))):
            return None
        names = [name for name in key if self.model.weights.get(name) and name not in self.added]
        return names, itemgetter(*names) if names else None, *self.model.weighed([*names, *self.added])

    def _sparse(self, candidates: Sequence[Candidate]) -> Floats | None:
        """[H] sums over sparse features, added up in the order of their first appearance in the list."""
        places: dict[str, int] = {}
        found = [candidate.get("sparse") or {} for candidate in candidates]
        for row in found:
            if type(row) is not dict or not {int, float, bool}.issuperset(map(type, row.values())):
                return None
            for name in row:
                places.setdefault(name, len(places))
        weights, out = self.model.weights, []
        for row in found:
            total = 0.0
            for name in sorted(row, key=places.__getitem__):
                total += row[name] * weights.get(name, 0.0)
            out.append(total)
        return np.array(out)


def _check_finite(table: Floats, names: Sequence[str]) -> None:
    if not np.isfinite(table).all():
        h, d = np.argwhere(~np.isfinite(table))[0]
        raise ParameterError(f"feature {names[d]!r} of candidates[{h}] must be a finite number, got {table[h, d]}")
