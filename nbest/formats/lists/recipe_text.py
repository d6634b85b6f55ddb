"""Recipes of added columns as a JSON file, with arrays in it as the bytes of .npy files; nothing is unpickled."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.arrays_file import read_array
from nbest.base.errors import CapabilityError, FormatError
from nbest.base.files import write_text
from nbest.base.sealed import read_object, sealed

_ARRAY = "npy"


def write_recipes(recipes: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the recipes."""
    write_text(path, json.dumps(sealed({"recipes": _plain(list(recipes))})) + "\n")


def recipes_in(path: Path, remedy: str) -> tuple[dict[str, Any], ...]:
    """The recipes of a file."""
    found = _whole(path, read_object(path, remedy).get("recipes"))
    if not isinstance(found, list) or not all(isinstance(recipe, dict) and "kind" in recipe for recipe in found):
        raise FormatError(path, None, f"is damaged: expected a list of recipes; {remedy}")
    return tuple(found)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise CapabilityError("a store holds arrays of numbers and texts, and a recipe has one of Python objects")
        packed = io.BytesIO()
        np.lib.format.write_array(packed, np.ascontiguousarray(value), allow_pickle=False)
        return {_ARRAY: base64.b64encode(packed.getvalue()).decode("ascii")}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _whole(path: Path, value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {_ARRAY}:
        try:
            return read_array(path, base64.b64decode(value[_ARRAY], validate=True))
        except (TypeError, ValueError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(path, None, "is damaged: an array in it is none") from None
    if isinstance(value, dict):
        return {key: _whole(path, item) for key, item in value.items()}
    return [_whole(path, item) for item in value] if isinstance(value, list) else value
