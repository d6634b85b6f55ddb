"""One flipped bit in any file of a system is refused or without effect; with sums made anew nothing crashes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from nbest.base.errors import FormatError
from nbest.testing.flips import CHANGED, REFUSED, SAME, check_flips, reseal
from nbest.testing.tiny_systems import TINY


@pytest.fixture(scope="module", params=list(TINY))
def system(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    if request.param == "translator":
        pytest.importorskip("sacremoses")
    folder = tmp_path_factory.mktemp("tiny") / request.param
    TINY[request.param].make(folder)
    return request.param, folder


def test_a_flip_is_refused_or_without_effect(system: tuple[str, Path]) -> None:
    name, folder = system
    found = check_flips(folder, TINY[name].use, 50, seed=3)
    assert found.only(REFUSED, SAME), found.odd
    assert found.counts[REFUSED] > 25


def test_no_flip_crashes_where_sums_are_made_anew(system: tuple[str, Path]) -> None:
    name, folder = system
    found = check_flips(folder, TINY[name].use, 50, seed=4, resealed=True)
    assert found.only(REFUSED, SAME, CHANGED), found.odd


@pytest.mark.slow
@pytest.mark.parametrize("resealed", [False, True])
def test_two_thousand_flips(system: tuple[str, Path], resealed: bool) -> None:
    name, folder = system
    found = check_flips(folder, TINY[name].use, 2000, resealed=resealed)
    assert found.only(REFUSED, SAME, *([CHANGED] if resealed else [])), found.odd[:10]


# the check itself ---------------------------------------------------------------------------------------------------


@pytest.fixture
def letter(tmp_path: Path) -> Path:
    (tmp_path / "letter").mkdir()
    (tmp_path / "letter" / "a.txt").write_bytes(b"a" * 8)
    return tmp_path / "letter"


def _text(folder: Path) -> bytes:
    return (folder / "a.txt").read_bytes()


def _careful(folder: Path) -> bytes:
    if _text(folder) != b"a" * 8:
        raise FormatError(folder, None, "is damaged")
    return _text(folder)


def _crashing(folder: Path) -> bytes:
    if _text(folder)[0] != ord("a"):
        os.kill(os.getpid(), signal.SIGSEGV)
    return b""


def _foreign(folder: Path) -> int:
    return int(_text(folder) == b"a" * 8) or 1 // 0


def _slow(folder: Path) -> bytes:
    if _text(folder) != b"a" * 8:
        time.sleep(60)
    return b""


def test_the_check_sees_what_is_wrong(letter: Path) -> None:
    assert check_flips(letter, _careful, 20).counts == {REFUSED: 20}
    assert check_flips(letter, lambda folder: 1, 20).counts == {SAME: 20}
    assert check_flips(letter, _text, 20).counts == {CHANGED: 20}
    assert check_flips(letter, _foreign, 3).counts == {"foreign": 3}
    found = check_flips(letter, _crashing, 40)
    assert set(found.counts) == {SAME, "crashed"}
    assert found.counts.total() == 40
    assert "crashed: a.txt, bit" in found.odd[0]
    assert check_flips(letter, _slow, 1, seconds=0.3).counts == {"hung": 1}


def test_the_same_seed_flips_the_same_bits(letter: Path) -> None:
    assert check_flips(letter, _text, 10, seed=5).odd == check_flips(letter, _text, 10, seed=5).odd
    assert check_flips(letter, _text, 10, seed=5).odd != check_flips(letter, _text, 10, seed=6).odd


def test_what_cannot_be_used_at_all_is_said(letter: Path) -> None:
    with pytest.raises(FileNotFoundError):
        check_flips(letter, lambda folder: (folder / "none").read_bytes(), 3)


def test_sums_made_anew_are_right(system: tuple[str, Path]) -> None:
    _, folder = system
    before = {path: path.read_bytes() for path in folder.rglob("*.nlm")}
    reseal(folder)
    assert {path: path.read_bytes() for path in before} == before
