"""Decisions of Pauls, DeNero & Klein (2009), and how sharp the posterior is that consensus decoding looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nbest.base.types import Ints
from nbest.compute.executors import executor_of, using
from nbest.corpus import Forests, NBest
from nbest.decisions import first
from nbest.decisions.consensus import consensus_of_each
from nbest.forests.kbest import kbest
from nbest.model.loglinear import LogLinear
from nbest.papers.data import BLEU_OF_TOKENS
from nbest.papers.run import Run
from nbest.trainers.sharpness import decision_gamma

DECISIONS = {"consensus": "consensus", "1-best": "Viterbi (1-best)"}
"""Decisions of the paper's tables, and their names (sections 4 and 5.4)."""
SHARPNESS = {
    "consensus": "smallest gamma within 1 % of the best on 60 dev forests",
    "consensus-one": "gamma = 1, as printed",
    "consensus-fine": "best gamma on all dev forests",
}
"""Consensus decoding by the rule that gives its gamma: that of nbest, the paper's, and one without slack."""
_FINE = tuple(2.0 ** (k / 2) for k in range(-4, 13))
_CONSENSUS = 500  # translations that consensus decoding chooses from


def sharpnesses(model: LogLinear, dev: Forests, run: Run) -> dict[str, float]:
    """The gamma of each rule; the finest tries half powers of 2 from 1/4 to 64, ties to the smallest."""
    lists = best_of(dev, model.weights, _CONSENSUS, run.threads)
    scores = [lists.score(choice) for choice in _consensus(model, dev, lists, _FINE, run)]
    fine = _FINE[int(np.argmax(scores))]
    return {"consensus": decision_gamma(model, dev), "consensus-one": 1.0, "consensus-fine": fine}


def decided(model: LogLinear, forests: Forests, gammas: Mapping[str, float], run: Run) -> dict[str, tuple[NBest, Ints]]:
    """For each decision lists, and the hypothesis chosen from each."""
    lists = best_of(forests, model.weights, _CONSENSUS, run.threads)
    choices = _consensus(model, forests, lists, list(gammas.values()), run)
    found = {name: (lists, choice) for name, choice in zip(gammas, choices, strict=True)}
    best = kbest(forests, model.edge_scores(forests), 1, threads=run.threads).lists()
    return {**found, "1-best": (best, first(None, best))}


def _consensus(model: LogLinear, forests: Forests, lists: NBest, gammas: Sequence[float], run: Run) -> list[Ints]:
    with using(executor_of(run.threads)):
        return consensus_of_each(model, lists, gammas, BLEU_OF_TOKENS, forests)


def best_of(forests: Forests, weights: Mapping[str, float], k: int, threads: int | None) -> NBest:
    """The k best translations of each forest."""
    return kbest(forests, LogLinear(dict(weights)).edge_scores(forests), k, distinct=True, threads=threads).lists()
