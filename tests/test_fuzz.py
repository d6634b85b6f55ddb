"""Damaged files of every kind, and that the harness sees every kind of defect."""

from __future__ import annotations

import ctypes
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from nbest.base.errors import FormatError
from nbest.testing.fuzz import ACCEPTED, BROKEN, FINE, FOREIGN, REFUSED, bench_of, fuzz, main, shares
from nbest.testing.fuzz_kinds import KINDS, Kind
from nbest.testing.mutations import MUTATIONS, mutate
from nbest.testing.trials import CRASHED, HUNG, MEMORY, run_trials

CASES = 4000


@pytest.mark.parametrize("name", KINDS)
def test_only_our_own_errors_come_out(name: str) -> None:
    cases = shares(CASES, list(KINDS))[name]
    tally = fuzz(name, cases, seed=7)
    assert tally.counts.total() == cases
    assert [odd for odd in tally.odd if odd[1] not in FINE] == []
    assert tally.counts[REFUSED] > cases // 5


def _careful(path: Path) -> None:
    if path.read_bytes() != b"valid 1 2 3\n":
        raise FormatError(path, None, "is damaged")


def _foreign(path: Path) -> None:
    assert path.read_bytes()
    int(path.read_text().split()[1])


def _sloppy(path: Path) -> None:
    assert path.read_bytes() == b"valid 1 2 3\n", "something else was accepted"


def _crashing(path: Path) -> None:
    if not path.read_bytes().startswith(b"v"):
        ctypes.string_at(0)


def _slow(path: Path) -> None:
    while not path.read_bytes().startswith(b"va"):
        time.sleep(0.01)


def _greedy(path: Path) -> None:
    if not path.read_bytes().startswith(b"va"):
        bytearray(1 << 33)


class _LongError(FormatError):
    def __str__(self) -> str:
        return "x" * 5000


def _wordy(path: Path) -> None:
    if not path.read_bytes().startswith(b"va"):
        raise _LongError(path, None, "")


def _make(folder: Path) -> Mapping[Path, Path]:
    folder.mkdir()
    (folder / "file").write_bytes(b"valid 1 2 3\n")
    return {folder / "file": folder / "file"}


@pytest.mark.parametrize(
    ("read", "outcomes", "defect"),
    [
        (_careful, {REFUSED, ACCEPTED}, None),
        (_foreign, {FOREIGN, BROKEN, ACCEPTED}, FOREIGN),
        (_sloppy, {BROKEN, ACCEPTED}, BROKEN),
        (_crashing, {CRASHED, ACCEPTED}, CRASHED),
        (_slow, {HUNG, ACCEPTED}, HUNG),
        (_greedy, {MEMORY, ACCEPTED}, MEMORY),
        (_wordy, {BROKEN, ACCEPTED}, BROKEN),
    ],
)
def test_defects_are_seen(read: Callable[[Path], None], outcomes: set[str], defect: str | None) -> None:
    cases, seconds = (15, 0.5) if read is _slow else (300, 60.0)
    tally = fuzz("own", cases, 3, processes=2, seconds=seconds, kinds={"own": Kind(_make, read, 1)})
    assert tally.counts.total() == cases
    assert set(tally.counts) <= outcomes
    assert defect is None or tally.counts[defect] > 0
    assert {outcome for _, outcome, _ in tally.odd} == (
        {defect} if defect in (CRASHED, HUNG) else set(tally.counts) - set(FINE)
    )


def test_every_mutation_changes_something() -> None:
    data = b'{"a": [1, 2.5, "text"], "b": {"c": null}}\n0 ||| the text ||| LM= -1.5 ||| 3\n' * 3
    for mutation in MUTATIONS:
        assert any(mutation(data, random.Random(seed), [b"other"]) != data for seed in range(10))
    assert mutate(data, random.Random(1)) == mutate(data, random.Random(1))
    for mutation in MUTATIONS:
        mutation(b"", random.Random(1), [])


def test_cases_are_the_same_in_any_process() -> None:
    with bench_of("references", 5) as first, bench_of("references", 5) as second:
        for case in range(50):
            assert first.damaged(case)[1] == second.damaged(case)[1]


def test_all_cases_are_tried_once() -> None:
    tally = run_trials(lambda case: ("even" if case % 2 == 0 else "odd", ""), range(1001), processes=3)
    assert tally.counts == {"even": 501, "odd": 500}


def test_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--cases", "40", "references"]) == 0
    assert "references: " in capsys.readouterr().out
    assert main(["--only", "0", "references"]) == 0
