"""One list at a time: dictionaries in, a choice out, with nothing compiled and nothing but NumPy imported.

Chooses as `nbest.choose` does: the same functions of scores and votes, and scores added up in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError, need_kind
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus.answers import OWN, AnswerRule, answer_rule
from nbest.corpus.ballots import Ballot, ballot_of
from nbest.corpus.texts import as_kept
from nbest.decisions.choose import Choice, calibration_for, choose, decision_of, options_of
from nbest.decisions.confidence import NO_MODEL, shares
from nbest.decisions.majority import frequent
from nbest.decisions.vote import answer_weights, best_of_answers, weighing
from nbest.formats.candidates import lists_of_one
from nbest.model.abstention import Abstention, abstain_below
from nbest.model.loglinear import LogLinear
from nbest.model.online import Candidates, Chosen, HowSure
from nbest.model.quick import ANSWERED, QuickScores

ALWAYS = Abstention()
"""Answers whatever the confidence."""


class Online:
    """Chooses with a model, of one list at a time. What it needs to know of the model is found out once."""

    def __init__(self, model: LogLinear) -> None:
        self.model = model
        self.decision = decision_of(model)
        self.kind = str(self.decision["kind"])
        self.options = options_of(self.decision) if self.kind in ONLINE else {}
        self.quick = QuickScores(model)

    @cached_property
    def rule(self) -> AnswerRule:
        """How answers are found in texts."""
        return answer_rule(self.model.answer)

    def __call__(self, candidates: Candidates, abstain: float | Abstention = 0.0) -> Chosen:
        """What the model chooses."""
        _check(candidates)
        rule = abstain if isinstance(abstain, Abstention) else abstain_below(abstain)
        if not len(candidates):
            return Chosen(None, "", None, abstained=rule != ALWAYS)
        found = self._chosen(candidates)
        if rule == ALWAYS or rule.answers(np.array(found.probability), np.array(found.confidence)):
            return found
        return replace(found, abstained=True)

    def _chosen(self, candidates: Candidates) -> Chosen:
        decide, texts = ONLINE.get(self.kind), [candidate.get("text") for candidate in candidates]
        if decide is None or not all(isinstance(text, str) for text in texts):
            return self._by_batch(candidates)  # which says what is wrong with the texts
        one = _One(self, candidates, texts)
        index = decide(one, **self.options)
        return Chosen(index, as_kept(one.texts[index]), float(one.scores[index]), sure=partial(_sure, one, index))

    def heard(self, candidate: Mapping[str, Any]) -> tuple[str, float]:
        """The answer and the score that a hypothesis has alone, before others are there."""
        _check([candidate])
        if not isinstance(candidate.get("text"), str):
            raise ParameterError(f"a hypothesis must have its 'text', got {sorted(map(str, candidate))}")
        one = _One(self, [candidate], [candidate["text"]])
        return one.answers[0], float(one.scores[0])

    def _by_batch(self, candidates: Candidates) -> Chosen:
        """As all lists are chosen from, with a corpus of one."""
        found = choose(self.model, lists_of_one(candidates), self.decision)
        index = int(found.chosen[0])
        return Chosen(index, found.texts[0], float(found.scores()[index]), sure=partial(_first_sure, found))


class _One:
    """A list, with its scores and votes where they matter."""

    def __init__(self, online: Online, candidates: Candidates, texts: list[Any]) -> None:
        self.online, self.candidates, self.texts = online, candidates, texts
        self.offsets: Ints = np.array([0, len(candidates)])

    @cached_property
    def scores(self) -> Floats:
        """[H], as the model has them in a corpus."""
        quick = self.online.quick
        added = {ANSWERED: (self.votes.answers >= 0).astype(np.float64)} if ANSWERED in quick.added else {}
        found = quick(self.candidates, added)
        return self.online.model.scores(lists_of_one(self.candidates)) if found is None else found

    @cached_property
    def votes(self) -> Ballot:
        """By their answers, normalised as the decision says."""
        how = self.online.decision.get("normalize", "none")
        if how == "none":
            return ballot_of(self.answers)
        from nbest.metrics.normalise import normaliser

        write = normaliser(how) or str
        return ballot_of([write(answer) for answer in self.answers])

    @cached_property
    def answers(self) -> list[str]:
        """H answers that are given, or found by the rule of the model, else whole texts."""
        model = self.online.model
        given = self._given()
        if given is not None or not model.answer:
            return [as_kept(text) for text in given or self.texts]
        if model.answer == OWN:
            model.answered(lists_of_one(self.candidates))  # which says that answers are missing
        rule, texts = self.online.rule, [as_kept(text) for text in self.texts]
        found = {text: rule.answer(text) for text in set(texts)}
        return [found[text] for text in texts]

    @property
    def rule(self) -> str:
        """By which rule answers are compared."""
        return self.online.model.answer if self._given() is None else OWN

    def _given(self) -> list[str] | None:
        given = [candidate.get("answer") for candidate in self.candidates]
        if not {str, type(None)}.issuperset(map(type, given)):
            lists_of_one(self.candidates)  # which says which is no text
        return [answer or "" for answer in given] if any(answer is not None for answer in given) else None


def _sure(one: _One, index: int) -> HowSure:
    """The raw and the calibrated probability of a hypothesis."""
    online = one.online
    scores = np.zeros(len(one.texts)) if online.kind in NO_MODEL else one.scores
    found = shares(online.model, online.decision, one.votes, scores, one.offsets)
    known = calibration_for(online.model, online.decision, one.rule)
    if known is None:
        return HowSure(float(found[index]), float(found[index]))
    return HowSure(float(found[index]), float(known.calibrated(found[index : index + 1])[0]), calibrated=True)


def _first_sure(found: Choice) -> HowSure:
    return HowSure(float(found.probability[0]), float(found.confidence[0]), found.calibration is not None)


# decisions of one list ------------------------------------------------------------------------------------------


def _first(one: _One) -> int:
    return 0


def _best(one: _One) -> int:
    return int(np.argmax(one.scores))


def _vote(one: _One, pool: Any, gamma: float | None, **_: str) -> int:
    gamma = weighing(one.online.model, gamma)
    weights = answer_weights(one.votes, one.scores, one.offsets, pool=pool, gamma=gamma)
    winner = segments.argmax(weights, one.votes.offsets)
    return int(best_of_answers(one.votes, winner, one.scores, one.offsets)[0])


def _majority(one: _One, share: float, **_: str) -> int:
    scores = np.where(frequent(one.votes, one.offsets, share), one.scores, -np.inf)
    return int(np.argmax(scores))


ONLINE: dict[str, Callable[..., int]] = {
    "1best": _best,
    "best-of-majority": _majority,
    "first": _first,
    "vote": _vote,
}
"""Decisions that need scores and votes alone; all others are made as for a corpus."""


def _check(candidates: Any) -> None:
    if isinstance(candidates, str | Mapping) or not hasattr(candidates, "__len__"):
        what = "must be a list of dictionaries, one a hypothesis"
        raise ParameterError(f"'candidates' of choose {what}, got {type(candidates).__name__}")
    for number, candidate in enumerate(candidates):
        if type(candidate) is not dict:
            need_kind("choose", f"candidates[{number}]", candidate, Mapping)
