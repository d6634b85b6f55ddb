"""Weights learned for voting: the likelihood of right answers, each with the sum of its voters' scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.parameters import check, parameter
from nbest.base.types import Bools, Floats, Ints
from nbest.corpus import NBest
from nbest.corpus.ballots import pooled
from nbest.corpus.contract import Corpus, need_corpus, need_lists, signature_of
from nbest.corpus.grouping import in_folds, units
from nbest.decisions.arguments import normalisation_of
from nbest.decisions.vote import votes_of
from nbest.features import apply_recipes, within_scale
from nbest.features.recipes import carries
from nbest.model.loglinear import LogLinear
from nbest.objectives import NO_PENALTY, Likelihood, Quadratic, total_moments, value_and_gradient
from nbest.optimisers.lbfgs import lbfgs
from nbest.optimisers.result import Result
from nbest.trainers.finishing import finished, warn_unless_converged
from nbest.trainers.problem import Problem, prepare
from nbest.trainers.trainer import Trainer

VARIANCES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Priors that are tried where none is given, the narrowest first."""
_ANSWERED = {"kind": "answered"}
WHOLE = "votes are for answers of whole hypotheses, which edges do not have; read lists out of the forests first"
DECISION = {"kind": "vote", "pool": "scores"}
"""How models that were learned for voting choose."""


@dataclass
class VoteLikelihood(Trainer):
    """Maximises the probability of right answers, less a Gaussian prior, where hypotheses with the same answer vote.

        p(answer) = softmax over the answers of a list of the sum of the scores of its voters

    Each hypothesis counts by its features: a reward, a verifier, or one indicator a voter (sparse), so that it is
    learned whom to believe; `answered`, which is added, is 1 for each vote. Right are the answers of least loss in a
    list; lists in which all are alike teach nothing. `variance` is the prior's sigma^2 in units of features scaled to
    unit spread; where none is given, the narrowest of `VARIANCES` is taken whose likelihood in left-out folds (whole
    groups) is within one standard error of the best.
    `centre` are weights that the prior pulls to, in the features' own units, such as those of `weak` where few lists
    are labelled. Dense and sparse features. The model votes. Deterministic.
    """

    variance: float | None = parameter(None, "sigma^2 of the prior (None: chosen by folds)", above=0)
    folds: int = parameter(5, "parts that choose the variance, at most", least=2)
    iterations: int = parameter(500, "of L-BFGS, at most", least=1)
    centre: dict[str, float] | None = parameter(None, "weights that the prior pulls to (None: 0)")
    seed: int = parameter(1, "of the folds")
    own_columns: ClassVar[tuple[str, ...]] = ("answered",)

    @property
    def random(self) -> bool:
        """Only the folds are drawn, which choose the variance."""
        return self.variance is None

    def fit(self, corpus: Corpus, heldout: Corpus | None = None) -> LogLinear:
        """Learn weights from lists with statistics."""
        check(self)
        lists = _voters(corpus, "corpus")
        other = None if heldout is None else _voters(heldout, "heldout")
        how = normalisation_of(signature_of(lists)) if lists.scored else "none"
        answers = pooled(lists, votes_of(lists, how))
        if answers.lengths.max(initial=0) < 2:
            raise CapabilityError("VoteLikelihood needs lists with at least two answers; every list here has fewer")
        problem = prepare(answers, "VoteLikelihood", other, sparse=True)
        problem = replace(problem, scale=np.where(differing(lists), problem.scale, 0.0))
        centre = problem.start({name: value for name, value in (self.centre or {}).items() if name in answers.names})
        variance = self._crossed(problem, centre) if self.variance is None else self.variance
        self.result_ = self._best(problem, variance, centre)
        warn_unless_converged(self, self.result_)
        model = replace(problem.model(self.result_.weights), decision=decision_by(how))
        return finished(self, model, lists, other)

    def _best(self, problem: Problem[NBest], variance: float, centre: Floats, start: Floats | None = None) -> Result:
        shards, objective = problem.shards(), Likelihood(Quadratic(variance, centre))
        start = centre if start is None else start
        found = lbfgs(lambda w: value_and_gradient(objective, w, shards), start, iterations=self.iterations)
        return replace(found, history=(*found.history, {"variance": variance}))

    def _crossed(self, problem: Problem[NBest], centre: Floats) -> float:
        """The narrowest variance whose likelihood of left-out answers is within a standard error of the best."""
        most = int(units(problem.corpus).max(initial=-1)) + 1
        folds = min(self.folds, most)
        if folds < 2:
            return 1.0
        fold = in_folds(problem.corpus, folds, self.seed)
        found = np.zeros((folds, len(VARIANCES)))
        for number in range(folds):
            out, rest = (np.flatnonzero(which) for which in (fold == number, fold != number))
            found[number] = self._left_out(problem, out, rest, centre)
            if self.progress is not None:
                self.progress(number + 1, folds + 1)
        behind = found[:, [int(found.sum(axis=0).argmax())]] - found
        error = behind.std(axis=0, ddof=1) * np.sqrt(folds)
        return float(VARIANCES[int((behind.sum(axis=0) <= error).argmax())])

    def _left_out(self, problem: Problem[NBest], out: Ints, rest: Ints, centre: Floats) -> Floats:
        """Log-likelihoods of the left-out answers, for each variance fitted on the rest."""
        own, left = problem.part(rest), problem.part(out).shards()
        plain: Any = Likelihood(NO_PENALTY)
        weights, found = centre, np.zeros(len(VARIANCES))
        for at, variance in enumerate(VARIANCES):
            weights = self._best(own, variance, centre, weights).weights
            found[at] = total_moments(plain, weights, left)
        return found


def decision_by(normalize: str) -> dict[str, Any]:
    """How models choose that were learned for voting, on answers that were normalised."""
    return DECISION if normalize == "none" else {**DECISION, "normalize": normalize}


def differing(lists: NBest) -> Bools:
    """[D + D'] which features are more than a count of votes: those that differ within a list; and `answered`."""
    dense = within_scale(lists) > 0
    dense[lists.feature_names.index("answered")] = True
    return np.append(dense, np.ones(len(lists.sparse_names), bool))


def _voters(corpus: Corpus, name: str) -> NBest:
    need_corpus("VoteLikelihood", name, corpus)
    return with_answered(need_lists(corpus, WHOLE))


def with_answered(lists: NBest) -> NBest:
    """The lists with the column that counts votes."""
    if not carries(lists, _ANSWERED, _ANSWERED):
        return apply_recipes(lists, [_ANSWERED])
    if "answered" in lists.feature_names:
        return lists
    left = tuple(each for each in lists.recipes if each["kind"] != "answered")  # it was left out, and votes need it
    return apply_recipes(replace(lists, recipes=left), [_ANSWERED])
