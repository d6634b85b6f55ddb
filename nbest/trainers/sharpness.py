"""How sharp the posterior should be for decisions that look at all of it."""

from __future__ import annotations

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.types import Ints
from nbest.corpus import prune
from nbest.corpus.contract import Corpus
from nbest.decisions.chosen import best_lists
from nbest.decisions.consensus import consensus_of_each
from nbest.forests.ngrams.annotation import annotate
from nbest.forests.ngrams.tokens import retokenised
from nbest.metrics import BLEU, External
from nbest.metrics.normalise import need_words
from nbest.model.loglinear import LogLinear

_GAMMAS = tuple(4.0**k for k in range(-1, 4))
SEGMENTS, _FORESTS = 100, 60  # looked at, spread over the corpus
_LONGEST = 50  # hypotheses of a list, the best ones
_LARGEST = 200_000  # edges of a forest split by boundary words; those of trees with numbers in them grow without end
_NEAR = 0.01  # relative to the best score


def decision_gamma(model: LogLinear, corpus: Corpus) -> float:
    """The smallest gamma at which consensus decisions are within 1 % of the best ones on the corpus, by its metric.

    On at most 100 lists or 60 forests. A posterior that is fair to the best hypotheses is too flat for decisions that
    look at all of it, and large gamma gives the 1-best, which is what was trained on: hence the smallest that is good.
    1 where there are no texts to compare, or forests too large to split by boundary words.
    """
    metric = corpus.metric
    if metric is None or isinstance(metric, External) or corpus.references is None:
        return 1.0
    few = corpus.select(spread(len(corpus), SEGMENTS if corpus.whole else _FORESTS))
    lists, forests = best_lists(few, model, _LONGEST)
    if forests is None:
        lists = prune(lists, _LONGEST, model.scores(lists))
    if lists.texts is None or lists.lengths.max(initial=0) < 2:
        return 1.0
    gain = metric if isinstance(metric, BLEU) else BLEU(tokenize="none")
    try:
        if forests is not None:  # once, not for every gamma
            need_words(gain, "consensus over forests")
            plain = retokenised(forests, gain.tokenize, gain.lowercase)
            forests = annotate(plain, gain.max_ngram_order, limit=_LARGEST)
    except CapabilityError:
        return 1.0
    values = np.array([lists.score(choice) for choice in consensus_of_each(model, lists, _GAMMAS, gain, forests)])
    signed = values if metric.higher_is_better else -values
    good = signed >= signed.max() - _NEAR * abs(signed.max())
    return float(_GAMMAS[int(good.argmax())])


def spread(count: int, most: int) -> Ints:
    """At most so many numbers below `count`, spread evenly."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(most, count)).astype(np.int64))
