"""Recipes that lists carry: what was added to them, so that a model that is fitted on them can add it to others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nbest.corpus import NBest
from nbest.corpus.recipes import same_recipe

Recipe = Mapping[str, Any]


def record(before: NBest, after: NBest, kind: str, **options: Any) -> NBest:
    """`after`, which is `before` with the columns of this recipe, as lists that say so."""
    return replace(after, recipes=(*before.recipes, {"kind": kind, **options}))


def with_recipes(recipes: Iterable[Recipe], own: Iterable[Recipe]) -> tuple[Recipe, ...]:
    """The recipes of the lists that a model was fitted on, then those of its own that they do not have."""
    recipes = tuple(recipes)
    return (*recipes, *(each for each in own if not any(same_recipe(each, other) for other in recipes)))


def carries(corpus: NBest, recipe: Recipe, needed: Recipe) -> bool:
    """Whether lists have the columns of a recipe already, at least those that are `needed` of them."""
    return any(same_recipe(other, recipe) or _covers(other, needed) for other in corpus.recipes)


def _covers(have: Recipe, needed: Recipe) -> bool:
    """Whether two recipes are the same but for further columns of the first."""
    if "columns" not in have or "columns" not in needed or have["kind"] != needed["kind"]:
        return False
    if not same_recipe({**have, "columns": None}, {**needed, "columns": None}):
        return False
    return _lines(needed["columns"]) <= _lines(have["columns"])


def _lines(columns: Any) -> set[bytes]:
    return set(np.asarray(columns, np.uint8).tobytes().split(b"\n")) - {b""}
