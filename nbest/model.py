"""`LogLinear`: weights for features, how they were found, and the file they are kept in."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nbest import __version__, segments
from nbest.corpus import Forests, NBest
from nbest.errors import CapabilityError, FormatError, ParameterError, look_up
from nbest.features import FEATURES, apply_recipes
from nbest.files import decode, read_bytes, write_text
from nbest.model_arrays import attach, detach, save_arrays
from nbest.types import Floats, Ints

MODEL_FORMAT = "nbest-model/1"
_LARGEST = 1e300  # sum of the sizes of all edge scores; sums over derivations must not overflow either


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    import numba
    import scipy

    return {
        "nbest": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
    }


@dataclass(frozen=True)
class LogLinear:
    """score(hypothesis) = weights . features; the posterior is its softmax within a segment.

    `features` are recipes of columns that the model adds to any lists before it scores them.
    """

    weights: Mapping[str, float]
    features: tuple[Mapping[str, Any], ...] = ()
    dense: tuple[str, ...] = ()  # which weights are of dense features, where others are of sparse ones
    metric: str = ""
    trainer: Mapping[str, Any] = field(default_factory=dict)
    scores_: Mapping[str, float] = field(default_factory=dict)
    seed: int | None = None
    gamma: float = 1.0  # sharpness of the posterior for decisions by consensus and minimum Bayes risk, chosen on dev
    versions: Mapping[str, str] = field(default_factory=versions)

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if not np.isfinite(weight):
                raise ParameterError(f"weights of LogLinear must be finite, got {weight} for {name!r}")

    def prepare(self, corpus: NBest) -> NBest:
        """The lists with the columns that this model adds."""
        return apply_recipes(corpus, self.features)

    def scores(self, corpus: NBest) -> Floats:
        """[H] score of each hypothesis. Every weight must find its feature; features without a weight count 0."""
        corpus = self.prepare(corpus)
        known = set(corpus.feature_names) | set(corpus.sparse_names)
        missing = [name for name in self.dense or self.weights if name not in known]
        if missing and (self.dense or corpus.sparse is None):
            have = ", ".join(corpus.feature_names) or "none"
            raise ParameterError(f"the model has a weight for {missing[0]!r} and these lists do not; they have {have}")
        dense = np.array([self.weights.get(name, 0.0) for name in corpus.feature_names])
        scores = np.zeros(corpus.hypotheses)
        with np.errstate(over="ignore", invalid="ignore"):
            for d, weight in enumerate(dense):  # by columns: the same sum whatever the order of rows or the BLAS
                if weight:
                    scores += weight * corpus.features[:, d]
        if corpus.sparse is not None:
            scores += corpus.sparse @ np.array([self.weights.get(name, 0.0) for name in corpus.sparse_names])
        if not np.isfinite(scores).all():
            raise ParameterError("some scores are not finite: weights times features exceed the range of numbers")
        return scores

    def edge_scores(self, forests: Forests) -> Floats:
        """[E] score of each edge of forests; that of a derivation is their sum."""
        if self.features:
            kinds = ", ".join(sorted({str(recipe["kind"]) for recipe in self.features}))
            raise CapabilityError(
                f"this model adds features to lists ({kinds}), which edges of a forest do not have; "
                "read lists out of the forests first (nbest convert FORESTS LISTS --top 100)"
            )
        missing = [name for name in self.weights if name not in forests.feature_names]
        if missing:
            have = ", ".join(forests.feature_names) or "none"
            raise ParameterError(f"the model has a weight for {missing[0]!r} and the forests do not; they have {have}")
        scores = np.zeros(forests.edges)
        with np.errstate(over="ignore", invalid="ignore"):
            for name, weight in self.weights.items():
                if weight:
                    scores += weight * forests.column(name)
        if not np.isfinite(scores).all() or np.abs(scores).sum() > _LARGEST:
            raise ParameterError("some scores are not finite: weights times features exceed the range of numbers")
        return scores

    def predict(self, corpus: NBest) -> Ints:
        """[N] flat index of the best hypothesis of each segment, ties to the first; -1 where a list is empty."""
        return segments.argmax(self.scores(corpus), corpus.offsets)

    def posterior(self, corpus: NBest, gamma: float = 1.0) -> Floats:
        """[H] softmax of gamma * score within each segment."""
        return segments.softmax(gamma * self.scores(corpus), corpus.offsets)

    def save(self, path: str | Path) -> None:
        """Write the model as JSON, with arrays of its features beside it as .npz; nothing is left half-written."""
        recipes, arrays = detach(self.features)
        content = {
            "format": MODEL_FORMAT,
            "kind": "loglinear",
            "weights": {name: float(weight) for name, weight in self.weights.items()},
            "features": recipes,
            **({"dense": list(self.dense)} if self.dense else {}),
            "metric": self.metric,
            "trainer": _plain(self.trainer),
            "scores": _plain(self.scores_),
            "seed": _plain(self.seed),
            **({"gamma": self.gamma} if self.gamma != 1.0 else {}),
            "versions": dict(self.versions),
        }
        if arrays:
            content["arrays"] = save_arrays(path, arrays)
        write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    """A setting as JSON can hold it: NumPy numbers as Python's, infinities as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | None) else str(value)


