"""Lists that nbest's own systems make of the data, to compare methods on: dev and test lists, made once and kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbest
from nbest.base.files import read_lines
from nbest.corpus.metric import Metric
from nbest.formats.conllu import Sentence, read_conllu
from nbest.metrics import CER, LAS, TokenAccuracy
from nbest.systems.base import System
from nbest.systems.converter.system import ConverterTraining
from nbest.systems.converter.text import read_dictionary, read_sentences
from nbest.systems.tagger.system import TaggerTraining
from nbest.systems.translator.train import Stages
from nbest.systems.translator.translator import Translator

SENTENCES, SIZE = 1000, 50
"""Of dev and of test, at most; hypotheses a list, at most."""

Need = Callable[..., Path]
"""A file of the data by the parts of its path."""
Parts = tuple[nbest.NBest, nbest.NBest]


@dataclass(frozen=True)
class Maker:
    """What makes dev and test lists of the data in a folder for what it has to keep, and what they are measured by."""

    lists: Callable[[Need, Path], Parts]
    metric: Metric


def made(name: str, need: Need, folder: Path) -> Parts:
    """Lists of a system, from the folder or made now."""
    maker, paths = MADE[name], [folder / f"{name}-{part}.jsonl.gz" for part in ("dev", "test")]
    if not all(path.exists() for path in paths):
        folder.mkdir(parents=True, exist_ok=True)
        for path, lists in zip(paths, maker.lists(need, folder), strict=True):
            nbest.write(lists, path)
    dev, test = (nbest.read(path).with_metric(maker.metric) for path in paths)
    return dev, test


def _treebank(need: Need, name: str, part: str) -> list[Sentence]:
    return read_conllu(need("treebanks", name, f"{part}.conllu.xz"))


def _of_sentences(system: System, need: Need, name: str) -> Parts:
    dev, test = (system.lists(_treebank(need, name, part)[:SENTENCES], SIZE, threads=1) for part in ("dev", "test"))
    return dev, test


def _tagger(need: Need, folder: Path) -> Parts:
    """English, XPOS."""
    return _of_sentences(TaggerTraining().fit(_treebank(need, "en_ewt", "train")), need, "en_ewt")


def _parser(need: Need, folder: Path) -> Parts:
    """Slovenian, several experts."""
    from nbest.systems.parser.train import train_parser

    name = "sl_ssj500k_babushka"
    return _of_sentences(train_parser(_treebank(need, name, "train"), threads=1), need, name)


def _converter(need: Need, folder: Path) -> Parts:
    """Kana of the news to Japanese text; documents of dev and test are later than those of training."""
    news = read_sentences(need("kana", "auto", "wikinews.read.tsv.xz"))
    words = read_dictionary(need("kana", "dict", "ipadic.tsv.xz"))
    held = 2 * SENTENCES
    converter = ConverterTraining().fit(news[: -2 * held], words)
    parts = (news[start : start + held : 2] for start in (len(news) - 2 * held, len(news) - held))
    dev, test = (
        converter.lists(
            [sentence.kana for sentence in part],
            SIZE,
            references=[(sentence.text,) for sentence in part],
            threads=1,
        )
        for part in parts
    )
    return dev, test


def _translator(need: Need, folder: Path) -> Parts:
    """Finnish to English, short sentences."""
    source, target = (str(need("mt", "fi-en", f"train.{language}.xz")) for language in ("fi", "en"))
    place = folder / "fi-en"
    Stages(source, target, "fi", "en", place, threads=1).run()
    system = Translator.load(place)

    def lists(part: str) -> nbest.NBest:
        texts, references = (
            read_lines(need("mt", "fi-en", f"{part}.{language}.xz"))[:SENTENCES] for language in ("fi", "en")
        )
        told = [(text,) for text in system.references(references)]
        return system.lists(texts, SIZE, references=told, threads=1, beam=30)

    return lists("dev"), lists("test")


MADE = {
    "tagger": Maker(_tagger, TokenAccuracy()),
    "parser": Maker(_parser, LAS()),
    "converter": Maker(_converter, CER(spaces=False)),
    "translator": Maker(_translator, nbest.BLEU(tokenize="none")),
}
"""Systems whose lists can be made."""
