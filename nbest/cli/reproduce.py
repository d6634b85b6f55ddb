"""`nbest reproduce`: a paper's tables and figures on real data."""

from __future__ import annotations

from typing import Annotated

import typer

from nbest.cli import options as o


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(help="smith-eisner-2006, nguyen-2007, yuan-2007, jagarlamudi-2012 or pauls-2009."),
    ],
    data: Annotated[
        str | None, typer.Option("--data", help="Folder with the data (docs/reproduce.md says how it is laid out).")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Directory of the run (default: the paper's name).")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small: minutes instead of hours.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Run only these steps, * and ? allowed; repeatable.")
    ] = None,
    list_steps: Annotated[
        bool, typer.Option("--list", help="Show the steps, about how long they take and which are done; run none.")
    ] = False,
    systems: Annotated[
        str | None,
        typer.Option(
            "--systems", help="Where base systems are found and kept, for several runs (default: in the run)."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all that is drawn at random.")] = 1,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
) -> None:
    """Run a paper's experiments: tables beside the paper's own numbers, figures as pictures, and what differs.

    The directory gets report.md, report.json and the pictures, all written anew after every step. A run that was
    stopped goes on with --resume after the last step that was finished. A full run takes hours, a quick one minutes.

    [bold]Examples[/bold]

      nbest reproduce smith-eisner-2006 --list

      nbest reproduce smith-eisner-2006 --data data --quick -o out

      nbest reproduce smith-eisner-2006 --data data --only 'fr-en*' --systems systems -o paper1

      nbest reproduce smith-eisner-2006 --data data --systems systems -o paper1 --resume
    """
    from nbest.cli.reproducing import ReproduceCall, run

    run(
        ReproduceCall(
            paper=paper, data=data, output=output, quick=quick, resume=resume, only=only, list_steps=list_steps,
            systems=systems, seed=seed, threads=threads, quiet=quiet,
        )
    )  # fmt: skip
