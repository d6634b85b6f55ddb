"""What lies in a store: which arrays, of what, and how the part of a shard is found in each of them.

Every array is a file NAME.npy and has one entry for each item of a level: of segments, of rows (hypotheses), of
references, of bytes of text, of entries of the sparse matrix. Some hold bounds: the items of another level that belong
to item i are `bounds[i]:bounds[i + 1]`, counted over the whole store. So a range of segments is a range in every array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from nbest.base.mapped import room
from nbest.base.types import Ints
from nbest.corpus import NBest, Texts
from nbest.corpus.sparse import matrix_of

FORM = "nbest-store/1"
BEGIN = 128
"""Where the numbers of a file begin, after the header of NumPy."""


class Array(NamedTuple):
    """One array of a store."""

    of: str  # the level whose items it has entries for
    kinds: tuple[str, ...] = ("<i8",)
    into: str = ""  # the level that it holds bounds in: one entry more than items; "": plain values
    axes: int = 1


_BYTES = ("|u1",)
_FLOATS = ("<f8", "<f4")
ARRAYS: dict[str, Array] = {
    "offsets": Array("segments", into="rows"),
    "id_bounds": Array("segments", into="id"),
    "id": Array("id", _BYTES),
    "source_bounds": Array("segments", into="source"),
    "source": Array("source", _BYTES),
    "group_bounds": Array("segments", into="group"),
    "group": Array("group", _BYTES),
    "reference_offsets": Array("segments", into="references"),
    "reference_bounds": Array("references", into="reference"),
    "reference": Array("reference", _BYTES),
    "features": Array("rows", _FLOATS, axes=2),
    "positions": Array("rows"),
    "text_bounds": Array("rows", into="text"),
    "text": Array("text", _BYTES),
    "gains": Array("rows", ("<f8",)),
    "answer_bounds": Array("rows", into="answer"),
    "answer": Array("answer", _BYTES),
    "system_bounds": Array("rows", into="system"),
    "system": Array("system", _BYTES),
    "sparse_bounds": Array("rows", into="entries"),
    "sparse_columns": Array("entries", ("<i4", "<i8")),
    "sparse_values": Array("entries", _FLOATS),
}
"""The arrays that are cut into shards; bounds stand before what they are bounds in."""
NAMES: dict[str, Array] = {
    "sparse_name_bounds": Array("columns", into="sparse_name"),
    "sparse_name": Array("sparse_name", _BYTES),
}
"""The names of sparse columns, which all shards share."""

Arrays = dict[str, Any]


def part(read: Callable[[str, int, int], Any], names: Mapping[str, Any], low: int, high: int) -> Arrays:
    """The part of each array that belongs to the segments from `low` to before `high`; `read(name, begin, end)`."""
    places, found = {"segments": (low, high)}, {}
    for name, array in ARRAYS.items():
        if name in names:
            begin, end = places[array.of]
            found[name] = read(name, begin, end + bool(array.into))
            if array.into:
                places[array.into] = int(found[name][0]), int(found[name][-1])
    return found


def arrays_of(lists: NBest, columns: Ints | None) -> Arrays:
    """The arrays of lists, bounds from 0; `columns` are the numbers of their sparse columns in the store."""
    found: Arrays = {"offsets": lists.offsets, **packed("id", lists.ids)}
    if lists.feature_names:
        found["features"] = lists.features
    if lists.sources is not None:
        found |= packed("source", lists.sources)
    if lists.groups is not None:
        found |= packed("group", lists.groups)
    if lists.references is not None:
        found["reference_offsets"] = np.cumsum([0, *map(len, lists.references)], dtype=np.int64)
        found |= packed("reference", [text for texts in lists.references for text in texts])
    if lists.positions is not None:
        found["positions"] = lists.positions
    if lists.texts is not None:
        found |= _joined("text", lists.texts.compact())
    if lists.gains is not None:
        found["gains"] = lists.gains
    if lists.answers is not None:
        found |= _joined("answer", lists.answers.compact())
    if lists.systems is not None:
        found |= _joined("system", lists.systems.compact())
    if lists.sparse is not None and columns is not None:
        found["sparse_bounds"] = np.asarray(lists.sparse.indptr, np.int64)
        found["sparse_columns"], found["sparse_values"] = columns[lists.sparse.indices], lists.sparse.data
    return found


def packed(name: str, texts: Iterable[str]) -> Arrays:
    """Texts as bytes and bounds."""
    return _joined(name, Texts.of(texts))


def _joined(name: str, texts: Texts) -> Arrays:
    return {f"{name}_bounds": np.append(texts.starts, len(texts.buffer)), name: texts.buffer}


def texts_in(arrays: Arrays, name: str) -> list[str]:
    """The texts of a level, in memory."""
    data, bounds = arrays[name].tobytes(), arrays[f"{name}_bounds"]
    return [data[low:high].decode("utf-8") for low, high in pairwise((bounds - bounds[0]).tolist())]


def lists_in(arrays: Arrays, about: Mapping[str, Any], sparse_names: tuple[str, ...]) -> NBest:
    """Lists out of arrays; views of them where bounds begin with 0. `about` are the fields that are no arrays."""
    near: Arrays = {name: _from_zero(arrays[name]) if ARRAYS[name].into else arrays[name] for name in arrays}
    offsets = near["offsets"]
    rows, references = int(offsets[-1]), None
    if "reference" in near:
        every = texts_in(near, "reference")
        references = tuple(tuple(every[low:high]) for low, high in pairwise(near["reference_offsets"].tolist()))
    return NBest(
        offsets=offsets,
        features=near.get("features", np.zeros((rows, 0))),
        ids=tuple(texts_in(near, "id")),
        texts=_texts(near, "text"),
        references=references,
        sources=tuple(texts_in(near, "source")) if "source" in near else None,
        groups=tuple(texts_in(near, "group")) if "group" in near else None,
        gains=near.get("gains"),
        answers=_texts(near, "answer"),
        systems=_texts(near, "system"),
        sparse=_matrix(near, len(sparse_names)),
        sparse_names=sparse_names,
        positions=near.get("positions"),
        **about,
    )


def _texts(arrays: Arrays, name: str) -> Texts | None:
    """The texts of hypotheses, which share the bytes."""
    bounds = arrays.get(f"{name}_bounds")
    return None if bounds is None else Texts(arrays[name], bounds[:-1], bounds[1:])


def _from_zero(bounds: Ints) -> Ints:
    return bounds if bounds[0] == 0 else bounds - bounds[0]


def _matrix(arrays: Arrays, count: int) -> Any:
    if "sparse_bounds" not in arrays:
        return None
    bounds, columns, values = (arrays[f"sparse_{name}"] for name in ("bounds", "columns", "values"))
    kind = columns.dtype if len(columns) < 2**31 else np.dtype(np.int64)  # SciPy wants one for both
    return matrix_of(values, _as(columns, kind), _as(bounds, kind), count)


def _as(array: Ints, kind: Any) -> Ints:
    if array.dtype == kind:
        return array
    out = room(array.shape, kind, array)
    out[:] = array
    return out
