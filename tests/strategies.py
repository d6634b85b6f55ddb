"""Tiny corpora for hypothesis: small whole numbers, so that ties, parallel lines and empty lists all occur."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from nbest.compute.segments import offsets_of
from nbest.corpus import NBest, Texts
from nbest.metrics import BLEU, F1, WER, External

WORDS = ("a", "b", "c", "é", "日本")
texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@st.composite
def sizes(draw, segments=4, longest=4):
    """Lengths of lists, some 0 and some 1."""
    return draw(st.lists(st.integers(0, longest), min_size=1, max_size=segments))


def numbers(draw, rows, columns, low=-3, high=3):
    """[rows, columns] small whole numbers as floats."""
    values = draw(st.lists(st.integers(low, high), min_size=rows * columns, max_size=rows * columns))
    return np.array(values, np.float64).reshape(rows, columns)


@st.composite
def lists(draw, features=2, segments=4, longest=4, metrics=("wer", "bleu", "f1", "external")):
    """A corpus with small-number features and statistics of one of `metrics`; `features` is how many."""
    offsets = offsets_of(np.array(draw(sizes(segments, longest)), np.int64))
    count = int(offsets[-1])
    corpus = NBest(
        offsets=offsets,
        features=numbers(draw, count, features),
        feature_names=tuple(f"f{d}" for d in range(features)),
        ids=tuple(str(i) for i in range(len(offsets) - 1)),
    )
    metric, stats = measured(draw, count, draw(st.sampled_from(metrics)))
    return with_stats(corpus, metric, stats)


def measured(draw, count, name):
    """A metric and made-up statistics [count, M] that it could have given."""
    if name == "wer":
        return WER(), np.hstack([numbers(draw, count, 1, 0, 5), numbers(draw, count, 1, 1, 4)])
    if name == "bleu":
        lengths = numbers(draw, count, 2, 0, 6)
        correct = numbers(draw, count, 2, 0, 6)
        correct[:, 0] = np.minimum(correct[:, 0], lengths[:, 0])
        totals = np.maximum(lengths[:, :1] - np.arange(2), 0)
        correct = np.minimum(correct, totals)
        return BLEU(max_ngram_order=2, tokenize="none"), np.hstack([lengths, correct, totals])
    if name == "f1":
        guessed, gold = numbers(draw, count, 1, 0, 4), numbers(draw, count, 1, 0, 4)
        correct = np.minimum(numbers(draw, count, 1, 0, 4), np.minimum(guessed, gold))
        return F1(), np.hstack([correct, guessed, gold])
    metric = External(higher_is_better=draw(st.booleans()))
    return metric, metric.stats_of(numbers(draw, count, 1)[:, 0] / 3)


def with_stats(corpus, metric, stats):
    """The corpus with these statistics."""
    from dataclasses import replace

    return replace(corpus, metric=metric, stats=stats)


@st.composite
def text_lists(draw, features=2, segments=3, longest=4, references=False):
    """A corpus with texts, of which many are equal, and small-number features."""
    lengths = draw(sizes(segments, longest))
    offsets = offsets_of(np.array(lengths, np.int64))
    count = int(offsets[-1])
    return NBest(
        offsets=offsets,
        features=numbers(draw, count, features, -1, 1),
        feature_names=tuple(f"f{d}" for d in range(features)),
        ids=tuple(draw(st.permutations([f"s{i}" for i in range(len(lengths))]))),
        texts=Texts.of(draw(st.lists(texts, min_size=count, max_size=count))),
        references=tuple((draw(texts),) for _ in lengths) if references else None,
    )
