"""The candidates of a loop on disk: each round adds a part with those that are new, as arrays.

    segments.json      {"ids": [...], "feature_names": [...], "references": [...], "sources": [...], "groups": [...]}
    offsets.npy        [N+1] hypotheses of each segment
    features.npy       [H, D]
    stats.npy          [H, M] of the loop's metric
    hashes.npy         [H] by which new candidates are told (nbest/loop/keys.py)
    text.npy, bounds.npy            [B] bytes of all texts, [H+1] where each begins
    sparse.*.npy, in segments.json "sparse_names"     where there are sparse features

Nothing of a part stays in memory: arrays are mapped, and those that training needs are put together for it. Sums of
these files are in the decoded.json of their round (nbest/loop/folder.py); here their numbers are checked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.arrays_file import map_array
from nbest.base.errors import FormatError, ParameterError
from nbest.base.sealed import read_object
from nbest.base.types import Bools, Floats, Ints
from nbest.compute import segments
from nbest.compute.bounds import Bounds
from nbest.corpus import NBest, Texts
from nbest.corpus.metric import Metric
from nbest.corpus.operations import per_segment, unite_sparse
from nbest.corpus.order import in_order
from nbest.corpus.texts import concatenate

_SEGMENTS = ("ids", "feature_names", "references", "sources", "sparse_names")
_REMEDY = "remove the folder of its round and resume"


def new_ones(keys: Ints, parts: Sequence[Path]) -> Bools:
    """[H] which hypotheses no part has, the first of equals only."""
    mask = np.zeros(len(keys), bool)
    mask[np.unique(keys, return_index=True)[1]] = True
    for part in parts:
        mask &= ~np.isin(keys, _mapped(part, "hashes", "u8"))
    return mask


def save_part(folder: Path, corpus: NBest, keys: Ints) -> None:
    """Write lists with statistics into a new folder that nobody reads yet."""
    assert corpus.texts is not None
    folder.mkdir(parents=True)
    texts = corpus.texts.compact()
    arrays: dict[str, Any] = {
        "offsets": corpus.offsets,
        "features": corpus.features,
        "stats": corpus.need_stats()[0],
        "hashes": keys,
        "text": texts.buffer,
        "bounds": np.append(texts.starts, len(texts.buffer)),
    }
    if corpus.sparse is not None:
        arrays |= {f"sparse.{name}": getattr(corpus.sparse, name) for name in ("indptr", "indices", "data")}
    for name, array in arrays.items():
        save_array(folder / f"{name}.npy", array)
    content = {
        "ids": corpus.ids,
        "feature_names": corpus.feature_names,
        "references": corpus.references,
        "sources": corpus.sources,
        "groups": corpus.groups,
        "sparse_names": corpus.sparse_names,
    }
    (folder / "segments.json").write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")


def save_array(path: Path, array: Any) -> None:
    """Write an array; NumPy says of a full disk only how many items it could not write, and not where."""
    try:
        np.save(path, np.ascontiguousarray(array), allow_pickle=False)
    except OSError as error:
        why = error.strerror or f"is the disk full? {error}"
        raise FormatError(path, None, f"cannot be written: {why}; make room and resume") from None


@dataclass(frozen=True)
class _Head:
    """What a part says of its segments; its arrays stay on disk."""

    folder: Path
    ids: tuple[str, ...]
    feature_names: tuple[str, ...]
    references: tuple[tuple[str, ...], ...] | None
    sources: tuple[str, ...] | None
    groups: tuple[str, ...] | None
    sparse_names: tuple[str, ...]
    offsets: Ints

    @classmethod
    def of(cls, folder: Path) -> _Head:
        path = folder / "segments.json"
        content = read_object(path, _REMEDY)
        missing = next((key for key in _SEGMENTS if key not in content), None)
        missing = missing or next((key for key in _SEGMENTS[:2] if content[key] is None), None)
        if missing is not None:
            raise FormatError(path, None, f"is damaged: it has no {missing!r}; {_REMEDY}")
        ids, names, references, sources, sparse = (content[key] for key in _SEGMENTS)
        lists: dict[str, Any] = {"ids": ids, "feature_names": names, "sparse_names": sparse or []}
        groups = content.get("groups")  # pools of older code have none
        lists |= {key: value for key, value in (("sources", sources), ("groups", groups)) if value is not None}
        lists |= {f"references of segment {i}": each for i, each in enumerate(_list(path, "references", references))}
        for key, value in lists.items():
            if not all(isinstance(text, str) for text in _list(path, key, value)):
                raise FormatError(path, None, f"is damaged: {key!r} must be texts; {_REMEDY}")
        for key, rows in (("references", references), ("sources", sources), ("groups", groups)):
            if rows is not None and len(rows) != len(ids):
                raise FormatError(path, None, f"is damaged: {key!r} must be of {len(ids)} segments; {_REMEDY}")
        return cls(
            folder,
            tuple(ids),
            tuple(names),
            None if references is None else tuple(tuple(each) for each in references),
            None if sources is None else tuple(sources),
            groups=None if groups is None else tuple(groups),
            sparse_names=tuple(sparse or ()),
            offsets=_offsets(folder, "offsets", len(ids), len(_mapped(folder, "hashes", "u8"))),
        )

    @property
    def hypotheses(self) -> int:
        """How many there are."""
        return int(self.offsets[-1])

    def texts(self) -> Texts:
        """The texts, mapped."""
        text = _mapped(self.folder, "text", "u1")
        bounds = _offsets(self.folder, "bounds", self.hypotheses, len(text))
        _check_text(self.folder, text, bounds)
        return Texts(text, bounds[:-1], bounds[1:])

    @property
    def sparse(self) -> Any:
        """The sparse features, mapped, or None."""
        if not self.sparse_names:
            return None
        from scipy.sparse import csr_array

        data = _mapped(self.folder, "sparse.data", "f8 f4")
        indices = _mapped(self.folder, "sparse.indices", "i4 i8", len(data))
        indptr = _offsets(self.folder, "sparse.indptr", self.hypotheses, len(data))
        _bounds(self.folder, "sparse.indices").numbers("the columns", indices, len(self.sparse_names))
        _bounds(self.folder, "sparse.data").finite("the values", data)
        return csr_array((data, indices, indptr), shape=(len(indptr) - 1, len(self.sparse_names)))


def _list(path: Path, key: str, value: Any) -> list[Any]:
    """A list of segments.json; none where there is null."""
    if value is not None and not isinstance(value, list):
        raise FormatError(path, None, f"is damaged: {key!r} must be a list; {_REMEDY}")
    return value or []


def _bounds(folder: Path, name: str) -> Bounds:
    return Bounds(folder / f"{name}.npy", _REMEDY)


def _offsets(folder: Path, name: str, rows: int, end: int) -> Ints:
    """[rows+1] offsets that end so, in memory."""
    array = np.array(_mapped(folder, name, "i8 i4", rows + 1))
    _bounds(folder, name).offsets("the offsets", array, rows, end)
    return array


def _check_text(folder: Path, text: Any, bounds: Ints) -> None:
    """Every text is UTF-8 of its own: all of them together are, and none begins within a character."""
    within = (text[bounds[:-1][bounds[:-1] < len(text)]] & 0xC0) == 0x80
    try:
        text.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        within = np.ones(1, bool)
    if within.any():
        raise _bounds(folder, "text").fail("the texts", "be UTF-8")


def _mapped(folder: Path, name: str, kinds: str, rows: int | None = None, axes: int = 1) -> Any:
    """An array of one of these types, with so many rows and axes."""
    path = folder / f"{name}.npy"
    try:
        array = map_array(path)
    except FormatError as error:
        raise FormatError(path, None, f"{error.reason}; {_REMEDY}") from None
    wrong = array.ndim != axes or array.dtype not in kinds.split() or (rows is not None and len(array) != rows)
    if wrong:
        wanted = f"expected {kinds.replace(' ', ' or ')} of {'any' if rows is None else rows} rows with {axes} axes"
        raise FormatError(path, None, f"is damaged: {wanted}, got {array.dtype} of {array.shape}; {_REMEDY}")
    return array


def ids_of(folder: Path) -> tuple[str, ...]:
    """The ids of a part's segments."""
    return _Head.of(folder).ids


