"""Lexical weights: how well the words of a phrase pair translate each other.

    lex(e|f) = prod_j 1 / |{i: (i, j) in a}| sum_{(i, j) in a} w(e_j | f_i),   w(e_j | null) if e_j has no link

Koehn, Och & Marcu (2003), HLT-NAACL 48-54, section 3.2; w is the relative frequency among the links of the corpus,
a word without links being linked to the null word. All links of the words of a consistent phrase pair are inside it, so
the factor of a word depends on its sentence pair only: it is worked out once a word, and a phrase's weight is a sum.
"""

from __future__ import annotations

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.segments import owners
from nbest.corpus.words import Words
from nbest.systems.translator.alignment.links import Links


def lexical_factors(source: Words, target: Words, links: Links) -> tuple[Floats, Floats]:
    """Log of the factor of each source word, for lex(f|e), and of each target word, for lex(e|f)."""
    sentence = owners(links.offsets)
    at = [source.offsets[sentence] + links.source, target.offsets[sentence] + links.target]
    words = [source.ids[at[0]].astype(np.int64), target.ids[at[1]].astype(np.int64)]
    _, which, pairs = np.unique((words[0] << 32) + words[1], return_inverse=True, return_counts=True)
    together = pairs[which]
    weights = [together / np.bincount(word)[word] for word in words] if len(sentence) else [np.zeros(0)] * 2
    return _factors(source.ids, at[0], weights[1]), _factors(target.ids, at[1], weights[0])


def _factors(ids: Ints, at: Ints, weights: Floats) -> Floats:
    """[words] log of the mean weight of a word's links, or of its share of the words without links."""
    count = np.bincount(at, minlength=len(ids))
    alone = count == 0
    total = np.bincount(at, weights, len(ids))
    null = np.bincount(ids[alone], minlength=int(ids.max(initial=-1)) + 1) / max(int(alone.sum()), 1)
    return np.log(np.where(alone, null[ids], total / np.maximum(count, 1)))
