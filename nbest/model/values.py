"""Values that model files hold, checked: a `ParameterError` says which is not as it should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbest.base.errors import ParameterError, shown


def object_in(content: Mapping[str, Any], key: str) -> dict[str, Any]:
    """What stands under a key, names and values."""
    value = content.get(key)
    if not isinstance(value, Mapping):
        raise ParameterError(f"{key!r} must be an object, got {shown(value)}")
    return dict(value)


def text_in(content: Mapping[str, Any], key: str) -> str:
    """What stands under a key, text; nothing where it is missing."""
    value = content.get(key, "")
    if not isinstance(value, str):
        raise ParameterError(f"{key!r} must be text, got {shown(value)}")
    return value


def number_of(name: str, value: Any, least: float = -1e300, most: float = 1e300) -> float:
    """A finite number within limits."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ParameterError(f"{name!r} must be a number from {least:g} to {most:g}, got {shown(value)}")
    return float(value)
