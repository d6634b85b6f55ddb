"""How well sentences are parsed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nbest.corpus.texts import Texts
from nbest.formats.conllu import Sentence
from nbest.metrics import LAS, UAS
from nbest.systems.parser.trees import text_of


def attachment(found: Sequence[str], gold: Sequence[Sentence]) -> tuple[float, float, int]:
    """LAS and UAS in percent of trees as texts, and the number of words."""
    texts = Texts.of(found)
    references = [[text_of(sentence.heads, sentence.deprels)] for sentence in gold]
    las, uas = (m.stats(texts, np.arange(len(found) + 1), references).sum(axis=0) for m in (LAS(), UAS()))
    return float(LAS().score(las)), float(UAS().score(uas)), int(las[1])
