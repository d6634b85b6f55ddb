"""Steps side by side: same files in any order, failures, workers that are killed, and locks that keep them apart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nbest.base.errors import FormatError, ParameterError
from nbest.compute.executors import Serial, using
from nbest.runs import Step
from nbest.runs.steps import all_needs, chains, select, time_left
from tests.compute.elsewhere import Elsewhere
from tests.runs.toy_steps import do_all, do_marked, graph, left, place_of, steps_of, there


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("workers", [1, 4])
def test_the_same_files_as_one_after_the_other(seed: int, workers: int, tmp_path: Path) -> None:
    do_all(tmp_path / "one", seed, Serial())
    executor = Elsewhere(workers)
    do_all(tmp_path / "two", seed, executor)
    assert executor.passes == len(graph(seed))
    assert left(tmp_path / "two") == left(tmp_path / "one")
    assert len(left(tmp_path / "one")) == 2 * len(graph(seed))


def test_needs_that_are_left_out_end_otherwise(tmp_path: Path) -> None:
    """The comparison above would see it: steps that say they need nothing find files missing, some day."""
    place = place_of(tmp_path)
    steps = [Step(step.name, step.work, 0.1, place="work", needs=()) for step in steps_of(tmp_path, 1)]
    with place.working(), pytest.raises(FileNotFoundError):
        place.do(max(steps, key=lambda step: len(graph(1)[step.name])))


# what is said, and how many at once -----------------------------------------------------------------------------


class Counting(Elsewhere):
    """It knows how many steps were at work at once; each waits a moment for others."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.at_work = self.most = 0
        self.counting = threading.Condition()

    def map(self, function: Any, shards: Any, told: Any = None) -> list[Any]:
        with self.counting:
            self.at_work += 1
            self.most = max(self.most, self.at_work)
            self.counting.notify_all()
            self.counting.wait_for(lambda: self.most >= self.workers, 0.2)
        try:
            return super().map(function, shards, told)
        finally:
            with self.counting:
                self.at_work -= 1


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_as_many_at_once_as_there_are_workers(workers: int, tmp_path: Path) -> None:
    executor = Counting(workers)
    do_all(tmp_path / "run", 1, executor)
    assert executor.most == workers


def test_workers_that_join_are_given_steps(tmp_path: Path) -> None:
    """The first step ends only when the second one has begun, on a worker that joined after it."""
    both = threading.Barrier(2, timeout=30)

    class Growing(Elsewhere):
        def map(self, function: Any, shards: Any, told: Any = None) -> list[Any]:
            self.workers = 2
            both.wait()
            return super().map(function, shards, told)

    place, steps = place_of(tmp_path), [Step(name, dict, 1.0, needs=()) for name in ("one", "other")]
    with using(Growing(1)), place.opened({}, {}, resume=False, say=print):
        place.do_all(steps, steps, say=print, after=lambda: None, elsewhere=partial(do_marked, tmp_path))
    assert not both.broken


def test_workers_that_leave_are_given_no_steps(tmp_path: Path) -> None:
    """Of four workers one is left when the first step ends: from then on no step begins until all others have ended."""
    said: list[str] = []
    first = threading.Event()

    class Shrinking(Elsewhere):
        def map(self, function: Any, shards: Any, told: Any = None) -> list[Any]:
            if first.is_set():
                time.sleep(0.1 if self.workers == 4 else 0.0)
            first.set()
            return super().map(function, shards, told)

    executor = Shrinking(4)

    def say(line: str) -> None:
        said.append(line)
        executor.workers = 1 if "done in" in line else executor.workers

    place, steps = place_of(tmp_path), [Step(f"s{i}", dict, 1.0, needs=()) for i in range(9)]
    with using(executor), place.opened({}, {}, resume=False, say=print):
        place.do_all(steps, steps, say=say, after=lambda: None, elsewhere=partial(do_marked, tmp_path))
    kinds = "".join("b" if line.startswith("step ") else "d" for line in said[1:])
    assert kinds == "bbbb" + "dddd" + "bd" * 5


