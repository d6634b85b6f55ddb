"""Runs of steps on disk: resuming, locks, what is refused and what is done anew."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbest.base.errors import FormatError, ParameterError
from nbest.runs import RunFolder, Step
from nbest.runs.lock import Lock
from nbest.runs.steps import duration, time_left


def writing(folder: Path, calls: list[str], name: str, **options: Any) -> Step:
    """A step that writes NAME.txt."""

    def work() -> dict[str, Any]:
        calls.append(name)
        (folder / f"{name}.txt").write_text(name)
        return {"length": len(name)}

    return Step(name, work, makes=(f"{name}.txt",), **options)


def opened(place: RunFolder, said: list[str] | None = None, resume: bool = False, **settings: Any) -> Any:
    said = [] if said is None else said
    return place.opened(settings, {"versions": "a"}, resume=resume, say=said.append)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)


def test_a_step_is_done_once_and_its_result_is_on_disk(tmp_path: Path) -> None:
    calls: list[str] = []
    place = RunFolder(tmp_path / "run")
    with opened(place, size=3):
        first = place.do(writing(place.path, calls, "one"))
        assert place.do(writing(place.path, calls, "one")) == first
    assert calls == ["one"]
    assert first["length"] == 3
    record = json.loads((place.path / "steps" / "one.json").read_text())
    assert list(record["files"]) == ["one.txt"]
    assert "seconds" not in record  # nobody said what it costs, so results are the same bits every time


@pytest.mark.parametrize("damage", [flip, Path.unlink])
def test_changed_files_are_named_or_made_anew(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    calls: list[str] = []
    place = RunFolder(tmp_path / "run")
    plain, made = writing(place.path, calls, "plain"), writing(place.path, calls, "made", made_from=[1])
    with place.working():
        place.do(plain)
        place.do(made)
        damage(place.path / "plain.txt")
        damage(place.path / "made.txt")
        with pytest.raises(FormatError, match=r"plain\.txt: is (damaged|missing)"):
            place.check(plain)
        place.do(plain)
        place.do(made)
    assert calls == ["plain", "made", "made"]
    assert (place.path / "made.txt").read_text() == "made"


def test_what_a_step_is_made_from_decides(tmp_path: Path) -> None:
    calls: list[str] = []
    place = RunFolder(tmp_path / "run")
    with place.working():
        for made_from in ([1], [1], [2], {"a": 2}, {"a": 2}):
            place.do(writing(place.path, calls, "x", made_from=made_from))
        assert len(calls) == 3
        (place.path / "steps" / "x.json").write_text('{"len')
        place.do(writing(place.path, calls, "x", made_from={"a": 2}))
    assert len(calls) == 4


def test_a_whole_folder_is_there_or_not(tmp_path: Path) -> None:
    def fill(folder: Path) -> dict[str, Any]:
        (folder / "half.txt").write_text("half")
        if fail:
            raise RuntimeError("stopped")
        return {"done": True}

    place = RunFolder(tmp_path / "run", records="{}.json")
    step = Step("steps/01/made", fill, place="steps/01", whole=True)
    with place.working():
        fail = True
        with pytest.raises(RuntimeError):
            place.do(step)
        assert not (place.path / "steps" / "01").exists()
        fail = False
        assert place.do(step)["done"]
        place.check(step)
        flip(place.path / "steps" / "01" / "half.txt")
        with pytest.raises(FormatError, match=r"01/half\.txt"):
            place.check(step)


def test_other_settings_are_refused_by_name_and_other_versions_said(tmp_path: Path) -> None:
    place, said = RunFolder(tmp_path / "run"), list[str]()
    with opened(place, said, seed=1):
        pass
    with opened(place, said, seed=2):  # nothing was done: nothing is lost
        place.do(Step("x", dict))
    with pytest.raises(ParameterError, match=r"holds a run; resume it"), opened(place, said, seed=2):
        pass
    with pytest.raises(ParameterError, match="begun with seed 2, now it is 3"), opened(place, said, True, seed=3):
        pass
    assert said == []
    with place.opened({"seed": 2}, {"versions": "b"}, resume=True, say=said.append):
        assert said == ["warning: the run was begun with versions a, now it is b; results may differ"]


def test_what_was_left_half_made_goes(tmp_path: Path) -> None:
    place = RunFolder(tmp_path / "run")
    with place.working():
        pass
    (place.path / "steps" / ".01.x.part").mkdir()
    (place.path / "steps" / ".02.x.old").mkdir()
    (place.path / ".run.json.x.part").write_text("{")
    with place.working():
        assert [each.name for each in (place.path / "steps").iterdir()] == ["02"]  # what was moved away came back
        assert not (place.path / ".run.json.x.part").exists()


# locks --------------------------------------------------------------------------------------------------------------


def test_a_second_process_is_refused_and_told_who_is_there(tmp_path: Path) -> None:
    place = RunFolder(tmp_path / "run")
    with (
        place.working(),
        pytest.raises(ParameterError, match=f"another process is working in .*run: {os.getpid()} on .*wait for it"),
        place.working(),
    ):
        pass
    with place.working():
        pass


_HOLDER = """
import sys, time
from pathlib import Path
from nbest.runs import RunFolder, Step

