"""Jackknifed lists of a translator: who decodes what, on which workers, and what is done again."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sacremoses")

from nbest.base.errors import ParameterError
from nbest.compute.executors import using
from nbest.model.loglinear import LogLinear
from nbest.systems.jackknife import fold_indices
from nbest.systems.translator import folds
from nbest.systems.translator.folds import FoldLists, without_fold
from nbest.systems.translator.system import ParallelText, TranslatorLists, TranslatorTraining
from nbest.systems.translator.translator import Translator
from tests.compute.elsewhere import Elsewhere
from tests.systems.test_translator import corpus

ASKED = TranslatorLists(folds=3, lists="unused", k=5, fold_sentences=4, fold_words=12, beam=10)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> FoldLists:
    """A translator of 60 sentences; number 31 has words that no other one has."""
    place = tmp_path_factory.mktemp("folds")
    sides = [list(side) for side in corpus(60, 1)]
    sides[0][31], sides[1][31] = "Le quokka dort .", "The quokka sleeps ."
    sides[0][33] = sides[1][7] = ""
    for name, lines in zip(("fr", "en"), sides, strict=True):
        (place / name).write_text("".join(f"{line}\n" for line in lines))
    (place / "more").write_text("The wombat sleeps .\n")
    data = ParallelText(source=str(place / "fr"), target=str(place / "en"), languages="fr-en")
    TranslatorTraining(lm_order=2).train(data, place / "fr-en", threads=1)
    return FoldLists(place / "fr-en", data, ASKED, 1)


def anew(lists: FoldLists, **changes: Any) -> FoldLists:
    """The same, with nothing done yet."""
    for path in (lists.folder / "work" / "folds").glob("*"):
        path.unlink()
    return replace(lists, asked=replace(lists.asked, **changes))


def test_lists_are_by_a_translator_of_the_other_folds(trained: FoldLists) -> None:
    found = anew(trained).all_folds()
    assert len(found) == 12
    system = Translator.load(trained.folder)
    sides = [Path(path).read_text().splitlines() for path in (trained.data.source, trained.data.target)]
    for others, own in fold_indices(60, 3):
        mine = [i for i, name in enumerate(found.ids) if int(name) in own]
        assert len(mine) == 4
        other = without_fold(system, trained.folder, others, 1)
        for i in mine:
            row = int(found.ids[i])
            assert all(0 < len(side[row].split()) <= 12 for side in sides)
            alone = other.lists([sides[0][row]], 5, beam=10)
            part = found.select([i])
            assert list(part.texts or ()) == list(alone.texts or ())
            assert (part.features == alone.features).all()
            assert part.references == ((other.references([sides[1][row]])[0],),)


def test_what_a_fold_has_not_seen(trained: FoldLists) -> None:
    system = Translator.load(trained.folder)
    (others, own), *_ = [fold for fold in fold_indices(60, 3) if 31 in fold[1]]
    other = without_fold(system, trained.folder, others)
    assert 31 in own
    for known, each in ((True, system), (False, other)):
        assert ("sleeps" in each.lm.vocabulary) == known
        assert bool(each.table.look_up(["dort"])) == known
    more = without_fold(system, trained.folder, others, more=["the wombat sleeps ."])
    assert {"wombat", "sleeps"} <= set(more.lm.vocabulary)
    whole = without_fold(system, trained.folder, np.arange(60))
    assert (len(whole.table), whole.lm.vocabulary) == (len(system.table), system.lm.vocabulary)


def test_further_texts_are_for_all_folds(trained: FoldLists, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    plain = folds.without_fold
    monkeypatch.setattr(folds, "without_fold", lambda *a, more=(): given.append(list(more)) or plain(*a, more=more))
    text = str(Path(trained.data.source).parent / "more")
    replace(anew(trained, fold_sentences=1), data=replace(trained.data, lm_text=[text])).all_folds()
    assert given == [["the wombat sleeps ."]] * 3


def test_workers_make_the_same_lists(trained: FoldLists) -> None:
    here = anew(trained).all_folds()
    kept = trained.folder / "work" / "folds"
    files = {path.name: path.read_bytes() for path in kept.glob("*.gz")}
    assert len(files) == 3
    told: list[tuple[int, int]] = []
    with using(Elsewhere(2)) as executor:
        there = anew(trained).all_folds(lambda *each: told.append(each))
    assert there == here
    assert executor.passes == 1
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert {path.name: path.read_bytes() for path in kept.glob("*.gz")} == files


def test_what_was_done_is_not_done_again(trained: FoldLists, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    plain = FoldLists.decoded

    def decoded(lists: FoldLists, number: int) -> Any:
        done.append(number)
        if lists.threads == 77:
            raise ZeroDivisionError("the machine broke")
        return plain(lists, number)

    monkeypatch.setattr(FoldLists, "decoded", decoded)

    def redone(lists: FoldLists) -> list[int]:
        done.clear()
        lists.all_folds()
        return done

    lists = anew(trained)
    assert redone(lists) == [1, 2, 3]
    assert redone(lists) == []
    kept = lists.folder / "work" / "folds"
    (kept / "2-of-3.jsonl.gz").unlink()
    (kept / "3-of-3.jsonl.gz").write_bytes(b"x")
    assert redone(lists) == [2, 3]
    assert redone(replace(lists, asked=replace(ASKED, k=4))) == [1, 2, 3]
    LogLinear({"lm": 1.0, "length": 1.0}).save(lists.folder / "weights.json")
    try:
        assert redone(replace(lists, asked=replace(ASKED, k=4))) == [1, 2, 3]
    finally:
        (lists.folder / "weights.json").unlink()
    (kept / "2-of-3.jsonl.gz").unlink()
    with pytest.raises(ZeroDivisionError) as raised:
        replace(lists, threads=77).all_folds()
    assert raised.value.__notes__ == ["in fold 1 of 3 of jackknife"]


def test_what_cannot_be_done(trained: FoldLists, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no sentence of fold 1 has 1 to 1 words on both sides"):
        anew(trained, fold_words=1).all_folds()
    links = trained.folder / "work" / "links.txt"
    moved = links.rename(tmp_path / "links.txt")
    with pytest.raises(ParameterError, match=r"has no links.txt, which folds need"):
        anew(trained).all_folds()
    moved.rename(links)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray's own
def test_workers_of_a_cluster_one_of_which_is_killed(trained: FoldLists) -> None:
    pytest.importorskip("ray", reason="needs the extra ray: pip install 'nbest[ray]'")
    from nbest.compute.ray_executor import Ray

    kept = trained.folder / "work" / "folds"
    here = anew(trained).all_folds()
    files = {path.name: path.read_bytes() for path in kept.glob("*.gz")}
    with Ray(workers=2) as workers, using(workers):
        process = workers.map(eval, ["__import__('os').getpid()"])[0]
        killer = threading.Timer(0.05, os.kill, (process, signal.SIGKILL))
        lists = anew(trained)
        killer.start()
        there = lists.all_folds()
        killer.join()
        workers.map(eval, ["0"] * 4)
        assert workers.crew.lost_count == 1
    assert there == here
    assert {path.name: path.read_bytes() for path in kept.glob("*.gz")} == files
