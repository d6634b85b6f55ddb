"""Ballots: the distinct answers of each list, and the hypotheses that vote for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus.nbest import NBest
from nbest.corpus.texts import Texts


@dataclass(frozen=True, eq=False)
class Ballot:
    """N lists with A answers in all: those of segment i are offsets[i]:offsets[i+1], in order of first appearance.

    A hypothesis without an answer (or with an empty text, where texts are compared) is no voter.
    """

    answers: Ints  # [H] the answer that each hypothesis votes for; -1: none
    offsets: Ints  # [N+1]

    @cached_property
    def voters(self) -> Ints:
        """[V] the hypotheses that vote, in their order."""
        return np.flatnonzero(self.answers >= 0)

    @property
    def size(self) -> int:
        """A, the number of answers."""
        return int(self.offsets[-1])

    @cached_property
    def votes(self) -> Floats:
        """[A] how many hypotheses vote for each answer."""
        return self.sums(np.ones(len(self.answers)))

    def sums(self, values: Floats) -> Floats:
        """[A] or [A, D] sums over the voters of each answer of values [H] or [H, D], added up in their order."""
        to, values = self.answers[self.voters], values[self.voters]
        if values.ndim == 1:
            return np.bincount(to, values, minlength=self.size).astype(np.float64, copy=False)
        columns = [np.bincount(to, column, minlength=self.size) for column in values.T]
        return np.stack(columns, axis=1).astype(np.float64, copy=False) if columns else np.zeros((self.size, 0))

    def of_hypotheses(self, values: Floats, otherwise: float = 0.0) -> Floats:
        """[H] the value [A] of the answer of each hypothesis."""
        out = np.full(len(self.answers), otherwise)
        out[self.voters] = values[self.answers[self.voters]]
        return out


def ballot_of(answers: Sequence[str]) -> Ballot:
    """Who votes for what in one list, by these answers; "" is none."""
    seen: dict[str, int] = {}
    numbers = [seen.setdefault(answer, len(seen)) if answer else -1 for answer in answers]
    return Ballot(np.array(numbers, np.int64), np.array([0, len(seen)]))


def ballot(lists: NBest, texts: Texts | None = None) -> Ballot:
    """Who votes for what: by these texts, else by answers, where lists have them, else by whole texts."""
    texts = lists.compared if texts is None else texts
    if texts is None:
        raise CapabilityError("votes need the texts or answers of the hypotheses and these lists carry none")
    numbers, owners = texts.numbers(), segments.owners(lists.offsets)
    voters = np.flatnonzero(texts.ends > texts.starts)
    keys = owners[voters] * (numbers.max(initial=0) + 1) + numbers[voters]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    places = np.empty(len(first), np.int64)
    places[np.argsort(first)] = np.arange(len(first))
    answers = np.full(lists.hypotheses, -1)
    answers[voters] = places[which]
    counts = np.bincount(owners[voters[first]], minlength=len(lists))
    return Ballot(answers, segments.offsets_of(counts))


def pooled(lists: NBest, votes: Ballot) -> NBest:
    """Lists whose hypotheses are the answers of these, with the sums of their voters' features and the means of their
    statistics. Their texts are the answers, each as its first voter wrote it."""
    from scipy.sparse import csr_array

    ones = np.ones(len(votes.voters))
    adding = csr_array((ones, (votes.answers[votes.voters], votes.voters)), (votes.size, lists.hypotheses))
    sums: dict[str, Any] = {
        "features": votes.sums(lists.features),
        "sparse": None if lists.sparse is None else csr_array(adding @ lists.sparse),
        "stats": None if lists.stats is None else votes.sums(lists.stats) / votes.votes[:, None],
    }
    assert lists.compared is not None
    _, first = np.unique(votes.answers[votes.voters], return_index=True)
    sums["texts"] = lists.compared.take(votes.voters[first])
    sums["answers"] = None if lists.answers is None else sums["texts"]
    sums |= dict.fromkeys(("systems", "gains", "positions"))
    return replace(lists, offsets=votes.offsets, **sums)
