"""The translator as a system: its settings, and what it is asked."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from nbest.base.errors import ParameterError
from nbest.base.parameters import parameter
from nbest.systems.base import SILENT, Data, Decoding, Listener, Search, TextDecoding, Training

if TYPE_CHECKING:
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
    nothing to do.

    [bold]Examples[/bold]

      nbest train translator train.fr train.en --languages fr-en -o fr-en

      nbest train translator train.es.xz train.en.xz -l es-en --lm-text news.en.gz --lm-order 3 -o es-en
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

    @classmethod
    def load(cls, folder: str | Path) -> Translator:
        """The translator of a folder."""
        from nbest.systems.translator.translator import Translator

        return Translator.load(folder)


def _since(begin: float) -> str:
    return f"{time.perf_counter() - begin:.0f} s"
