"""Many small trials in child processes, each of which may raise, hang, end its process or ask for all memory."""

from __future__ import annotations

import faulthandler
import multiprocessing
import resource
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Trial = Callable[[int], tuple[str, str]]
"""Tries a case by its number: the outcome, and what was said where the outcome is odd."""
CRASHED, HUNG, MEMORY = "crashed", "hung", "memory"
_TOLD = 200  # cases between two reports of a child


@dataclass
class Tally:
    """How often each outcome was met, and each odd one with its case."""

    counts: Counter[str] = field(default_factory=Counter)
    odd: list[tuple[int, str, str]] = field(default_factory=list)  # case, outcome, what was said

    def add(self, other: Tally) -> None:
        """Count in what another one has met."""
        self.counts += other.counts
        self.odd += other.odd


def run_trials(
    trial: Trial, cases: range, *, processes: int = 1, seconds: float = 20.0, memory: int = 2 << 30, told: Any = None
) -> Tally:
    """Try all cases, shared out evenly; a case that takes `seconds` has hung, one more than `memory` bytes beyond what
    the process has now is refused by the system. `told(done)` hears of progress."""
    shares = [_Share(trial, cases[k::processes], memory) for k in range(min(processes, len(cases)))]
    for share in shares:
        share.start()
    tally = Tally()
    while any(share.alive for share in shares):
        time.sleep(0.02)
        for share in shares:
            share.look(seconds)
        if told is not None:
            told(sum(share.done for share in shares))
    for share in shares:
        tally.add(share.tally)
    return tally


class _Share:
    """Cases of one child, which is started again after the case that ended it."""

    def __init__(self, trial: Trial, cases: range, memory: int) -> None:
        self.trial, self.cases, self.memory = trial, cases, memory
        self.tally, self.begin, self.alive = Tally(), 0, True
        self.context = multiprocessing.get_context("fork")  # what is compiled here need not be compiled there

    def start(self) -> None:
        """Begin with the first case that was not tried yet."""
        self.at = self.context.Value("q", self.begin, lock=False)
        self.here, there = self.context.Pipe(duplex=False)
        arguments = (self.trial, self.cases, self.begin, self.memory, self.at, there)
        self.child = self.context.Process(target=_work, args=arguments, daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a fork where there are threads
            self.child.start()
        there.close()
        self.seen, self.since = self.begin, time.monotonic()

    @property
    def done(self) -> int:
        """How many cases were tried."""
        return len(self.cases) if not self.alive else int(self.at.value)

    def look(self, seconds: float) -> None:
        """Hear what the child has to say, and see whether it hangs or is gone."""
        try:
            while self.alive and self.here.poll():
                self.begin, heard = self.here.recv()
                self.tally.add(heard)
        except EOFError:
            self._ended()
            return
        if self.at.value != self.seen:
            self.seen, self.since = int(self.at.value), time.monotonic()
        elif time.monotonic() - self.since > seconds and self.seen < len(self.cases):
            self.child.kill()
            self._over(HUNG, f"more than {seconds:g} s")

    def _ended(self) -> None:
        self.child.join()
        if self.begin == len(self.cases):
            self.alive = False
        else:
            self._over(CRASHED, f"exit {self.child.exitcode}")

    def _over(self, outcome: str, said: str) -> None:
        """Go on after a case that ended the child; what it had not told of the cases before is tried again."""
        self.child.join()
        last = int(self.at.value)
        if last < len(self.cases):
            self.tally.counts[outcome] += 1
            self.tally.odd.append((self.cases[last], outcome, said))
        if last > self.begin:
            self.tally.add(run_trials(self.trial, self.cases[self.begin : last], memory=self.memory))
        self.begin = last + 1
        if self.begin >= len(self.cases):
            self.alive = False
        else:
            self.start()


def _work(trial: Trial, cases: range, begin: int, memory: int, at: Any, answers: Any) -> None:
    """In the child."""
    warnings.simplefilter("ignore")
    faulthandler.disable()  # a crash is an outcome, told by the parent
    _limit(memory)
    tally = Tally()
    for place in range(begin, len(cases)):
        at.value = place
        outcome, said = _outcome(trial, cases[place])
        tally.counts[outcome] += 1
        if said:
            tally.odd.append((cases[place], outcome, said))
        if (place + 1 - begin) % _TOLD == 0:
            answers.send((place + 1, tally))
            tally = Tally()
    at.value = len(cases)
    answers.send((len(cases), tally))


def _outcome(trial: Trial, case: int) -> tuple[str, str]:
    try:
        return trial(case)
    except MemoryError as error:
        return MEMORY, f"MemoryError: {error}"


def _limit(memory: int) -> None:
    """At most so many bytes more than now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + memory, hard))
