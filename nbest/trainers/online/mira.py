"""MIRA on lists: hope and fear."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbest.base.parameters import parameter
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.corpus import NBest
from nbest.metrics import BLEU
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

SPREADS = (0.0625, 0.25, 1.0, 4.0)
"""Spreads of the base score within lists, in mean ranges of the gain, that are tried where its weight is not given."""


@dataclass
class MIRA(Trainer):
    """The least change of the weights that ranks the hope over the fear of a list by their difference in gain.

        hope = argmax_k score_ik + g_ik,    fear = argmax_k score_ik - g_ik,    d = f_hope - f_fear
        theta += alpha d,    alpha = min(C, (g_hope - g_fear - theta . d) / |d|^2)

    alpha solves min_theta' 1/2 |theta' - theta|^2 + C max(0, g_hope - g_fear - theta' . d). k-best batch MIRA of
    Cherry & Foster (2012), NAACL 427-436, section 3; the average of the weights after each list is returned.
    The gain g is minus the metric's loss. That of BLEU is of a running document b (Chiang et al. 2008):
    BLEU(b + s_ik) times its reference length, where b = decay b + s_hope after each list.
    Differs: gains are divided by their mean range in a list, so that `C` does not depend on the metric's unit; the
    document starts as that of the hypotheses of least loss, not empty; base score, rounds and `dense` are as those of
    `AveragedPerceptron`, `base_weight` being against gains of mean range 1: None tries those that give the base score
    a spread of 1/16, 1/4, 1 and 4 within lists.
    Cost: as the perceptron; with BLEU also O(M) for each hypothesis.
    """

    C: float = parameter(0.03, "the longest step", above=0)
    decay: float = parameter(0.999, "of the running document, for each list", least=0, below=1)
    rounds: int = parameter(20, "passes over the lists at most", least=1)
    base_weight: float | None = parameter(
        None, "of the base score against gains of mean range 1 (None: the best of four)", above=0, finite=True
    )
    dense: bool | None = parameter(None, "whether to learn weights of dense features (None: without sparse ones)")
    start: dict[str, float] | None = parameter(None, "weights of the base score, in the features' own units")
    patience: int = parameter(3, "rounds without a better score that end them", least=1)
    seed: int = parameter(1, "of the order of lists, and of those left out")

    @keeping_base
    @on_lists
    def fit(self, corpus: NBest, heldout: NBest | None = None) -> LogLinear:
        """Learn weights from lists with statistics."""
        return fit_online(self, corpus, heldout, self.rounds_of, spreads=SPREADS)

    def rounds_of(self, lists: SparseLists, rows: Ints, step: float) -> Round:
        """Rounds over lists; the document goes on from round to round."""
        arrays, room = kernel_lists(lists), longest_row(lists)
        stats, document, order_ = gains(lists, rows, self.decay)
        values = np.empty(lists.corpus.hypotheses)
        list_gains(0, len(values), (stats, document, order_), values)
        wide = float(ranges(values, lists.offsets)[rows].mean())
        unit = step / wide if wide > 0 else 0.0  # no list has anything to learn from

        def work(order: Ints, weights: Floats, lazy: Floats, done: int) -> int:
            made_of, how = (stats, document, order_), (self.decay, unit, step * self.C)
            return _round(order, arrays, made_of, how, room, done=done, sums=(weights, lazy))

        return work


def gains(lists: SparseLists, rows: Ints, decay: float) -> tuple[Floats, Floats, int]:
    """[H, M] what gains are made of, the running document [M], and the order of BLEU; 0 where gains are given.

    The document is that of the hypotheses of least loss: as long as the running one gets, or as these lists.
    """
    if not isinstance(lists.problem.metric, BLEU):
        return -lists.losses[:, None], np.zeros(1), 0
    best = segments.argmax(-lists.losses, lists.offsets)[rows]
    length = min(1.0 / (1.0 - decay), len(rows))
    document = length * lists.problem.stats[best].mean(axis=0)
    return np.ascontiguousarray(lists.problem.stats), document, lists.problem.metric.max_ngram_order


@kernel
def list_gains(low, high, made_of, out):
    """Gains of hypotheses low..high-1 into `out`, from its begin: BLEU with the document times length, or as given."""
    stats, document, order = made_of
    for h in range(low, high):
        if order == 0:
            out[h - low] = stats[h, 0]
            continue
        precision = 1.0
        for n in range(2, 2 + order):
            total = document[order + n] + stats[h, order + n]
            precision *= (document[n] + stats[h, n]) / total if total > 0 else 0.0
        own, reference = document[0] + stats[h, 0], document[1] + stats[h, 1]
        if precision > 0:  # then there are words
            out[h - low] = reference * precision ** (1.0 / order) * np.exp(min(1.0 - reference / own, 0.0))
        else:
            out[h - low] = 0.0


@kernel
def _round(order, lists, made_of, how, room, done, sums):
    """One pass over segments in this order; the number of updates. `most` is the largest alpha."""
    offsets, _, matrix = lists
    stats, document, ngrams = made_of
    decay, unit, most = how
    where, what = np.empty(room, np.int64), np.empty(room)
    longest, updates = np.diff(offsets).max(), 0
    scores, values = np.empty(longest), np.empty(longest)
    for at in range(len(order)):
        low, high = offsets[order[at]], offsets[order[at] + 1]
        list_scores(low, high, lists, sums[0], scores)
        list_gains(low, high, made_of, values)
        hope, fear = _hope_and_fear(high - low, scores, values, unit)
        count = difference(low + hope, low + fear, matrix, where, what)
        alpha = clipped(
            unit * (values[hope] - values[fear]), scores[hope] - scores[fear], (what[:count] ** 2).sum(), most
        )
        if alpha > 0:
            add_step(alpha, where[:count], what[:count], done + at, sums)
            updates += 1
        if ngrams > 0:
            for m in range(len(document)):
                document[m] = decay * document[m] + stats[low + hope, m]
    return updates


@kernel
def clipped(cost, margin, norm, most):
    """The step that makes the margin as large as the cost, at most `most`; 0 where it is, or where nothing differs."""
    if norm == 0 or cost <= 0 or cost <= margin:
        return 0.0
    return min(most, (cost - margin) / norm)


@kernel
def _hope_and_fear(size, scores, values, unit):
    """Best score + gain (most gain among equals) and best score - gain (least gain among equals)."""
    hope = fear = 0
    for k in range(1, size):
        value, top = scores[k] + unit * values[k], scores[hope] + unit * values[hope]
        if value > top or (value == top and values[k] > values[hope]):
            hope = k
        value, top = scores[k] - unit * values[k], scores[fear] - unit * values[fear]
        if value > top or (value == top and values[k] < values[fear]):
            fear = k
    return hope, fear