def _is_number(value: Any) -> bool:
    """Whether a JSON value is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def _loglinear(path: str | Path, content: Mapping[str, Any]) -> LogLinear:
    weights = content.get("weights")
    if not isinstance(weights, dict):
        raise FormatError(path, None, "a loglinear model needs 'weights': {name: value}")
    for name, weight in weights.items():
        if not _is_number(weight):
            raise FormatError(path, None, f"the weight of {name!r} must be a finite number, got {str(weight)[:40]}")
    recipes = content.get("features", [])
    if not isinstance(recipes, list) or not all(
        isinstance(r, dict) and str(r.get("kind")) in FEATURES for r in recipes
    ):
        known = ", ".join(sorted(FEATURES))
        raise FormatError(path, None, f"'features' must be a list of recipes with a known 'kind' ({known})")
    seed = content.get("seed")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise FormatError(path, None, f"'seed' must be a whole number or null, got {seed!r}")
    gamma = content.get("gamma", 1.0)
    if not _is_number(gamma) or gamma < 0:
        raise FormatError(path, None, f"'gamma' must be a number >= 0, got {str(gamma)[:40]}")
    return LogLinear(
        weights={name: float(weight) for name, weight in weights.items()},
        features=attach(path, recipes, content.get("arrays")),
        dense=_names(path, content.get("dense", [])),
        metric=str(content.get("metric", "")),
        trainer=_mapping(path, content, "trainer"),
        scores_=_mapping(path, content, "scores"),
        seed=seed,
        gamma=float(gamma),
        versions=_mapping(path, content, "versions"),
    )


def _names(path: str | Path, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise FormatError(path, None, f"'dense' must be a list of feature names, got {value!r}")
    return tuple(value)


def _mapping(path: str | Path, content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = content.get(key, {})
    if not isinstance(value, dict):
        raise FormatError(path, None, f"{key!r} must be an object, got {value!r}")
    return value


MODELS = {"loglinear": _loglinear}


def load(path: str | Path) -> LogLinear:
    """A model from its file: our JSON, or a Moses weight file."""
    from nbest.formats.moses_weights import parse_moses_weights

    text = decode(path, read_bytes(path))
    if not text.lstrip().startswith("{"):
        return LogLinear(parse_moses_weights(path, text), trainer={"name": "Moses weight file"})
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise FormatError(path, line, f"not valid JSON: {error}; expected a model file") from None
    if not isinstance(content, dict) or content.get("format") != MODEL_FORMAT:
        got = content.get("format") if isinstance(content, dict) else content
        raise FormatError(path, None, f"expected a model with 'format': {MODEL_FORMAT!r}, got {got!r}")
    try:
        reader = look_up(MODELS, str(content.get("kind")), "model kind")
    except ParameterError as error:
        raise FormatError(path, None, str(error)) from None
    return reader(path, content)
