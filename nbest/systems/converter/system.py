"""The converter as a system: its settings, and what it is asked."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from nbest.base.errors import FormatError
from nbest.base.parameters import parameter
from nbest.systems.base import SILENT, Data, Decoding, Listener, Search, TextDecoding, Training

if TYPE_CHECKING:
    from nbest.systems.converter.converter import Converter
    from nbest.systems.converter.text import ReadSentence

_STAGES = 5  # reading, two language models, dictionary, writing


@dataclass(frozen=True)
class ReadText(Data):
    """Text with readings, a dictionary, and text to adapt to."""

    texts: list[str] = parameter(
        ..., "Text with readings, 'surface|reading surface|reading ...' a line (.gz, .xz too).", flags=("texts",)
    )
    dictionary: list[str] | None = parameter(None, "Further words, 'surface TAB reading' a line; repeat.")
    adapt: list[str] | None = parameter(None, "Text with readings to adapt to: a second language model.")
    heldout: list[str] | None = parameter(None, "Text that sets the weight of --adapt (default: a tenth of it).")


@dataclass(frozen=True)
class ConverterSearch(Search):
    """What is left out of forests, and how kana is read; both `beam` and `margin` None: all there is."""

    beam: int | None = parameter(20, "States of the language model at a position.", least=1)
    margin: float | None = parameter(20.0, "Keep what is within this of the best derivation's score.", least=0)
    longest_run: int = parameter(12, "Of kana that may be one katakana word.", least=1, public=False)
    folded: bool = parameter(True, "Read katakana of the text as hiragana.", flags=("--fold/--no-fold",))


@dataclass(frozen=True)
class Converting(TextDecoding):
    """Convert kana into Japanese text.

    Lists and forests hold words between spaces; measure them by characters without spaces.

    [bold]Examples[/bold]

      nbest decode converter news kana.txt > text.txt

      nbest decode converter news dev.read.tsv.xz --input read -o dev.jsonl.gz --k 20

      nbest decode converter news kana.txt --model model.json -o text.txt
    """

    doing: ClassVar[str] = "converting"

    text: str = parameter(..., "Kana, one sentence a line (.gz, .xz too); - is stdin.", flags=("text",))
    input: str = parameter(
        "kana", "kana, or read: training text, whose readings are converted and words kept.", choices=("kana", "read")
    )
    refs: list[str] | None = parameter(
        None, "References to keep with lists and forests; repeat.", flags=("--refs", "-r")
    )
    k: int = parameter(100, "Lists: how many texts that differ in characters.", least=1)
    words: bool = parameter(False, "Texts with spaces between words.")


@dataclass(frozen=True)
class ConverterTraining(Training[ReadText]):
    """Train a kana-kanji converter: dictionary and language model from text with readings.

    [bold]Examples[/bold]

      nbest train converter news.read.tsv.xz --dictionary words.tsv -o news

      nbest train converter news.read.tsv --adapt novels.read.tsv --order 3 -o novels
    """

    form: ClassVar[str] = "nbest-converter/1"
    place: ClassVar[str] = "Directory of the converter."
    data: ClassVar[type] = ReadText
    files: ClassVar[tuple[str, ...]] = (
        "lm.nlm", "lm2.nlm", "spelling.nlm", "words.txt", "reading_offsets.npy", "reading_codes.npy",
        "entry_offsets.npy", "surfaces.npy", "numbers.npy", "spellings.npy",
    )  # fmt: skip
    search: ClassVar[type[Search]] = ConverterSearch
    decoding: ClassVar[type[Decoding] | None] = Converting

    order: int = parameter(3, "Order of the language model.", least=1, most=6, flags=("--order", "-n"))
    tokens: str = parameter(
        "pair", "What the language model sees of a word: pair (with its reading), surface.", choices=("pair", "surface")
    )
    spelling_order: int = parameter(
        3, "Of the model of characters for words that it does not know.", least=1, most=6, public=False
    )

    def train(
        self, data: ReadText, folder: str | Path, *, threads: int | None = None, listener: Listener = SILENT
    ) -> dict[str, Any]:
        """Read texts, train, write."""
        from nbest.lm.mixture import Mixture
        from nbest.systems.converter.files import save
        from nbest.systems.converter.text import read_dictionary

        begin = time.perf_counter()
        with listener.progress("training") as update:
            seen: list[str] = ["reading"]
            update(0, _STAGES)
            sentences = _read(data.texts)
            words = [entry for path in data.dictionary or () for entry in read_dictionary(path)]

            def stage(name: str, done: int, total: int) -> None:
                if name != seen[-1]:
                    seen.append(name)
                update(min(len(seen) - 1 + done // max(total, 1), _STAGES), _STAGES)

            texts = {"adapt": _read(data.adapt or ()), "heldout": _read(data.heldout or ())}
            converter = self.fit(sentences, dictionary=words, **texts, threads=threads, progress=stage)
            save(converter, folder, asdict(self))
            update(_STAGES, _STAGES)
        if isinstance(converter.lm, Mixture):
            listener.say(f"weight of the background text: {converter.lm.weight:.3f}, by EM")
        entries = f"{len(converter.dictionary)} words with readings"
        listener.say(f"{folder}: {len(sentences)} sentences, {entries}; {time.perf_counter() - begin:.0f} s")
        return {}

    @classmethod
    def load(cls, folder: str | Path) -> Converter:
        """The converter of a folder."""
        from nbest.systems.converter.files import load

        return load(folder)

    def fit(
        self,
        items: Sequence[ReadSentence],
        dictionary: Iterable[tuple[str, str]] = (),
        *,
        threads: int | None = None,
        **more: Any,
    ) -> Converter:
        """The converter of sentences and of further (surface, reading) pairs; see `train_converter`."""
        from nbest.systems.converter.train import train_converter

        return train_converter(self, items, dictionary, threads=threads, **more)


def _read(paths: Sequence[str]) -> list[ReadSentence]:
    from nbest.systems.converter.text import read_sentences

    out: list[ReadSentence] = []
    for path in paths:
        found = read_sentences(path)
        if not any(sentence.surfaces for sentence in found):
            raise FormatError(path, None, "has no words; expected lines of surface|reading words between spaces")
        out += found
    return out
