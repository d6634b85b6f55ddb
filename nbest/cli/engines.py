"""Who runs the passes of a command, and on what: `--engine`, `--workers`, `--threads` and `--device`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import Any

from nbest.base.ending import cleaning_up
from nbest.base.errors import ParameterError
from nbest.cli.console import Console
from nbest.compute.executors import EXECUTORS, Executor, executor_of, using


@contextmanager
def working(given: dict[str, Any]) -> Iterator[None]:
    """The device and the executor that options ask for, while a command runs."""
    with _on(given.get("device")), _run_by(given):
        yield


def _on(device: str | None) -> AbstractContextManager[None]:
    if device is None:
        return nullcontext()
    from nbest.objectives.backends import computing_on

    return computing_on(device)


@contextmanager
def _run_by(given: dict[str, Any]) -> Iterator[None]:
    """With an engine, threads are those of each worker."""
    engine, workers = given.get("engine"), given.get("workers")
    if engine is None:
        if workers is not None:
            raise ParameterError("--workers is for --engine ray; threads of this process are --threads")
        with using(executor_of(given["threads"])):
            yield
        return
    executor = _made(engine, workers, given["threads"], Console(quiet=bool(given.get("quiet"))))
    given["threads"] = None  # inside of the workers
    with cleaning_up(), closing(executor), using(executor):
        yield


def _made(engine: str, workers: int | None, threads: int | None, console: Console) -> Executor:
    name, _, address = engine.partition(":")
    kind = EXECUTORS.look_up(name)
    if name in ("serial", "threads"):
        if workers is not None or address:
            raise ParameterError(f"--engine {name} has no workers and no address; --threads says how many threads")
        if name == "serial" and threads not in (None, 1):
            raise ParameterError(f"--engine serial has one thread, got --threads {threads}; leave it out")
        return kind() if name == "serial" else kind(threads)
    address = engine if address.startswith("//") else address
    return kind(address or None, workers=workers, cores=threads, say=console.say)