def aligned(corpus: NBest, folder: Path) -> NBest:
    """Lists with their dense features in the order of a part that was saved before, which must have the same."""
    names = _Head.of(folder).feature_names
    if corpus.feature_names == names:
        return corpus
    odd = sorted(set(corpus.feature_names) ^ set(names))
    if odd:
        now, then = ("now", "before") if odd[0] in corpus.feature_names else ("before", "now")
        raise ParameterError(f"a decoder must give the same features each round; {odd[0]!r} is there {now}, not {then}")
    return corpus.only_features(names)


def assemble(folders: Sequence[Path], metric: Metric, *, texts: bool = False) -> NBest:
    """The candidates of all parts in one corpus: segments by id, those of earlier parts first.

    Memory: one copy of features and statistics (and texts, if asked for); parts are mapped one after the other.
    """
    parts = [_Head.of(folder) for folder in folders]
    ids = in_order(dict.fromkeys(name for part in parts for name in part.ids))
    place = {name: i for i, name in enumerate(ids)}
    owners = [np.array([place[name] for name in p.ids], np.int64)[segments.owners(p.offsets)] for p in parts]
    rows = _rows(owners, len(ids))
    corpus = NBest(
        offsets=segments.offsets_of(np.bincount(np.concatenate(owners), minlength=len(ids))),
        features=_filled(parts, "features", rows),
        feature_names=parts[0].feature_names,
        stats=_filled(parts, "stats", rows),
        metric=metric,
        texts=_texts(parts, rows) if texts else None,
        **per_segment(parts, ids),  # type: ignore[arg-type]
    )
    matrix, names = unite_sparse(parts)  # type: ignore[arg-type]
    return corpus if matrix is None else replace(corpus, sparse=matrix[_order(rows)], sparse_names=names)


