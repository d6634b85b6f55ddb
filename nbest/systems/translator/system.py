"""The translator as a system: its settings, and what it is asked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from nbest.base.errors import ParameterError
from nbest.base.parameters import parameter
from nbest.systems.base import (
    SILENT,
    Data,
    Decoding,
    JackknifedLists,
    Listener,
    Lists,
    Progress,
    Search,
    TextDecoding,
    Training,
)

if TYPE_CHECKING:
    from nbest.corpus import NBest
    from nbest.corpus.metric import Metric
    from nbest.systems.translator.translator import Translator


@dataclass(frozen=True)
class ParallelText(Data):
    """Both sides of a parallel text, and further text of the target language."""

    source: str = parameter(..., "Source side, raw text, one sentence a line (.gz, .xz too).", flags=("source",))
    target: str = parameter(..., "Target side, line by line its translation.", flags=("target",))
    languages: str = parameter(
        ..., "Codes of both languages, for their tokenisers: fr-en.", flags=("--languages", "-l")
    )
    lm_text: list[str] | None = parameter(None, "Further text of the target language for the language model; repeat.")

    def paths(self) -> list[str]:
        """All files."""
        return [self.source, self.target, *(self.lm_text or ())]

    def absolute(self) -> ParallelText:
        """The same files by their whole paths, for processes that run elsewhere."""
        more = None if self.lm_text is None else [str(Path(path).absolute()) for path in self.lm_text]
        source, target = (str(Path(path).absolute()) for path in (self.source, self.target))
        return replace(self, source=source, target=target, lm_text=more)

    def codes(self) -> tuple[str, str]:
        """Of the source and the target language."""
        first, dash, second = self.languages.partition("-")
        if not dash:
            raise ParameterError(f"--languages must be two codes, such as fr-en, got {self.languages!r}")
        return first, second

    def check(self) -> None:
        """Complain of what cannot be read more than once."""
        from nbest.base.unpacking import need_rereadable

        self.codes()
        if "-" in self.paths():
            raise ParameterError("training reads its texts more than once; they cannot come from standard input (-)")
        for path in self.paths():
            need_rereadable(path, "training reads its texts more than once")


@dataclass(frozen=True)
class TranslatorLists(JackknifedLists):
    """Lists of translations of training sentences, by translators without their part: the word alignment and the
    casing of all texts are kept, phrases and language model are of the other parts."""

    needs_system: ClassVar[bool] = True

    folds: int | None = parameter(
        None, "Parts for --lists: each is translated by a translator of the others.", flags=("--jackknife",)
    )
    k: int = parameter(100, "Lists: how many distinct translations.", least=1)
    fold_sentences: int = parameter(1000, "Lists of each part, of sentences evenly spread over it.", least=1)
    fold_words: int = parameter(40, "Most words of such a sentence, each side.", least=1)
    beam: int = parameter(100, "Lists: nodes a span.", least=1)

    @property
    def parts(self) -> int:
        """How many folds."""
        assert self.folds is not None
        return self.folds


@dataclass(frozen=True)
class TranslatorSearch(Search):
    """What is left out of forests."""

    beam: int = parameter(100, "Nodes a span.", least=1)
    span_limit: int = parameter(12, "Longest span that may be reordered.", least=1)
    edges_a_node: int = parameter(16, "Edges kept of a node.", least=1, public=False)
    longest: int = parameter(200, "Most tokens of a sentence.", least=1)


@dataclass(frozen=True)
class Translating(TextDecoding):
    """Translate texts by a phrasal inversion transduction grammar.

    Lists and forests hold tokens, truecased, and so do the references kept with them: tune on them with
    --metric bleu --tokenize none.

    [bold]Examples[/bold]

      nbest decode translator fr-en test.fr > test.out

      nbest decode translator fr-en dev.fr --refs dev.en -o dev.forests.jsonl.gz

      nbest decode translator fr-en test.fr --model model.json --decision consensus -o test.out
    """

    doing: ClassVar[str] = "translating"

    text: str = parameter(..., "Text to translate, one sentence a line (.gz, .xz too); - is stdin.", flags=("text",))
    output: str = parameter(
        "-", "Texts, or by its suffix lists or forests (.forests.jsonl.gz); - is stdout.", flags=("--output", "-o")
    )
    refs: list[str] | None = parameter(
        None, "References, raw text, to keep with lists and forests; repeat for several.", flags=("--refs", "-r")
    )
    k: int = parameter(200, "Lists: how many distinct translations.", least=1)
    raw: bool = parameter(False, "Texts as tokens, not detokenised.")

    @property
    def strings(self) -> int:
        """That consensus and mbr choose from."""
        return 1000


@dataclass(frozen=True)
class TranslatorTraining(Training[ParallelText]):
    """Train a phrase-based translator: tokens, language model, word alignment, phrase table.

    A run that was stopped goes on after the last stage that was finished; with the same texts and settings there is
    nothing to do. With --jackknife it goes on with training lists for a reranker: some sentences of each part of the
    texts, by a translator whose phrases and language model are of the other parts; each part is kept when it is done.

    [bold]Examples[/bold]

      nbest train translator train.fr train.en --languages fr-en -o fr-en

      nbest train translator train.es.xz train.en.xz -l es-en --lm-text news.en.gz --lm-order 3 -o es-en

      nbest train translator train.fr train.en -l fr-en -o fr-en --jackknife 10 --lists train.jsonl.gz --k 100
    """

    form: ClassVar[str] = "nbest-translator/1"
    place: ClassVar[str] = "Directory of the translator."
    data: ClassVar[type] = ParallelText
    files: ClassVar[tuple[str, ...]] = (
        "source.truecase.json",
        "target.truecase.json",
        "lm.nlm",
        "phrases/manifest.json",
    )
    lists: ClassVar[type[Lists] | None] = TranslatorLists
    metric: ClassVar[str] = "bleu"
    search: ClassVar[type[Search]] = TranslatorSearch
    decoding: ClassVar[type[Decoding] | None] = Translating

    longest: int = parameter(7, "Longest phrases, in words.", least=1, most=20)
    options: int = parameter(20, "Translations kept of each phrase.", least=1, most=1000)
    lm_order: int = parameter(4, "Order of the language model.", least=1, most=4)
    ibm1: int = parameter(5, "Iterations of word alignment by IBM model 1.", least=1, most=100, public=False)
    hmm: int = parameter(5, "Iterations of word alignment by a hidden Markov model.", public=False)

    @classmethod
    def check_place(cls, folder: str | Path) -> None:
        """A file is in the way; a folder may be one in which training stopped."""
        if Path(folder).exists() and not Path(folder).is_dir():
            raise ParameterError(f"the output {str(folder)!r} is a file; a translator is a directory")

    def train(
        self, data: ParallelText, folder: str | Path, *, threads: int | None = None, listener: Listener = SILENT
    ) -> dict[str, Any]:
        """Do the stages that are missing."""
        from nbest.systems.translator.train import Stages
        from nbest.systems.translator.translator import Translator

        data.check()
        self.check_place(folder)
        place, begin = Path(folder), time.perf_counter()
        text = tuple(data.lm_text or ())
        stages = Stages(
            data.source, data.target, *data.codes(), place, settings=self, more_target=text, threads=threads
        )
        with listener.progress("training") as update:
            stage = ""

            def progress(name: str, done: int, total: int) -> None:
                nonlocal stage
                if name != stage:
                    listener.say(f"{_since(begin)}: {name}")
                    stage = name
                update(done, total)

            stages.progress = progress
            stages.run()
        for reason, count in stages.report.get("not aligned", {}).items():
            if count:
                listener.warn(f"{count} sentence pairs with {reason} were not trained on")
        did = ", ".join(stages.done) or "nothing: all stages were done before"
        listener.say(f"{folder}: did {did}; {len(Translator.load(place).table)} phrase pairs; {_since(begin)}")
        return {}

    def items(self, data: ParallelText) -> list[tuple[str, str]]:
        """The sentence pairs."""
        from nbest.systems.translator.train import read_sides

        return list(zip(*read_sides(data.source, data.target), strict=True))

    def jackknifed(
        self,
        data: ParallelText,
        asked: TranslatorLists,
        items: Sequence[Any],
        *,
        folder: str | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NBest:
        """Lists of some sentences of each fold, by the translator of a folder without that fold."""
        from nbest.systems.translator.folds import FoldLists

        assert folder is not None
        return FoldLists(Path(folder).absolute(), data.absolute(), asked, threads).all_folds(progress)

    def measure(self) -> Metric:
        """BLEU of tokens."""
        from nbest.metrics import BLEU

        return BLEU(tokenize="none")

    @classmethod
    def load(cls, folder: str | Path) -> Translator:
        """The translator of a folder."""
        from nbest.systems.translator.translator import Translator

        return Translator.load(folder)


def _since(begin: float) -> str:
    return f"{time.perf_counter() - begin:.0f} s"