place = RunFolder(Path(sys.argv[1]), shared=len(sys.argv) > 2)

def wait():
    print("working", flush=True)
    time.sleep(60)

with place.working() as lock:
    if place.shared:
        lock.share()
    place.do(Step("long", wait))
"""


def holding(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    """A process that is at the step "long"."""
    process = subprocess.Popen([sys.executable, "-c", _HOLDER, str(folder), *more], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"working\n"
    return process


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    place = RunFolder(tmp_path / "run")
    process = holding(place.path)
    try:
        with pytest.raises(ParameterError, match=f"run: {process.pid} on "), place.working():
            pass
    finally:
        kill(process)
    with place.working():
        assert place.do(Step("long", lambda: {"value": 1})) == {"value": 1}


def test_processes_share_a_directory_but_no_step(tmp_path: Path) -> None:
    place = RunFolder(tmp_path / "run", shared=True)
    process = holding(place.path, "shared")
    try:
        with place.working():
            assert place.do(Step("short", lambda: {"value": 1})) == {"value": 1}
            with pytest.raises(ParameterError, match=f"another process is at the step 'long' .*: {process.pid} on"):
                place.do(Step("long", dict))
    finally:
        kill(process)
    with place.working() as lock:
        lock.share()
        assert place.do(Step("long", lambda: {"value": 2})) == {"value": 2}
    assert sorted(each.name for each in (place.path / "steps").iterdir()) == ["long.json", "short.json"]


def test_a_step_that_another_process_did_meanwhile_is_not_done_again(tmp_path: Path) -> None:
    calls: list[str] = []
    place = RunFolder(tmp_path / "run", shared=True)

    def first() -> dict[str, Any]:
        RunFolder(tmp_path / "run", shared=True).do(writing(place.path, calls, "second"))
        return {}

    with opened(place):
        steps = [Step("first", first, 1.0), writing(place.path, calls, "second", minutes=1.0)]
        place.do_all(steps, steps, say=lambda line: None, after=lambda: None)
    assert calls == ["second"]


def test_a_lock_is_shared_only_after_it_is_given_up(tmp_path: Path) -> None:
    with Lock(tmp_path / "lock") as one, Lock(tmp_path / "lock") as other:
        assert one.take()
        assert not other.take()
        one.share()
        other.share()
        assert not one.take()


def test_where_there_are_no_locks_work_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(file: Any, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", none)
    place = RunFolder(tmp_path / "run", shared=True)
    with opened(place):
        assert place.do(Step("x", lambda: {"value": 1})) == {"value": 1}


# time ---------------------------------------------------------------------------------------------------------------


def test_what_is_left_follows_what_was_taken() -> None:
    steps = [Step(name, time.sleep, 1.0) for name in "abcd"]  # type: ignore[arg-type]
    assert time_left(steps, steps, {}) == "4 min"
    assert time_left(steps, steps[2:], {"a": 60.0, "b": 60.0}) == "2 min"
    assert time_left(steps, steps[2:], {"a": 600.0, "b": 600.0}) == "17 min"
    assert time_left(steps, [], {}) == "0 s"
    assert [duration(value) for value in (89, 90, 5399, 5400)] == ["89 s", "2 min", "90 min", "1.5 h"]
