"""Truecasing: sentence-initial words get the casing that they mostly have elsewhere.

Counts of casings are taken where a word does not begin a sentence (also after `. ! ? :` and opening quotes inside a
line). Lita, Ittycheriah, Roukos & Kambhatla (2003), ACL 152-159, their unigram baseline, as in Moses' truecaser.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from nbest.errors import FormatError
from nbest.files import decode, read_bytes, write_text

_FORMAT = "nbest-truecaser/1"
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
        write_text(path, json.dumps({"format": _FORMAT, "cased": cased, "lower": plain}, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Truecaser:
        """Read what `save` wrote."""
        try:
            data = json.loads(decode(path, read_bytes(path)))
        except ValueError as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(path, None, f"is damaged or cut short: {error}") from None
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            raise FormatError(path, None, f"expected the format {_FORMAT!r}; train the truecaser again")
        if not isinstance(data.get("cased"), dict) or not isinstance(data.get("lower"), list):
            raise FormatError(path, None, "expected 'cased' and 'lower'; train the truecaser again")
        return cls({word: word for word in data["lower"]} | data["cased"])


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
