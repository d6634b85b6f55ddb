"""A second-order hidden Markov tagger: sentences in, lattices of tag sequences out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.corpus import Forests, NBest
from nbest.corpus.operations import merge
from nbest.forests.kbest import kbest
from nbest.model.loglinear import LogLinear
from nbest.systems.tagger.lattice import FEATURES, lattices
from nbest.systems.tagger.lexicon import Lexicon
from nbest.systems.tagger.suffixes import Suffixes
from nbest.systems.tagger.transitions import Transitions, events, transitions_of

Words = Sequence[str]
_BATCH = 1000  # sentences at a time where only lists are wanted


@dataclass(frozen=True)
class Settings:
    """How a tagger is trained.

    longest        letters of the endings that unknown words are guessed by
    rare           words seen at most so often teach the endings, and may take tags they were not seen with
    weight         of shorter endings against one sight of a longer one
    prior          of the ending against one sight of a rare word; 0: its seen tags only
    contexts       words depend on the tag before theirs too (Thede & Harper)
    limit          tags of an unknown or rare word
    least          its tags are those at least this share as likely as the best one
    """

    longest: int = 8
    rare: int = 5
    weight: float = 3.0
    prior: float = 1.0
    contexts: bool = True
    limit: int = 10
    least: float = 0.001

    def __post_init__(self) -> None:
        for name, least, most in (("longest", 0, 100), ("rare", 1, 10**9), ("limit", 1, 10**6)):
            if not least <= getattr(self, name) <= most:
                got = getattr(self, name)
                raise ParameterError(f"'{name}' of a tagger must be between {least} and {most}, got {got}")
        if not (self.weight > 0 and np.isfinite(self.weight)):
            raise ParameterError(f"'weight' of a tagger must be > 0, got {self.weight}")
        if not 0 <= self.least <= 1:
            raise ParameterError(f"'least' of a tagger must be between 0 and 1, got {self.least}")
        if not (self.prior >= 0 and np.isfinite(self.prior)):
            raise ParameterError(f"'prior' of a tagger must be >= 0, got {self.prior}")


@dataclass(frozen=True)
class Tagger:
    """Tags words by p(tags, words) = prod_i p(t_i | t_i-2, t_i-1) p(w_i | t_i-1, t_i), exactly.

    Thede & Harper (1999), ACL 175-182; Brants (2000), ANLP 224-231. Lists and forests have the logs of both factors as
    the features `transition` and `lexical`, to be weighed anew if one likes; their weights are 1.
    """

    tags: tuple[str, ...]  # T
    transitions: Transitions
    lexicon: Lexicon
    suffixes: Suffixes
    settings: Settings = field(default_factory=Settings)
    column: str = "xpos"  # of CoNLL-U, that the tags are from

    @classmethod
    def train(
        cls,
        sentences: Sequence[Words],
        tags: Sequence[Words],
        settings: Settings | None = None,
        *,
        column: str = "xpos",
    ) -> Tagger:
        """From sentences of words and the tags of each word."""
        settings = settings or Settings()
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
        suffixes = Suffixes.train(rare, cells % len(names), counts, len(names), settings.longest, settings.weight)
        return cls(tuple(names), transitions_of(labels, offsets, len(names)), lexicon, suffixes, settings, column)

    def save(self, path: str | Path) -> None:
        """Write a directory; see `tagger_files`."""
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
            **lattices(offsets, options, self.transitions, self.lexicon, self.settings.contexts, threads),
            ids=tuple(map(str, range(len(sentences)))) if ids is None else tuple(ids),
            vocabulary=self.tags,
            references=None if references is None else tuple((" ".join(row),) for row in references),
            sources=tuple(" ".join(words) for words in plain),
            own_weights=dict.fromkeys(FEATURES, 1.0),
        )

    def lists(self, sentences: Sequence[Words], k: int, **options: Any) -> NBest:
        """The k best tag sequences of each sentence; options as for `batches`."""
        return merge(*self.batches(sentences, k, **options))

    def batches(
        self,
        sentences: Sequence[Words],
        k: int,
        *,
        model: LogLinear | None = None,
        ids: Sequence[str] | None = None,
        references: Sequence[Words] | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Iterator[NBest]:
        """The k best tag sequences by p(tags, words), or by the weights of a model; some sentences at a time."""
        model = model or LogLinear(dict.fromkeys(FEATURES, 1.0))
        ids = [str(i) for i in range(len(sentences))] if ids is None else ids
        for low in range(0, max(len(sentences), 1), _BATCH):
            part = slice(low, low + _BATCH)
            gold = None if references is None else references[part]
            forests = self.forests(sentences[part], ids=ids[part], references=gold, threads=threads)
            yield kbest(forests, model.edge_scores(forests), k, threads=threads).lists()
            if progress is not None:
                progress(min(low + _BATCH, len(sentences)), len(sentences))

    def tag(
        self,
        sentences: Sequence[Words],
        *,
        model: LogLinear | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[list[str]]:
        """The best tags of each sentence."""
        found: list[list[str]] = []
        for lists in self.batches(sentences, 1, model=model, threads=threads, progress=progress):
            assert lists.texts is not None
            found += [text.split() for text in lists.texts]
        return found


def _plain(word: str) -> str:
    """A word without white space (10 000 is one word in CoNLL-U), as it stands in a line of words."""
    return "_".join(word.split()) or "_"


def _numbered(items: Iterator[str]) -> tuple[Ints, list[str]]:
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
