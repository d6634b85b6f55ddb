"""What a treebank gives a tagger, how well it tags, and its training lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.corpus import NBest
from nbest.formats.conllu import Sentence
from nbest.systems.jackknife import jackknife
from nbest.systems.tagger.tagger import Settings, Tagger

_NONE = "_"


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


def gold_tags(sentences: Sequence[Sentence], column: str) -> tuple[list[tuple[str, ...]] | None, int]:
    """The tags of sentences, None where some words have none, and how many have none."""
    tags: list[tuple[str, ...]] = [getattr(sentence, column) for sentence in sentences]
    missing = sum(row.count(_NONE) for row in tags)
    return (None if missing else tags), missing


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

    def __str__(self) -> str:
        p = self.percentages()
        return (
            f"accuracy {p['all']:.2f} % of {self.known + self.unknown} words; known words {p['known']:.2f} % of "
            f"{self.known}, unknown {p['unknown']:.2f} % of {self.unknown}"
        )


def jackknifed_lists(
    sentences: Sequence[Sequence[str]],
    tags: Sequence[Sequence[str]],
    k: int,
    folds: int = 10,
    settings: Settings | None = None,
    *,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> NBest:
    """The k best tag sequences of each sentence, by a tagger of the other folds; references are the gold tags."""
    items = [(str(i), words, row) for i, (words, row) in enumerate(zip(sentences, tags, strict=True))]

    def decode(train: Sequence[Any], test: Sequence[Any]) -> NBest:
        tagger = Tagger.train([words for _, words, _ in train], [row for *_, row in train], settings)
        ids, words, gold = ([item[part] for item in test] for part in range(3))
        return tagger.lists(words, k, ids=ids, references=gold, threads=threads)

    return jackknife(items, decode, folds, progress=progress)
