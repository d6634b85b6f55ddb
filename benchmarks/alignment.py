"""Tokenising, word alignment and phrase extraction: seconds, memory, agreement with another aligner's links.

Needs the data that NBEST_DATA points to; `NBEST_PAIRS` sets how many Europarl pairs are added to the 10,000 aligned
ones (174,800 is all).
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from nbest.base.files import read_lines
from nbest.corpus.texts import Texts
from nbest.corpus.words import Words, intern
from nbest.systems.translator.alignment.align import train_alignment
from nbest.systems.translator.alignment.links import METHODS, Links, link_agreement, read_links
from nbest.systems.translator.phrases.extract import extract_phrases
from nbest.systems.translator.phrases.score import score_phrases
from nbest.systems.translator.phrases.table import PhraseTable, number_words, pairs_of
from nbest.systems.translator.tokenising import Tokeniser

R = TypeVar("R")
_ALIGNED = 10_000


def main() -> None:
    """Print a line a step."""
    place = os.environ.get("NBEST_DATA")
    if not place:
        print("NBEST_DATA is not set: nothing to align")
        return
    folder, more = Path(place) / "mt", int(os.environ.get("NBEST_PAIRS", "40000"))
    (source, source_words), (target, target_words) = (_side(folder, language, more) for language in ("fr", "en"))
    for name, count in (("the aligned pairs alone", _ALIGNED), (f"{more} pairs more", len(source.offsets) - 1)):
        links = _align(folder, _head(source, count), _head(target, count), name)
    _overlap(folder, source, target, links, source_words, target_words)
    counts = _timed("extract", lambda: extract_phrases(source, target, links))
    table = _timed("score", lambda: score_phrases(counts, source_words, target_words))
    print(f"  {counts.counts.sum()} occurrences of {len(counts.counts)} pairs; table of {len(table)}")
    _files(table, folder)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


def _timed(label: str, work: Callable[[], R]) -> R:
    begin = time.perf_counter()
    out = work()
    print(f"{label}: {time.perf_counter() - begin:.2f} s")
    return out


def _side(folder: Path, language: str, more: int) -> tuple[Words, list[str]]:
    """The given side of the aligned pairs, then Europarl's first sentences, tokenised and lower-cased."""
    texts = read_lines(folder / "europarl" / f"train.{language}.xz")[:more]
    tokens = _timed(f"tokenise {len(texts)} {language}", lambda: Tokeniser(language).tokenise(texts))
    given = read_lines(folder / "moses-aligned-fr-en" / f"{language}.xz")
    (words,), vocabulary = intern(Texts.of(given + [" ".join(sentence).lower() for sentence in tokens]))
    return words, vocabulary


def _head(words: Words, count: int) -> Words:
    return Words(words.offsets[: count + 1], words.ids[: words.offsets[count]])


def _first(links: Links, count: int) -> Links:
    end = links.offsets[count]
    return Links(links.offsets[: count + 1], links.source[:end], links.target[:end])


def _align(folder: Path, source: Words, target: Words, name: str) -> Links:
    found = _timed(f"align {name}", lambda: train_alignment(source, target))
    theirs = read_links(folder / "moses-aligned-fr-en" / "align.fr-en.xz")
    for method in METHODS:
        figures = link_agreement(_first(found.links(method), _ALIGNED), theirs)
        print(f"  {method:20} precision {figures[0]:.3f} recall {figures[1]:.3f} F {figures[2]:.3f}")
    return found.links()


def _overlap(
    folder: Path, source: Words, target: Words, links: Links, source_words: list[str], target_words: list[str]
) -> None:
    """Distinct phrase pairs of the aligned pairs, from our links and from theirs."""
    source, target = _head(source, _ALIGNED), _head(target, _ALIGNED)
    theirs = read_links(folder / "moses-aligned-fr-en" / "align.fr-en.xz", source, target)
    for options in (1_000_000, 1):
        a, b = (
            pairs_of(score_phrases(extract_phrases(source, target, x), source_words, target_words, options=options))
            for x in (_first(links, _ALIGNED), theirs)
        )
        both = len(a & b)
        kind = "all options" if options > 1 else "best option"
        print(
            f"phrase pairs, {kind}: ours {len(a)}, theirs {len(b)}, both {both}, F {2 * both / (len(a) + len(b)):.3f}"
        )


def _files(table: PhraseTable, folder: Path) -> None:
    texts = Tokeniser("fr").tokenise(read_lines(folder / "europarl" / "test.fr.xz"))
    with tempfile.TemporaryDirectory() as place:
        _timed("save", lambda: table.save(Path(place) / "table"))
        loaded = _timed("load", lambda: PhraseTable.load(Path(place) / "table"))
        text = number_words([[word.lower() for word in sentence] for sentence in texts], loaded.source_words)
        few = _timed("filter to the test set", lambda: loaded.filter(text))
        print(f"  {len(few)} pairs of {len(few.source_offsets) - 1} source phrases")
