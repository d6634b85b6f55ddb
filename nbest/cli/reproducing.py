"""What `nbest reproduce` does, once its arguments are known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nbest.cli.console import Console
from nbest.errors import ParameterError
from nbest.reproduce import paper as find_paper
from nbest.reproduce.run import Run


@dataclass(frozen=True)
class ReproduceCall:
    """The arguments of `nbest reproduce`."""

    paper: str
    data: str
    output: str | None
    quick: bool
    resume: bool
    only: list[str] | None
    list_steps: bool
    systems: str | None
    seed: int
    threads: int | None
    quiet: bool


def run(call: ReproduceCall) -> None:
    """Run the steps, say where the report is."""
    console = Console(quiet=call.quiet)
    chosen = find_paper(call.paper)
    if not Path(call.data).is_dir():
        raise ParameterError(f"--data must name a folder, got {call.data!r}; it needs {chosen.needs}")
    folder = Path(call.output or call.paper)
    systems = None if call.systems is None else Path(call.systems)
    work = Run(folder, Path(call.data), call.quick, call.seed, call.threads, systems, say=console.say)
    if call.list_steps:
        rows = [(step.name, f"{step.minutes:g}") for step in chosen.steps(work)]
        console.table(("step", "minutes, about"), rows, out=True)
        return
    with console.progress(call.paper) as update, console.convergence():
        work.progress = update
        work.reproduce(chosen, resume=call.resume, only=call.only or ())
    console.say(f"{folder / 'report.md'}: tables, figures and what differs")
