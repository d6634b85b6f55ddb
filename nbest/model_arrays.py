"""Arrays of a model file: kept beside the JSON in an .npz, which is never unpickled."""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nbest.errors import CapabilityError, FormatError
from nbest.files import replacing

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


def save_arrays(path: str | Path, arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Write the arrays beside the model file; what the model file says of them."""
    if str(path) == "-":
        raise CapabilityError("a model with arrays cannot go to standard output; name a file with -o")
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise CapabilityError(f"arrays of a model must hold numbers or text, got Python objects in {name!r}")
    side = Path(path).with_name(f"{Path(path).name}.npz")  # not the model's name, nor another's arrays
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)  # type: ignore[arg-type]
    data = packed.getvalue()
    with replacing(side) as file:
        file.write(data)
    return {"file": side.name, "sha256": hashlib.sha256(data).hexdigest()}


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
    if not isinstance(said, dict) or not isinstance(said.get("file"), str) or Path(said["file"]).name != said["file"]:
        raise FormatError(path, None, f"'arrays' must name a file beside the model, got {said!r}")
    side = Path(path).parent / said["file"]
    try:
        data = side.read_bytes()
    except OSError as error:
        raise FormatError(side, None, f"the model's arrays cannot be read: {error.strerror}") from None
    if hashlib.sha256(data).hexdigest() != said.get("sha256"):
        raise FormatError(side, None, f"belongs to another model than {Path(path).name}, or is damaged")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            return {name.removesuffix(".npy"): _array(packed.read(name)) for name in packed.namelist()}
    except (ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise FormatError(side, None, f"not an .npz file of plain arrays: {error}") from None


def _array(data: bytes) -> np.ndarray:
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
