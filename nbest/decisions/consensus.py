"""Consensus: the hypothesis with the best BLEU against the n-grams that the model expects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.limits import LONGEST, check_count
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.executors import Told, executor_of
from nbest.compute.parallel import over_ranges
from nbest.corpus import Forests, NBest, Texts, Words
from nbest.corpus.metric import Metric
from nbest.decisions.among import among_best
from nbest.decisions.arguments import check_arguments, checked_gamma, need_model
from nbest.decisions.expected_lists import expected_matches, list_posteriors
from nbest.decisions.mbr import check_segments
from nbest.decisions.shards import stacked
from nbest.forests.ngrams import ExpectedCounts, expected_counts, expected_counts_of_each
from nbest.forests.ngrams.completed import clip
from nbest.forests.ngrams.tokens import retokenised, text_tokens
from nbest.metrics import BLEU, make_metric, ngrams
from nbest.metrics.normalise import need_words, normalised
from nbest.metrics.tokenise import tokens
from nbest.model.loglinear import LogLinear

_EDGES = 1 << 17  # how many edges are worked on at once; what their n-grams take is given back


def consensus(
    model: LogLinear,
    corpus: NBest,
    *,
    forests: Forests | None = None,
    gain: str | Metric = "bleu",
    order: int | None = None,
    gamma: float | None = None,
    among: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Ints:
    """[N] flat index of the hypothesis with the best BLEU against expected n-gram counts; -1 where a list is empty.

        argmax_e  1/K sum_n log((m_n(e) + F) / (t_n(e) + F)) + min(0, 1 - (E[length] + F) / (t_1(e) + F))
        m_n(e) = sum over n-grams g of order n of min(c(g, e), E[c(g)]),    t_n(e) = number of n-grams of e

    DeNero, Chiang & Knight (2009), ACL 567-575; Pauls, DeNero & Klein (2009), section 4. Expectations are over the
    list under p = softmax(gamma * score), or over all derivations of `forests` if the list was read from them; gamma is
    the model's own if none is given. The tokens and the orders K are those of `gain` (bleu, or a `BLEU` with options);
    `order` asks for another K: 1 compares word counts. F = 0.1 is the floor of BLEU's smooth formula, so that a count
    of 0 is bad but not all that matters; smoothing options of `gain` are not used. Large gamma gives a 1-best. `among`
    the so many best-scored hypotheses it is chosen, and of lists expected, all by default. Ties go to the lowest index.
    Cost: a pass over the n-grams of lists and forests, where mbr measures all pairs.
    """
    check_arguments("consensus", model, corpus)
    need_model("consensus", model)
    how: dict[str, Any] = {"forests": forests, "gain": gain, "order": order, "gamma": gamma, "progress": progress}
    return among_best(
        "consensus", model, corpus, among, lambda lists: _chosen(expected_stats(model, lists, **how), lists)
    )


def _chosen(stats: Floats, corpus: NBest) -> Ints:
    values = BLEU(max_ngram_order=(stats.shape[1] - 2) // 2).smooth(list(stats.T))
    return segments.argmax(np.asarray(values), corpus.offsets)


def consensus_of_each(
    model: LogLinear, corpus: NBest, gammas: Sequence[float], gain: BLEU, forests: Forests | None
) -> list[Ints]:
    """What `consensus` chooses at each gamma; n-grams are looked for once."""
    stats = _mapped(_Expected(model, gain, gain.max_ngram_order, tuple(gammas), Told()), corpus, forests)
    return [_chosen(stats[:, at], corpus) for at in range(len(gammas))]


def expected_stats(
    model: LogLinear,
    corpus: NBest,
    *,
    forests: Forests | None = None,
    gain: str | Metric = "bleu",
    order: int | None = None,
    gamma: float | None = None,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Floats:
    """[H, 2 + 2K] BLEU statistics of each hypothesis with expected counts for a reference: what `consensus` compares.

    Columns as in `BLEU.stats`: length, expected length, clipped matches, number of n-grams.
    """
    check_arguments("consensus", model, corpus)
    need_model("consensus", model)
    gamma = checked_gamma("consensus", gamma, model)
    metric = make_metric(gain) if isinstance(gain, str) else gain
    if not isinstance(metric, BLEU):
        raise CapabilityError(f"consensus compares n-grams and has no use for {metric.name}; its gain must be bleu")
    order = metric.max_ngram_order if order is None else order
    check_count("'order' of consensus", order, 1, LONGEST)
    if corpus.texts is None:
        raise CapabilityError("consensus needs the texts of the hypotheses and these lists carry none")
    if forests is not None:
        check_segments("consensus", corpus, forests)
    return _mapped(_Expected(model, metric, order, (gamma,), Told(progress)), corpus, forests, threads)[:, 0]


def _mapped(work: _Expected, corpus: NBest, forests: Forests | None, threads: int | None = None) -> Floats:
    lists = corpus.shards()
    trees: Sequence[Forests | None] = [None] * len(lists) if forests is None else forests.shards()
    return stacked(work, list(zip(lists, trees, strict=True)), executor_of(threads))


@dataclass(frozen=True)
class _Expected:
    """Statistics [H, gammas, 2 + 2K] of a shard of lists, and of the forests they were read from if there are any."""

    model: LogLinear
    metric: BLEU
    order: int
    gammas: tuple[float, ...]
    told: Told

    def __call__(self, shard: tuple[NBest, Forests | None]) -> Floats:
        corpus, forests = shard
        if forests is None:
            words, fill = _list_words(corpus, self.metric), self._fill_from_lists
        else:
            words, evidence = _from_forests(corpus, forests, self.metric)
            fill = partial(self._fill_from_forests, evidence, self.model.edge_scores(forests))
        out = np.zeros((corpus.hypotheses, len(self.gammas), 2 + 2 * self.order))
        out[:, :, 0] = words.lengths()[:, None]
        out[:, :, 2 + self.order :] = ngrams.ngram_totals(words.lengths(), self.order)[:, None]
        fill(corpus, words, out)
        return out

    def _fill_from_lists(self, corpus: NBest, words: Words, out: Floats) -> None:
        """Expected lengths and clipped matches by the posteriors of the hypotheses."""
        weights = list_posteriors(self.model.scores(corpus), corpus.offsets, self.gammas)
        for at, weight in enumerate(weights):
            expected = segments.sums(words.lengths() * weight, corpus.offsets)
            out[:, at, 1] = np.repeat(expected, corpus.lengths)
        matched = np.zeros((*out.shape[:2], self.order))
        for low, high in _parts(corpus.offsets):
            expected_matches(words, corpus.offsets[low : high + 1], weights, matched)
            self.told(high - low)
        out[:, :, 2 : 2 + self.order] = matched

    def _fill_from_forests(self, evidence: Forests, scores: Floats, corpus: NBest, words: Words, out: Floats) -> None:
        for low, high in _parts(evidence.forest_edges):
            edges = evidence.forest_edges[[low, high]]
            part = evidence if high - low == len(evidence) else evidence.select(np.arange(low, high))
            for at, found in enumerate(self._counts(part, scores[edges[0] : edges[1]])):
                _fill(out[:, at], corpus.offsets[low : high + 1], words, found)
            self.told(high - low)

    def _counts(self, part: Forests, scores: Floats) -> list[ExpectedCounts]:
        if len(self.gammas) == 1:
            return [expected_counts(part, self.gammas[0] * scores, self.order)]
        return expected_counts_of_each(part, scores, self.gammas, self.order)


def _texts(corpus: NBest) -> Texts:
    assert corpus.texts is not None
    return corpus.texts


def _list_words(corpus: NBest, metric: BLEU) -> Words:
    """Tokens of the hypotheses."""
    texts = normalised(metric.normalize, _texts(corpus))
    return tokens(metric.tokenize, *texts, lowercase=metric.lowercase)[0][0]


def _from_forests(corpus: NBest, forests: Forests, metric: BLEU) -> tuple[Words, Forests]:
    """Tokens of the hypotheses, -1 for those that the forests lack, and the forests with tokens for words."""
    need_words(metric, "consensus over forests")
    forests = retokenised(forests, metric.tokenize, metric.lowercase)
    return text_tokens(_texts(corpus), forests.vocabulary, metric.tokenize, metric.lowercase), forests


def _parts(offsets: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of segments with about `_EDGES` edges each."""
    low = 0
    while low < len(offsets) - 1:
        high = int(np.searchsorted(offsets, offsets[low] + _EDGES, "right")) - 1
        high = max(high, low + 1)
        yield low, high
        low = high


def _fill(out: Floats, offsets: Ints, words: Words, found: ExpectedCounts) -> None:
    """Expected lengths and clipped matches of the hypotheses of these segments."""
    order = found.totals.shape[1]
    low, high = offsets[0], offsets[-1]
    out[low:high, 1] = np.repeat(found.totals[:, 0], np.diff(offsets))
    matched = np.zeros((high - low, order))
    known = found.ngrams
    local = offsets - low
    texts = words.offsets[low : high + 1], words.ids
    expected = known.offsets, known.parents, known.words, found.counts
    over_ranges(lambda a, b: clip(a, b, local, texts, expected, out=matched), local)
    out[low:high, 2 : 2 + order] = matched
