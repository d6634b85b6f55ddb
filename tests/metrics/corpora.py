"""Small corpora for the metric tests: nasty texts, several references, empty lists."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from nbest.compute.segments import offsets_of
from nbest.corpus.texts import Texts

PIECES = ["&quot;", "&amp;", "&lt;", "<skipped>", "-\n", " . ", "2015.", ".."]
NASTY = [*"ab1٣². ,-'&;<>\"$Σς中文。!\u0301💥 \u3000\u2028\u00a0\x85\x1c\t\n", *PIECES]
"""Characters and pieces on which tokenisers disagree."""

nasty_texts = st.lists(st.sampled_from(NASTY), max_size=12).map("".join)
plain_texts = st.lists(st.sampled_from(["a", "b", "c", "A", "d,", "(e)"]), max_size=9).map(" ".join)


@st.composite
def corpora(draw, texts=plain_texts, references=3):
    """(hypotheses by segment, references by segment): lists may be empty, the number of references varies."""
    segments = draw(st.integers(1, 3))
    hypotheses = [draw(st.lists(texts, max_size=4)) for _ in range(segments)]
    groups = [draw(st.lists(texts, min_size=1, max_size=references)) for _ in range(segments)]
    return hypotheses, groups


def flat(hypotheses):
    """Texts and offsets of hypotheses given by segment."""
    offsets = offsets_of(np.array([len(group) for group in hypotheses], np.int64))
    return Texts.of(text for group in hypotheses for text in group), offsets


def stats_of(metric, corpus):
    """[H, M] statistics of such a corpus."""
    hypotheses, groups = corpus
    return metric.stats(*flat(hypotheses), groups)


def pairs(corpus):
    """(hypothesis, its references) in flat order."""
    return [(text, group) for texts, group in zip(*corpus, strict=True) for text in texts]
