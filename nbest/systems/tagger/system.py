"""The tagger as a system: its settings, and what it is asked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from nbest.base.parameters import parameter
from nbest.systems.base import SILENT, Decoding, JackknifedLists, Listener, Lists, Training
from nbest.systems.treebanks import Treebanks

if TYPE_CHECKING:
    from nbest.formats.conllu import Sentence
    from nbest.systems.tagger.tagger import Tagger


@dataclass(frozen=True)
class TaggerLists(JackknifedLists):
    """Lists of tag sequences."""

    folds: int | None = parameter(
        None, "Parts for --lists: each is tagged by a tagger of the others.", flags=("--jackknife",)
    )
    k: int = parameter(10, "Tag sequences a list.", least=1)


@dataclass(frozen=True)
class Tagging(Decoding):
    """Tag words. Where a CoNLL-U file has tags, they become the references, and the accuracy is reported.

    [bold]Examples[/bold]

      nbest decode tagger tagger test.conllu -o tagged.conllu

      nbest decode tagger tagger dev.conllu -o dev.jsonl --k 10

      echo "The cat sat ." | nbest decode tagger tagger -
    """

    forms: ClassVar[tuple[str, ...]] = ("text", "conllu")
    chosen: ClassVar[str] = "tags"
    doing: ClassVar[str] = "tagging"
    reports: ClassVar[bool] = True

    text: str = parameter(..., "CoNLL-U, or a sentence a line, words between spaces; - is stdin.", flags=("text",))
    output: str = parameter(
        "-", "By its suffix CoNLL-U, lists or forests; else tags, one sentence a line.", flags=("--output", "-o")
    )
    to: str | None = parameter(None, "text, conllu, or a format of lists or forests.")
    model: str | None = parameter(None, "Weights of nbest tune (default: 1 and 1).")
    k: int = parameter(10, "Lists: how many tag sequences.", least=1)


@dataclass(frozen=True)
class TaggerTraining(Training[Treebanks]):
    """Train a tagger, a second-order hidden Markov model; and make lists to train a reranker on.

    [bold]Examples[/bold]

      nbest train tagger train.conllu --tags xpos -o tagger

      nbest train tagger train.conllu --tags upos --jackknife 10 --lists train.jsonl --k 10
    """

    form: ClassVar[str] = "nbest-tagger/1"
    place: ClassVar[str] = "Directory of the tagger."
    data: ClassVar[type] = Treebanks
    files: ClassVar[tuple[str, ...]] = ("tags.txt", "words.txt", "endings.txt", "arrays.npz")
    lists: ClassVar[type[Lists] | None] = TaggerLists
    decoding: ClassVar[type[Decoding] | None] = Tagging
    metric: ClassVar[str] = "accuracy"

    tags: str = parameter("xpos", "xpos or upos: the column that is learned.", choices=("upos", "xpos"))
    longest: int = parameter(8, "Letters of the endings of unknown words.", least=0, most=100)
    rare: int = parameter(5, "Words seen at most so often teach the endings.", least=1, most=10**9)
    weight: float = parameter(
        3.0, "Of shorter endings against one sight of a longer one.", above=0, finite=True, public=False
    )
    prior: float = parameter(
        1.0, "Of the ending of a rare word, in sights; 0: its seen tags only.", least=0, finite=True
    )
    contexts: bool = parameter(
        True, "Words depend on the tag before theirs too.", flags=("--contexts/--no-contexts",)
    )  # Thede & Harper
    limit: int = parameter(10, "Tags tried for an unknown or rare word.", least=1, most=10**6)
    least: float = parameter(
        0.001, "Tried are those at least this share as likely as the best one.", least=0, most=1, public=False
    )

    def train(
        self, data: Treebanks, folder: str | Path, *, threads: int | None = None, listener: Listener = SILENT
    ) -> dict[str, Any]:
        """Read treebanks, train, write."""
        from nbest.systems.tagger.files import save

        begin = time.perf_counter()
        sentences = self.items(data)
        tagger = self.fit(sentences)
        save(tagger, folder)
        words = sum(map(len, sentences))
        listener.say(
            f"{folder}: {len(sentences)} sentences, {words} words, {len(tagger.lexicon.words)} different ones, "
            f"{len(tagger.tags)} tags; {time.perf_counter() - begin:.1f} s"
        )
        return {}

    @classmethod
    def load(cls, folder: str | Path) -> Tagger:
        """The tagger of a folder."""
        from nbest.systems.tagger.files import load

        return load(folder)

    def items(self, data: Treebanks) -> list[Sentence]:
        """All sentences; each word has a tag."""
        from nbest.systems.tagger.report import training_tags

        return data.sentences(lambda part, path: training_tags(path, part, self.tags))

    def fit(self, items: Sequence[Sentence], *, threads: int | None = None) -> Tagger:
        """The tagger of these sentences."""
        from nbest.systems.tagger.tagger import Tagger

        return Tagger.train([each.forms for each in items], [getattr(each, self.tags) for each in items], self)
