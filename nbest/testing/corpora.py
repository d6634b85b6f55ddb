"""Small made-up lists for checks and tests: noisy copies of references, scored by features that disagree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nbest.compute import segments
from nbest.corpus import NBest, Texts
from nbest.corpus.container import OF_SEGMENTS
from nbest.corpus.metric import Metric
from nbest.metrics import LAS, UAS, WER

_WORDS = ("ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen")
_LATIN = dict(zip(_WORDS, ("formica", "apis", "felis", "canis", "alces", "vulpes", "taurina", "gallina"), strict=True))


def toy_lists(
    seed: int = 1,
    *,
    segments_: int = 30,
    longest: int = 8,
    metric: Metric | None = None,
    noise: float = 0.0,
    sparse: bool = False,
) -> NBest:
    """Lists of 0 to `longest` corrupted copies of a reference, with the statistics of `metric` (default WER).

    Features: "first" and "second" are each misled by the same disturbance in opposite directions, and their sum is
    minus the share of wrong words, so that without `noise` the weights (1, 1) choose the best hypothesis of every
    list and no single feature does; "third" is noise. Segment 1 is empty and segment 2 has one hypothesis. Sources are
    the references word for word in another language.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, longest + 1, segments_)
    sizes[1:3] = 0, 1
    references = [rng.choice(_WORDS, rng.integers(4, 9)) for _ in sizes]
    owners = segments.owners(segments.offsets_of(sizes))
    texts, wrong = [], np.empty(len(owners))
    for h, i in enumerate(owners):
        words = references[i].copy()
        changed = rng.random(len(words)) < rng.choice([0.1, 0.4, 0.8])
        words[changed] = rng.choice(_WORDS, changed.sum())
        texts.append(" ".join(words))
        wrong[h] = (words != references[i]).mean()
    misled = rng.normal(0.0, 0.5, len(texts))
    columns = [-wrong / 2 + misled, -wrong / 2 - misled, rng.normal(0.0, 1.0, len(texts))]
    metric = WER() if metric is None else metric
    corpus = NBest(
        offsets=segments.offsets_of(sizes),
        features=np.stack(columns, axis=1) + noise * rng.normal(0.0, 1.0, (len(texts), 3)),
        feature_names=("first", "second", "third"),
        ids=tuple(f"s{i}" for i in range(segments_)),
        texts=Texts.of(as_read_by(metric, text) for text in texts),
        references=tuple((as_read_by(metric, " ".join(words)),) for words in references),
        sources=tuple(" ".join(_LATIN[word] for word in words) for words in references),
        **(_word_counts(texts) if sparse else {}),
    )
    return corpus.with_metric(metric)


def as_read_by(metric: Any, text: str) -> str:
    """A text in the form that a metric reads: for attachment scores every word becomes an arc of its own."""
    if not isinstance(metric, LAS | UAS):
        return text
    return " ".join(f"{int.from_bytes(word.encode())}:{word}" for word in text.split())


def _word_counts(texts: list[str]) -> dict[str, Any]:
    from scipy.sparse import csr_array

    counts = [[text.split().count(word) for word in _WORDS] for text in texts]
    return {"sparse": csr_array(np.array(counts, np.float64)), "sparse_names": tuple(f"w_{word}" for word in _WORDS)}


def in_other_order(corpus: NBest, seed: int = 1) -> NBest:
    """The same lists with the hypotheses of each in another order."""
    keys = np.random.default_rng(seed).random(corpus.hypotheses)
    return corpus.reorder(np.lexsort((keys, segments.owners(corpus.offsets))))


def with_scaled(corpus: NBest, factors: Any) -> NBest:
    """The same lists with each dense feature multiplied by its factor."""
    return replace(corpus, features=corpus.features * np.asarray(factors, np.float64))


def snapshot(corpus: NBest) -> list[Any]:
    """Everything in a corpus, as values that compare equal until something changes."""
    sparse = corpus.sparse
    arrays = [corpus.offsets, corpus.features, corpus.stats, corpus.gains, corpus.positions]
    for texts in (corpus.texts, corpus.answers, corpus.systems):
        arrays += [] if texts is None else [texts.buffer, texts.starts, texts.ends]
    if sparse is not None:
        arrays += [sparse.data, sparse.indices, sparse.indptr]
    names = [corpus.feature_names, corpus.sparse_names, *(getattr(corpus, name) for name in OF_SEGMENTS), corpus.metric]
    return [None if array is None else array.tobytes() for array in arrays] + names
