"""The contract of a metric, as a check that any metric can be put through."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import parallel
from nbest.compute.segments import offsets_of
from nbest.corpus.texts import Texts
from nbest.testing.corpora import as_read_by

Sides = tuple[list[list[str]], list[list[str]]]  # hypotheses by segment, references by segment

_CORPUS: Sides = (
    [
        ["the cat sat on the mat", "a cat sat on a mat", "the the the the the", "", "the cat sat on the mat"],
        [],
        ["It is 3.5 , not 4 !", "it is 3.5, not 4!", "3.5 is not 4", "  it\tis  "],
        ["one two three four five"],
        ["", "x", "x y z"],
    ],
    [
        ["the cat sat on the mat", "there is a cat on the mat"],
        ["nothing was said about this"],
        ["it is 3.5 , not 4 !"],
        ["five four three two one zero", "one two three", "one two three four six"],
        ["", "x y"],
    ],
)


def check_metric(metric: Any) -> None:
    """Raise an `AssertionError` that says which part of the contract of `nbest.corpus.metric.Metric` is broken.

    A metric of given values (one with `stats_of`) is checked on made-up values; what needs texts is left out.
    Options that are switches of a dataclass must show in the signature.
    """
    for check in _CHECKS:
        try:
            check(metric)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"{check.__name__.lstrip('_')} of {metric.name}: {error!r}") from error


def _stats(metric: Any, corpus: Sides) -> Floats:
    hypotheses, references = _read_by(metric, corpus)
    texts, offsets = _flat(hypotheses)
    if hasattr(metric, "stats_of"):
        return metric.stats_of([len(text) - 5.5 for text in texts])
    return metric.stats(texts, offsets, references)


def _read_by(metric: Any, corpus: Sides) -> Sides:
    """The corpus with texts in the form that the metric reads."""
    hypotheses, references = ([[as_read_by(metric, text) for text in group] for group in side] for side in corpus)
    return hypotheses, references


def _flat(hypotheses: list[list[str]]) -> tuple[Texts, Ints]:
    offsets = offsets_of(np.array([len(texts) for texts in hypotheses], np.int64))
    return Texts.of(text for texts in hypotheses for text in texts), offsets


def _totals(metric: Any) -> Floats:
    """[R, M] totals of a few choices, whole and not."""
    stats = _stats(metric, _CORPUS)
    rng = np.random.default_rng(1)
    whole = rng.integers(0, 3, (20, len(stats))).astype(np.float64) @ stats
    return np.concatenate([whole, rng.dirichlet(np.ones(len(stats)), 20) @ stats, stats, np.zeros((1, stats.shape[1]))])


def _same(found: Floats, expected: Floats, what: str) -> None:
    assert np.shape(found) == np.shape(expected), f"{what}: shape {np.shape(found)}, expected {np.shape(expected)}"
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9), f"{what}: got {found}, expected {expected}"


def _check_attributes(metric: Any) -> None:
    assert isinstance(metric.name, str), "name must be a str"
    assert metric.name, "name must not be empty"
    assert isinstance(metric.higher_is_better, bool), "higher_is_better must be a bool"
    assert isinstance(metric.stat_names, tuple), "stat_names must be a tuple"


def _check_shapes(metric: Any) -> None:
    stats = _stats(metric, _CORPUS)
    expected = (sum(map(len, _CORPUS[0])), len(metric.stat_names))
    assert stats.shape == expected, f"stats must have shape {expected}, got {stats.shape}"
    assert stats.dtype == np.float64, f"stats must be float64, got {stats.dtype}"
    assert np.isfinite(stats).all(), "stats must be finite"


def _check_inputs_unchanged(metric: Any) -> None:
    if hasattr(metric, "stats_of"):
        return
    hypotheses, references = _read_by(metric, _CORPUS)
    texts, offsets = _flat(hypotheses)
    texts = Texts(texts.buffer.copy(), texts.starts, texts.ends)
    expected = deepcopy(references)
    arrays: list[Any] = [texts.buffer, texts.starts, texts.ends, offsets]
    before = deepcopy(arrays)
    metric.stats(texts, offsets, references)
    assert all(map(np.array_equal, before, arrays)), "stats modifies texts or offsets"
    assert references == expected, "stats modifies references"


def _check_order_of_hypotheses(metric: Any) -> None:
    hypotheses, references = _CORPUS
    offsets = _flat(hypotheses)[1].tolist()
    rows = np.concatenate([np.arange(low, high)[::-1] for low, high in pairwise(offsets)])
    turned = _stats(metric, ([texts[::-1] for texts in hypotheses], references))
    _same(turned, _stats(metric, _CORPUS)[rows], "stats of hypotheses in another order")


def _check_additive(metric: Any) -> None:
    hypotheses, references = _CORPUS
    stats = _stats(metric, _CORPUS)
    twice = _stats(metric, (hypotheses + hypotheses, references + references))
    _same(twice, np.concatenate([stats, stats]), "stats of a corpus given twice")
    alone = [_stats(metric, ([h], [r])) for h, r in zip(hypotheses, references, strict=True)]
    _same(np.concatenate(alone), stats, "stats of segments one by one")


def _check_empty(metric: Any) -> None:
    width = len(metric.stat_names)
    empty: list[Sides] = [([], []), ([[]], [["a b"]]), ([[], []], [["a"], ["b", "c"]])]
    for corpus in empty:
        stats = _stats(metric, corpus)
        assert stats.shape == (0, width), f"stats of empty lists must have shape {(0, width)}, got {stats.shape}"
        assert metric.losses(stats).shape == (0,), "losses of no hypotheses must be empty"
        assert np.shape(metric.score(stats)) == (0,), "scores of no totals must be empty"


def _check_score_vectorised(metric: Any) -> None:
    totals = _totals(metric)
    scores = metric.score(totals)
    one_by_one = np.array([metric.score(row) for row in totals])
    assert one_by_one.shape == (len(totals),), f"score of totals [M] must be one number, got {metric.score(totals[0])}"
    _same(scores, one_by_one, "score of many totals and of each alone")
    _same(metric.score(totals[None, :4]), one_by_one[None, :4], "score of a higher dimension")
    assert np.isfinite(scores).all(), f"score must be finite, got {scores}"


def _check_score_at_zero(metric: Any) -> None:
    zeros = np.zeros((2, len(metric.stat_names)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = metric.score(zeros)
        metric.score(_totals(metric))
    assert np.isfinite(scores).all(), f"score of all-zero totals must be finite, got {scores}"
    assert not caught, f"score must not warn, got {caught[0].message if caught else ''}"


def _check_pure(metric: Any) -> None:
    totals, stats = _totals(metric), _stats(metric, _CORPUS)
    for function, given in ((metric.score, totals), (metric.losses, stats)):
        before = given.copy()
        first = np.array(function(given))
        assert np.array_equal(given, before), f"{function.__name__} modifies its input"
        first_again = np.array(function(given))
        assert np.array_equal(first, first_again, equal_nan=True), f"{function.__name__} differs when called again"


def _check_losses(metric: Any) -> None:
    stats = _stats(metric, _CORPUS)
    losses = metric.losses(stats)
    assert losses.shape == (len(stats),), f"losses must have shape {(len(stats),)}, got {losses.shape}"
    assert np.isfinite(losses).all(), "losses must be finite"
    assert (losses >= 0).all(), f"losses must be >= 0, got {losses.min()}"


def _check_perfect(metric: Any) -> None:
    """The segments with a first reference that is not empty, and that reference put last in the list."""
    if hasattr(metric, "stats_of"):
        return
    hypotheses = [[*texts, refs[0]] for texts, refs in zip(_CORPUS[0][:4], _CORPUS[1][:4], strict=True)]
    stats = _stats(metric, (hypotheses, _CORPUS[1][:4]))
    last = np.cumsum([len(texts) for texts in hypotheses]) - 1
    losses = metric.losses(stats)
    assert np.allclose(losses[last], 0), f"a hypothesis that equals a reference must have no loss, got {losses[last]}"
    sign = 1 if metric.higher_is_better else -1
    best = float(metric.score(stats[last].sum(axis=0)))
    first = np.concatenate([[0], last[:-1] + 1])
    others = [float(metric.score(stats[choice].sum(axis=0))) for choice in (first, np.maximum(first, last - 1))]
    worst = sign * min(sign * other for other in others)
    assert sign * best >= sign * max(others, key=lambda value: sign * value), "perfect hypotheses must score best"
    assert sign * best > sign * worst, "perfect hypotheses must score better than bad ones"


def _check_threads(metric: Any) -> None:
    found = []
    for threads in (1, 2, 3):
        with patch.object(parallel, "thread_count", lambda _, threads=threads: threads):
            found.append(_stats(metric, _CORPUS))
    assert all(np.array_equal(found[0], other) for other in found), "stats differ with the number of threads"


def _check_signature(metric: Any) -> None:
    signature = metric.signature()
    assert isinstance(signature, str), "signature must be a str"
    assert signature, "signature must not be empty"
    assert metric.signature(2) != signature, "signature must tell the number of references"
    for option, other in _switched(metric):
        assert other.signature() != signature, f"signature must tell the option {option!r}"


def _switched(metric: Any) -> Iterator[tuple[str, Any]]:
    """The metric with each of its switches turned in turn."""
    if is_dataclass(metric) and not isinstance(metric, type):
        for option in fields(metric):
            value = getattr(metric, option.name)
            if option.init and isinstance(value, bool):
                yield option.name, replace(metric, **{option.name: not value})


_CHECKS: tuple[Callable[[Any], None], ...] = (
    _check_attributes,
    _check_shapes,
    _check_inputs_unchanged,
    _check_order_of_hypotheses,
    _check_additive,
    _check_empty,
    _check_pure,
    _check_score_at_zero,
    _check_score_vectorised,
    _check_losses,
    _check_perfect,
    _check_threads,
    _check_signature,
)
