"""What stopping early costs and saves: recorded lists are gone through in random orders, as if they were sampled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.decisions.stopping import RULES, Standing
from nbest.evaluation.drawn import random_orders, scored_lists
from nbest.model.loglinear import LogLinear


@dataclass(frozen=True, eq=False)
class Traced:
    """Lists in one order: after each hypothesis, what rules watch and what would be chosen."""

    offsets: Ints  # [N+1]
    watched: Mapping[str, Floats]  # [H] by rule, in that order
    chosen: Ints  # [H] flat indices of the lists as they were

    def stops(self, rule: str, at: float, *, least: int = 1, most: int | None = None) -> Ints:
        """[N] how many hypotheses a rule takes of each list; all, where it never stops."""
        lengths = segments.lengths(self.offsets)
        place = np.arange(len(self.chosen)) - np.repeat(self.offsets[:-1], lengths) + 1
        ends = ((self.watched[rule] >= at) & (place >= least)) | (place == (most or 0))
        ends |= place == np.repeat(lengths, lengths)
        first = segments.argmax(ends.astype(np.float64), self.offsets)
        return np.where(first >= 0, first - self.offsets[:-1] + 1, 0)

    def taken(self, counts: Ints) -> Ints:
        """[N] what is chosen after so many hypotheses of each list; -1 where it is empty."""
        at = self.offsets[:-1] + np.minimum(counts, segments.lengths(self.offsets)) - 1
        return np.where(at >= self.offsets[:-1], self.chosen[np.maximum(at, 0)], -1) if len(self.chosen) else counts - 1


def traced(lists: NBest, model: LogLinear | None, order: Ints) -> Traced:
    """What a `Stopper` sees of lists in this order [H] of their hypotheses.

    It is what the online object uses that goes through them. Cost: some microseconds a hypothesis.
    """
    bare, model = scored_lists(lists, model)
    assert bare.texts is not None
    answers, scores = [bare.texts[h] for h in order], bare.features[order, 0].tolist()
    watched = {rule: np.zeros(len(order)) for rule in RULES}
    chosen = np.zeros(len(order), np.int64)
    for low, high in zip(lists.offsets[:-1].tolist(), lists.offsets[1:].tolist(), strict=True):
        standing = Standing(model)
        for h in range(low, high):
            standing.add(answers[h], scores[h])
            chosen[h] = low + standing.place
            watched["votes"][h] = standing.stays
            watched["confidence"][h] = standing.confidence
    return Traced(lists.offsets, watched, order[chosen] if len(order) else chosen)


FIXED = "fixed"


@dataclass(frozen=True)
class Plan:
    """One way to spend hypotheses: `at` of them (fixed), or until a rule reaches `at`; who chooses then."""

    rule: str  # of RULES, or FIXED
    by_model: bool
    at: float


@dataclass(frozen=True)
class Limits:
    """Hypotheses of a list that are drawn at least and at most."""

    least: int = 1
    most: int | None = None


NO_LIMITS = Limits()


def spent(
    lists: NBest,
    model: LogLinear | None,
    plans: Sequence[Plan],
    limits: Limits = NO_LIMITS,
    *,
    orders: int = 20,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Floats, Floats]:
    """Statistics of what is chosen [N, C, M] and hypotheses drawn [N, C] by each plan, means over random orders."""
    stats, _ = lists.need_stats()
    found, drawn = np.zeros((len(lists), len(plans), stats.shape[1])), np.zeros((len(lists), len(plans)))
    needed = {plan.by_model for plan in plans}
    for number, order in enumerate(random_orders(lists.offsets, orders, seed)):
        gone = {by_model: traced(lists, model if by_model else None, order) for by_model in needed}
        for at, plan in enumerate(plans):
            counts = _counts(gone[plan.by_model], plan, limits)
            chosen = gone[plan.by_model].taken(counts)
            found[:, at] += np.where((chosen >= 0)[:, None], stats[chosen], 0.0)
            drawn[:, at] += counts
        if progress is not None:
            progress(number + 1, orders)
    return found / orders, drawn / orders


def _counts(gone: Traced, plan: Plan, limits: Limits) -> Ints:
    """[N] hypotheses of each list that a plan takes."""
    if plan.rule == FIXED:
        return np.minimum(segments.lengths(gone.offsets), int(plan.at))
    return gone.stops(plan.rule, plan.at, least=limits.least, most=limits.most)
