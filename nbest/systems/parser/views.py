"""What experts look at: columns of words, and templates of features over the two words of an arc."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nbest.base.types import Ints
from nbest.compute import segments
from nbest.formats.conllu import Sentence

COLUMNS = (
    "form", "tag", "fine", "frequent", "prefix", "ending", "ending2", "shape", "tag-1", "tag+1", "tag-2", "tag+2",
    "fine-1", "fine+1", "frequent-1", "frequent+1",
)  # fmt: skip
"""Of a word: its form, UPOS, XPOS (FEATS where there is none), form if frequent and UPOS otherwise, first 3 letters,
last 3 and 2, shape of its letters; and those of its neighbours."""
_OWN = 8  # columns of the word itself
_SHIFTS = ((1, -1), (1, 1), (1, -2), (1, 2), (2, -1), (2, 1), (3, -1), (3, 1))  # column and neighbour of the others
NEITHER, SIDE, FAR, BETWEEN, ALL_BETWEEN = range(5)
"""Kinds of templates: joined with nothing, the side of the dependent, side and distance, side and each tag between the
words, side and the set of all tags between them."""
KIND_COUNT = 5
_KINDS = {"": NEITHER, "side": SIDE, "far": FAR, "between": BETWEEN, "all-between": ALL_BETWEEN}


class View(NamedTuple):
    """Templates of an expert: `head columns > dependent columns @ kind`; those of `labelled` are joined with labels."""

    arcs: tuple[str, ...]
    labelled: tuple[str, ...]


_BASE = ("tag>tag@side", "tag>tag@far", "tag>@far", ">tag@far")
_LABELS = ("tag>tag@side", ">tag@far")

EXPERTS: Mapping[str, View] = {
    "tags": View(_BASE, _LABELS),
    "fine": View(
        ("tag>tag@far", "fine>fine@side", "fine>fine@far", "fine>tag@far", "tag>fine@far", "fine>@far", ">fine@far"),
        ("fine>fine@side", "tag>fine@side", ">fine@side", "tag>tag@side"),
    ),
    "forms": View(
        (*_BASE, "form>form@side", "form>@side", ">form@side", "form tag>form tag@far"),
        (*_LABELS, ">form@side", "form>form@side"),
    ),
    "heads": View(
        (*_BASE, "form>tag@far", "form>fine@side", "form>@far"), (*_LABELS, "form>tag@side", "form>fine@side")
    ),
    "dependents": View(
        (*_BASE, "tag>form@far", "fine>form@side", ">form@far"), (*_LABELS, "tag>form@side", "fine>form@side")
    ),
    "between": View((*_BASE, "tag>tag@between", "tag>tag@all-between"), (*_LABELS, "tag>tag@all-between")),
    "context": View(
        (
            *_BASE, "tag tag+1>tag-1 tag@side", "tag-1 tag>tag-1 tag@side", "tag tag+1>tag tag+1@side",
            "tag-1 tag>tag tag+1@side", "tag tag+1>tag@far", "tag>tag-1 tag@far", "tag>tag tag+1@far",
            "tag-1 tag>tag@far",
        ),
        (*_LABELS, "tag>tag-1 tag@side", "tag>tag tag+1@side", ">tag-1 tag tag+1@side"),
    ),
    "fine-context": View(
        (
            "tag>tag@far", "fine>fine@side", "fine tag+1>tag-1 fine@side", "tag-1 fine>tag-1 fine@side",
            "tag tag+1>tag fine+1@side", "fine>tag-1 tag tag+1@side", "tag-1 tag tag+1>fine@side",
            "tag>fine-1 fine@far",
        ),
        (*_LABELS, "tag>fine-1 fine@side", "fine>fine@side", ">fine fine+1@side"),
    ),
    "endings": View(
        (*_BASE, "ending>ending@side", "tag ending>tag@far", "tag>tag ending@far", "ending2>ending2@far"),
        (*_LABELS, "tag>tag ending@side", "tag ending>tag@side", "tag ending2>tag ending2@side"),
    ),
    "beginnings": View(
        (
            *_BASE, "prefix>prefix@side", "tag prefix>tag shape@far", "tag shape>tag prefix@far",
            "tag shape>tag shape@far",
        ),
        (*_LABELS, "tag>tag prefix@side", "tag prefix>tag@side", "tag shape>tag shape@side"),
    ),
    "frequent": View(
        (
            *_BASE, "frequent>frequent@side", "frequent>frequent@far", "frequent>frequent-1 frequent@side",
            "frequent>frequent frequent+1@side", "frequent frequent+1>frequent@side",
            "frequent-1 frequent>frequent@side",
        ),
        (*_LABELS, "frequent>frequent@side", "tag>frequent-1 frequent@side", "tag>frequent frequent+1@side"),
    ),
    "wide": View(
        (
            *_BASE, "tag>tag-2 tag-1 tag@side", "tag>tag tag+1 tag+2@side", "tag-2 tag-1 tag>tag@side",
            "tag tag+1 tag+2>tag@side", "tag-1 tag tag+1>tag-1 tag tag+1@side",
        ),
        (*_LABELS, "tag>tag-2 tag-1 tag@side", "tag>tag tag+1 tag+2@side", "tag-1 tag tag+1>tag@side"),
    ),
}  # fmt: skip


def templates_of(views: Sequence[View]) -> Ints:
    """[T, 5] expert, 1 where joined with labels, bits of the columns of head and dependent, kind."""
    rows = []
    for expert, view in enumerate(views):
        for labelled, templates in enumerate(view):
            for template in templates:
                sides, _, kind = template.partition("@")
                head, _, dependent = sides.partition(">")
                rows.append([expert, labelled, _bits(head), _bits(dependent), _KINDS[kind]])
    return np.array(rows, np.int64).reshape(-1, 5)


def _bits(names: str) -> int:
    return sum(1 << COLUMNS.index(name) for name in names.split())


@dataclass(frozen=True)
class Vocabulary:
    """Words and tags by number: those of a sentence stand after a word of their own for the root."""

    tags: tuple[str, ...]  # UPOS seen in training
    frequent: tuple[str, ...]  # forms in lower case
    _hashes: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, sentences: Sequence[Sentence], least: int) -> Vocabulary:
        """Tags of sentences, and forms seen at least so often."""
        tags = dict.fromkeys(tag for sentence in sentences for tag in sentence.upos)
        forms = Counter(form.lower() for sentence in sentences for form in sentence.forms)
        return cls(tuple(tags), tuple(form for form, count in forms.items() if count >= least))

    @property
    def tag_count(self) -> int:
        """Numbers of tags: those seen, one for any other, and the root."""
        return len(self.tags) + 2

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {tag: at for at, tag in enumerate(self.tags)}

    @cached_property
    def _frequent(self) -> frozenset[str]:
        return frozenset(self.frequent)

    def encode(self, sentences: Sequence[Sentence]) -> tuple[Ints, Ints, Ints]:
        """Offsets [N+1] of the rows of sentences, the root first; hashed columns [rows, C]; tag numbers [rows]."""
        offsets = segments.offsets_of(np.array([len(sentence) + 1 for sentence in sentences], np.int64))
        own: list[Any] = []
        tags: list[int] = []
        root = [_hashed("\troot")] * _OWN
        for sentence in sentences:
            own.append(root)
            tags.append(len(self.tags) + 1)
            own += map(self._own, sentence.forms, sentence.upos, _fine(sentence))
            tags += [self._numbers.get(tag, len(self.tags)) for tag in sentence.upos]
        columns = np.empty((offsets[-1], len(COLUMNS)), np.int64)
        columns[:, :_OWN] = np.array(own, np.int64).reshape(-1, _OWN)
        places, owners = np.arange(offsets[-1]), segments.owners(offsets)
        for at, (column, shift) in enumerate(_SHIFTS, _OWN):
            near = places + shift
            inside = (near > offsets[owners]) & (near < offsets[owners + 1]) & (places > offsets[owners])
            columns[:, at] = np.where(inside, columns[np.where(inside, near, 0), column], _hashed("\tnone"))
        return offsets, columns, np.array(tags, np.int64)

    def _own(self, form: str, tag: str, fine: str) -> Any:
        key = form, tag, fine
        found = self._hashes.get(key)
        if found is None:
            low = form.lower()
            usual = low if low in self._frequent else "\t" + tag
            parts = (low, tag, fine, usual, low[:3], low[-3:], low[-2:], _shape(form))
            found = self._hashes[key] = [_hashed(part) for part in parts]
        return found


def _fine(sentence: Sentence) -> Sequence[str]:
    """XPOS of words, where it is not given UPOS with FEATS, where these are not known UPOS."""
    if "_" not in sentence.xpos:
        return sentence.xpos
    feats = sentence.column("feats") if len(sentence.places) == len(sentence) else ("_",) * len(sentence)
    rows = zip(sentence.xpos, sentence.upos, feats, strict=True)
    return [f"{upos} {feat}" if xpos == "_" else xpos for xpos, upos, feat in rows]


def _shape(form: str) -> str:
    """Its first 4 kinds of letters in a row, such as Xx, 0 or x-x."""
    kinds = ["0" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in form]
    return "".join(c for at, c in enumerate(kinds) if at == 0 or c != kinds[at - 1])[:4]


def _hashed(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
