"""Scores of metrics in compiled code, for searches that never leave it.

A formula is a tuple of numbers that says which metric and which of its options. The kernels compute what the metric's
own `score` does, in its order; BLEU's logarithms and exponentials are not NumPy's, so its last bit may differ.
"""

from __future__ import annotations

import math

import numpy as np

from nbest.compute.compilation import kernel
from nbest.corpus.metric import Metric
from nbest.metrics import BLEU, F1, Precision, Recall
from nbest.metrics.bleu import SMALLEST, SMOOTHING
from nbest.metrics.rates import Accuracy, ErrorRate, Mean

Formula = tuple[int, int, tuple[float, float, float, float, float]]
"""The metric's number, the longest n-grams of BLEU (else 0), and its options as numbers: no array, which kernels would
count references to in every call."""

_BLEU, _RATE = 0, 1
_NONE, _EXP, _FLOOR, _ADD_K = range(4)  # in the order of SMOOTHING
_LOG2 = math.log(2.0)
_SURE = 1.0 - 1e-9  # leaves room for rounding
_TINY = 1e-250  # products below this lose digits

_RATES = {
    ErrorRate: (1.0, 1.0, 0.0, 100.0, 100.0),
    Accuracy: (1.0, 1.0, 0.0, 100.0, 0.0),
    Mean: (1.0, 1.0, 0.0, 1.0, 0.0),
    Precision: (1.0, 1.0, 0.0, 100.0, 0.0),
    Recall: (1.0, 0.0, 1.0, 100.0, 0.0),
}


def formula_of(metric: Metric) -> Formula | None:
    """The formula of a metric, None where there is none: it is then scored by its own method."""
    score = type(metric).score  # of a subclass that scores otherwise this is another function
    if isinstance(metric, BLEU) and score is BLEU.score:
        method = list(SMOOTHING).index(metric.smooth_method)
        value = SMOOTHING[metric.smooth_method] if metric.smooth_value is None else metric.smooth_value
        return _BLEU, metric.max_ngram_order, (float(method), float(value), float(metric.effective_order), 0.0, 0.0)
    if isinstance(metric, F1) and score is F1.score:
        return _RATE, 0, (1.0 + metric.beta**2, 1.0, metric.beta**2, 100.0, 0.0)
    numbers = next((numbers for kind, numbers in _RATES.items() if score is kind.score), None)  # type: ignore[attr-defined]
    return None if numbers is None else (_RATE, 0, numbers)


@kernel
def score(formula, totals):
    """The score of totals [M]."""
    which, order, numbers = formula
    return _bleu(order, numbers, totals) if which == _BLEU else _rate(numbers, totals)


@kernel
def scores(formula, totals):
    """[R] scores of totals [R, M]."""
    out = np.empty(len(totals))
    for i in range(len(totals)):
        out[i] = score(formula, totals[i])
    return out


@kernel
def least(formula, value):
    """What `bound` reaches at least, of totals that score `value`; -inf where that is not known."""
    which, order, _ = formula
    if which != _BLEU or not value > 0.0:
        return -np.inf
    product = _SURE
    for _ in range(order):
        product *= value / 100.0
    return product if product > _TINY else -np.inf


@kernel
def bound(formula, totals):
    """A number, quickly computed, that is larger where BLEU is: (score / 100)^order at most. +inf where not known.

    By exp(-u) <= 1 / (1 + u + u^2/2) for u >= 0.
    """
    which, order, numbers = formula
    if which != _BLEU or numbers[0] == _ADD_K:
        return np.inf
    matched, possible = _products(order, totals)
    if not _ordinary(matched, possible, totals):
        return np.inf
    share = matched / possible
    short = totals[1] / totals[0] - 1.0
    if short > 0.0:
        penalty = 1.0 / (1.0 + short + 0.5 * short * short)
        for _ in range(order):
            share *= penalty
    return share


@kernel
def _rate(numbers, totals):
    """`numbers` are factors of the part and of what the whole is made of, the unit, and the score without a whole."""
    part = numbers[0] * totals[0]
    whole = numbers[1] * totals[1]
    if len(totals) > 2:
        whole = numbers[2] * totals[2] + whole
    if whole > 0:
        return numbers[3] * (part / whole)
    return numbers[4] if part > 0 else 0.0


@kernel
def _products(order, totals):
    matched = totals[2]
    possible = totals[2 + order]
    for n in range(1, order):
        matched *= totals[2 + n]
        possible *= totals[2 + order + n]
    return matched, possible


@kernel
def _ordinary(matched, possible, totals):
    return matched > SMALLEST and possible > SMALLEST and possible < np.inf and totals[0] > 0


@kernel
def _bleu(order, numbers, totals):
    matched, possible = _products(order, totals)
    if numbers[0] == _ADD_K or not _ordinary(matched, possible, totals):
        return _smoothed_bleu(order, numbers, totals)
    brevity = min(1.0 - totals[1] / totals[0], 0.0)
    return 100.0 * math.exp(math.log(matched / possible) * (1.0 / order) + brevity)


@kernel
def _smoothed_bleu(order, numbers, totals):
    """What `BLEU._smoothed` computes."""
    method = numbers[0]
    value = numbers[1]
    effective_order = numbers[2] > 0
    logs = 0.0
    halvings = 0.0
    effective = 0
    counted = False
    for n in range(order):
        correct = totals[2 + n]
        total = totals[2 + order + n]
        counted = counted or correct > 0
        if method == _ADD_K and n > 0:
            correct, total = correct + value, total + value
        if effective < n or not total > 0:  # an order with total 0 has been met
            logs = logs if effective_order else -np.inf
            continue
        effective += 1
        if correct == 0 and method == _EXP:
            halvings += 1.0
            logs += -halvings * _LOG2 - math.log(total)
        elif correct == 0 and method == _FLOOR:
            logs += _log(value) - math.log(total)
        else:
            logs += _log(correct) - math.log(total)
    if not counted or effective == 0 or not totals[0] > 0:
        return 0.0
    brevity = min(1.0 - totals[1] / totals[0], 0.0)
    return 100.0 * math.exp(logs / (effective if effective_order else order) + brevity)


@kernel
def _log(value):
    return math.log(value) if value > 0 else -np.inf
