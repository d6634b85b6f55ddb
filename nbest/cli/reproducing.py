"""What `nbest reproduce` does, once its arguments are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nbest.base.errors import ParameterError
from nbest.cli.console import Console
from nbest.cli.reproduce import Reproduce
from nbest.cli.targets import refuse_overwriting
from nbest.papers import paper as find_paper
from nbest.papers.run import Paper, Run
from nbest.report import Table
from nbest.runs.steps import duration, select


def run(call: Reproduce) -> None:
    """Run the steps, say where the report is."""
    console = Console(quiet=call.quiet)
    chosen = find_paper(call.paper)
    folder = Path(call.output or call.paper)
    systems = None if call.systems is None else Path(call.systems)
    work = Run(
        folder, Path(call.data or "."), call.quick, call.seed, threads=call.threads, systems=systems, say=console.say
    )
    if call.list_steps:
        _list(console, chosen, work, call.only or ())
        return
    if call.data is None or not Path(call.data).is_dir():
        got = "nothing" if call.data is None else repr(call.data)
        raise ParameterError(f"--data must name a folder with {chosen.needs}; got {got}")
    refuse_overwriting([str(folder)], [call.data])
    with console.progress(call.paper) as update, console.convergence():
        work.progress = update
        work.reproduce(chosen, resume=call.resume, only=call.only or ())
    console.say(f"{folder / 'report.md'}: tables, figures and what differs")


def _list(console: Console, chosen: Paper, work: Run, only: Sequence[str]) -> None:
    """The steps, about how long each takes, and which the directory has done."""
    rows: list[tuple[str, str, str | None]] = []
    left = 0.0
    for step in select(chosen.steps(work), only):
        took = work.seconds(step.name)
        left += 0.0 if took is not None else 60 * step.minutes
        rows.append((step.name, duration(60 * step.minutes), None if took is None else f"done in {duration(took)}"))
    console.say(f"{chosen.citation}\nneeds {chosen.needs}")
    console.show(Table(("step", "about", ""), [*rows, ("left", duration(left), None)], missing=""), out=True)
