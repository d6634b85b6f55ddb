"""Equal weights: what one would do without learning."""

from __future__ import annotations

from nbest.corpus.contract import Corpus
from nbest.features import within_scale
from nbest.model.loglinear import LogLinear


def equal_weights(corpus: Corpus) -> LogLinear | None:
    """Dense features divided by their spread within segments, and added up; None where fewer than two have any."""
    spread = within_scale(corpus)
    if (spread > 0).sum() < 2:
        return None
    pairs = zip(corpus.feature_names, spread.tolist(), strict=True)
    return LogLinear({name: 1.0 / each for name, each in pairs if each > 0})
