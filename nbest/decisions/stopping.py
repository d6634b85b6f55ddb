"""When to stop sampling candidates: as soon as more of them would hardly change the answer.

stopper = nbest.stopping.Stopper(at=0.95, most=40)
while not stopper.add({"text": sample()}):
    pass
stopper.standing.answer
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, look_up
from nbest.base.limits import check_count
from nbest.decisions.choose import calibration_for, decision_of
from nbest.decisions.online import Online
from nbest.decisions.vote import weighing
from nbest.model.loglinear import LogLinear

RULES = {
    "votes": "the probability that the answer with most votes stays ahead of the second",
    "confidence": "the probability of the answer that is chosen, by the model",
}
"""What is compared with a threshold, by the name used on the command line."""


@lru_cache(maxsize=1 << 16)
def stays_ahead(first: int, second: int) -> float:
    """The probability that the answer with `first` votes is the more frequent one of two, the other having `second`.

        P(p > 1/2),   p ~ Beta(first + 1, second + 1)      = P(Binomial(first + second + 1, 1/2) <= first)

    Aggarwal et al. (2023), Adaptive-Consistency, EMNLP 12375-12396, with their uniform prior. Cost: O(second).
    """
    count = first + second + 1
    log_share = math.lgamma(count + 1) - math.lgamma(second + 1) - math.lgamma(first + 2) - count * math.log(2.0)
    share, tail = math.exp(log_share), 0.0
    for successes in range(second, -1, -1):  # P(Binomial > first), by symmetry from `second` down
        tail += share
        share *= successes / (count - successes + 1)
    return 1.0 - tail


def _writer(how: str) -> Callable[[str], str]:
    """What normalises answers before they are compared."""
    from nbest.metrics.normalise import normaliser

    return normaliser(how) or str


class Standing:
    """The candidates of one list so far: votes and weights of their answers, and what would be chosen now.

    Of a decision `vote`, answers weigh as they do there; of `1best`, the best score is chosen, and its answer is as
    probable as the posteriors of its voters say. Without a model it is the plurality vote.
    """

    def __init__(self, model: LogLinear | None = None) -> None:
        decision = decision_of(model, None if model is not None else "vote")
        kind = str(decision["kind"])
        if kind not in ("vote", "1best"):
            raise CapabilityError(f"sampling can be stopped for the decisions vote and 1best, and the model has {kind}")
        self._known = None if model is None else calibration_for(model, decision, model.answer)
        self._by_score = kind == "1best"
        self._sum_scores = decision.get("pool") == "scores"
        how = decision.get("normalize", "none")
        self._write = str if how == "none" else _writer(how)
        self._gamma = weighing(model, decision.get("gamma"))
        self.count = 0  # candidates so far
        self.voters = 0  # those with an answer
        self._votes: dict[str, int] = {}
        self._first: dict[str, int] = {}  # the first candidate of an answer
        self._weights: dict[str, float] = {}  # logarithms, in order of first appearance
        self._best: dict[str, tuple[float, int]] = {}  # minus the best score of an answer, and its candidate
        self._top: tuple[float, int, str] | None = None  # the same of all candidates
        self._total = -math.inf  # log of the sum of posterior weights
        self._leader, self._second = "", ""

    def add(self, answer: str, score: float = 0.0) -> None:
        """One more candidate with its answer ("": none) and its score."""
        if not math.isfinite(score):
            raise ParameterError(f"the score of a candidate must be finite, got {score}")
        answer = self._write(answer)
        place, self.count = self.count, self.count + 1
        if self._top is None or -score < self._top[0]:
            self._top = (-score, place, answer)
        if not answer:
            return
        self.voters += 1
        self._votes[answer] = self._votes.get(answer, 0) + 1
        self._first.setdefault(answer, place)
        self._best[answer] = min(self._best.get(answer, (math.inf, place)), (-score, place))
        weight = self._gamma * score
        if self._sum_scores and self._gamma:
            self._weights[answer] = self._weights.get(answer, 0.0) + weight
        else:
            self._weights[answer] = _log_add(self._weights.get(answer, -math.inf), weight)
            self._total = _log_add(self._total, weight)
        self._rank(answer)

    def _rank(self, answer: str) -> None:
        """The two answers with most votes after one more for this, ties to the one that came first."""
        if answer == self._leader:
            return
        if self._ahead(answer, self._leader):
            self._leader, self._second = answer, self._leader
        elif self._ahead(answer, self._second):
            self._second = answer

    def _ahead(self, answer: str, other: str) -> bool:
        mine, theirs = self._votes[answer], self._votes.get(other, 0)
        return mine > theirs or (mine == theirs and self._first[answer] < self._first[other])

    @property
    def stays(self) -> float:
        """The probability that the answer with most votes stays ahead of the second; 0 without a vote."""
        if not self.voters:
            return 0.0
        return stays_ahead(self._votes[self._leader], self._votes.get(self._second, 0))

    @property
    def answer(self) -> str:
        """The answer that would be chosen now; "" where there is none."""
        if self._by_score and self._top is not None:
            return self._top[2]
        return max(self._weights, key=self._weights.__getitem__, default="")

    @property
    def place(self) -> int:
        """The candidate that would be chosen now, from 0 in the order they came; -1 before the first."""
        answer = "" if self._by_score else self.answer
        best = self._best[answer] if answer else self._top
        return -1 if best is None else best[1]

    @property
    def probability(self) -> float:
        """Of the answer that would be chosen now, not calibrated; 0 where there is none.

        An answer that nobody has given yet takes part, so that one vote is not sure: with the weight of an answer
        without voters where scores are added up (a score of 0), else with that of one more candidate of mean weight.
        """
        answer = self.answer
        if not answer:
            return 0.0
        weight = self._weights[answer]
        if self._sum_scores and self._gamma:
            most = max(0.0, weight)
            total = math.exp(-most) + sum(math.exp(each - most) for each in self._weights.values() if each > most - 40)
            return math.exp(weight - most) / total
        return math.exp(weight - self._total) * self.voters / (self.voters + 1)

    @property
    def confidence(self) -> float:
        """The probability as the model was calibrated, on whole lists; else as it is."""
        raw = self.probability
        return raw if self._known is None or not raw else float(self._known.calibrated(np.array([raw]))[0])


class Stopper:
    """Says after every candidate whether to stop sampling, by a rule of `RULES`: what it watches has reached `at`.

    "votes" needs no model; "confidence" (the default with a model) is the model's. There are at least `least` and at
    most `most` candidates. Cost a candidate: as many steps as there are different answers so far.
    """

    def __init__(
        self,
        at: float = 0.95,
        *,
        model: LogLinear | None = None,
        rule: str | None = None,
        least: int = 1,
        most: int | None = None,
    ) -> None:
        self.rule = rule or ("votes" if model is None else "confidence")
        look_up(RULES, self.rule, "rule")
        if not 0 <= at <= 1:
            raise ParameterError(f"'at' of Stopper must be between 0 and 1, got {at}")
        check_count("'least' of Stopper", least)
        if most is not None and most < least:
            raise ParameterError(f"'most' of Stopper must be at least 'least', which is {least}; got {most}")
        self.at, self.least, self.most = at, least, most
        self.standing = Standing(model)
        self._hear = Online(model or LogLinear({})).heard

    def add(self, candidate: Mapping[str, Any]) -> bool:
        """One more candidate, as `model.choose` takes them: text, features, answer; whether to stop.

        Features that a model adds by comparing hypotheses have the values of a list of one: use others here.
        """
        return self.vote(*self._hear(candidate))

    def vote(self, answer: str, score: float = 0.0) -> bool:
        """One more candidate, by its answer ("": none) and its score; whether to stop."""
        self.standing.add(answer, score)
        return self.stopped

    @property
    def watched(self) -> float:
        """What is compared with `at`."""
        return self.standing.stays if self.rule == "votes" else self.standing.confidence

    @property
    def stopped(self) -> bool:
        """Whether there are enough candidates."""
        count = self.standing.count
        return count == self.most or (count >= self.least and self.watched >= self.at)


def _log_add(first: float, second: float) -> float:
    """log(exp(first) + exp(second))."""
    low, high = min(first, second), max(first, second)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))
