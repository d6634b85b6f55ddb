"""`nbest reproduce`: a paper's tables and figures on real data."""

from __future__ import annotations

from dataclasses import dataclass

from nbest.base.parameters import parameter
from nbest.cli import commands as c
from nbest.papers import PAPERS


@dataclass(frozen=True, kw_only=True)
class Reproduce(c.EngineOption, c.Quiet):
    """Run a paper's experiments: tables beside the paper's own numbers, figures as pictures, and what differs.

    The directory gets report.md, report.json and the pictures, all written anew after every step. A run that was
    stopped goes on with --resume after the last step that was finished. A full run takes hours, a quick one minutes.
    With --engine, steps that do not need each other run side by side on its workers.

    [bold]Examples[/bold]

      nbest reproduce --list

      nbest reproduce pauls-2009 --only example -o example

      nbest reproduce smith-eisner-2006 --list

      nbest reproduce smith-eisner-2006 --data data --quick -o out

      nbest reproduce smith-eisner-2006 --data data --only 'fr-en*' --systems systems -o paper1

      nbest reproduce smith-eisner-2006 --data data --systems systems -o paper1 --resume

      nbest reproduce yuan-2007 --data data -o paper3 --engine ray://head:10001
    """

    paper: str | None = parameter(None, f"One of {', '.join(PAPERS)}.", flags=("paper",))
    data: str | None = parameter(
        None, "Folder with the data (docs/reproduce.md says how it is laid out); steps that read none need none."
    )
    output: str | None = parameter(None, "Directory of the run (default: the paper's name).", flags=("--output", "-o"))
    quick: bool = parameter(False, "Small: minutes instead of hours.")
    resume: bool = parameter(False, "Go on with a run that was stopped.")
    only: list[str] | None = parameter(None, "Run only these steps, * and ? allowed; repeatable.")
    list_steps: bool = parameter(
        False,
        "Show the steps, about how long they take and which are done, or without a paper all papers; run none.",
        flags=("--list",),
    )
    systems: str | None = parameter(
        None, "Where base systems are found and kept, for several runs (default: in the run)."
    )
    seed: int = parameter(1, "Seed of all that is drawn at random.")

    def run(self) -> None:
        """Run the steps, say where the report is."""
        from nbest.cli.reproducing import run

        run(self)
