"""Attachment scores of dependency trees: words with the right head, with or without the right label.

A tree is a text with one token `head:deprel` a word, in the order of the sentence: `2:det 3:nsubj 0:root`. The head
is the number of a word, counted from 1, or 0 for the root; the first colon ends it, so `2:nmod:poss` has the label
`nmod:poss`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.parameters import parameter
from nbest.base.types import Floats, Ints, References
from nbest.compute import segments
from nbest.corpus.texts import Texts
from nbest.corpus.words import Words, intern
from nbest.metrics.places import best_places
from nbest.metrics.rates import Accuracy, versioned
from nbest.metrics.references import flatten

_ARC = re.compile(r"(?P<head>0|[1-9][0-9]*):(?P<label>\S+)").fullmatch
_SUBTYPE = ":"


@dataclass(frozen=True, kw_only=True)
class UAS(Accuracy):
    """Unlabelled attachment score in percent, higher is better: words with the right head.

    All words count, punctuation too, as in the evaluation of Universal Dependencies (CoNLL 2018) on gold words.
    Statistics: correct, total = the longer of the two lengths, so that words too few or too many are wrong. Of several
    references the one with the largest correct / total counts, ties to the first. No words at all score 0. Whether the
    heads make a tree is not asked.
    """

    name = "UAS"

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, 2] words with the right head and all words."""
        return _attached(self.name, texts, offsets, references, lambda head, label: head)

    def signature(self, references: int = 1) -> str:
        """Options in sacrebleu's form."""
        return versioned(references, unit="head")


@dataclass(frozen=True, kw_only=True)
class LAS(Accuracy):
    """Labelled attachment score in percent, higher is better: words with the right head and the right label.

    As the evaluation of Universal Dependencies (CoNLL 2018), which compares labels before their first colon; with
    `subtypes` whole labels are compared. All else is as for `UAS`.
    """

    subtypes: bool = parameter(False, "labels with what follows their colon")

    name = "LAS"

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, 2] words with the right head and label, and all words."""
        return _attached(self.name, texts, offsets, references, self._key)

    def _key(self, head: str, label: str) -> tuple[str, str]:
        return head, label if self.subtypes else label.split(_SUBTYPE, 1)[0]

    def signature(self, references: int = 1) -> str:
        """Options in sacrebleu's form."""
        return versioned(references, unit="arc", subtypes=self.subtypes)


def _attached(
    metric: str, texts: Texts, offsets: Ints, references: References, key: Callable[[str, str], object]
) -> Floats:
    """[H, 2] words whose arcs have the same key as those of the reference, and all words."""
    flat, groups = flatten(texts, offsets, references)
    (hyps, refs), vocabulary = intern(texts, flat)
    numbers: dict[object, int] = {}
    arcs = np.empty(len(vocabulary), np.int32)
    for number, token in enumerate(vocabulary):
        arc = _ARC(token)
        if arc is None:
            where = _place(number, hyps, offsets, "hypothesis") or _place(number, refs, groups, "reference")
            raise ParameterError(
                f"{metric}: {where} has the token {token[:40]!r}; a tree has one token 'head:deprel' a word, such as "
                "2:det 3:nsubj 0:root"
            )
        arcs[number] = numbers.setdefault(key(arc["head"], arc["label"]), len(numbers))
    owners = segments.owners(offsets)
    return best_places(Words(hyps.offsets, arcs[hyps.ids]), Words(refs.offsets, arcs[refs.ids]), owners, groups)


def _place(number: int, words: Words, offsets: Ints, kind: str) -> str | None:
    """Where a word of the vocabulary stands first, in words; None if it is nowhere."""
    at = np.flatnonzero(words.ids == number)[:1]
    if not len(at):
        return None
    text = int(np.searchsorted(words.offsets, at[0], side="right")) - 1
    segment = int(segments.owners(offsets)[text])
    return f"{kind} {text - offsets[segment]} of segment number {segment}"
