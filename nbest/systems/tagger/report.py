"""What a treebank gives a tagger, and how well it tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbest.base.errors import FormatError
from nbest.formats.conllu import Sentence

if TYPE_CHECKING:
    from nbest.systems.tagger.tagger import Tagger

_NONE = "_"
_SHOWN = 5  # unknown tags that are named


def training_tags(path: str | Path, sentences: Sequence[Sentence], column: str) -> list[tuple[str, ...]]:
    """The tags of a treebank (`column` "upos" or "xpos"), or a `FormatError` where a word has none."""
    out: list[tuple[str, ...]] = []
    for sentence in sentences:
        tags: tuple[str, ...] = getattr(sentence, column)
        if _NONE in tags:
            other = "upos" if column == "xpos" else "xpos"
            raise FormatError(
                path, sentence.line_of(tags.index(_NONE)),
                f"the word has no {column.upper()}; a tagger needs the tag of every word (or --tags {other})",
            )  # fmt: skip
        out.append(tags)
    return out


def gold_tags(inputs: Sequence[Any], column: str) -> tuple[list[tuple[str, ...]] | None, int]:
    """The tags of sentences of a treebank, None where some words have none, and how many have none."""
    if not all(isinstance(each, Sentence) for each in inputs):
        return None, 0
    tags: list[tuple[str, ...]] = [getattr(each, column) for each in inputs]
    missing = sum(row.count(_NONE) for row in tags)
    return (None if missing or not tags else tags), missing


@dataclass(frozen=True)
class TagAccuracy:
    """Words tagged right, of those seen in training and those not; a gold tag that the tagger lacks is never right."""

    known: int
    known_right: int
    unknown: int
    unknown_right: int
    foreign: Mapping[str, int]  # gold tags that the tagger does not know, with their counts

    @classmethod
    def of(
        cls, tagger: Tagger, sentences: Sequence[Sequence[str]], gold: Sequence[Sequence[str]], found: Sequence[Any]
    ) -> TagAccuracy:
        """Compare the tags that were found with the gold ones."""
        counts: Counter[tuple[bool, bool]] = Counter()
        foreign: Counter[str] = Counter()
        have = set(tagger.tags)
        for words, right, own in zip(sentences, gold, found, strict=True):
            counts.update((tagger.knows(w), a == b) for w, a, b in zip(words, right, own, strict=True))
            foreign.update(tag for tag in right if tag not in have)
        known, unknown = counts[True, True] + counts[True, False], counts[False, True] + counts[False, False]
        return cls(known, counts[True, True], unknown, counts[False, True], dict(foreign))

    def percentages(self) -> dict[str, float]:
        """Accuracy over all, known and unknown words, in percent; 0 where there are none."""
        sizes = {
            "all": (self.known_right + self.unknown_right, self.known + self.unknown),
            "known": (self.known_right, self.known),
            "unknown": (self.unknown_right, self.unknown),
        }
        return {name: 100.0 * right / words if words else 0.0 for name, (right, words) in sizes.items()}

    def strange(self, column: str) -> str:
        """Says which gold tags the tagger lacks."""
        named = sorted(self.foreign, key=lambda tag: -self.foreign[tag])
        more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
        shown = ", ".join(f"{tag} ({self.foreign[tag]})" for tag in named[:_SHOWN])
        return (
            f"{sum(self.foreign.values())} words have a {column.upper()} that the tagger was not trained on and cannot "
            f"get right: {shown}{more}"
        )

    def __str__(self) -> str:
        p = self.percentages()
        return (
            f"accuracy {p['all']:.2f} % of {self.known + self.unknown} words; known words {p['known']:.2f} % of "
            f"{self.known}, unknown {p['unknown']:.2f} % of {self.unknown}"
        )
