"""What a model chooses in any corpus."""

from __future__ import annotations

from nbest.corpus import Forests, NBest
from nbest.decisions.onebest import first
from nbest.forests.kbest import kbest
from nbest.model.loglinear import LogLinear


def score_of(model: LogLinear, corpus: NBest | Forests) -> float:
    """The metric of what a model chooses: hypotheses of lists, or derivations of forests."""
    if isinstance(corpus, NBest):
        return corpus.score(model.predict(corpus))
    best = kbest(corpus, model.edge_scores(corpus), 1).lists()
    return best.score(first(None, best))
