"""N-gram precision of the 1-best and of expected counts against one weight, and what decisions choose along it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any, ClassVar

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.limits import LONGEST, check_count
from nbest.base.types import Floats
from nbest.compute import segments
from nbest.compute.executors import executor_of, using
from nbest.corpus import NBest, Texts
from nbest.decisions import consensus as decide
from nbest.forests.derivations import forests_of
from nbest.forests.ngrams import NgramStats, ngram_stats
from nbest.metrics import BLEU
from nbest.metrics.rates import percent
from nbest.report.charts import LineChart, Range, RangeChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS, GRID, INK
from nbest.studies.base import Held, Progress, Study, about
from nbest.studies.keywords import Feature, FeatureRange, Gamma, Given, ModelFile, Points

_ENVELOPE = "#c8c8c8"


@dataclass(frozen=True)
class Consensus(Study):
    """Rows of kind `hypothesis`: number, text, slope, intercept (of its score); of kind `point`: weight,
    best_precision, expected_precision (percent), best, consensus (numbers of the hypotheses chosen from the list
    shown, from 0)."""

    name: ClassVar[str] = "consensus"

    def picture(self) -> Picture:
        """Left, scores of one list and their upper envelope; right, both precisions, and what is chosen where."""
        points, lines = self.chosen(kind="point"), self.chosen(kind="hypothesis")
        weights = np.array([row["weight"] for row in points])
        seen = sorted({row[key] for row in points for key in ("best", "consensus")})
        seen = list(range(len(lines))) if len(lines) <= len(COLOURS) else seen
        colours = [GRID] * len(lines)
        for place, number in enumerate(seen):
            colours[number] = COLOURS[place % len(COLOURS)]
        grams = {1: "unigram", 2: "bigram", 3: "trigram"}.get(self.settings["order"], f"{self.settings['order']}-gram")
        subtitle = f"left: scores in list {self.settings['segment']}; right: {grams} precision of all lists"
        panels = (self._scores(weights, lines, colours, seen), self._precisions(weights, points, tuple(colours), grams))
        return Picture("1-best and consensus", subtitle, panels, columns=2, width=440, height=320)

    def _scores(self, weights: Floats, lines: list[dict[str, Any]], colours: list[str], seen: list[int]) -> LineChart:
        scores = np.array([row["slope"] * weights + row["intercept"] for row in lines])
        many = len(lines) > len(seen)  # then what all have in common would hide how they differ
        scores = scores - scores.mean(axis=0) if many else scores
        series = [Series("", weights, scores[k], GRID, width=1.0) for k in range(len(lines)) if k not in seen]
        series.append(Series("highest score", weights, scores.max(axis=0), _ENVELOPE, width=7.0))
        names = [f"H{k + 1} {lines[k]['text']}" for k in seen]
        series += [Series(name, weights, scores[k], colours[k]) for name, k in zip(names, seen, strict=True)]
        label = "score, less the mean of the list" if many else "score"
        return LineChart(series, "model scores", f"weight of {self.settings['feature']}", label)

    def _precisions(
        self, weights: Floats, points: list[dict[str, Any]], colours: tuple[str, ...], grams: str
    ) -> RangeChart:
        best, expected = ([row[key] for row in points] for key in ("best_precision", "expected_precision"))
        series = [
            Series("of the 1-best", weights, best, INK, "dashed"),
            Series("of expected counts", weights, expected, INK),
        ]
        strips = (("consensus", ranges(weights, points, "consensus")), ("1-best", ranges(weights, points, "best")))
        label = f"{grams} precision, percent"
        axis = f"weight of {self.settings['feature']}"
        return RangeChart(series, "precision, and what is chosen", axis, label, strips=strips, colours=colours)


def ranges(weights: Floats, points: list[dict[str, Any]], key: str) -> list[Range]:
    """Where each hypothesis is chosen; ends are halfway between the weights tried."""
    edges = np.concatenate([weights[:1], (weights[1:] + weights[:-1]) / 2, weights[-1:]])
    out: list[Range] = []
    at = 0
    for number, run in groupby(row[key] for row in points):
        size = len(list(run))
        out.append((float(edges[at]), float(edges[at + size]), number))
        at += size
    return out


def _need_texts(corpus: NBest) -> Texts:
    if corpus.references is None or corpus.texts is None:
        raise CapabilityError("the study consensus needs texts and references, and these lists lack one of them")
    if corpus.answer_rule:
        raise CapabilityError("the study consensus counts n-grams of whole texts, not of answers in them")
    return corpus.texts


def consensus(
    corpus: NBest,
    feature: Feature,
    *,
    model: ModelFile = None,
    segment: Annotated[str | None, Given("Id of the list to show (the first).")] = None,
    order: Annotated[int, Given("Words of the n-grams counted.", least=1)] = 2,
    gamma: Gamma = 1.0,
    points: Points = 201,
    bounds: FeatureRange = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Consensus:
    """N-gram precision of the 1-best and of expected counts against one weight, and what each decision chooses.

        nbest study consensus dev.nbest --refs dev.ref --metric bleu --feature lm --model model.json -o consensus

        expected = sum_i sum_g min(E_i[c(g)], c(g, ref_i)) / sum_i sum_g E_i[c(g)],     g of `order` words

    Pauls, DeNero & Klein (2009), figure 2, eq. 1: the 1-best sees only hypotheses on the upper envelope, expected
    counts see all. The list of `segment` (the first that the feature can change, if none is given) is shown with what
    1-best and consensus decoding choose from it. Cost: a pass over the lists for each of `points` weights.
    """
    check_count("'order' of the study consensus", order, 1, LONGEST)
    if not gamma >= 0:
        raise ParameterError(f"'gamma' of the study consensus must be >= 0, got {gamma}")
    texts = _need_texts(corpus)
    held = Held.at(corpus, model)
    weights = held.axis(feature, points, bounds)
    slope, base = held.corpus.column(feature), held.model({feature: 0.0}).scores(held.corpus)
    one = _shown(held.corpus, slope, segment)
    low, high = corpus.offsets[one : one + 2]
    precisions = _Precisions.of(corpus, order)
    rows: list[dict[str, Any]] = [
        {"kind": "hypothesis", "number": h - low, "text": texts[h], "slope": slope[h], "intercept": base[h]}
        for h in range(int(low), int(high))
    ]
    alone = held.corpus.select([one])
    for weight in weights.tolist():
        scores = base + weight * slope
        best = segments.argmax(scores, corpus.offsets)
        with using(executor_of(threads)):
            chosen = decide(held.model({feature: weight}), alone, gain=precisions.tokens, order=order, gamma=gamma)
        rows.append(
            {
                "kind": "point",
                "weight": weight,
                "best_precision": precisions.hard(best[best >= 0]),
                "expected_precision": precisions.soft(segments.softmax(gamma * scores, corpus.offsets)),
                "best": int(best[one] - low),
                "consensus": int(chosen[0]),
            }
        )
        if progress is not None:
            progress(len(rows) - int(high - low), points)
    settings = {"feature": feature, "segment": corpus.ids[one], "order": order, "gamma": gamma}
    settings["model"] = dict(held.weights)
    return Consensus(**about(corpus), settings=settings, rows=tuple(rows))


def _shown(corpus: NBest, slope: Floats, segment: str | None) -> int:
    """The list to show: the one asked for, or the first in which the feature differs."""
    if segment is not None:
        if segment not in corpus.ids:
            raise ParameterError(f"no segment {segment!r} in these lists; the first is {corpus.ids[0]!r}")
        if corpus.lengths[corpus.ids.index(segment)] == 0:
            raise CapabilityError(f"the list of segment {segment!r} is empty")
        return corpus.ids.index(segment)
    spread = segments.maxima(slope, corpus.offsets) + segments.maxima(-slope, corpus.offsets)
    return int(np.argmax(spread > 0))


@dataclass(frozen=True)
class _Precisions:
    """N-gram precision of choices and of posteriors over lists."""

    tokens: BLEU
    stats: NgramStats
    owners: Any  # [Y] hypothesis of each match
    numbers: Any  # [Y] number of its n-gram over all lists
    correct: Floats  # [H] clipped matches of each hypothesis

    @classmethod
    def of(cls, corpus: NBest, order: int) -> _Precisions:
        """Tokens are those of the metric if it is BLEU, else words."""
        given = corpus.metric if isinstance(corpus.metric, BLEU) else BLEU(tokenize="none")
        tokens = BLEU(
            tokenize=given.tokenize, lowercase=given.lowercase, max_ngram_order=order, normalize=given.normalize
        )
        _, stats = ngram_stats(forests_of(corpus), tokens)
        owners = segments.owners(stats.match_offsets)
        numbers = stats.matches + stats.ngram_offsets[:-1][segments.owners(corpus.offsets)[owners]]
        kept = stats.orders[numbers] == order
        owners, numbers = owners[kept], numbers[kept]
        pairs, counts = np.unique(np.stack([owners, numbers]), axis=1, return_counts=True)
        clipped = np.minimum(counts, stats.limits[pairs[1]])
        correct: Floats = np.asarray(np.bincount(pairs[0], clipped, minlength=corpus.hypotheses), np.float64)
        return cls(tokens, stats, owners, numbers, correct)

    def hard(self, choice: Any) -> float:
        """Percent of the n-grams of the chosen hypotheses that are in the references."""
        return float(percent(self.correct[choice].sum(), self.stats.counts[choice, -1].sum()))

    def soft(self, posterior: Floats) -> float:
        """Percent of the expected n-grams that are in the references, clipped by expectation."""
        expected = np.bincount(self.numbers, posterior[self.owners], minlength=len(self.stats.limits))
        return float(percent(np.minimum(expected, self.stats.limits).sum(), posterior @ self.stats.counts[:, -1]))
