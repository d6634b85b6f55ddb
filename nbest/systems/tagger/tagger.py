"""A second-order hidden Markov tagger: sentences in, lattices of tag sequences out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.files import decode, read_bytes, split_lines
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.corpus import Forests
from nbest.formats.conllu import CONLLU, Sentence, conllu_of, looks_like_conllu, sentence_of
from nbest.systems.base import SILENT, Listener, Progress, Search, System, limits_of
from nbest.systems.tagger.lattice import FEATURES, lattices
from nbest.systems.tagger.lexicon import Lexicon
from nbest.systems.tagger.report import TagAccuracy, gold_tags
from nbest.systems.tagger.suffixes import Suffixes
from nbest.systems.tagger.system import TaggerTraining
from nbest.systems.tagger.transitions import Transitions, events, transitions_of

Words = Sequence[str]


@dataclass(frozen=True)
class Tagger(System):
    """Tags words by p(tags, words) = prod_i p(t_i | t_i-2, t_i-1) p(w_i | t_i-1, t_i), exactly.

    Thede & Harper (1999), ACL 175-182; Brants (2000), ANLP 224-231. Lists and forests have the logs of both factors as
    the features `transition` and `lexical`, to be weighed anew if one likes; their weights are 1.
    """

    tags: tuple[str, ...]  # T
    transitions: Transitions
    lexicon: Lexicon
    suffixes: Suffixes
    settings: TaggerTraining = field(default_factory=TaggerTraining)

    batch: ClassVar[int] = 1000
    distinct: ClassVar[bool] = False  # a tag sequence is one derivation

    @classmethod
    def train(cls, sentences: Sequence[Words], tags: Sequence[Words], settings: TaggerTraining | None = None) -> Tagger:
        """From sentences of words and the tags of each word."""
        settings = settings or TaggerTraining()
        offsets = _offsets(sentences, tags)
        if offsets[-1] == 0:
            raise ParameterError("a tagger needs at least one word to train on, got none")
        ids, words = _numbered(_plain(word) for sentence in sentences for word in sentence)
        labels, names = _numbered(tag for row in tags for tag in row)
        strange = next((name for name in names if len(name.split()) != 1), None)
        if strange is not None:
            raise ParameterError(f"a tag must be one word without white space, got {strange!r}")
        firsts = _firsts(offsets)
        _, before, after = events(labels, offsets, len(names))
        lexicon = Lexicon.train(words, ids, labels, before[after < len(names)], len(names))
        few = np.flatnonzero(lexicon.totals[ids] <= settings.rare)
        cells, counts = np.unique((ids[few] * 2 + firsts[few]) * len(names) + labels[few], return_counts=True)
        rare = [(words[cell // 2], bool(cell % 2)) for cell in (cells // len(names)).tolist()]
        suffixes = Suffixes.train(
            rare, cells % len(names), counts, tag_count=len(names), longest=settings.longest, weight=settings.weight
        )
        return cls(tuple(names), transitions_of(labels, offsets, len(names)), lexicon, suffixes, settings)

    def save(self, path: str | Path) -> None:
        """Write a directory; see `nbest.systems.tagger.files`."""
        from nbest.systems.tagger.files import save

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Tagger:
        """The tagger of a directory; what is missing, cut short or of another version is a `FormatError`."""
        from nbest.systems.tagger.files import load

        return load(path)

    def knows(self, word: str) -> bool:
        """Whether a word was seen in training."""
        return _plain(word) in self.lexicon.numbers

    def forests(
        self,
        sentences: Sequence[Words],
        *,
        ids: Sequence[str] | None = None,
        references: Sequence[Words] | None = None,
        threads: int | None = None,
    ) -> Forests:
        """One lattice a sentence, with all of its tag sequences; `references` are the right tags."""
        offsets = segments.offsets_of(np.array([len(words) for words in sentences], np.int64))
        plain = [[_plain(word) for word in words] for words in sentences]
        tokens = [(word, at == 0) for words in plain for at, word in enumerate(words)]
        options = self.lexicon.options(tokens, self.suffixes, self.settings)
        return Forests(
            **lattices(offsets, options, self.transitions, self.lexicon, self.settings.contexts, threads=threads),
            ids=tuple(map(str, range(len(sentences)))) if ids is None else tuple(ids),
            vocabulary=self.tags,
            references=None if references is None else tuple((" ".join(row),) for row in references),
            sources=tuple(" ".join(words) for words in plain),
            own_weights=dict.fromkeys(FEATURES, 1.0),
        )

    @property
    def column(self) -> str:
        """Of CoNLL-U, that the tags are from."""
        return self.settings.tags

    @property
    def weights(self) -> Mapping[str, float]:
        """Those of p(tags, words)."""
        return dict.fromkeys(FEATURES, 1.0)

    def candidates(
        self,
        inputs: Sequence[Sentence | Words],
        weights: Mapping[str, float],
        *,
        ids: Sequence[str] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        **search: Any,
    ) -> Forests:
        """The lattices of words, or of sentences of a treebank, whose tags are the references if all have them."""
        limits_of(Search, search)
        words = [each.forms if isinstance(each, Sentence) else each for each in inputs]
        gold = gold_tags(inputs, self.column)[0]
        return replace(self.forests(words, ids=ids, references=gold, threads=threads), own_weights=dict(weights))

    def tag(self, sentences: Sequence[Words], **options: Any) -> list[list[str]]:
        """The best tags of each sentence; options as for `batches`."""
        found: list[list[str]] = []
        for forests in self.batches(sentences, **options):
            found += [text.split() for text in self.best_of(forests, 1, options).texts or ()]
        return found

    # what the command line asks -----------------------------------------------------------------------------------

    def read(self, path: str | Path) -> list[Any]:
        """Sentences of a treebank, or words between spaces, a sentence a line."""
        content = decode(path, read_bytes(path))
        if str(path).endswith(CONLLU) or looks_like_conllu(content):
            return conllu_of(path, content)
        return [line.split() for line in split_lines(content)]

    def inputs(self, asked: Any, listener: Listener = SILENT) -> tuple[list[Any], None]:
        """Sentences or words; said where only some words have tags."""
        found = self.read(asked.text)
        missing = gold_tags(found, self.column)[1]
        if 0 < missing < sum(map(len, found)):
            name = self.column.upper()
            listener.warn(f"{missing} words have no {name}: no accuracy is reported, no references are kept")
        return found, None

    def form(self, asked: Any, inputs: Sequence[Sentence | Words]) -> str:
        """That of the input."""
        return "conllu" if inputs and isinstance(inputs[0], Sentence) else "text"

    def treebank(self, inputs: Sequence[Sentence | Words], texts: Sequence[str]) -> Iterator[Sentence]:
        """The sentences with their tags."""
        sentences = (each if isinstance(each, Sentence) else sentence_of(each) for each in inputs)
        return (each.with_column(self.column, row.split()) for each, row in zip(sentences, texts, strict=True))

    def report(self, inputs: Sequence[Any], texts: Sequence[str], listener: Listener) -> dict[str, Any] | None:
        """The accuracy, where there are gold tags."""
        gold = gold_tags(inputs, self.column)[0]
        if gold is None:
            return None
        words = [sentence.forms for sentence in inputs]
        accuracy = TagAccuracy.of(self, words, gold, [text.split() for text in texts])
        listener.say(str(accuracy))
        if accuracy.foreign:
            listener.warn(accuracy.strange(self.column))
        sizes = {"known_words": accuracy.known, "unknown_words": accuracy.unknown}
        return {"accuracy": accuracy.percentages(), **sizes}


def _plain(word: str) -> str:
    """A word without white space (10 000 is one word in CoNLL-U), as it stands in a line of words."""
    return "_".join(word.split()) or "_"


def _numbered(items: Iterable[str]) -> tuple[Ints, list[str]]:
    """Numbers of items, and the items in order of first appearance."""
    seen: dict[str, int] = {}
    ids = np.array([seen.setdefault(item, len(seen)) for item in items], np.int64)
    return ids, list(seen)


def _firsts(offsets: Ints) -> Ints:
    """[tokens] 1 for the first word of each sentence."""
    out = np.zeros(offsets[-1], np.int64)
    out[offsets[:-1][segments.lengths(offsets) > 0]] = 1
    return out


def _offsets(sentences: Sequence[Words], tags: Sequence[Words]) -> Ints:
    if len(sentences) != len(tags):
        raise ParameterError(f"'tags' of Tagger.train must be as many as sentences, {len(sentences)}, got {len(tags)}")
    for at, (words, row) in enumerate(zip(sentences, tags, strict=True)):
        if len(words) != len(row):
            raise ParameterError(f"sentence {at + 1} has {len(words)} words and {len(row)} tags")
    return segments.offsets_of(np.array([len(words) for words in sentences], np.int64))
