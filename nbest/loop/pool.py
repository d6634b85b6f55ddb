"""The candidates of a loop on disk: each round adds a part with those that are new, as arrays.

    segments.json      {"ids": [...], "feature_names": [...], "references": [...], "sources": [...]}
    offsets.npy        [N+1] hypotheses of each segment
    features.npy       [H, D]
    stats.npy          [H, M] of the loop's metric
    keys.npy           [H] a hash of segment, text and features, by which new candidates are told
    text.npy, bounds.npy            [B] bytes of all texts, [H+1] where each begins
    sparse.*.npy, in segments.json "sparse_names"     where there are sparse features

Nothing of a part stays in memory: arrays are mapped, and those that training needs are put together for it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from nbest import segments
from nbest.corpus import NBest, Texts
from nbest.corpus.operations import per_segment, unite_sparse
from nbest.errors import FormatError, ParameterError
from nbest.files import decode, read_bytes
from nbest.types import Bools, Floats, Ints, Metric

_COARSE = np.uint32(8)  # bits of float32 that may differ between features that count as the same


def keys_of(corpus: NBest) -> Ints:
    """[H] a hash of segment, text and features; features within about 3e-5 of each other (relative) count as the same.

    Two candidates of 4 million share a hash by chance once in a million corpora; the second is then left out.
    """
    if corpus.texts is None:
        raise ParameterError("the decoder's lists have no texts, so new candidates cannot be told from known ones")
    bits = np.ascontiguousarray(corpus.features + 0.0, np.float32).view(np.uint32)  # -0.0 is 0.0
    rows = ((bits + (np.uint32(1) << (_COARSE - np.uint32(1)))) >> _COARSE).astype(np.uint32)
    extra = _sparse_rows(corpus)
    out = np.empty(corpus.hypotheses, np.uint64)
    for i, name in enumerate(corpus.ids):
        head = blake2b(name.encode("utf-8", "replace"), digest_size=8)
        for h in range(corpus.offsets[i], corpus.offsets[i + 1]):
            key = head.copy()
            text = corpus.texts.raw(h)
            key.update(len(text).to_bytes(4, "little") + text + rows[h].tobytes() + (extra[h] if extra else b""))
            out[h] = int.from_bytes(key.digest(), "little")
    return out


def _sparse_rows(corpus: NBest) -> list[bytes]:
    """Names and values of the sparse features of each hypothesis; nothing where there are none."""
    if corpus.sparse is None:
        return []
    bounds, columns, values = corpus.sparse.indptr, corpus.sparse.indices, corpus.sparse.data
    rows = []
    for low, high in zip(bounds[:-1], bounds[1:], strict=True):
        pairs = sorted((corpus.sparse_names[columns[at]], f"{values[at]:.5g}") for at in range(low, high))
        rows.append(json.dumps(pairs).encode())
    return rows


def new_ones(keys: Ints, parts: Sequence[Path]) -> Bools:
    """[H] which hypotheses no part has, the first of equals only."""
    mask = np.zeros(len(keys), bool)
    mask[np.unique(keys, return_index=True)[1]] = True
    for part in parts:
        mask &= ~np.isin(keys, _mapped(part, "keys"))
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
        "keys": keys,
        "text": texts.buffer,
        "bounds": np.append(texts.starts, len(texts.buffer)),
    }
    if corpus.sparse is not None:
        arrays |= {f"sparse.{name}": getattr(corpus.sparse, name) for name in ("indptr", "indices", "data")}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)
    content = {
        "ids": corpus.ids,
        "feature_names": corpus.feature_names,
        "references": corpus.references,
        "sources": corpus.sources,
        "sparse_names": corpus.sparse_names if corpus.sparse is not None else None,
    }
    (folder / "segments.json").write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")


def load_part(folder: Path, metric: Metric, *, texts: bool = True) -> NBest:
    """The lists of a part; its arrays are mapped, not read."""
    path = folder / "segments.json"
    try:
        content = json.loads(decode(path, read_bytes(path)))
        ids, names = tuple(content["ids"]), tuple(content["feature_names"])
        references, sources, sparse_names = content["references"], content["sources"], content["sparse_names"]
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(path, None, f"is damaged: {error}; remove its round and resume") from None
    bounds = _mapped(folder, "bounds") if texts else None
    return NBest(
        offsets=_mapped(folder, "offsets"),
        features=_mapped(folder, "features"),
        feature_names=names,
        ids=ids,
        texts=None if bounds is None else Texts(_mapped(folder, "text"), bounds[:-1], bounds[1:]),
        references=None if references is None else tuple(tuple(each) for each in references),
        sources=None if sources is None else tuple(sources),
        sparse=None if sparse_names is None else _sparse(folder, len(sparse_names)),
        sparse_names=tuple(sparse_names or ()),
        stats=_mapped(folder, "stats"),
        metric=metric,
    )


def _sparse(folder: Path, width: int) -> Any:
    from scipy.sparse import csr_array

    data, indices, indptr = (_mapped(folder, f"sparse.{name}") for name in ("data", "indices", "indptr"))
    return csr_array((data, indices, indptr), shape=(len(indptr) - 1, width))


def _mapped(folder: Path, name: str) -> Any:
    path = folder / f"{name}.npy"
    try:
        if path.stat().st_size == 0:
            raise ValueError("it is empty")
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise FormatError(path, None, f"is damaged: {error}; remove its round and resume") from None


def assemble(folders: Sequence[Path], metric: Metric, *, texts: bool = False) -> NBest:
    """The candidates of all parts in one corpus: segments by id, those of earlier parts first.

    Memory: one copy of features and statistics (and texts, if asked for), the parts staying on disk.
    """
    parts = [load_part(folder, metric, texts=texts) for folder in folders]
    ids = list(dict.fromkeys(name for part in parts for name in part.ids))
    place = {name: i for i, name in enumerate(ids)}
    owners = [np.array([place[name] for name in p.ids], np.int64)[segments.owners(p.offsets)] for p in parts]
    rows = _rows(owners, len(ids))
    counts = np.bincount(np.concatenate(owners), minlength=len(ids))
    features, stats = _filled([part.features for part in parts], rows), _filled([part.stats for part in parts], rows)
    corpus = NBest(
        offsets=segments.offsets_of(counts),
        features=features,
        feature_names=parts[0].feature_names,
        stats=stats,
        metric=metric,
        texts=_texts(parts, rows) if texts else None,
        **per_segment(parts, ids),  # type: ignore[arg-type]
    )
    matrix, names = unite_sparse(parts)
    if matrix is None:
        return corpus
    order = np.empty(corpus.hypotheses, np.int64)
    order[np.concatenate(rows)] = np.arange(corpus.hypotheses)
    return replace(corpus, sparse=matrix[order], sparse_names=names)


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


def _filled(arrays: Sequence[Any], rows: Sequence[Ints]) -> Floats:
    """Rows of all arrays at their places in one array."""
    total = sum(len(row) for row in rows)
    out = np.empty((total, arrays[0].shape[1]), np.result_type(*arrays))
    for array, row in zip(arrays, rows, strict=True):
        out[row] = array
    return out


def _texts(parts: Sequence[NBest], rows: Sequence[Ints]) -> Texts:
    from nbest.corpus.texts import concatenate

    joined = concatenate([part.texts for part in parts if part.texts is not None])
    order = np.empty(len(joined), np.int64)
    order[np.concatenate(rows)] = np.arange(len(joined))
    return joined.take(order)
