"""Japanese sentences with readings for the reproduction of Yuan, Gao & Bu (2007), and how they are divided."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbest.base.errors import FormatError, ParameterError
from nbest.base.files import read_lines
from nbest.base.randomness import generator
from nbest.papers.data import find
from nbest.papers.run import Run
from nbest.systems.converter.text import ReadSentence, fold, read_dictionary, read_sentences

DOMAINS = {"tanaka": "tanaka", "aozora": "aozora_fiction", "jsquad": "wikipedia_jsquad"}
"""Files of the texts to adapt to."""
LATER = 2009
"""The first year of the later news."""
_YEAR = re.compile(r"(?<!\d)(20[0-2]\d) ?年")
_RUBY = ("rohan4600.txt", "ita_recitation.ruby.txt", "ita_emotion.ruby.txt")
_BLOCK = 50  # neighbouring sentences of a domain that stay together
_LONGEST = 150  # kana of a sentence of a domain

_READING = re.compile(r"[^()ぁ-ゖァ-ヺー、。！？!?・「」\s]+\(([^()]*)\)")  # noqa: RUF001
_UNREAD = re.compile(r"[一-龯々(]")


@dataclass(frozen=True)
class Parts:
    """Sentences to test on, to choose settings on and to train on."""

    test: list[ReadSentence]
    dev: list[ReadSentence]
    train: list[ReadSentence]


def news(run: Run, held: int, most: int) -> Parts:
    """The background: `held` sentences (a fifth of the text where it has fewer) each for test and dev, `most` others.

    Documents are shuffled and never divided between parts.
    """
    path = find(run, "kana", "auto", "wikinews.read.tsv")
    sentences = read_sentences(path)
    documents = [line.split("\t")[0] for line in read_lines(path)]
    fifth = len(sentences) // 5
    return _divided(path, sentences, documents, (min(held, fifth), min(held, fifth), most), run.seed)


def later_news(run: Run, test: int, dev: int, most: int) -> tuple[Parts, list[ReadSentence]]:
    """The documents of the news that speak of a year from `LATER` on, at most a sixth and a twelfth of them for test
    and dev; and the sentences of all others, which are earlier or do not say."""
    path = find(run, "kana", "auto", "wikinews.read.tsv")
    sentences = read_sentences(path)
    documents = [line.split("\t")[0] for line in read_lines(path)]
    late = {
        document
        for document, sentence in zip(documents, sentences, strict=True)
        if any(int(year) >= LATER for year in _YEAR.findall(sentence.text))
    }
    both = list(zip(documents, sentences, strict=True))
    own = [(document, sentence) for document, sentence in both if document in late]
    sizes = (min(test, len(own) // 6), min(dev, len(own) // 12), most)
    parts = _divided(path, [sentence for _, sentence in own], [document for document, _ in own], sizes, run.seed)
    return parts, _typed([sentence for document, sentence in both if document not in late])


def domain(run: Run, name: str, test: int, dev: int, most: int) -> Parts:
    """A text to adapt to: test and dev have at most a sixth and a twelfth of it.

    Blocks of neighbouring sentences are shuffled and never divided; sentences of more than 150 kana are left out.
    """
    path = find(run, "kana", "auto", f"{DOMAINS[name]}.read.tsv")
    sentences = [sentence for sentence in read_sentences(path) if len(sentence.kana) <= _LONGEST]
    count = len(sentences)
    block = max(1, min(_BLOCK, count // 100))
    blocks = [at // block for at in range(count)]
    return _divided(path, sentences, blocks, (min(test, count // 6), min(dev, count // 12), most), run.seed)


def dictionary(run: Run) -> list[tuple[str, str]]:
    """(surface, reading) of the dictionary."""
    return read_dictionary(find(run, "kana", "dict", "ipadic.tsv"))


def kuwiki(run: Run, most: int) -> list[ReadSentence]:
    """At most `most` sentences of the encyclopedia with readings by hand, evenly over the whole of it."""
    found = _typed(_read_columns(find(run, "kana", "gold", "kuwiki.gold.tsv")))
    count = min(most, len(found))
    return [found[i * len(found) // count] for i in range(count)]


def ruby(run: Run, most: int) -> list[ReadSentence]:
    """At most `most` sentences of ROHAN4600 and ITA; those with a word whose reading is not given are left out."""
    found = (sentence for name in _RUBY for sentence in _read_ruby(find(run, "kana", "gold", name)))
    return _typed([sentence for sentence in found if not _UNREAD.search(sentence.kana)])[:most]


def _read_columns(path: Path) -> list[ReadSentence]:
    """Sentences of lines `surface TAB reading ...`, each after a line `# id`; of readings `one/other` the last counts.

    White space is left out.
    """
    out: list[list[tuple[str, str]]] = []
    for number, line in enumerate(read_lines(path), 1):
        surface, *others = line.split("\t")
        if line.startswith("# "):
            out.append([])
        elif surface.strip():
            if not others or not out:
                raise FormatError(path, number, f"expected '# id', then lines surface TAB reading, got {line[:60]!r}")
            reading = others[0].rpartition("/")[2] or others[0]
            out[-1].append((surface, fold(reading)))
    return [ReadSentence(tuple(s for s, _ in rows), tuple(r for _, r in rows)) for rows in out]


def _read_ruby(path: Path) -> Iterator[ReadSentence]:
    """Sentences of lines `ID:text with the readings of words(in brackets),KATAKANA`."""
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        text = line.partition(":")[2].rpartition(",")[0]
        if not text:
            raise FormatError(path, number, f"expected ID:text(reading),pronunciation, got {line[:60]!r}")
        yield ReadSentence((re.sub(r"\([^()]*\)", "", text),), (fold(_READING.sub(r"\1", text)),))


def _typed(sentences: Sequence[ReadSentence]) -> list[ReadSentence]:
    """The sentences in which something is typed."""
    return [sentence for sentence in sentences if sentence.kana.strip()]


def _divided(
    path: Path, sentences: Sequence[ReadSentence], keys: Sequence[Hashable], sizes: tuple[int, int, int], seed: int
) -> Parts:
    """Parts of these sizes: whole groups of equal keys in random order; what a part has too many is left out."""
    groups: dict[Hashable, list[ReadSentence]] = {}
    for key, sentence in zip(keys, sentences, strict=True):
        groups.setdefault(key, []).append(sentence)
    names = list(groups)
    waiting = iter([groups[names[i]] for i in generator(seed).permutation(len(names))])
    parts: list[list[ReadSentence]] = []
    for size in sizes:
        part: list[ReadSentence] = []
        while len(part) < size and (group := next(waiting, None)) is not None:
            part += _typed(group)
        parts.append(part[:size])
    if not all(parts):
        raise ParameterError(f"{path} has too few sentences for test, dev and training: {len(sentences)}")
    return Parts(*parts)
