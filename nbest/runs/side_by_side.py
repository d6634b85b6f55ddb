"""Steps side by side: on the workers of an executor, each begun when all that it needs is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from threading import Thread

from nbest.base.errors import NbestError
from nbest.compute.executors import Executor
from nbest.runs.steps import Say, Step, all_needs, chains, duration, time_left

Elsewhere = Callable[[str], None]
"""Does the step of a name on a worker."""
_LOOK = 2.0  # seconds between two looks at how many workers there are
Seconds = Callable[[Sequence[Step]], Mapping[str, float]]


class SideBySide:
    """The steps of a run that are left to do, on workers that share its directory.

    Of those that can begin, what the longest chain of others waits for begins first. This thread tells of what began
    and what is done. Where a step fails none is begun any more, those that run are waited for, and the first error is
    raised; interrupted, nothing is waited for.
    """

    def __init__(
        self, seconds: Seconds, todo: Sequence[Step], every: Sequence[Step], *, say: Say, after: Callable[[], None]
    ) -> None:
        self.seconds, self.todo, self.every, self.say, self.after = seconds, todo, every, say, after
        self.needs = all_needs(every)
        ahead = chains(todo, self.needs)
        self.waiting = sorted(todo, key=lambda step: -ahead[step.name])
        self.running: list[Step] = []
        self.errors: list[Exception] = []
        self.ended: SimpleQueue[tuple[Step, BaseException | None]] = SimpleQueue()

    def run(self, executor: Executor, function: Elsewhere) -> None:
        """Do them all; `function` does the step of a name on a worker."""
        while self.waiting or self.running:
            for step in self._ready()[: max(0, max(1, executor.workers) - len(self.running))]:
                self._begin(step, executor, function)
            if not self.running:
                break
            self._wait()
        if self.errors:
            raise self.errors[0]

    def _left(self, executor: Executor) -> str:
        open_steps = {step.name for step in (*self.waiting, *self.running)}
        todo = [step for step in self.todo if step.name in open_steps]
        return time_left(self.every, todo, self.seconds(self.every), max(1, executor.workers))

    def _ready(self) -> list[Step]:
        """Steps that may begin now."""
        if self.errors:
            return []
        missing = {step.name for step in (*self.waiting, *self.running)}
        return [step for step in self.waiting if not self.needs[step.name] & missing]

    def _begin(self, step: Step, executor: Executor, function: Elsewhere) -> None:
        number = len(self.todo) - len(self.waiting) + 1
        self.say(f"step {number} of {len(self.todo)}: {step.name} (about {self._left(executor)} left)")
        self.waiting.remove(step)
        self.running.append(step)

        def work() -> None:
            failed = None
            try:
                executor.map(function, [step.name])
            except BaseException as error:  # it is raised by the thread that waits
                failed = error
            self.ended.put((step, failed))

        Thread(target=work, name=step.name, daemon=True).start()  # a daemon: nobody waits for it after Ctrl-C

    def _wait(self) -> None:
        """Until a step ends, or for so long that there may be more workers."""
        try:
            step, failed = self.ended.get(timeout=_LOOK)
        except Empty:
            return
        self.running.remove(step)
        try:
            if failed is not None:
                raise _named(failed, step)
            took = self.seconds([step]).get(step.name)
            done = "done" if took is None else f"done in {duration(took)}"
            self.say(f"{step.name}: {done}; {len(self.running)} at work, {len(self.waiting)} to begin")
            self.after()
        except Exception as error:  # the first one is raised at the end
            self.errors.append(error)
            self.say(f"{step.name}: failed; {len(self.running)} at work, none will begin")


def _named(error: BaseException, step: Step) -> BaseException:
    """The error, which says at which step it was."""
    if isinstance(error, NbestError):
        error.args = (f"step {step.name!r}: {error}",)
    else:
        error.add_note(f"at the step {step.name!r}")
    return error
