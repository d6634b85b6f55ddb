"""How sure a choice is: the probability that the answer of the chosen hypothesis has, by the decision's own voting."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.corpus import NBest
from nbest.corpus.ballots import Ballot
from nbest.decisions.shards import stacked
from nbest.decisions.vote import answer_shares, votes_of, weighing
from nbest.model.loglinear import LogLinear

NO_MODEL = frozenset({"first"})
"""Decisions that do not look at the model: their probabilities are shares of votes."""
AT_GAMMA = frozenset({"consensus", "mbr"})
"""Decisions that are as sharp as the model says, where they do not say it themselves."""


def answer_probabilities(model: LogLinear | None, lists: NBest, decision: Mapping[str, Any]) -> Floats:
    """[H] the probability of the answer of each hypothesis, over the answers of its list; 0 of one without an answer.

    Of `vote` as it pools; of other decisions the sum of the posteriors of all hypotheses with this answer, at the gamma
    that they choose by, 1 of those that have none. Without a model, shares of votes. Not calibrated: see
    `nbest.calibrate`.
    """
    return stacked(partial(_probabilities, model, dict(decision)), list(lists.shards()))


def _probabilities(model: LogLinear | None, decision: Mapping[str, Any], part: NBest) -> Floats:
    lists = part if model is None else model.answered(part)
    unscored = model is None or decision.get("kind") in NO_MODEL
    scores = np.zeros(lists.hypotheses) if unscored else model.scores(lists)  # type: ignore[union-attr]
    return shares(model, decision, votes_of(lists, decision.get("normalize", "none")), scores, lists.offsets)


def shares(
    model: LogLinear | None, decision: Mapping[str, Any], votes: Ballot, scores: Floats, offsets: Ints
) -> Floats:
    """[H] the probability of the answer of each hypothesis, by the scores [H] of voters."""
    kind, pool, gamma = decision.get("kind"), decision.get("pool", "posteriors"), decision.get("gamma")
    if model is not None and gamma is None and kind in AT_GAMMA:
        gamma = model.gamma
    gamma = 0.0 if kind in NO_MODEL else weighing(model, gamma)
    return votes.of_hypotheses(answer_shares(votes, scores, offsets, pool=pool, gamma=gamma))


def of_chosen(probabilities: Floats, chosen: Ints) -> Floats:
    """[N] the probability of each choice; 0 where a list is empty."""
    return np.where(chosen >= 0, probabilities[np.maximum(chosen, 0)] if len(probabilities) else 0.0, 0.0)
