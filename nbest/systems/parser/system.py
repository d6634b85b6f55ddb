"""The parser as a system: its settings, and what it is asked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from nbest.base.parameters import parameter
from nbest.systems.base import SILENT, Decoding, Listener, Lists, Search, Training
from nbest.systems.treebanks import Treebanks

if TYPE_CHECKING:
    from nbest.formats.conllu import Sentence
    from nbest.systems.parser.parser import Parser


@dataclass(frozen=True)
class ParserLists(Lists):
    """Lists of trees."""

    lists: str | None = parameter(None, "Training lists to write, by parsers that have not seen them.")
    folds: int = parameter(10, "Parts for --lists: each is parsed by a parser of the others.", least=2)
    k: int = parameter(200, "Trees a list.", least=1)


@dataclass(frozen=True)
class ParserSearch(Search):
    """What is left out of forests."""

    labels_an_arc: int = parameter(3, "Lists and forests: relations tried for an arc.", least=1)
    arc_floor: float = parameter(1e-4, "Lists and forests: least probability of an arc.", least=0, below=1)


@dataclass(frozen=True)
class Parsing(Decoding):
    """Parse tagged sentences. Where they have trees, these become the references, and LAS and UAS are reported.

    [bold]Examples[/bold]

      nbest decode parser parser test.conllu -o parsed.conllu

      nbest decode parser parser dev.conllu -o dev.jsonl.gz --k 200

      nbest decode parser parser test.conllu --model model.json -o test.forests.jsonl.gz
    """

    forms: ClassVar[tuple[str, ...]] = ("conllu", "text")
    chosen: ClassVar[str] = "trees"
    doing: ClassVar[str] = "parsing"
    reports: ClassVar[bool] = True

    text: str = parameter(..., "Tagged sentences, CoNLL-U (.gz, .xz too); - is stdin.", flags=("text",))
    output: str = parameter("-", "By its suffix lists or forests, else CoNLL-U; - is stdout.", flags=("--output", "-o"))
    to: str | None = parameter(None, "conllu, text, or a format of lists or forests.")
    k: int = parameter(200, "Lists: how many trees.", least=1)


@dataclass(frozen=True)
class ParserTraining(Training[Treebanks]):
    """Train a dependency parser: experts over labelled projective trees; and make lists to train a reranker on.

    [bold]Examples[/bold]

      nbest train parser train.conllu -o parser

      nbest train parser train.conllu --lists train.lists.jsonl.gz --folds 10 --k 200
    """

    form: ClassVar[str] = "nbest-parser/1"
    place: ClassVar[str] = "Directory of the parser."
    data: ClassVar[type] = Treebanks
    files: ClassVar[tuple[str, ...]] = (
        "frequent.txt",
        "templates.npy",
        "options.npy",
        "option-offsets.npy",
        "tables.npy",
    )
    lists: ClassVar[type[Lists] | None] = ParserLists
    metric: ClassVar[str] = "las"
    search: ClassVar[type[Search]] = ParserSearch
    decoding: ClassVar[type[Decoding] | None] = Parsing

    epochs: int = parameter(5, "Passes over the sentences.", least=1, most=10**6)
    rate: float = parameter(0.3, "First size of a step.", above=0, finite=True)
    l2: float = parameter(1.0, "Penalty on the squares of weights.", least=0, finite=True)
    arc_bits: int = parameter(20, "2^bits weights an expert for features of arcs.", least=1, most=30)
    label_bits: int = parameter(14, "2^bits rows of weights for features with relations.", least=1, most=26)
    frequent: int = parameter(10, "Forms seen so often count as frequent.", least=1, most=10**9)
    seed: int = parameter(1, "Of the order of sentences.")

    def train(
        self, data: Treebanks, folder: str | Path, *, threads: int | None = None, listener: Listener = SILENT
    ) -> dict[str, Any]:
        """Read treebanks, train, write."""
        from nbest.systems.parser.files import save
        from nbest.systems.parser.train import train_parser

        begin = time.perf_counter()
        sentences = self.items(data)
        with listener.progress("training") as update:
            parser = train_parser(sentences, threads=threads, progress=update, **asdict(self))
        save(parser, folder)
        words = sum(map(len, sentences))
        listener.say(
            f"{folder}: {len(sentences)} sentences, {words} words, {len(parser.labels)} relations, "
            f"{len(parser.names)} experts; {time.perf_counter() - begin:.0f} s"
        )
        return {}

    @classmethod
    def load(cls, folder: str | Path) -> Parser:
        """The parser of a folder."""
        from nbest.systems.parser.files import load

        return load(folder)

    def items(self, data: Treebanks) -> list[Sentence]:
        """All sentences; each has a tree."""
        from nbest.systems.parser.trees import check_trees

        return data.sentences(check_trees)

    def fit(self, items: Sequence[Sentence], *, threads: int | None = None) -> Parser:
        """The parser of these sentences."""
        from nbest.systems.parser.train import train_parser

        return train_parser(items, threads=threads, **asdict(self))
