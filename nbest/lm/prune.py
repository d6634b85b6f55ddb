"""Entropy pruning: leaves out the n-grams that change the model least.

For an n-gram (h, w) with alpha' the backoff of h after leaving it out, the relative entropy of the two models is

    D = -p(h) (p(w|h) (log p(w|h') + log alpha'(h) - log p(w|h)) + (log alpha'(h) - log alpha(h)) rest(h))

rest(h) is the probability of the words that h backs off for. The n-gram goes if exp(D) - 1 < threshold, the relative
change of the perplexity. Each n-gram is looked at as if it went alone. Stolcke (1998), DARPA BNTU workshop, 270-274.
Differs: orders are pruned from the highest down, and an n-gram stays while a longer one has it as prefix or as suffix.
p(h) is the chain rule of the model itself, or `histories`: the lower orders of a Kneser-Ney model are poor estimates of
how often a history occurs (Chelba et al. 2010, Interspeech), so training passes what was counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Bools, Floats, Ints
from nbest.lm.model import LanguageModel
from nbest.lm.query import END, START
from nbest.lm.trie import Level, assemble_trie, kept_rows, prefix_nodes, split_levels


def entropy_prune(model: LanguageModel, threshold: float, histories: Floats | None = None) -> LanguageModel:
    """The model without the n-grams that matter less than `threshold`; `histories` [nodes] is log p(h) of each n-gram
    as a history."""
    if not 0 <= threshold < np.inf:
        raise ParameterError(f"'threshold' of entropy_prune must be >= 0, got {threshold}")
    prefixes = prefix_nodes(model)
    weights = np.exp(_chain(model, prefixes) if histories is None else histories)
    levels, masks = split_levels(model), [np.ones(size, bool) for size in model.sizes]
    for n in range(model.order - 1, 0, -1):
        low, below = model.levels[n], model.levels[n - 1]
        contexts = prefixes[low : low + len(masks[n])]
        free = contexts >= 0
        if n + 1 < model.order:
            free &= ~_needed(
                levels[n + 1], prefixes[model.levels[n + 1] : model.levels[n + 2]] - low, masks[n + 1], free
            )
        contexts = np.where(contexts >= 0, contexts - below, 0)
        level = _Pruned(levels[n - 1], levels[n], contexts, prefixes[low : low + len(masks[n])] >= 0)
        masks[n] = ~(free & (level.divergence(weights[below:low]) < np.log1p(threshold)))
        levels[n - 1] = level.backed_off(masks[n])
    return assemble_trie(model.vocabulary, kept_rows(levels, masks))


def _chain(model: LanguageModel, prefixes: Ints) -> Floats:
    """[nodes] log p of each n-gram by the chain rule; <s> is as likely as </s>."""
    out = model.logprobs.astype(np.float64)
    out[START] = out[END]
    for n in range(1, model.order):
        here = slice(model.levels[n], model.levels[n + 1])
        out[here] += np.where(prefixes[here] >= 0, out[prefixes[here]], 0.0)
    return out


def _needed(above: Level, prefixes: Ints, mask: Bools, like: Bools) -> Bools:
    """Which n-grams are the suffix or the prefix of a kept one of the next order."""
    out = np.zeros(len(like), bool)
    out[above.suffixes[mask]] = True
    out[prefixes[mask & (prefixes >= 0)]] = True
    return out


class _Pruned:
    """One order during pruning: probability masses of each context, before and after."""

    def __init__(self, below: Level, level: Level, contexts: Ints, known: Bools) -> None:
        self.below, self.contexts, self.known = below, contexts, known
        self.log_p = np.asarray(level.logprobs, np.float64)
        self.log_lower = np.asarray(below.logprobs, np.float64)[level.suffixes]
        self.p, self.lower = np.exp(self.log_p), np.exp(self.log_lower)
        self.unseen = np.maximum(1.0 - self._sums(self.lower), 0.0)
        self.rest = np.exp(np.asarray(below.backoffs, np.float64)) * self.unseen

    def _sums(self, values: Floats) -> Any:
        return np.bincount(self.contexts, weights=np.where(self.known, values, 0.0), minlength=len(self.below.words))

    def divergence(self, weights: Floats) -> Floats:
        """[n-grams] D of leaving out each n-gram alone."""
        h = self.contexts
        with np.errstate(divide="ignore", invalid="ignore"):
            log_new = np.log(self.rest[h] + self.p) - np.log(self.unseen[h] + self.lower)
            change = self.p * (self.log_lower + log_new - self.log_p)
            moved = (log_new - np.asarray(self.below.backoffs, np.float64)[h]) * self.rest[h]
            out = -weights[h] * (change + np.where(self.rest[h] > 0, moved, 0.0))
        return np.where(np.isfinite(out), out, np.inf)

    def backed_off(self, keep: Bools) -> Level:
        """The level below with the backoffs that make probabilities sum to one again."""
        gone = self._sums(np.where(keep, 0.0, 1.0)) > 0
        rest = self.rest + self._sums(np.where(keep, 0.0, self.p))
        unseen = self.unseen + self._sums(np.where(keep, 0.0, self.lower))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(gone, np.log(rest) - np.log(unseen), self.below.backoffs)
        return Level(self.below.words, self.below.suffixes, self.below.logprobs, found)
