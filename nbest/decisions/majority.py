"""The best of the majority: what is frequent enough, and of this the best by score."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Bools, Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.corpus.ballots import Ballot
from nbest.decisions.arguments import check_arguments, need_model
from nbest.decisions.shards import chosen
from nbest.decisions.vote import votes_of
from nbest.model.loglinear import LogLinear

_ROUNDING = 1e-9  # 0.55 times 20 votes is a little more than 11


def best_of_majority(
    model: LogLinear,
    corpus: NBest,
    *,
    share: float = 0.5,
    normalize: str = "none",
    progress: Callable[[int], None] | None = None,
) -> Ints:
    """[N] flat index of the best-scored hypothesis among those whose answer has at least `share` of the votes that the
    most frequent answer of its list has.

    A guard against scores that are high by mistake, of which more samples have more: a verifier that is over-optimised.
    share 1 is the plurality vote, its ties broken by score; 0 is the best score of all. Di et al. (2025).
    """
    check_arguments("best_of_majority", model, corpus)
    need_model("best_of_majority", model)
    return chosen(partial(_best, model, share, normalize), corpus)


def _best(model: LogLinear, share: float, normalize: str, part: NBest) -> Ints:
    lists = model.answered(part)
    scores = model.scores(lists)
    enough = frequent(votes_of(lists, normalize), lists.offsets, share)
    return segments.argmax(np.where(enough, scores, -np.inf), lists.offsets)


def frequent(votes: Ballot, offsets: Ints, share: float) -> Bools:
    """[H] whether the answer of a hypothesis has enough votes; where nothing votes in a list, all are."""
    if not 0 <= share <= 1:
        raise ParameterError(f"'share' of best_of_majority must be between 0 and 1, got {share}")
    most: Floats = segments.maxima(votes.votes, votes.offsets)
    enough = votes.votes + _ROUNDING >= share * np.repeat(most, segments.lengths(votes.offsets))
    without = np.repeat(segments.lengths(votes.offsets) == 0, segments.lengths(offsets))
    return without | (votes.of_hypotheses(enough.astype(np.float64)) > 0)