def test_what_began_and_what_is_done_is_said_by_this_thread(tmp_path: Path) -> None:
    said: list[str] = []
    reports: list[tuple[int, threading.Thread]] = []
    place, steps = place_of(tmp_path / "run"), steps_of(tmp_path / "run", 2)

    def after() -> None:
        reports.append((len(list((place.path / "steps").glob("*.json"))), threading.current_thread()))

    with using(Elsewhere(3)), place.opened({}, {}, resume=False, say=print):
        place.do_all(steps, steps, say=said.append, after=after, elsewhere=partial(there, place.path, 2))
    assert said[0].startswith(f"0 of {len(steps)} steps are done; about")
    began = [line.split()[4] for line in said if line.startswith("step ")]
    assert sorted(began) == [step.name for step in steps]
    assert began == list(dict.fromkeys(began))
    for step in steps:
        (line,) = [line for line in said if line.startswith(f"{step.name}: done in")]
        assert said.index(line) > next(at for at, told in enumerate(said) if f": {step.name} (about" in told)
    assert said[-1].endswith("0 at work, 0 to begin")
    assert {thread for _, thread in reports} == {threading.main_thread()}
    assert len(reports) == len(steps) + 1
    assert reports[-1][0] == len(steps)


def test_steps_of_which_nobody_knows_what_they_need_wait_for_all_before_them(tmp_path: Path) -> None:
    steps = [Step("a", dict, 1.0, needs=()), Step("b", dict, 2.0, needs=()), Step("c", dict, 3.0)]
    assert all_needs(steps) == {"a": frozenset(), "b": frozenset(), "c": {"a", "b"}}


def test_needs_go_on_and_chains_add_up() -> None:
    steps = [
        Step("a", dict, 1.0, needs=()),
        Step("b-1", dict, 5.0, needs=("a",)),
        Step("b-2", dict, 2.0, needs=()),
        Step("c", dict, 3.0, needs=("b-?",)),
        Step("d", dict, 1.0, needs=("c",)),
    ]
    needs = all_needs(steps)
    assert needs["d"] == {"a", "b-1", "b-2", "c"}
    assert needs["b-2"] == frozenset()
    assert chains(steps, needs) == {"a": 10.0, "b-1": 9.0, "b-2": 6.0, "c": 4.0, "d": 1.0}
    assert time_left(steps, steps, {}) == "12 min"
    assert time_left(steps, steps, {}, 2) == "10 min"
    assert time_left(steps, steps[:3], {}, 2) == "6 min"
    assert time_left(steps, [], {}, 2) == "0 s"


@pytest.mark.parametrize("needs", [("b",), ("c",), ("a", "x*")])
def test_needs_have_to_stand_before(needs: tuple[str, ...]) -> None:
    steps = [Step("a", dict, needs=()), Step("b", dict, needs=needs), Step("c", dict, needs=())]
    with pytest.raises(ParameterError, match=f"step 'b' needs '{needs[-1][0]}.*no step before it"):
        select(steps, ())


# failures -------------------------------------------------------------------------------------------------------


def test_after_a_failure_none_begins_and_those_at_work_end(tmp_path: Path) -> None:
    """Two are at work; one fails, the other ends later; a third, which needs neither, does not begin."""
    path = tmp_path / "run"
    failed = threading.Event()
    calls: list[str] = []

    def fail() -> dict[str, Any]:
        failed.set()
        raise ParameterError("'x' must be 1")

    def slow() -> dict[str, Any]:
        assert failed.wait(10)
        time.sleep(0.2)
        return {"value": 1}

    works = {"fails": fail, "slow": slow, "third": lambda: calls.append("third") or {}}
    steps = {name: Step(name, work, 1.0 if name == "third" else 2.0, needs=()) for name, work in works.items()}
    place, said = place_of(path), list[str]()

    class Here(Elsewhere):
        def map(self, function: Any, shards: Any, told: Any = None) -> list[Any]:
            return [function(shard) for shard in shards]

    every = list(steps.values())
    with (
        using(Here(2)),
        place.opened({}, {}, resume=False, say=print),
        pytest.raises(ParameterError, match=r"^step 'fails': 'x' must be 1$"),
    ):
        place.do_all(
            every,
            every,
            say=said.append,
            after=lambda: None,
            elsewhere=lambda name: place_of(path).do_for_another(steps[name]) and None,
        )
    assert place.found(steps["slow"]) is not None
    assert calls == []
    assert "fails: failed; 1 at work, none will begin" in said


