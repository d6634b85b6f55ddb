"""Normalisation of texts before they are compared: of hypotheses and references alike, each distinct text once.

Several are joined by `+` (or a comma) and done from left to right: `nfkc+lower`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, pairwise

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, look_up
from nbest.base.parameters import parameter
from nbest.base.registry import Registry
from nbest.base.types import Ints, References
from nbest.corpus.texts import Texts, concatenate
from nbest.metrics.references import flatten

NONE = "none"
_BRACKETS = re.compile(r"[<\[][^>\]]*[>\]]"), re.compile(r"\(([^)]+?)\)")
_SPACE = re.compile(r"\s+")
_QUOTES = str.maketrans("‘’‚‛“”„‟«»‹›`´", "''''\"\"\"\"\"\"''''")  # noqa: RUF001
_INSIDE = re.compile(r"(?<=\w)['’](?=\w)")  # noqa: RUF001
_KEPT = "\ue000"  # of the private use area: stands for an apostrophe that stays
Normaliser = Callable[[str], str]


class _Replaced(dict[int, str]):
    """For `str.translate`: what becomes of characters by the first letter of their category, looked up once each."""

    def __init__(self, **by_category: str) -> None:
        self.by_category = by_category

    def __missing__(self, point: int) -> str:
        category = unicodedata.category(chr(point))
        found = self.by_category.get(category, self.by_category.get(category[0], chr(point)))
        self[point] = found
        return found


_SYMBOLS = _Replaced(M=" ", S=" ", P=" ")
_PUNCTUATION = _Replaced(S=" ", P=" ")
_MARKS = _Replaced(Mn="")


def _basic(text: str) -> str:
    """As Whisper's normaliser of any language: no words in brackets; marks, symbols and punctuation are spaces."""
    text = reduce(lambda left, pattern: pattern.sub("", left), _BRACKETS, text.lower())
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).translate(_SYMBOLS).lower())


def _punct(text: str) -> str:
    """Punctuation and symbols are spaces, except an apostrophe inside of a word."""
    return " ".join(_INSIDE.sub(_KEPT, text).translate(_PUNCTUATION).replace(_KEPT, "'").split())


def _diacritics(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).translate(_MARKS))


def _brackets(text: str) -> str:
    return " ".join(reduce(lambda left, pattern: pattern.sub(" ", left), _BRACKETS, text).split())


NORMALISERS: Registry[Normaliser] = Registry(
    "normaliser",
    {
        "basic": _basic,
        "brackets": _brackets,
        "diacritics": _diacritics,
        "lower": str.lower,
        "nfc": lambda text: unicodedata.normalize("NFC", text),
        "nfkc": lambda text: unicodedata.normalize("NFKC", text),
        "punct": _punct,
        "quotes": lambda text: text.translate(_QUOTES),
        "whisper": "whisper:whisper",
        "whisper-basic": _basic,
    },
    group="nbest.normalisers",
    room="nbest.metrics",
)
"""Functions from a text to a text, by the name used on the command line."""


def normaliser(how: str) -> Normaliser | None:
    """The function of some names joined by + or commas; None for `none`."""
    if how == NONE:
        return None
    names = [name.strip() for name in re.split("[+,]", how)]
    if not all(names):
        raise ParameterError(f"'normalize' must be names joined by +, or none, got {how!r}")
    steps = [look_up(NORMALISERS, name, "normaliser") for name in names]
    return lambda text: reduce(lambda left, step: step(left), steps, text)


def normalised(how: str, *parts: Texts) -> list[Texts]:
    """The texts of each part, normalised; the very same for `none`."""
    function = normaliser(how)
    if function is None or not sum(map(len, parts)):
        return list(parts)
    texts = concatenate(list(parts))
    numbers = texts.numbers()
    _, first = np.unique(numbers, return_index=True)  # numbers count up from 0 in order of first appearance
    found = Texts.of([function(texts[index]) for index in first]).take(numbers)
    ends = accumulate(map(len, parts), initial=0)
    return [found.take(slice(low, high)) for low, high in pairwise(ends)]


@dataclass(frozen=True, kw_only=True)
class OfTexts:
    """What metrics that compare texts share: both sides may be normalised first."""

    normalize: str = parameter(NONE, "normalise texts first: lower, punct, basic, whisper, ...; several: nfkc+lower")

    def __post_init__(self) -> None:
        normaliser(self.normalize)

    @property
    def by_word(self) -> bool:
        """Whether texts are compared as they are, so that their words may be looked at one by one."""
        return self.normalize == NONE

    def prepared(self, texts: Texts, offsets: Ints, references: References) -> tuple[Texts, Texts, Ints]:
        """Hypotheses and all references, normalised, and [N+1] where the references of each segment begin."""
        flat, groups = flatten(texts, offsets, references)
        texts, flat = normalised(self.normalize, texts, flat)
        return texts, flat, groups

    def signed(self, signature: str) -> str:
        """A signature that also tells the normalisation."""
        return signature if self.by_word else f"{signature}|norm:{self.normalize.replace(',', '+')}"


def need_words(metric: OfTexts, what: str) -> None:
    """A `CapabilityError` where texts are to be normalised, which the words of a forest cannot be one by one."""
    if not metric.by_word:
        raise CapabilityError(
            f"{what} looks at words one by one, and --normalize {metric.normalize} at whole texts; use lists (of "
            "forests: nbest convert FORESTS LISTS.jsonl --top 100) and another method"
        )
