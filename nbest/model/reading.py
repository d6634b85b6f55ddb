"""What a model file says, checked: every value is of the kind it should be, and no path leads out of the folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, NbestError, ParameterError, listed, shown
from nbest.corpus.answers import OWN, answer_rule
from nbest.features import FEATURES, check_recipe, restrict_recipes
from nbest.features.paths import resolved
from nbest.model.arrays import attach, unpack_weights
from nbest.model.confidence import confidence_of
from nbest.model.evidence import evidence_of
from nbest.model.history import Rows, checked_history
from nbest.model.settled import settled_of

_DEEPEST = 20  # lists and objects within each other


def loglinear_fields(path: str | Path, content: Mapping[str, Any], files: Sequence[str | Path]) -> dict[str, Any]:
    """The fields of a `LogLinear` out of the JSON of its file and the arrays beside it."""
    _check_depth(path, content)
    weights, many = _weights(path, content), _mapping(path, content, "sparse_weights")
    recipes = _recipes(path, content.get("features", []))
    *features, packed = attach(path, [*recipes, many], content.get("arrays"))
    if many:
        weights |= unpack_weights(path, packed, weights)
    return {
        "weights": weights,
        "features": _checked(path, resolved(path, features, files), weights),
        "dense": None if content.get("dense") is None else _names(path, content["dense"]),
        "metric": _text(path, content, "metric"),
        "trainer": _mapping(path, content, "trainer"),
        "scores_": _scores(path, content),
        "seed": _seed(path, content.get("seed")),
        "gamma": _gamma(path, content.get("gamma", 1.0)),
        "decision": _decision(path, content),
        "answer": _answer(path, content),
        "confidence": _known(path, content, "confidence", confidence_of),
        "evidence": _known(path, content, "evidence", evidence_of),
        "settled": _known(path, content, "settled", settled_of),
        "history": _history(path, content),
        "versions": {name: str(said) for name, said in _mapping(path, content, "versions").items()},
    }


def _check_depth(path: str | Path, value: Any, depth: int = 0) -> None:
    if depth > _DEEPEST:
        raise FormatError(path, None, f"lists and objects of a model may be {_DEEPEST} deep, and these are deeper")
    if isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, list | dict):
                _check_depth(path, item, depth + 1)


def _weights(path: str | Path, content: Mapping[str, Any]) -> dict[str, float]:
    weights = content.get("weights")
    if not isinstance(weights, dict):
        raise FormatError(path, None, "a loglinear model needs 'weights': {name: value}")
    for name, weight in weights.items():
        if not is_number(weight):
            got = weight if isinstance(weight, str) else shown(weight)
            raise FormatError(path, None, f"the weight of {shown(name)} must be a finite number, got {got[:60]}")
    return {name: float(weight) for name, weight in weights.items()}


def _recipes(path: str | Path, recipes: Any) -> list[dict[str, Any]]:
    if not isinstance(recipes, list) or not all(
        isinstance(r, dict) and isinstance(r.get("kind"), str) and r["kind"] in FEATURES for r in recipes
    ):
        known = listed(sorted(FEATURES))
        raise FormatError(path, None, f"'features' must be a list of recipes with a known 'kind' ({known})")
    return recipes


def _checked(
    path: str | Path, features: Sequence[Mapping[str, Any]], weights: Mapping[str, float]
) -> tuple[Mapping[str, Any], ...]:
    """Recipes whose options are as they should be, with the columns that the weights name."""
    try:
        found = restrict_recipes(features, [name for name, weight in weights.items() if weight])
        for recipe in found:
            check_recipe(recipe)
        return found
    except NbestError as error:
        raise FormatError(path, None, f"a recipe of the model is not as it should be: {error}") from None


def _names(path: str | Path, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise FormatError(path, None, f"'dense' must be a list of feature names, got {shown(value)}")
    return tuple(value)


def _mapping(path: str | Path, content: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = content.get(key, {})
    if not isinstance(value, dict):
        raise FormatError(path, None, f"{key!r} must be an object, got {shown(value)}")
    return value


def _text(path: str | Path, content: Mapping[str, Any], key: str) -> str:
    value = content.get(key, "")
    if not isinstance(value, str):
        raise FormatError(path, None, f"{key!r} must be text, got {shown(value)}")
    return value


def _scores(path: str | Path, content: Mapping[str, Any]) -> dict[str, float]:
    scores = _mapping(path, content, "scores")
    for name, value in scores.items():
        if not is_number(value) and value not in ("nan", "inf", "-inf"):
            raise FormatError(path, None, f"the score {shown(name)} must be a number, got {shown(value)}")
    return {name: float(value) for name, value in scores.items()}


def _seed(path: str | Path, seed: Any) -> int | None:
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise FormatError(path, None, f"'seed' must be a whole number or null, got {shown(seed)}")
    return seed


def _gamma(path: str | Path, gamma: Any) -> float:
    if not is_number(gamma) or gamma < 0:
        raise FormatError(path, None, f"'gamma' must be a number >= 0, got {shown(gamma)}")
    return float(gamma)


def _answer(path: str | Path, content: Mapping[str, Any]) -> str:
    answer = _text(path, content, "answer")
    if answer not in ("", OWN):
        try:
            answer_rule(answer)
        except ParameterError as error:
            raise FormatError(path, None, f"'answer': {error}") from None
    return answer


def _decision(path: str | Path, content: Mapping[str, Any]) -> dict[str, Any]:
    decision = _mapping(path, content, "decision")
    plain = all(isinstance(value, str | bool) or is_number(value) for value in decision.values())
    if decision and not (isinstance(decision.get("kind"), str) and plain):
        raise FormatError(path, None, f"'decision' must have a 'kind' and plain options, got {shown(decision)}")
    return decision


def _known(path: str | Path, content: Mapping[str, Any], key: str, check: Callable[[Any], Any]) -> dict[str, Any]:
    """What a key holds, checked, as a file keeps it."""
    said = _mapping(path, content, key)
    try:
        known = check(said)
    except ParameterError as error:
        raise FormatError(path, None, f"{key!r}: {error}") from None
    return {} if known is None else known.content()


def _history(path: str | Path, content: Mapping[str, Any]) -> Rows:
    try:
        return checked_history(content.get("history", []))
    except ParameterError as error:
        raise FormatError(path, None, f"'history' {error}") from None


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False
