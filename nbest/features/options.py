"""Options of features: known names, and values of the kind that the function's annotation says."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError, _known, shown
from nbest.base.limits import MOST, check_count


def check_options(kind: str, function: Callable[..., Any], options: Mapping[str, Any]) -> list[str]:
    """The options that a feature knows; another one is an error, unless the function takes any."""
    parameters = list(signature(function).parameters.values())[1:]
    known = {each.name: each.annotation for each in parameters if each.kind is not Parameter.VAR_KEYWORD}
    odd = next((option for option in options if option not in known), None)
    if odd is not None and len(known) == len(parameters):
        raise ParameterError(f"the feature {kind!r} has no option {odd!r}; {_known(list(known), str(odd))}")
    for option, value in options.items():
        _check_kind(kind, option, str(known.get(option, "")), value)
    return list(known)


def is_text(function: Callable[..., Any], option: str) -> bool:
    """Whether an option of a feature is text, whatever it looks like."""
    parameter = signature(function).parameters.get(option)
    return parameter is not None and str(parameter.annotation) == "str"


def _check_kind(kind: str, option: str, annotation: str, value: Any) -> None:
    wanted, *other = annotation.split(" | ")
    if wanted not in _KINDS or (value is None and "None" in other):
        return
    rule, holds = _KINDS[wanted]
    if not holds(value):
        raise ParameterError(f"{option!r} of the feature {kind!r} must be {rule}, got {shown(value)}")
    if wanted == "int" and option != "seed":
        check_count(f"{option!r} of the feature {kind!r}", int(value), -MOST)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _is_list(value: Any, each: Callable[[Any], bool]) -> bool:
    return isinstance(value, list | tuple | np.ndarray) and all(each(item) for item in value)


def _is_finite(value: Any) -> bool:
    """Whether a value is an array of finite numbers."""
    try:
        array = np.asarray(value)
        return array.dtype.kind in "fiu" and bool(np.isfinite(array).all())
    except (ValueError, TypeError, OverflowError):
        return False


_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("a whole number", _is_whole),
    "float": ("a finite number", _is_real),
    "bool": ("true or false", lambda value: isinstance(value, bool | np.bool_)),
    "str": ("text", lambda value: isinstance(value, str)),
    "Sequence[str]": ("names", lambda value: _is_list(value, lambda item: isinstance(item, str))),
    "Sequence[int]": ("whole numbers >= 0", lambda value: _is_list(value, lambda item: _is_whole(item) and item >= 0)),
    "Floats": ("an array of finite numbers", _is_finite),
    "npt.NDArray[np.uint8]": ("an array of bytes", lambda value: getattr(value, "dtype", None) == np.uint8),
    "Mapping[str, Any]": ("an object", lambda value: isinstance(value, Mapping)),
}
"""Kinds of options by their annotation: in words, and how to tell."""
