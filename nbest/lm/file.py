"""Language models on disk: our own file, which is mapped into memory, and ARPA.

A `.nlm` file is a line with the format's name, a line of JSON (what the arrays are, how many bytes follow, their
SHA-256), and the arrays, little-endian, each beginning at a multiple of 64 bytes. Words are one array of UTF-8 with
line feeds between them.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError, ParameterError
from nbest.base.files import replacing
from nbest.compute.bounds import Bounds
from nbest.lm.arpa_read import read_arpa
from nbest.lm.arpa_write import write_arpa
from nbest.lm.model import LanguageModel

LM_FORMAT = "nbest-lm/1"
_MAGIC = b"nbest-lm/"
_ALIGNED = 64
_TYPES = {
    "vocabulary": "|u1",
    "levels": "<i8",
    "words": "<i4",
    "children": "<i4",
    "logprobs": "<f4",
    "backoffs": "<f4",
}
Progress = Callable[[int, int], None]


def save_lm(model: LanguageModel, path: str | Path, progress: Progress = lambda done, total: None) -> None:
    """Write a model: `.nlm` our own file, `.arpa`, `.arpa.gz`, `.arpa.xz` (or `-`, standard output) ARPA."""
    check_target(path)
    if Path(path).suffix == ".nlm":
        write_nlm(model, path)
    else:
        write_arpa(model, path, progress)


def check_target(path: str | Path) -> None:
    """An error if the name does not say how to write a language model."""
    if not str(path).endswith((".nlm", ".arpa", ".arpa.gz", ".arpa.xz")) and str(path) != "-":
        raise ParameterError(f"a language model is written as .nlm, .arpa, .arpa.gz or .arpa.xz, got {str(path)!r}")


def load_lm(path: str | Path, progress: Progress = lambda done, total: None, *, verify: bool = True) -> LanguageModel:
    """A model from a `.nlm` or ARPA file, whichever it is. `verify`: compare the checksum of a `.nlm` file as well."""
    try:
        with open(path, "rb") as file:
            ours = file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        if str(path) != "-":
            raise FormatError(path, None, f"cannot be read: {error.strerror or error}") from None
        ours = False
    return read_nlm(path, verify=verify) if ours else read_arpa(path, progress)


def write_nlm(model: LanguageModel, path: str | Path) -> None:
    """Write our own file; see the top of this file."""
    vocabulary = np.frombuffer("\n".join(model.vocabulary).encode(), np.uint8)
    arrays = {
        name: np.ascontiguousarray(vocabulary if name == "vocabulary" else getattr(model, name), kind)
        for name, kind in _TYPES.items()
    }
    digest = hashlib.sha256()
    for array in arrays.values():
        digest.update(_padded(array))
    head = {
        "order": model.order,
        "ngrams": list(model.sizes),
        "arrays": {name: len(array) for name, array in arrays.items()},
        "bytes": sum(_aligned(array.nbytes) for array in arrays.values()),
        "sha256": digest.hexdigest(),
    }
    first = f"{LM_FORMAT}\n{json.dumps(head)}".encode()
    with replacing(path) as file:
        file.write(first + b" " * (-(len(first) + 1) % _ALIGNED) + b"\n")
        for array in arrays.values():
            file.write(_padded(array))


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _padded(array: np.ndarray) -> bytes:
    return array.tobytes() + b"\0" * (_aligned(array.nbytes) - array.nbytes)


def read_nlm(path: str | Path, *, verify: bool = True) -> LanguageModel:
    """A model from our own file, mapped into memory. Cost: with `verify` one pass over the file."""
    try:
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise FormatError(path, None, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    head, at = _head(path, data)
    if len(data) != at + head["bytes"]:
        raise FormatError(path, None, f"expected {at + head['bytes']} bytes, got {len(data)}: cut short or damaged")
    if verify and hashlib.sha256(memoryview(data)[at:]).hexdigest() != head["sha256"]:
        raise FormatError(path, None, "the checksum is wrong: the file is damaged")
    arrays: dict[str, Any] = {}
    for name, kind in _TYPES.items():
        size = head["arrays"][name]
        arrays[name] = np.frombuffer(data, kind, size, at)
        at += _aligned(arrays[name].nbytes)
    try:
        arrays["vocabulary"] = tuple(arrays["vocabulary"].tobytes().decode().split("\n"))
        return _sound(path, LanguageModel(**arrays))
    except (ParameterError, UnicodeDecodeError, IndexError) as error:
        raise FormatError(path, None, f"damaged: {error}") from None


def _head(path: str | Path, data: mmap.mmap) -> tuple[Mapping[str, Any], int]:
    """The line of JSON, and where the arrays begin."""
    first = data.readline()
    if not first.startswith(_MAGIC):
        raise FormatError(path, None, f"not a language model of nbest: expected {LM_FORMAT!r} in the first line")
    if first.decode(errors="replace").strip() != LM_FORMAT:
        got = first.decode(errors="replace").strip()[:40]
        raise FormatError(path, 1, f"expected {LM_FORMAT!r}, got {got!r}, which another version of nbest wrote")
    try:
        head = json.loads(data.readline())
        sizes = [head["arrays"][name] for name in _TYPES]
        if not all(isinstance(size, int) and size >= 0 for size in (*sizes, head["bytes"])):
            raise ValueError("sizes must be whole numbers")
        fits = sum(_aligned(n * np.dtype(kind).itemsize) for n, kind in zip(sizes, _TYPES.values(), strict=True))
        if fits != head["bytes"] or not isinstance(head["sha256"], str) or head["arrays"]["levels"] < 2:
            raise ValueError("sizes do not add up")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(path, 2, f"the file's description of itself is damaged: {error}") from None
    return head, data.tell()


def _sound(path: str | Path, model: LanguageModel) -> LanguageModel:
    """The model, if no query can leave its arrays: the children of an order are the n-grams of the next."""
    bounds, children, levels = Bounds(path, "make it again"), model.children, model.levels
    bounds.offsets("levels", levels, len(levels) - 1, len(model.words))
    if not (children[1:] >= children[:-1]).all() or not np.array_equal(children[levels[:-1]], levels[1:]):
        raise bounds.fail("children", "be the n-grams of the next order, each once")
    bounds.numbers("words", model.words, len(model.vocabulary))
    bounds.logarithms("logprobs", model.logprobs)
    bounds.logarithms("backoffs", model.backoffs)
    return model
