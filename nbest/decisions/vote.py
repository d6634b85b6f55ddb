"""Votes: hypotheses with the same answer share their weight."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.corpus.ballots import Ballot, ballot
from nbest.corpus.contract import signature_of
from nbest.decisions.arguments import check_arguments, checked_gamma, normalisation_of
from nbest.decisions.shards import chosen
from nbest.model.loglinear import LogLinear

POOLS = ("posteriors", "scores")


def vote(
    model: LogLinear | None,
    corpus: NBest,
    *,
    pool: str = "posteriors",
    gamma: float | None = None,
    normalize: str = "none",
    progress: Callable[[int], None] | None = None,
) -> Ints:
    """[N] flat index of the best-scored hypothesis, ties to the first, of the answer with most weight in each list.

    `pool` says how voters count. "posteriors": an answer has the sum of the posteriors softmax(gamma * score) of its
    voters; gamma 0, or no model, is the plurality vote (self-consistency). "scores":

        p(answer) = softmax over the answers of a list of gamma * (sum of the scores of its voters)

    which is what `VoteLikelihood` learns weights for. gamma is 1 if none is given. Ties go to the answer that comes
    first. A hypothesis without an answer does not vote; in a list without any the best-scored one is taken. Answers are
    the same if they are after `normalize` ("lower", "nfkc+punct"; `nbest.choose` takes what the model's metric did).
    """
    check_arguments("vote", model, corpus)
    return chosen(partial(_voted, model, (pool, gamma, normalize)), corpus)


def plurality(corpus: NBest) -> Ints | None:
    """[N] the first hypothesis of the answer that most of each list have, as their metric compares answers; None of
    lists without answers."""
    if corpus.answers is None:
        return None
    return vote(None, corpus, normalize=normalisation_of(signature_of(corpus)) if corpus.scored else "none")


def _voted(model: LogLinear | None, how: tuple[str, float | None, str], part: NBest) -> Ints:
    pool, gamma, normalize = how
    lists = part if model is None else model.answered(part)
    scores = np.zeros(lists.hypotheses) if model is None else model.scores(lists)
    votes = votes_of(lists, normalize)
    weights = answer_weights(votes, scores, lists.offsets, pool=pool, gamma=weighing(model, gamma))
    return best_of_answers(votes, segments.argmax(weights, votes.offsets), scores, lists.offsets)


def votes_of(lists: NBest, normalize: str = "none") -> Ballot:
    """Who votes for what, by answers that were normalised."""
    if normalize == "none" or lists.compared is None:
        return ballot(lists)
    from nbest.metrics.normalise import normalised

    return ballot(lists, *normalised(normalize, lists.compared))


def weighing(model: LogLinear | None, gamma: float | None) -> float:
    """The sharpness of a vote: what is said, else 1; without a model, or with one that has no weights, 0."""
    return 0.0 if model is None or not model.weights else checked_gamma("vote", 1.0 if gamma is None else gamma, model)


def answer_weights(votes: Ballot, scores: Floats, offsets: Ints, *, pool: str, gamma: float) -> Floats:
    """[A] what each answer weighs, by the scores [H] of its voters: votes, posteriors, or sums of scores."""
    if pool not in POOLS:
        raise ParameterError(f"'pool' of vote must be {' or '.join(POOLS)}, got {pool!r}")
    if gamma == 0:
        return votes.votes
    with np.errstate(over="ignore", invalid="ignore"):
        sharp = gamma * (votes.sums(scores) if pool == "scores" else scores[votes.voters])
    if not np.isfinite(sharp).all():
        raise ParameterError("some votes are not finite: sums of scores times gamma exceed the range of numbers")
    if pool == "scores":
        return sharp
    posterior = np.zeros(len(scores))
    posterior[votes.voters] = segments.softmax(sharp, np.searchsorted(votes.voters, offsets))
    return votes.sums(posterior)


def answer_shares(votes: Ballot, scores: Floats, offsets: Ints, *, pool: str, gamma: float) -> Floats:
    """[A] the probability of each answer, over the answers of its list."""
    weights = answer_weights(votes, scores, offsets, pool=pool, gamma=gamma)
    if gamma != 0 and pool == "scores":
        return segments.softmax(weights, votes.offsets)
    return weights / np.repeat(segments.sums(weights, votes.offsets), segments.lengths(votes.offsets))


def best_of_answers(votes: Ballot, winners: Ints, scores: Floats, offsets: Ints) -> Ints:
    """[N] the best-scored voter of each winning answer [N]; the best of all where there is no answer."""
    lengths = segments.lengths(offsets)
    wins = votes.answers == np.repeat(winners, lengths)
    without = np.repeat(winners < 0, lengths)
    return segments.argmax(np.where(wins | without, scores, -np.inf), offsets)
