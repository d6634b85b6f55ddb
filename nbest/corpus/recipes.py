"""Recipes of added columns, compared: plain data with arrays in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError


def same_recipe(first: Any, second: Any) -> bool:
    """Whether two recipes, or parts of them, are equal; arrays by their kind and numbers."""
    if first is second:
        return True
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return (
            isinstance(first, np.ndarray)
            and isinstance(second, np.ndarray)
            and first.dtype == second.dtype
            and np.array_equal(first, second)
        )
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(same_recipe(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(same_recipe, first, second))
    return bool(type(first) is type(second) and first == second)


def shared_recipes(parts: Sequence[tuple[Mapping[str, Any], ...]]) -> tuple[Mapping[str, Any], ...]:
    """The recipes of lists that are put together: those of all of them, none where some have none."""
    if not all(parts):
        return ()
    for other in parts[1:]:
        if not same_recipe(parts[0], other):
            raise ParameterError(
                "features were added to these lists by different recipes; put plain lists together, then add features"
            )
    return parts[0]
