"""Metrics as the script of a page computes them (`web/metrics.js`): which formula, with which constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbest.corpus.metric import Metric
from nbest.metrics import BLEU, CHRF, F1, Precision, Recall
from nbest.metrics.bleu import SMOOTHING
from nbest.metrics.rates import Accuracy, ErrorRate, Mean


def _bleu(metric: Any) -> dict[str, Any]:
    value = SMOOTHING[metric.smooth_method] if metric.smooth_value is None else metric.smooth_value
    how = {"smoothing": metric.smooth_method, "value": value, "effective": metric.effective_order}
    return {"kind": "bleu", "order": metric.max_ngram_order, **how}


def _chrf(metric: Any) -> dict[str, Any]:
    order = metric.char_order + metric.word_order
    return {"kind": "chrf", "order": order, "beta": metric.beta, "eps": metric.eps_smoothing}


_FORMULAS: dict[type, Callable[[Any], dict[str, Any]]] = {
    BLEU: _bleu,
    CHRF: _chrf,
    F1: lambda metric: {"kind": "f", "beta": metric.beta},
    Precision: lambda metric: {"kind": "share", "part": 0, "whole": 1},
    Recall: lambda metric: {"kind": "share", "part": 0, "whole": 2},
    ErrorRate: lambda metric: {"kind": "errors"},
    Accuracy: lambda metric: {"kind": "share", "part": 0, "whole": 1},
    Mean: lambda metric: {"kind": "mean"},
}


def formula_of(metric: Metric, digits: int = 2) -> dict[str, Any] | None:
    """What the script needs to know of a metric; None of one that it does not know."""
    for kind, formula in _FORMULAS.items():
        if isinstance(metric, kind) and getattr(type(metric), "score", None) is getattr(kind, "score", None):
            said = {"name": metric.name, "higher": bool(metric.higher_is_better), "digits": digits}
            return {**formula(metric), **said}
    return None
