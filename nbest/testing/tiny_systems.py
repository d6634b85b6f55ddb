"""Every kind of folder that is trained, as small as it can be, and a use of it: for tests of systems and of damaged
files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nbest.compute.segments import offsets_of
from nbest.corpus import Forests, NBest, Texts
from nbest.formats.conllu import Sentence, sentence_of, write_conllu
from nbest.systems import SYSTEMS
from nbest.systems.base import Data, System, Training

_SENTENCES = (
    ("The", "cat", "saw", "."),
    ("A", "dog", "ran", "."),
    ("The", "saw", "ran", "."),
    ("The", "dog", "saw", "a", "saw"),
)
_TAGS = (("D", "N", "V", "."), ("D", "N", "V", "."), ("D", "N", "V", "."), ("D", "N", "V", "D", "N"))
_HEADS = ((2, 3, 0, 3), (2, 3, 0, 3), (2, 3, 0, 3), (2, 3, 0, 5, 3))
_RELATIONS = (("det", "nsubj", "root", "punct"),) * 3 + (("det", "nsubj", "root", "det", "obj"),)
_TEXTS = {
    "text": ("the cat saw .", "a dog ran .", "the saw ran ."),
    "fr": ("Le chat rouge voit le chien .", "Le chien aime le chat .", "Un chat voit un arbre rouge .") * 3,
    "en": ("The red cat sees the dog .", "The dog likes the cat .", "A cat sees a red tree .") * 3,
    "read.tsv": ("柿|かき を 食べる|たべる", "花|はな を 見る|みる"),
    "adapt.tsv": ("花|はな を 見る|みる",) * 2,
    "words.tsv": ("牡蠣\tかき", "鼻\tはな"),
}
"""Texts to train on, by the name of their file."""


class Tiny(NamedTuple):
    """How a folder is made, and what is compared: something that depends on all that is read of it."""

    make: Callable[[Path], None]
    use: Callable[[Path], Any]


class TinySystem(NamedTuple):
    """A system that trains at once.

    data      the files to train on, in a folder with those of `write_texts`
    inputs    to decode; texts to score for a system that does not decode
    search    limits of decoding
    target    name of what is trained, where its name matters
    """

    training: Training[Any]
    data: Callable[[Path], Data]
    inputs: Sequence[Any]
    search: Mapping[str, Any] = {}
    target: str = "system"

    def train(self, texts: Path, folder: Path) -> None:
        """Train on the texts of one folder into another."""
        self.training.train(self.data(texts), folder, threads=1)

    def make(self, folder: Path) -> None:
        """Train into a folder; a file of a model goes into it."""
        with tempfile.TemporaryDirectory() as place:
            write_texts(Path(place))
            if not self.training.files:
                folder.mkdir(parents=True)
            self.train(Path(place), folder if self.training.files else folder / self.target)
        shutil.rmtree(folder / "work", ignore_errors=True)  # of training only

    def use(self, folder: Path) -> Any:
        """Decode the inputs."""
        loaded = self.training.load(folder if self.training.files else folder / self.target)
        if not isinstance(loaded, System):
            return loaded.score(Texts.of(self.inputs), threads=1).columns.tobytes(), loaded.vocabulary
        forests = loaded.candidates(self.inputs, loaded.weights, threads=1, **self.search)
        texts = list(loaded.best(forests, 3, threads=1).texts or ())
        return _seen(forests), texts, list(loaded.references(["A cat. The tree"]))


def _seen(forests: Forests) -> Any:
    """All that forests hold, to be compared."""
    arrays = (forests.edge_offsets, forests.tails, forests.features, forests.symbols)
    return [np.asarray(array).tobytes() for array in arrays], forests.vocabulary


# systems --------------------------------------------------------------------------------------------------------


def write_texts(folder: Path) -> None:
    """What tiny systems are trained on."""
    write_conllu(_treebank(), folder / "train.conllu")
    for name, lines in _TEXTS.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _treebank() -> list[Sentence]:
    found = [sentence_of(words) for words in _SENTENCES]
    columns: Mapping[str, Any] = {"upos": _TAGS, "xpos": _TAGS, "head": _HEADS, "deprel": _RELATIONS}
    for name, rows in columns.items():
        found = [sentence.with_column(name, row) for sentence, row in zip(found, rows, strict=True)]
    return found


def tiny_system(name: str) -> TinySystem:
    """The tiny one of a system."""
    return _TINY[name](SYSTEMS[name])


def _tagger(kind: Any) -> TinySystem:
    inputs = [*_treebank(), ("Unseen", "cat", "3")]
    return TinySystem(kind(), lambda texts: kind.data(treebanks=[str(texts / "train.conllu")]), inputs)


def _parser(kind: Any) -> TinySystem:
    training = kind(epochs=2, arc_bits=7, label_bits=4, frequent=2)
    return TinySystem(training, lambda texts: kind.data(treebanks=[str(texts / "train.conllu")]), _treebank())


def _converter(kind: Any) -> TinySystem:
    def data(texts: Path) -> Data:
        given = {"texts": "read.tsv", "dictionary": "words.tsv", "adapt": "adapt.tsv"}
        found: Data = kind.data(**{field: [str(texts / name)] for field, name in given.items()})
        return found

    return TinySystem(kind(order=3), data, ["かきをみる", "はなかき", "Aを"], {"beam": None, "margin": None})


def _translator(kind: Any) -> TinySystem:
    training = kind(longest=3, lm_order=2, ibm1=2, hmm=2)
    return TinySystem(
        training,
        lambda texts: kind.data(source=str(texts / "fr"), target=str(texts / "en"), languages="fr-en"),
        ["Le chien voit un chat.", "Le zèbre rouge."],
        {"beam": 10},
    )


def _lm(kind: Any) -> TinySystem:
    inputs = [*(" ".join(words) for words in _SENTENCES), "a cat ran", "Unseen saw"]
    return TinySystem(kind(order=3), lambda texts: kind.data(corpus=[str(texts / "text")]), inputs, target="model.nlm")


_TINY: Mapping[str, Callable[[Any], TinySystem]] = {
    "lm": _lm,
    "translator": _translator,
    "tagger": _tagger,
    "parser": _parser,
    "converter": _converter,
}


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


TINY: Mapping[str, Tiny | TinySystem] = {
    **{name: tiny_system(name) for name in _TINY},
    "loop": Tiny(_make_loop, _use_loop),
}
"""By the name of the system; and a loop."""
