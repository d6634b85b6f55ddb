"""All hypotheses of lists in the order of a decision, best first: what is chosen, then what comes next."""

from __future__ import annotations

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.decisions.choose import Choice, options_of
from nbest.decisions.confidence import answer_probabilities
from nbest.decisions.majority import frequent
from nbest.decisions.vote import votes_of


def ranked(found: Choice) -> Ints:
    """[H] flat indices, within each segment what is chosen first, then by falling weight of answers where the decision
    votes (`first_by`), then by falling score, then in the order of the list."""
    lists, kind = found.lists, found.decision["kind"]
    chosen = np.zeros(lists.hypotheses, bool)
    chosen[found.chosen[found.chosen >= 0]] = True
    scores = np.zeros(lists.hypotheses) if kind == "first" else found.scores()
    return np.lexsort((-scores, -first_by(found), ~chosen, segments.owners(lists.offsets)))


def first_by(found: Choice) -> Floats:
    """[H] what counts before the score: of a vote the probability of the answer, of the best of the majority whether
    the answer is frequent enough; else nothing."""
    lists, decision = found.lists, found.decision
    if decision["kind"] == "vote":
        return answer_probabilities(found.model, lists, decision)
    if decision["kind"] == "best-of-majority":
        assert found.model is not None
        lists = found.model.answered(lists)
        options = options_of(decision)
        votes = votes_of(lists, options["normalize"])
        return frequent(votes, lists.offsets, options["share"]).astype(np.float64)
    return np.zeros(lists.hypotheses)
