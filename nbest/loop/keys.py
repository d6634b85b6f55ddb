"""By what candidates are told to be new: a hash of segment, text and features."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Ints
from nbest.compute.compilation import kernel
from nbest.corpus import NBest

_COARSE = np.uint32(8)  # bits of float32 that may differ between features that count as the same


def keys_of(corpus: NBest) -> Ints:
    """[H] a hash of segment, text and features; features within about 3e-5 of each other (relative) count as the same.

    FNV-1a over the bytes of a text, and the finaliser of MurmurHash3 after it and after each feature. Two candidates of
    4 million share a hash by chance once in two million corpora; the second is then left out.
    """
    if corpus.texts is None:
        raise ParameterError("the decoder's lists have no texts, so new candidates cannot be told from known ones")
    bits = np.ascontiguousarray(corpus.features + 0.0, np.float32).view(np.uint32)  # -0.0 is 0.0
    bits += np.uint32(1) << (_COARSE - np.uint32(1))
    bits >>= _COARSE
    heads = np.array([_number(name.encode("utf-8", "replace")) for name in corpus.ids], np.uint64)
    out = np.empty(corpus.hypotheses, np.uint64)
    texts = corpus.texts
    _hash(corpus.offsets, heads, texts.buffer, texts.starts, texts.ends, bits=bits, extra=_sparse_rows(corpus), out=out)
    return out


def _number(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def _sparse_rows(corpus: NBest) -> Any:
    """[H] a hash of the names and values of the sparse features that are not 0; 0 where there are none."""
    rows = np.zeros(corpus.hypotheses, np.uint64)
    if corpus.sparse is None:
        return rows
    bounds, columns, values = corpus.sparse.indptr, corpus.sparse.indices, corpus.sparse.data
    for h, (low, high) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        pairs = sorted((corpus.sparse_names[columns[at]], f"{values[at]:.5g}") for at in range(low, high) if values[at])
        if pairs:
            rows[h] = _number(json.dumps(pairs).encode())
    return rows


@kernel
def _hash(offsets, heads, buffer, starts, ends, bits, extra, out):
    for i in range(len(offsets) - 1):
        for h in range(offsets[i], offsets[i + 1]):
            key = heads[i]
            for at in range(starts[h], ends[h]):
                key = (key ^ np.uint64(buffer[at])) * np.uint64(0x100000001B3)
            key = _mix(key ^ np.uint64(ends[h] - starts[h]))
            for d in range(bits.shape[1]):
                key = _mix(key ^ np.uint64(bits[h, d]))
            out[h] = _mix(key ^ extra[h])


@kernel
def _mix(key):
    key = (key ^ (key >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    key = (key ^ (key >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return key ^ (key >> np.uint64(33))
