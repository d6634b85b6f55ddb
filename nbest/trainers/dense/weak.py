"""Weights without labels: which verifiers and voters to believe, from how they agree on many lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.parameters import check, parameter
from nbest.base.types import Bools, Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.corpus.ballots import pooled
from nbest.corpus.contract import Corpus, need_corpus, need_lists, signature_of
from nbest.decisions.arguments import normalisation_of
from nbest.decisions.vote import votes_of
from nbest.model.loglinear import LogLinear
from nbest.optimisers.result import Result
from nbest.trainers.dense.vote import WHOLE, decision_by, differing, with_answered
from nbest.trainers.finishing import finished, warn_unless_converged
from nbest.trainers.trainer import Trainer

_WIDEST = 2000  # features of which a covariance is kept
_RIDGE = 1e-6  # of unit variances, so that a covariance has an inverse
_STILL = 1e-4  # change of scores up to which EM has ended


@dataclass
class WeakSupervision(Trainer):
    """Learns weights from lists without labels: each list has a right answer that nobody tells, found by EM.

        x | right ~ N(m1, S),  x | wrong ~ N(m0, S)            x: features of an answer, less the mean of its list
        E: p(answer) = softmax over the answers of a list (and 0, for none of them) of the log-likelihood ratio
        M: m1, m0, S from p;  weights = argmin over w >= 0 of w'Sw / 2 - w'(m1 - m0)

    The log-likelihood ratio is linear in x, so the model is an ordinary one. S is the covariance within the classes:
    verifiers that err together count less than their number. `shrinkage` is the share of it that is replaced by the
    spread of all answers, without correlations. With little of it EM may believe a single voter, who then explains
    himself perfectly; nothing guards against a majority that errs together. Features must be such that larger is
    better: EM starts from equal weights of all, in units of their spread, and no weight is negative. With `votes`,
    hypotheses with the same answer are right or wrong together and their features add up, as in `VoteLikelihood`,
    `answered` (1 for each vote) is added, and all answers of a list may be wrong; without, one hypothesis of a list is
    the best. Posteriors are too sure: calibrate them. Labels are not looked at; where lists have a metric, the model
    is scored. Deterministic. Cost: O(answers * features^2) an iteration.
    """

    unlabelled: ClassVar[bool] = True

    votes: bool | None = parameter(None, "whether answers vote (None: where half of the hypotheses share theirs)")
    shrinkage: float = parameter(0.7, "share of the covariance replaced by the spread of all", least=0, most=1)
    iterations: int = parameter(200, "of EM, at most", least=1)

    def fit(self, corpus: Corpus, heldout: Corpus | None = None) -> LogLinear:
        """Learn weights from lists, with statistics or without."""
        check(self)
        lists = _whole(corpus, "corpus")
        other = None if heldout is None else _whole(heldout, "heldout")
        how = normalisation_of(signature_of(lists)) if lists.scored else "none"
        votes = shares_answers(lists, how) if self.votes is None else self.votes
        if votes:
            lists, other = with_answered(lists), None if other is None else with_answered(other)
        answers = pooled(lists, votes_of(lists, how)) if votes else lists
        columns, scale = _standard(answers, differing(lists) if votes else np.ones(len(lists.names), bool))
        self.result_ = _em(columns, answers.offsets, self.shrinkage, self.iterations, none=votes)
        warn_unless_converged(self, self.result_)
        plain = np.divide(self.result_.weights, scale, out=np.zeros(len(scale)), where=scale > 0)
        weights = dict(zip(answers.names, plain.tolist(), strict=True))
        model = LogLinear(weights, dense=answers.feature_names, decision=decision_by(how) if votes else {})
        return finished(self, model, lists, other)


def _whole(corpus: Corpus, name: str) -> NBest:
    need_corpus("WeakSupervision", name, corpus)
    return need_lists(corpus, WHOLE)


def shares_answers(lists: NBest, normalize: str = "none") -> bool:
    """Whether at least half of the hypotheses that have an answer share it with others of their list."""
    if lists.compared is None:
        return False
    votes = votes_of(lists, normalize).votes
    return bool(votes.sum()) and bool(votes[votes > 1].sum() >= 0.5 * votes.sum())


def _standard(answers: NBest, wanted: Bools) -> tuple[Floats, Floats]:
    """Columns [A, D + D'] less the means of their lists, in units of their spread, and these [D + D']; 0 where none, or
    where a feature is not wanted."""
    width = len(answers.names)
    if width > _WIDEST:
        raise CapabilityError(
            f"WeakSupervision keeps the covariance of at most {_WIDEST} features, and these lists have {width}; name "
            "the verifiers and voters (--features), or leave others out (--drop)"
        )
    parts = [np.asarray(answers.features, np.float64), *([] if answers.sparse is None else [answers.sparse.toarray()])]
    columns = np.where(wanted, np.concatenate(parts, axis=1), 0.0)
    means = segments.sums(columns, answers.offsets) / np.maximum(answers.lengths, 1)[:, None]
    sizes = np.abs(columns).max(axis=0, initial=0.0)
    columns = columns - np.repeat(means, answers.lengths, axis=0)
    largest = np.abs(columns).max(axis=0, initial=0.0)
    columns = np.divide(columns, largest, out=np.zeros_like(columns), where=largest > 1e-13 * sizes)
    spread = np.sqrt((columns**2).sum(axis=0) / max(len(columns), 1))
    if not spread.any():
        raise CapabilityError(
            "WeakSupervision needs features that differ within lists, and in these none does; add verifiers' scores "
            "(nbest features join) or votes"
        )
    return np.divide(columns, spread, out=np.zeros_like(columns), where=spread > 0), spread * largest


def _em(columns: Floats, offsets: Ints, shrinkage: float, iterations: int, *, none: bool) -> Result:
    """The weights at which EM comes to rest, from equal ones whose scores have unit spread."""
    weights: Floats = np.ones(columns.shape[1])
    scores: Floats = columns @ weights
    scores = scores / max(float(np.sqrt(np.mean(scores**2))), _RIDGE)
    for number in range(iterations):
        right = _right(scores, offsets, none=none)
        weights, offset = _separating(columns, right, shrinkage)
        before, scores = scores, columns @ weights + (offset if none else 0.0)
        change = float(np.abs(scores - before).max())
        if change <= _STILL * max(1.0, float(np.abs(scores).max())):
            return Result(weights, change, "converged", f"scores changed by {change:.2g}", number + 1)
    message = f"scores still changed by {change:.2g} after {iterations} iterations"
    return Result(weights, change, "limit", message, iterations)


def _right(scores: Floats, offsets: Ints, *, none: bool) -> Floats:
    """[A] the probability of each answer to be the right one of its list."""
    if not none:
        return segments.softmax(scores, offsets)
    top = np.maximum(segments.maxima(scores, offsets), 0.0)
    lengths = segments.lengths(offsets)
    mass = np.exp(scores - np.repeat(top, lengths))
    return np.asarray(mass / np.repeat(segments.sums(mass, offsets) + np.exp(-top), lengths))


def _separating(columns: Floats, right: Floats, shrinkage: float) -> tuple[Floats, float]:
    """Weights of two Gaussian classes with one covariance, none negative, and what the log odds add to the score."""
    from scipy.optimize import nnls

    share = np.clip(np.array([right.sum(), (1.0 - right).sum()]), _RIDGE, None)
    means = np.stack([right @ columns, (1.0 - right) @ columns]) / share[:, None]
    covariance = (columns.T @ columns - (means.T * share) @ means) / len(columns)
    whole = np.eye(len(covariance))  # columns have unit spread
    root = np.linalg.cholesky((1.0 - shrinkage) * covariance + (shrinkage + _RIDGE) * whole)
    weights, _ = nnls(root.T, np.linalg.solve(root, means[0] - means[1]))
    middle = 0.5 * float(weights @ (means[0] + means[1]))
    return weights, float(np.log(share[0] / share[1])) - middle
