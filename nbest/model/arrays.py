"""Arrays of a model file: kept beside the JSON in an .npz, which is never unpickled."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.arrays_file import read_npz
from nbest.base.errors import CapabilityError, FormatError, shown
from nbest.base.unpacking import limit
from nbest.compute.bounds import rises

_KEY = "array"


def detach(recipes: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """Recipes with every array replaced by `{"array": name}`, and the arrays by name."""
    arrays: dict[str, np.ndarray] = {}

    def plain(value: Any, name: str) -> Any:
        if isinstance(value, np.ndarray):
            arrays[name] = value
            return {_KEY: name}
        if isinstance(value, Mapping):
            return {key: plain(item, f"{name}.{key}") for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item, f"{name}.{i}") for i, item in enumerate(value)]
        return value.item() if isinstance(value, np.generic) else value

    return [plain(dict(recipe), str(i)) for i, recipe in enumerate(recipes)], arrays


def pack_arrays(arrays: Mapping[str, np.ndarray]) -> tuple[bytes, str]:
    """The arrays as an .npz in bytes, and its checksum."""
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise CapabilityError(f"arrays of a model must hold numbers or text, got Python objects in {name!r}")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, array in arrays.items():
            bare = io.BytesIO()
            np.lib.format.write_array(bare, np.asarray(array), allow_pickle=False)
            member = zipfile.ZipInfo(f"{name}.npy")  # without the time, so that equal arrays give equal files
            member.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(member, bare.getvalue())
    data = packed.getvalue()
    return data, hashlib.sha256(data).hexdigest()


# many weights ---------------------------------------------------------------------------------------------------


def pack_weights(weights: Mapping[str, float]) -> dict[str, np.ndarray]:
    """Weights as arrays: names as UTF-8 one after the other, where each of them ends, and values."""
    names = [name.encode("utf-8") for name in weights]
    return {
        "names": np.frombuffer(b"".join(names), np.uint8),
        "ends": np.cumsum(np.fromiter(map(len, names), np.int64, len(names))),
        "values": np.fromiter(weights.values(), np.float64, len(names)),
    }


def unpack_weights(path: str | Path, arrays: Mapping[str, Any], others: Mapping[str, float]) -> dict[str, float]:
    """The weights of `pack_weights`; none may be twice there or among `others`."""
    names = _one(path, arrays, "names", np.uint8)
    ends = _one(path, arrays, "ends", np.int64)
    values = _one(path, arrays, "values", np.float64)
    bounds = np.concatenate([np.zeros(1, np.int64), ends])
    if len(ends) != len(values) or not rises(bounds) or bounds[-1] != len(names):
        raise FormatError(path, None, "'sparse_weights' need as many ends of names as values, rising to the last byte")
    if not np.isfinite(values).all():
        raise FormatError(path, None, "the sparse weights must be finite numbers, and some are not")
    found = _cut(path, names, bounds)
    weights = dict(zip(found, values.tolist(), strict=True))
    if len(weights) < len(found) or not weights.keys().isdisjoint(others):
        raise FormatError(path, None, "some sparse weights are given twice")
    return weights


def _cut(path: str | Path, names: np.ndarray, bounds: np.ndarray) -> list[str]:
    """Names out of their bytes, which are decoded once: cut by characters, of which continuing bytes are not first."""
    first = np.append((names & 0xC0) != 0x80, True)
    try:
        text = names.tobytes().decode("utf-8")
        if not first[bounds].all():
            raise ValueError("one ends within a character")
    except ValueError as error:
        raise FormatError(path, None, f"the names of the sparse weights are not UTF-8: {error}") from None
    if len(text) < len(names):
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(first)])[bounds]
    places = bounds.tolist()
    return [text[a:b] for a, b in zip(places[:-1], places[1:], strict=True)]


def _one(path: str | Path, arrays: Mapping[str, Any], key: str, kind: type) -> np.ndarray:
    array = arrays.get(key)
    if not isinstance(array, np.ndarray) or array.dtype != kind or array.ndim != 1:
        raise FormatError(path, None, f"'sparse_weights' need an array {key!r} of {kind.__name__}")
    return array


# arrays put back ------------------------------------------------------------------------------------------------


def attach(path: str | Path, recipes: Sequence[Mapping[str, Any]], said: Any) -> tuple[dict[str, Any], ...]:
    """Recipes with their arrays put back; a missing, foreign or damaged file is a `FormatError`."""
    arrays = {} if said is None else _load(path, said)

    def whole(value: Any) -> Any:
        if isinstance(value, dict):
            if set(value) == {_KEY}:
                if not isinstance(value[_KEY], str) or value[_KEY] not in arrays:
                    raise FormatError(path, None, f"the array {value[_KEY]!r} of the model is nowhere to be found")
                return arrays[value[_KEY]]
            return {key: whole(item) for key, item in value.items()}
        return [whole(item) for item in value] if isinstance(value, list) else value

    return tuple(whole(dict(recipe)) for recipe in recipes)


def _load(path: str | Path, said: Any) -> dict[str, np.ndarray]:
    name = said.get("file") if isinstance(said, dict) else None
    if not isinstance(name, str) or Path(name).name != name or "\0" in name:
        raise FormatError(path, None, f"'arrays' must name a file beside the model, got {shown(said)}")
    if str(path) == "-":
        raise FormatError("standard input", None, f"the model has arrays in {shown(name)}; name the model's file")
    side = _side(Path(path), name)
    data = _bytes(side)
    if hashlib.sha256(data).hexdigest() != said.get("sha256"):
        raise FormatError(side, None, f"belongs to another model than {Path(path).name}, or is damaged")
    return read_npz(side, data, most=limit(len(data)))


def _side(path: Path, name: str) -> Path:
    """The arrays beside a model, or beside what a link leads to."""
    beside = path.parent / name
    if path.is_symlink() and not os.path.exists(beside):
        return Path(os.path.realpath(path)).parent / name
    return beside


def _bytes(side: Path) -> bytes:
    if os.path.exists(side) and not os.path.isfile(side):
        raise FormatError(side, None, "the model's arrays cannot be read: it is no plain file")
    try:
        return side.read_bytes()
    except OSError as error:
        raise FormatError(side, None, f"the model's arrays cannot be read: {error.strerror}") from None
    except MemoryError:
        raise FormatError(side, None, "does not fit in memory") from None
