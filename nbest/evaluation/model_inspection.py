"""What is in a model file: how it was trained, what it scored, and its strongest features."""

from __future__ import annotations

import gzip
import lzma
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nbest.model.loglinear import LogLinear

_HEAD = 4096
_JSON = re.compile(rb'\s*\{.*"format"\s*:\s*"nbest-model/', re.DOTALL)
_MOSES = re.compile(rb"^(\[weight\]|[^\s=|]+=(\s+[-+.\deE]+)+)\s*$", re.MULTILINE)
_LISTED = 1000  # weights of a model that does not say which are dense are all listed up to here


@dataclass(frozen=True)
class ModelInspection:
    """What is known of a model. Features come with their weights; `dense` in the order of the model."""

    metric: str
    trainer: dict[str, Any]  # name and settings
    scores: dict[str, float]
    seed: int | None
    gamma: float
    recipes: tuple[dict[str, Any], ...]  # without arrays
    dense: tuple[tuple[str, float], ...]
    sparse_weights: int
    sparse_zeros: int  # how many of them are 0
    positive: tuple[tuple[str, float], ...]  # sparse features of the largest weights, the largest first
    negative: tuple[tuple[str, float], ...]  # and of the least
    versions: dict[str, str]
    decision: dict[str, Any]  # kind and options; nothing where it is the 1-best
    confidence: dict[str, Any]  # how it was calibrated; nothing where it was not
    evidence: dict[str, Any]  # what it is worth on lists left out; nothing where none told
    settled: dict[str, Any]  # decisions that were tried; nothing where none were
    history: int  # rows that tell how it was trained


def is_model(path: str | Path) -> bool:
    """Whether a file looks like a model, ours or Moses', by its first bytes; standard input never does."""
    if str(path) == "-" or not Path(path).is_file():
        return False
    head = _head(path)
    if _JSON.match(head):
        return True
    lines = [line for line in head.splitlines() if line.strip() and not line.lstrip().startswith(b"#")]
    return bool(lines) and (_MOSES.match(lines[0]) is not None or any(line.strip() == b"[weight]" for line in lines))


def _head(path: str | Path) -> bytes:
    """The first bytes of a file, unpacked; none of a file that cannot be read, which its reader will complain of."""
    try:
        with open(path, "rb") as file:
            start = file.read(6)
        opened = gzip.open if start.startswith(b"\x1f\x8b") else lzma.open if start.startswith(b"\xfd7zXZ") else open
        with opened(path, "rb") as file:
            return bytes(file.read(_HEAD)).removeprefix(b"\xef\xbb\xbf")
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        return b""


def inspect_model(model: LogLinear, top: int = 20) -> ModelInspection:
    """Look at a model; of sparse features the `top` of the largest and of the least weights are named."""
    listed, known = model.dense, model.calibration
    if listed is None:
        listed = tuple(model.weights) if len(model.weights) <= _LISTED else ()
    dense = {name: float(model.weights[name]) for name in listed if name in model.weights}
    names = [name for name in model.weights if name not in dense] if len(dense) < len(model.weights) else []
    values = np.array([model.weights[name] for name in names], np.float64)
    order = np.argsort(-values, kind="stable")
    named = [(names[at], float(values[at])) for at in order[:top] if values[at] > 0]
    order = np.argsort(values, kind="stable")
    return ModelInspection(
        metric=model.metric,
        trainer=dict(model.trainer),
        scores=dict(model.scores_),
        seed=model.seed,
        gamma=model.gamma,
        recipes=tuple(_plain(recipe) for recipe in model.features),
        dense=tuple(dense.items()),
        sparse_weights=len(names),
        sparse_zeros=int((values == 0).sum()),
        positive=tuple(named),
        negative=tuple((names[at], float(values[at])) for at in order[:top] if values[at] < 0),
        versions=dict(model.versions),
        decision=dict(model.decision),
        confidence={} if known is None else {**known.summary(), "words": known.words()},
        evidence=_evidence(model),
        settled=dict(model.settled),
        history=len(model.history),
    )


def _evidence(model: LogLinear) -> dict[str, Any]:
    known = model.validation
    return {} if known is None else {**known.content(), "verdict": known.verdict}


def _plain(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe without its arrays, of matrices their shape."""
    out: dict[str, Any] = {}
    for key, value in recipe.items():
        if isinstance(value, np.ndarray):
            if value.ndim > 1:
                out[key] = " x ".join(map(str, value.shape))
        elif not isinstance(value, Mapping) or not any(isinstance(part, np.ndarray) for part in value.values()):
            out[key] = value
    return out
