"""The averaged perceptron for lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbest.base.parameters import parameter
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.corpus import NBest
from nbest.model.loglinear import LogLinear
from nbest.trainers.keeping import keeping_base
from nbest.trainers.lists import on_lists
from nbest.trainers.online.base import (
    Round,
    add_step,
    difference,
    fit_online,
    kernel_lists,
    list_scores,
    longest_row,
    ranges,
)
from nbest.trainers.sparse.base import SparseLists
from nbest.trainers.trainer import Trainer

SENSITIVITY = {"none": (False, False), "step": (True, False), "margin": (False, True), "both": (True, True)}
"""Ways to look at losses: whether they scale the step, and whether they are added to scores in search of a rival."""

SPREADS = (1.0, 4.0, 16.0, 64.0)
"""Spreads of the base score within lists, in steps of an update, that are tried where its weight is not given."""


@dataclass
class AveragedPerceptron(Trainer):
    """Moves the weights from the hypothesis chosen towards the best one, list by list; the average of all steps.

        good = argmin_k L_ik (the best score among equals),    rival = argmax_k score_ik
        where L_rival > L_good:    theta += f_good - f_rival

    Collins (2002), EMNLP 1-8; lists with a base score as in Roark et al. (2004) and Gao et al. (2005): the base model
    (`start`, see `sparse_lists`) is fixed and the weights of sparse features are learnt on top; `dense`=True learns
    those of dense features, too, which happens in any case where there are no sparse ones.
    `base_weight` is what the base score is worth against steps of 1; None: the best of four that give it a spread of
    1, 4, 16 and 64 within lists. That, and the number of rounds (`patience` rounds without a better score end them),
    is chosen on held-out lists; without any, on lists that are left out at first (`fit_online`).

    `sensitive` to losses, in units of their mean range in a list: "step" multiplies each step by L_rival - L_good;
    "margin" seeks the rival by score + loss, so that worse hypotheses must lie further behind (Taskar et al. 2004);
    "both"; "none" is Collins'. A rival of the same score is a mistake as well: the one of greatest loss is taken.
    Dense features without a base score begin with `mean_step`, not with 0 where all hypotheses tie, so that the order
    of hypotheses does not matter.
    Lists whose hypotheses all have the same loss are left out, also of the average.
    Cost: a round is one pass over the matrix; an update, and its part in the average, O(entries of two rows).
    """

    rounds: int = parameter(20, "passes over the lists at most", least=1)
    sensitive: str = parameter("none", "what losses change", choices=tuple(SENSITIVITY))
    base_weight: float | None = parameter(
        None, "of the base score against steps of 1 (None: the best of four)", above=0, finite=True
    )
    dense: bool | None = parameter(None, "whether to learn weights of dense features (None: without sparse ones)")
    start: dict[str, float] | None = parameter(None, "weights of the base score, in the features' own units")
    patience: int = parameter(3, "rounds without a better score that end them", least=1)
    seed: int = parameter(1, "of the order of lists, and of those left out")

    @keeping_base
    @on_lists
    def fit(self, corpus: NBest, heldout: NBest | None = None) -> LogLinear:
        """Learn weights from lists with statistics."""
        return fit_online(self, corpus, heldout, self.rounds_of, spreads=SPREADS, first=mean_step)

    def rounds_of(self, lists: SparseLists, rows: Ints, step: float) -> Round:
        """Rounds over lists."""
        scaled, augmented = SENSITIVITY[self.sensitive]
        losses = lists.losses / ranges(lists.losses, lists.offsets)[rows].mean()
        arrays, room = kernel_lists(lists), longest_row(lists)

        def work(order: Ints, weights: Floats, lazy: Floats, done: int) -> int:
            how = step, scaled, step if augmented else 0.0
            return _round(order, arrays, losses, how, room, done=done, sums=(weights, lazy))

        return work


def mean_step(lists: SparseLists, rows: Ints) -> Floats:
    """[C] mean over segments of the mean features of the hypotheses of least loss, less those of all of the list."""
    sizes = segments.lengths(lists.offsets)
    best = lists.losses == np.repeat(-segments.maxima(-lists.losses, lists.offsets), sizes)
    counts = segments.sums(best, lists.offsets)
    taught = np.repeat(np.isin(np.arange(len(sizes)), rows), sizes)
    shares = best / np.repeat(np.maximum(counts, 1), sizes) - 1.0 / np.repeat(sizes, sizes)
    return np.asarray(lists.matrix.T @ np.where(taught, shares, 0.0)) / len(rows)


@kernel
def _round(order, lists, losses, how, room, done, sums):
    """One pass over segments in this order; the number of updates."""
    offsets, _, matrix = lists
    step, scaled, margin = how
    where, what = np.empty(room, np.int64), np.empty(room)
    scores, updates = np.empty(np.diff(offsets).max()), 0
    for at in range(len(order)):
        low, high = offsets[order[at]], offsets[order[at] + 1]
        list_scores(low, high, lists, sums[0], scores)
        good, rival = _pair(low, high, scores, losses, margin)
        excess = losses[rival] - losses[good]
        if excess > 0:
            count = difference(good, rival, matrix, where, what)
            add_step(step * excess if scaled else step, where[:count], what[:count], done + at, sums)
            updates += 1
    return updates


@kernel
def _pair(low, high, scores, losses, margin):
    """Hypotheses: of least loss, best score among equals; of best score + margin * loss, most loss among equals."""
    good = rival = low
    top = scores[0] + margin * losses[low]
    for h in range(low + 1, high):
        if losses[h] < losses[good] or (losses[h] == losses[good] and scores[h - low] > scores[good - low]):
            good = h
        value = scores[h - low] + margin * losses[h]
        if value > top or (value == top and losses[h] > losses[rival]):
            rival, top = h, value
    return good, rival
