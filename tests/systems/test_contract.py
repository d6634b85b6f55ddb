"""The contract of systems holds for all of SYSTEMS, and is seen to fail on broken ones."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from nbest.loop import Inputs, Loop
from nbest.metrics import METRICS
from nbest.systems import SYSTEMS
from nbest.systems.jackknife import jackknifed_lists
from nbest.systems.tagger.system import TaggerTraining
from nbest.systems.tagger.tagger import Tagger
from nbest.testing import check_system
from nbest.testing.tiny_systems import TinySystem, tiny_system, write_texts
from nbest.trainers.dense.mert import MERT


def checked(tiny: TinySystem, place: Path) -> None:
    write_texts(place)
    check_system(tiny.training, tiny.data(place), tiny.inputs, search=tiny.search, target=tiny.target)


@pytest.mark.parametrize("name", list(SYSTEMS))
def test_every_system(name: str, tmp_path: Path) -> None:
    if name == "translator":
        pytest.importorskip("sacremoses")
    checked(tiny_system(name), tmp_path)


# known-bad ----------------------------------------------------------------------------------------------------------


COUNTER = count(1)


class Forgetful(TaggerTraining):
    """Another model each time."""

    def train(self, data: Any, folder: Any, **options: Any) -> Any:
        return TaggerTraining.train(replace(self, longest=next(COUNTER)), data, folder, **options)


class Careless(TaggerTraining):
    """Replaces whatever is there."""

    def train(self, data: Any, folder: Any, **options: Any) -> Any:
        if Path(folder).is_dir():
            shutil.rmtree(folder)
        return super().train(data, folder, **options)


class Secretive(TaggerTraining):
    """Makes a file that it does not name."""

    files = TaggerTraining.files[1:]


class Trusting(TaggerTraining):
    """Takes a damaged folder for a good one."""

    @classmethod
    def load(cls, folder: Any) -> Tagger:
        try:
            return super().load(folder)
        except ValueError:
            return Tagger.train([["a"]], [["X"]])


class Stubborn(TaggerTraining):
    """Decodes the same whatever the weights."""

    @classmethod
    def load(cls, folder: Any) -> Tagger:
        return _loaded(
            folder, lambda found, forests, k, weights, **how: Tagger.best(found, forests, k, found.weights, **how)
        )


class Talkative(TaggerTraining):
    """Gives more than was asked for."""

    @classmethod
    def load(cls, folder: Any) -> Tagger:
        return _loaded(folder, lambda found, forests, k, weights, **how: Tagger.best(found, forests, 9, weights, **how))


class Disorderly(TaggerTraining):
    """Puts the parts of its inputs together in another order."""

    @classmethod
    def load(cls, folder: Any) -> Tagger:
        return _loaded(folder, Tagger.best, joined=lambda found, parts: Tagger.joined(found, parts[::-1]))


def _loaded(folder: Any, best: Callable[..., Any], **others: Any) -> Tagger:
    found = TaggerTraining.load(folder)
    kind = type("Broken", (Tagger,), {"best": best, **others})
    return kind(found.tags, found.transitions, found.lexicon, found.suffixes, found.settings)  # type: ignore[no-any-return]


BROKEN = {
    Forgetful: "other bytes",
    Careless: "must be refused",
    Secretive: "does not name",
    Trusting: "must be refused",
    Stubborn: "weights do not change",
    Talkative: "more than k",
    Disorderly: "forests of parts",
}


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_broken_systems_are_seen(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=BROKEN[kind]):
        checked(tiny_system("tagger")._replace(training=kind()), tmp_path)


# what systems share -------------------------------------------------------------------------------------------------


def test_a_loop_takes_a_system_as_its_decoder(tmp_path: Path) -> None:
    tiny = tiny_system("tagger")
    tiny.make(tmp_path / "tagger")
    system = TaggerTraining.load(tmp_path / "tagger")
    loop = Loop(system, MERT(restarts=1), METRICS["accuracy"](), tmp_path / "run", rounds=2)
    model = loop.run(Inputs(tiny.inputs[:4], each=1))  # sentences of a treebank carry their tags
    assert set(model.weights) == set(system.weights)


def test_lists_are_jackknifed_in_one_way(tmp_path: Path) -> None:
    write_texts(tmp_path)
    for name in ("tagger", "parser"):
        tiny = tiny_system(name)
        items = tiny.training.items(tiny.data(tmp_path))
        found = jackknifed_lists(tiny.training, items, 3, 2)
        assert found.ids == ("0", "1", "2", "3")
        assert found.references is not None
        by_hand = tiny.training.fit(items[2:]).lists(items[:2], 3)
        assert list(found.texts or ())[: by_hand.hypotheses] == list(by_hand.texts or ())
