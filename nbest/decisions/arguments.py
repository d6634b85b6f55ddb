"""What decisions are given, checked: a model first, then the lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbest.base.errors import ParameterError, need_kind
from nbest.corpus import NBest
from nbest.model.loglinear import LogLinear


def check_arguments(decision: str, model: Any, corpus: Any) -> None:
    """Complain of a model and lists that are swapped, or are neither."""
    if model is not None and not hasattr(model, "scores"):
        order = f"; call {decision}(model, corpus)"
        raise ParameterError(f"'model' of {decision} must be a model, got {type(model).__name__}{order}")
    need_kind(decision, "corpus", corpus, NBest)


def need_model(decision: str, model: Any) -> None:
    """Complain where there is no model and one is needed."""
    if model is None:
        raise ParameterError(f"'model' of {decision} must be a model, got None")


def normalisation_of(signature: str) -> str:
    """What a metric of this signature does to texts before it compares them: names of normalisers, or "none"."""
    said = signature.partition("|answer:")[0].split("|")[1:]
    names = own_normalisers(said)
    return "+".join([*names, *(["lower"] if "case:lc" in said else [])]) or "none"


def own_normalisers(said: Sequence[str]) -> list[str]:
    """Normalisers that the parts of a signature name; TER's own option of this name says only yes or no."""
    return [each[5:] for each in said if each.startswith("norm:") and each[5:] not in ("yes", "no")]


def checked_gamma(decision: str, gamma: float | None, model: LogLinear) -> float:
    """A sharpness is finite and not negative; that of the model if none is given."""
    gamma = model.gamma if gamma is None else gamma
    if not 0 <= gamma < float("inf"):
        raise ParameterError(f"'gamma' of {decision} must be >= 0 and finite, got {gamma}")
    return gamma
