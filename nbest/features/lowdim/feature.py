"""The column `lowdim`: how near a hypothesis is to the input text, both projected into a space of few dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute import parallel
from nbest.compute.compilation import fast_kernel
from nbest.corpus import NBest, Texts
from nbest.features.ngrams.bags import bags
from nbest.features.recipes import record

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from nbest.features.lowdim.solver import Directions

NAME = "lowdim"
_MAKE = "make one with nbest.LowDim or --add lowdim"


def lowdim(
    corpus: NBest,
    inputs: str,
    outputs: str,
    A: Floats,
    B: Floats,
    input_names: Mapping[str, Any],
    output_names: Mapping[str, Any],
    binary: bool = False,
) -> NBest:
    """Adds `lowdim`: the cosine of A'x and B'y for input bag x and hypothesis bag y; 0 where either is 0.

        p = x' A B' y / (|A' x| |B' y|)

    Jagarlamudi & Daume III (2012), eq. 1. `inputs` and `outputs` name the views (`nbest.features.ngrams.bags`),
    `input_names` and `output_names` are the features of the rows of A [d1, k] and B [d2, k], packed by `pack_names`.
    """
    sources, texts = need_both_texts(corpus)
    A, B = np.asarray(A, np.float64), np.asarray(B, np.float64)
    x_names, y_names = unpack_names(input_names), unpack_names(output_names)
    if getattr(A, "shape", ())[:1] != (len(x_names),) or getattr(B, "shape", ())[:1] != (len(y_names),):
        raise ParameterError(f"a recipe of kind {NAME!r} needs a row of A and of B for each feature name; {_MAKE}")
    if A.ndim != 2 or A.shape[1:] != B.shape[1:] or not (np.isfinite(A).all() and np.isfinite(B).all()):
        raise ParameterError(f"A and B of a recipe of kind {NAME!r} must be finite, with as many columns each; {_MAKE}")
    x = bags(Texts.of(sources), inputs, binary=binary).within(x_names)
    y = bags(texts, outputs, binary=binary).within(y_names)
    column = cosines(inputs=x, outputs=y, offsets=corpus.offsets, A=A, B=B, sizes=[A.shape[1]])
    views = {"inputs": inputs, "outputs": outputs, "binary": binary}
    named = {"input_names": input_names, "output_names": output_names}
    added = corpus.without_features((NAME,)).with_features((NAME,), column)
    return record(corpus, added, NAME, **views, A=A, B=B, **named)


def recipe(
    directions: Directions,
    inputs: str,
    outputs: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    binary: bool = False,
) -> dict[str, Any]:
    """The recipe of `lowdim` for these directions."""
    names = {"input_names": pack_names(input_names), "output_names": pack_names(output_names)}
    views = {"inputs": inputs, "outputs": outputs, "binary": binary}
    return {"kind": NAME, **views, "A": directions.A, "B": directions.B, **names}


def need_both_texts(corpus: NBest) -> tuple[Sequence[str], Texts]:
    """Input texts and texts of hypotheses, or a `CapabilityError` that says what is missing."""
    if corpus.sources is None:
        raise CapabilityError(
            "the low-dimensional score needs the input text of each segment and these lists carry none; "
            "give them in the file ('source' of a JSON line) or with dataclasses.replace(corpus, sources=...)"
        )
    if corpus.sources and not any(source.strip() for source in corpus.sources):
        raise CapabilityError("the low-dimensional score needs input text and that of every segment here is empty")
    if corpus.texts is None:
        raise CapabilityError("the low-dimensional score needs the texts of the hypotheses and these lists carry none")
    return corpus.sources, corpus.texts


def pack_names(names: Sequence[str]) -> dict[str, Any]:
    """Names as one UTF-8 byte array and offsets, which a model file keeps compactly."""
    pieces = [name.encode("utf-8", "replace") for name in names]
    offsets = np.cumsum([0] + [len(piece) for piece in pieces], dtype=np.int64)
    return {"bytes": np.frombuffer(b"".join(pieces), np.uint8), "offsets": offsets}


def unpack_names(packed: Mapping[str, Any]) -> list[str]:
    """The names of `pack_names`."""
    try:
        data, cuts = packed["bytes"].tobytes(), packed["offsets"].tolist()
        return [data[low:high].decode("utf-8") for low, high in zip(cuts[:-1], cuts[1:], strict=True)]
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError):
        raise ParameterError(f"feature names of a recipe of kind {NAME!r} are damaged; {_MAKE}") from None


def cosines(
    inputs: csr_array,
    outputs: csr_array,
    offsets: Ints,
    A: Floats,
    B: Floats,
    sizes: Sequence[int],
    threads: int | None = None,
) -> Floats:
    """[H, len(sizes)] cosine of each hypothesis with its input in the first `size` dimensions, for rising sizes."""
    dots, squares, own = dot_products(inputs, outputs, offsets, A, B, sizes=sizes, threads=threads)
    lengths = np.sqrt(squares) * np.repeat(np.sqrt(own), np.diff(offsets), axis=0)
    return np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)


def dot_products(
    inputs: csr_array,
    outputs: csr_array,
    offsets: Ints,
    A: Floats,
    B: Floats,
    sizes: Sequence[int],
    threads: int | None = None,
) -> tuple[Floats, Floats, Floats]:
    """x'AB'y [H, S], |B'y|^2 [H, S] and |A'x|^2 [N, S] in the first `size` dimensions, for each of S rising sizes.

    Cost: nonzeros times the largest size; each row is added up in its own order, whatever the threads.
    """
    H, S = outputs.shape[0], len(sizes)
    dots, squares, own = np.zeros((H, S)), np.zeros((H, S)), np.zeros((inputs.shape[0], S))
    x, y = ((matrix.indptr, matrix.indices, matrix.data) for matrix in (inputs, outputs))
    ends, both = np.asarray(sizes, np.int64), (np.ascontiguousarray(A), np.ascontiguousarray(B))
    out = dots, squares, own
    parallel.over_ranges(
        lambda low, high: _dots(low, high, offsets, x, y, both=both, ends=ends, out=out), offsets, threads
    )
    return out


@fast_kernel
def _project(matrix, which, P, out):
    starts, indices, data = matrix
    out[:] = 0.0
    for at in range(starts[which], starts[which + 1]):
        row, value = P[indices[at]], data[at]
        for c in range(len(out)):
            out[c] += value * row[c]


@fast_kernel
def _dots(low, high, offsets, x, y, both, ends, out):
    dots, squares, own = out
    k = ends[-1]
    u, v = np.empty(k), np.empty(k)
    A, B = both[0][:, :k], both[1][:, :k]
    for i in range(low, high):
        _project(x, i, A, u)
        for s in range(len(ends)):
            for c in range(ends[s]):
                own[i, s] += u[c] * u[c]
        for h in range(offsets[i], offsets[i + 1]):
            _project(y, h, B, v)
            begin, dot, square = 0, 0.0, 0.0
            for s in range(len(ends)):
                for c in range(begin, ends[s]):
                    dot += u[c] * v[c]
                    square += v[c] * v[c]
                dots[h, s], squares[h, s] = dot, square
                begin = ends[s]
