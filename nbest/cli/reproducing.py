"""What `nbest reproduce` does, once its arguments are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nbest.base.errors import ParameterError
from nbest.cli.console import Console
from nbest.cli.reproduce import Reproduce
from nbest.cli.targets import refuse_overwriting
from nbest.papers import PAPERS
from nbest.papers import paper as find_paper
from nbest.papers.run import Paper, Run
from nbest.report import Column, Table
from nbest.runs.steps import duration, select


def run(call: Reproduce) -> None:
    """Run the steps, say where the report is."""
    console = Console(quiet=call.quiet)
    if call.paper is None:
        _list_papers(console, call)
        return
    chosen = find_paper(call.paper)
    folder = Path(call.output or call.paper)
    data, systems = (None if given is None else Path(given) for given in (call.data, call.systems))
    work = Run(folder, data, call.quick, call.seed, threads=call.threads, systems=systems, say=console.say)
    if call.list_steps:
        _list(console, chosen, work, call.only or ())
        return
    _check_data(chosen, work, call.only or ())
    refuse_overwriting([str(folder)], [call.data])
    with console.progress(call.paper) as update, console.convergence():
        work.progress = update
        work.reproduce(chosen, resume=call.resume, only=call.only or ())
    console.say(f"{folder / 'report.md'}: tables, figures and what differs")


def _check_data(chosen: Paper, work: Run, only: Sequence[str]) -> None:
    """Complain where a step begins with data, and there are none; others say themselves what they lack."""
    if work.data is not None and not work.data.is_dir():
        raise ParameterError(f"--data must name a folder with {chosen.needs}; got {str(work.data)!r}")
    todo = [step for step in select(chosen.steps(work), only) if work.seconds(step.name) is None]
    reading = chosen.reading(todo)
    if work.data is None and reading:
        raise ParameterError(f"--data must name a folder with {chosen.needs}; got nothing, and {reading[0]} reads them")


def _list_papers(console: Console, call: Reproduce) -> None:
    """All papers, about how long each takes, and the data that it needs; an error where no list was asked for."""
    if not call.list_steps:
        raise ParameterError(f"name a paper: {', '.join(PAPERS)}; nbest reproduce --list says what each is and needs")
    rows, notes = [], []
    for name in PAPERS:
        each = find_paper(name)
        full, quick = (duration(60 * each.minutes(quick=quick)) for quick in (False, True))
        rows.append((name, full, quick, each.citation))
        notes.append(f"{name} needs {each.needs}")
    columns = ("paper", "about", "--quick", Column("what", align="left"))
    notes.append("nbest reproduce PAPER --list shows its steps; docs/reproduce.md says where data are to be had")
    console.show(Table(columns, rows, notes=notes), out=True)


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