def _rows(owners: Sequence[Ints], count: int) -> list[Ints]:
    """For each part, where its hypotheses stand when all are sorted by segment, earlier parts first."""
    sizes = np.array([np.bincount(owner, minlength=count) for owner in owners])
    begin = segments.offsets_of(sizes.sum(axis=0))[:-1] + np.cumsum(sizes, axis=0) - sizes  # [parts, N]
    out: list[Ints] = []
    for owner, size, first in zip(owners, sizes, begin, strict=True):
        offsets = segments.offsets_of(size)
        row = np.empty(len(owner), np.int64)
        row[np.argsort(owner, kind="stable")] = np.repeat(first - offsets[:-1], size) + np.arange(len(owner))
        out.append(row)
    return out


def _order(rows: Sequence[Ints]) -> Ints:
    """The inverse of the rows of all parts."""
    order = np.empty(sum(len(row) for row in rows), np.int64)
    order[np.concatenate(rows)] = np.arange(len(order))
    return order


def _filled(parts: Sequence[_Head], name: str, rows: Sequence[Ints]) -> Floats:
    """An array of all parts, rows at their places."""
    arrays = [_mapped(part.folder, name, "f8 f4", part.hypotheses, 2) for part in parts]
    out = np.empty((sum(len(row) for row in rows), *arrays[0].shape[1:]), arrays[0].dtype)
    for part, row, array in zip(parts, rows, arrays, strict=True):
        _bounds(part.folder, name).sizes("the rows", array, len(row), out.shape[1])
        out[row] = array
    return out


def _texts(parts: Sequence[_Head], rows: Sequence[Ints]) -> Texts:
    return concatenate([part.texts() for part in parts]).take(_order(rows))
