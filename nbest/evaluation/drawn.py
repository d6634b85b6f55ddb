"""What a decision is worth on fewer hypotheses: the first k of each list in random orders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nbest.base.randomness import generator
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest, Texts
from nbest.corpus.contract import signature_of
from nbest.decisions.arguments import normalisation_of
from nbest.decisions.choose import choose
from nbest.metrics.normalise import normalised
from nbest.model.loglinear import LogLinear


def random_orders(offsets: Ints, orders: int, seed: int) -> Iterator[Ints]:
    """Permutations [H] of the hypotheses within their lists."""
    owners = segments.owners(offsets)
    for number in range(orders):
        yield np.lexsort((generator(seed, number).random(len(owners)), owners))


def scored_lists(lists: NBest, model: LogLinear | None) -> tuple[NBest, LogLinear | None]:
    """The lists with nothing but what is compared and the score for a feature, and a model that takes it as it is.

    So a score is computed once, in the whole list, however many parts of it are looked at.
    """
    answered = lists if model is None else model.answered(lists)
    scores = np.zeros(lists.hypotheses) if model is None else model.scores(lists)
    bare = NBest(
        offsets=lists.offsets,
        features=scores[:, None],
        feature_names=("score",),
        ids=lists.ids,
        texts=_as_compared(lists, answered.compared),
    )
    if model is None:
        return bare, None
    known = {**model.confidence, "answer": ""} if model.confidence else {}  # texts are the answers now
    return bare, replace(model, weights={"score": 1.0}, features=(), dense=None, answer="", confidence=known)


def _as_compared(lists: NBest, texts: Texts | None) -> Texts | None:
    """Answers as the metric of the lists compares them."""
    if texts is None or not lists.scored:
        return texts
    return normalised(normalisation_of(signature_of(lists)), texts)[0]


def decided(
    lists: NBest,
    model: LogLinear | None,
    decision: Mapping[str, Any],
    sizes: Sequence[int],
    *,
    orders: int = 20,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Floats:
    """[N, K, M] statistics of what a decision chooses of the first k of each list, on average over random orders.

    Of a list with fewer than k hypotheses all are there. Cost: one decision a size and order.
    """
    stats, _ = lists.need_stats()
    bare, model = scored_lists(lists, model)
    place = np.arange(lists.hypotheses) - np.repeat(lists.offsets[:-1], lists.lengths)
    found = np.zeros((len(lists), len(sizes), stats.shape[1]))
    for number, order in enumerate(random_orders(lists.offsets, orders, seed)):
        shuffled = bare.reorder(order)
        for at, k in enumerate(sizes):
            drawn = place < k
            chosen = choose(model, shuffled.keep(drawn), decision).chosen
            taken = order[np.flatnonzero(drawn)[np.maximum(chosen, 0)]]
            found[:, at] += np.where((chosen >= 0)[:, None], stats[taken], 0.0)
        if progress is not None:
            progress(number + 1, orders)
    return found / orders
