"""Every kind of folder that is trained, as small as it can be, and a use of it: for tests of damaged files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nbest.compute.segments import offsets_of
from nbest.corpus import Forests, NBest, Texts
from nbest.formats.conllu import Sentence

_SENTENCES = (
    ("The", "cat", "saw", "."),
    ("A", "dog", "ran", "."),
    ("The", "saw", "ran", "."),
    ("The", "dog", "saw", "a", "saw"),
)
_TAGS = (("D", "N", "V", "."), ("D", "N", "V", "."), ("D", "N", "V", "."), ("D", "N", "V", "D", "N"))
_HEADS = ((2, 3, 0, 3), (2, 3, 0, 3), (2, 3, 0, 3), (2, 3, 0, 5, 3))
_RELATIONS = (("det", "nsubj", "root", "punct"),) * 3 + (("det", "nsubj", "root", "det", "obj"),)


class Tiny(NamedTuple):
    """How a folder is made, and what is compared: something that depends on all that is read of it."""

    make: Callable[[Path], None]
    use: Callable[[Path], Any]


def _seen(forests: Forests) -> Any:
    """All that forests hold, to be compared."""
    arrays = (forests.edge_offsets, forests.tails, forests.features, forests.symbols)
    return [np.asarray(array).tobytes() for array in arrays], forests.vocabulary


# systems --------------------------------------------------------------------------------------------------------


def _make_tagger(folder: Path) -> None:
    from nbest.systems.tagger.tagger import Tagger

    Tagger.train(_SENTENCES, _TAGS).save(folder)


def _use_tagger(folder: Path) -> Any:
    from nbest.systems.tagger.tagger import Tagger

    return _seen(Tagger.load(folder).forests([*_SENTENCES, ("Unseen", "cat", "3")], threads=1))


def _treebank() -> list[Sentence]:
    rows = zip(_SENTENCES, _TAGS, _HEADS, _RELATIONS, strict=True)
    return [Sentence(words, tags, tags, heads, relations) for words, tags, heads, relations in rows]


def _make_parser(folder: Path) -> None:
    from nbest.systems.parser.train import train_parser
    from nbest.systems.parser.views import EXPERTS

    experts = {name: EXPERTS[name] for name in ("tags", "forms", "between")}
    train_parser(_treebank(), experts=experts, threads=1, epochs=2, arc_bits=7, label_bits=4, frequent=2).save(folder)


def _use_parser(folder: Path) -> Any:
    from nbest.systems.parser.parser import Parser

    return _seen(Parser.load(folder).forests(_treebank(), threads=1))


def _make_converter(folder: Path) -> None:
    from nbest.systems.converter.files import save
    from nbest.systems.converter.system import ConverterTraining
    from nbest.systems.converter.text import Sentence as Kana

    text = [Kana(("柿", "を", "食べる"), ("かき", "を", "たべる")), Kana(("花", "を", "見る"), ("はな", "を", "みる"))]
    more = [("牡蠣", "かき"), ("鼻", "はな")]
    save(ConverterTraining(order=3).fit(text, more, adapt=[text[1]] * 2), folder)


def _use_converter(folder: Path) -> Any:
    from nbest.systems.converter.converter import Converter

    converter = Converter.load(folder)
    forests = converter.forests(["かきをみる", "はなかき", "Aを"], beam=None, margin=None, threads=1)
    return _seen(forests), list(converter.best(forests, 3, threads=1).texts or ())


def _make_translator(folder: Path) -> None:
    from nbest.systems.translator.system import TranslatorTraining
    from nbest.systems.translator.train import Training

    sides = {
        "fr": ("Le chat rouge voit le chien .", "Le chien aime le chat .", "Un chat voit un arbre rouge ."),
        "en": ("The red cat sees the dog .", "The dog likes the cat .", "A cat sees a red tree ."),
    }
    texts = folder.with_name(f"{folder.name}.texts")
    texts.mkdir(parents=True)
    for side, lines in sides.items():
        (texts / side).write_text("".join(f"{line}\n" for line in lines * 3), encoding="utf-8")
    settings = TranslatorTraining(longest=3, lm_order=2, ibm1=2, hmm=2)
    Training(str(texts / "fr"), str(texts / "en"), "fr", "en", folder, settings, threads=1).run()
    shutil.rmtree(texts)
    shutil.rmtree(folder / "work")  # of training only


def _use_translator(folder: Path) -> Any:
    from nbest.systems.translator.translator import Translator

    translator = Translator.load(folder)
    forests = translator.forests(["Le chien voit un chat.", "Le zèbre rouge."], beam=10, threads=1)
    return _seen(forests), [translator.text(" ".join(words)) for words in translator.tokens(["Le chat. Un arbre"])]


def _make_lm(folder: Path) -> None:
    from nbest.lm.estimate import KneserNey
    from nbest.lm.file import save_lm

    folder.mkdir(parents=True)
    save_lm(KneserNey(3).fit(Texts.of(" ".join(words) for words in _SENTENCES)), folder / "model.nlm")


def _use_lm(folder: Path) -> Any:
    from nbest.lm.file import load_lm

    texts = Texts.of([*(" ".join(words) for words in _SENTENCES), "a cat ran", "Unseen saw"])
    model = load_lm(folder / "model.nlm")
    return model.score(texts, threads=1).columns.tobytes(), model.vocabulary


# loops ----------------------------------------------------------------------------------------------------------


@dataclass
class _TwoBest:
    """The two best of four made-up candidates a segment."""

    start: Mapping[str, float] = field(default_factory=lambda: {"a": 1.0, "b": 0.1})

    def decode(self, weights: Mapping[str, float], inputs: Sequence[int]) -> NBest:
        values = np.array([[(3 * i + 5 * k) % 7, (2 * i + 3 * k) % 5] for i in inputs for k in range(4)], np.float64)
        scores = (values @ np.array([weights["a"], weights["b"]])).reshape(-1, 4)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :2]
        rows = (4 * np.arange(len(inputs))[:, None] + best).ravel()
        words = ("red", "green", "blue", "grey")
        return NBest(
            offsets=offsets_of(np.full(len(inputs), 2)),
            features=values[rows],
            feature_names=("a", "b"),
            ids=tuple(map(str, inputs)),
            texts=Texts.of(f"{words[row % 4]} {row // 4}" for row in rows),
        )


def _loop(folder: Path) -> Any:
    from nbest.loop import Inputs, Loop
    from nbest.metrics import WER
    from nbest.trainers.dense.mert import MERT

    loop = Loop(_TwoBest(), MERT(restarts=1, threads=1), WER(), folder, rounds=2)
    segments = list(range(6))
    return loop, Inputs(segments, [(f"{'grey' if i % 2 else 'blue'} {i}",) for i in segments])


def _make_loop(folder: Path) -> None:
    """A run that was stopped before its last training."""
    loop, inputs = _loop(folder)
    loop.run(inputs)
    last = folder / "rounds" / "02"
    for path in (folder / "result.json", folder / "model.json", last / "trained.json", last / "model.json"):
        path.unlink()
    shutil.rmtree(folder / "rounds" / "03")


def _use_loop(folder: Path) -> Any:
    loop, inputs = _loop(folder)
    model = loop.run(inputs, resume=True)
    return dict(model.weights), dict(model.scores_), loop.place.result()


SYSTEMS: Mapping[str, Tiny] = {
    "tagger": Tiny(_make_tagger, _use_tagger),
    "parser": Tiny(_make_parser, _use_parser),
    "converter": Tiny(_make_converter, _use_converter),
    "translator": Tiny(_make_translator, _use_translator),
    "lm": Tiny(_make_lm, _use_lm),
    "loop": Tiny(_make_loop, _use_loop),
}