def test_a_failed_run_is_resumed(tmp_path: Path) -> None:
    path, name = tmp_path / "run", "s07"
    do_all(tmp_path / "whole", 3, Serial())
    path.mkdir()
    (path / "run.json").write_text("{}")
    (path / "fail").write_text(name)
    with pytest.raises(FormatError, match=f"step '{name}': .*is no good"):
        do_all(path, 3, Elsewhere(2))
    waits = {step for step, needs in all_needs(steps_of(path, 3)).items() if name in needs}
    done = {file.stem for file in (path / "steps").iterdir()}
    assert not done & {*waits, name}
    (path / "fail").unlink()
    do_all(path, 3, Elsewhere(2))
    assert left(path) == left(tmp_path / "whole")


def test_interrupted_it_waits_for_nobody_and_can_be_resumed(tmp_path: Path) -> None:
    path, begun, go_on = tmp_path / "run", threading.Event(), threading.Event()

    class Stuck(Elsewhere):
        def map(self, function: Any, shards: Any, told: Any = None) -> list[Any]:
            begun.set()
            go_on.wait(60)
            raise RuntimeError("closed")

    def interrupt() -> None:
        begun.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        do_all(path, 4, Stuck(2))
    assert not go_on.is_set()
    go_on.set()
    do_all(path, 4, Serial())
    do_all(tmp_path / "whole", 4, Serial())
    assert left(path) == left(tmp_path / "whole")


# locks ----------------------------------------------------------------------------------------------------------

_WORKER = """
import sys, time
from pathlib import Path
from nbest.runs import RunFolder, Step

place = RunFolder(Path(sys.argv[1]), holds=("steps", "work"), shared=True)

def wait():
    (place.path / "work" / ".half.part").write_text("ha")
    print("working", flush=True)
    time.sleep(60)

place.do_for_another(Step("long", wait))
"""


@pytest.fixture
def at_work(tmp_path: Path) -> Any:
    """A process that is at the step "long" for one that is gone, and has half a file there."""
    with place_of(tmp_path / "run").opened({}, {}, resume=False, say=print):
        pass
    command = [sys.executable, "-c", _WORKER, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"working\n"
        yield process
        process.kill()


def test_what_a_living_worker_makes_is_not_tidied_away(at_work: Any, tmp_path: Path) -> None:
    place = place_of(tmp_path / "run")
    half = place.path / "work" / ".half.part"
    with place.opened({}, {}, resume=True, say=print):
        assert half.exists()
        with pytest.raises(ParameterError, match=f"another process is at the step 'long' .*: {at_work.pid} on"):
            place.do(Step("long", dict))
    assert half.exists()
    at_work.kill()
    at_work.wait()
    with place.opened({}, {}, resume=True, say=print):
        assert not half.exists()


def test_a_step_whose_worker_was_killed_waits_for_its_end_and_is_done_again(at_work: Any, tmp_path: Path) -> None:
    place = place_of(tmp_path / "run")
    with place.opened({}, {}, resume=True, say=print):
        threading.Timer(0.5, at_work.kill).start()
        assert place.do_for_another(Step("long", lambda: {"value": 1})) == {"value": 1}
    assert [file.name for file in (place.path / "work").iterdir()] == []
