"""Truecasing: sentence-initial words get the casing that they mostly have elsewhere.

Counts of casings are taken where a word does not begin a sentence (also after `. ! ? :` and opening quotes inside a
line). Lita, Ittycheriah, Roukos & Kambhatla (2003), ACL 152-159, their unigram baseline, as in Moses' truecaser.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from nbest.base.errors import FormatError
from nbest.base.files import write_text
from nbest.base.sealed import read_object, sealed

_FORMAT = "nbest-truecaser/1"
_REMEDY = "train the truecaser again"
_ENDS = frozenset([".", "!", "?", ":", "...", "¿", "¡"])
_SKIPPED = frozenset([*"'\"([{«»-¿¡", "``", "''", *"\u201c\u201d\u201e\u2018\u2019\u2013\u2014"])  # quotes, dashes


class Truecaser:
    """The most frequent casing of every word (ties: the one seen first), by its lower-cased form."""

    def __init__(self, casings: dict[str, str]) -> None:
        self.casings = casings

    @classmethod
    def train(cls, sentences: Iterable[Sequence[str]]) -> Truecaser:
        """Learn from tokenised sentences."""
        counts: Counter[str] = Counter()
        for tokens in sentences:
            starts = set(sentence_starts(tokens))
            counts.update(token for at, token in enumerate(tokens) if at not in starts)
        best: dict[str, str] = {}
        for token, count in counts.items():
            lower = token.lower()
            if lower not in best or count > counts[best[lower]]:
                best[lower] = token
        return cls(best)

    def apply(self, tokens: Sequence[str]) -> list[str]:
        """The tokens with each sentence-initial word in its usual casing; a word never seen elsewhere stays."""
        out = list(tokens)
        for at in sentence_starts(tokens):
            out[at] = self.casings.get(out[at].lower(), out[at])
        return out

    def save(self, path: str | Path) -> None:
        """Write JSON: the casings that differ from lower case, and the words that are lower case."""
        cased = {lower: word for lower, word in self.casings.items() if lower != word}
        plain = [word for lower, word in self.casings.items() if lower == word]
        content = sealed({"format": _FORMAT, "cased": cased, "lower": plain})
        write_text(path, json.dumps(content, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Truecaser:
        """Read what `save` wrote."""
        data = read_object(path, _REMEDY)
        if data.get("format") != _FORMAT:
            raise FormatError(path, None, f"expected the format {_FORMAT!r}; {_REMEDY}")
        cased, lower = data.get("cased"), data.get("lower")
        if not isinstance(cased, dict) or not isinstance(lower, list) or not _texts((*cased.values(), *lower)):
            raise FormatError(path, None, f"expected words as 'cased' and 'lower'; {_REMEDY}")
        return cls({word: word for word in lower} | cased)


def _texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def sentence_starts(tokens: Sequence[str]) -> list[int]:
    """Places of the words that begin a sentence: the first, and those after a full stop, quotes and dashes aside."""
    out, fresh = [], True
    for at, token in enumerate(tokens):
        if token in _ENDS:
            fresh = True
        elif fresh and token not in _SKIPPED:
            out.append(at)
            fresh = False
    return out


def capitalised(text: str) -> str:
    """The detokenised sentence with its first letter in upper case, to undo `Truecaser.apply` on output."""
    for at, letter in enumerate(text):
        if letter.isalnum():
            return text[:at] + letter.upper() + text[at + 1 :]
    return text
