"""`nbest loop`: tune a decoder by decoding again."""

from __future__ import annotations

from typing import Annotated

import typer

from nbest.cli import options as o


def loop(
    dev: Annotated[list[str], typer.Argument(help="What is decoded: a file, whose name is passed on to a command.")],
    decoder: Annotated[
        str, typer.Option("--decoder", help="Command with {weights}, {input}, {output}, {k}; or a system's directory.")
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="Directory of the run.")],
    refs: o.Refs = None,
    metric: o.MetricName = None,
    method: Annotated[
        str, typer.Option("--method", "-M", help="risk, mert, likelihood, pro, mira, ...: see docs/methods.md.")
    ] = "risk",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    start: Annotated[
        str | None,
        typer.Option("--start", help="First weights: a model, NAME=VALUE,NAME=VALUE or zero (systems have their own)."),
    ] = None,
    heldout: Annotated[str | None, typer.Option("--heldout", help="Held-out input; chooses the round.")] = None,
    heldout_refs: Annotated[list[str] | None, typer.Option("--heldout-refs", help="Its references.")] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Rounds at most.")] = 20,
    k: Annotated[int, typer.Option("--k", min=1, help="Candidates of each segment in a round.")] = 200,
    forests: Annotated[bool, typer.Option("--forests", help="Train on forests, if the decoder gives them.")] = False,
    grid: Annotated[
        list[str] | None, typer.Option("--grid", help="Settings tried on held-out: NAME=VALUE,VALUE; repeatable.")
    ] = None,
    format: o.FormatName = None,
    weight_file: Annotated[
        str, typer.Option("--weights-format", help="Of {weights}: json, moses or lines (name value).")
    ] = "json",
    unit: Annotated[str | None, typer.Option("--unit", help="Feature whose weight the command takes as 1.")] = None,
    shell: Annotated[bool, typer.Option("--shell", help="Run the command by the shell.")] = False,
    limit: Annotated[float | None, typer.Option("--limit", help="Seconds that a run of the command may take.")] = None,
    retries: Annotated[int, typer.Option("--retries", min=0, help="Further tries of a command that failed.")] = 1,
    keep: Annotated[bool, typer.Option("--keep", help="Keep weights and output of each run of the command.")] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Option of a system's decoder: beam=50; repeatable.")
    ] = None,
    tokenize: o.Tokenize = None,
    lowercase: o.Lowercase = False,
    column: o.Column = None,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
    as_json: o.AsJson = False,
) -> None:
    """Decode with the current weights, add the new candidates, tune on all of them, and again, until nothing is new.

    Each round is on disk before the next begins: the same command with --resume goes on after any stop and ends with
    the same weights. The directory holds what was run, all candidates, a model a round, the curve (report.md,
    curve.svg), what the command wrote to standard error, and the chosen model.json. Further options are those of the
    method and the metric, as in nbest tune.

    In a command, {weights} is a file with the weights, {weight:NAME} one of them, {input} the input file, {k} the
    number of candidates, {output} where lists or lattices are expected, in any format that nbest reads (without it,
    standard output). No shell runs it unless --shell is given.

    [bold]Examples[/bold]

      nbest loop dev.src --decoder 'mydecoder -w {weights} -i {input} -n {k} -o {output}' --refs dev.ref --metric bleu
      --start 'lm=0.5,tm=0.2,length=0' --method mert -o run

      nbest loop dev.fr --decoder translator.fr-en --refs dev.en --heldout held.fr --heldout-refs held.en --metric bleu
      --tokenize none --set beam=50 -o run

      nbest loop dev.scp --decoder 'recognise --lw {weight:lm} --wip {weight:words} {input} {output}' --refs dev.ref
      --metric wer --start 'am=1,lm=8,words=0' --unit am --limit 600 -o run --resume
    """
    from nbest.cli.looping import LoopCall, run

    run(
        LoopCall(
            dev=dev, decoder=decoder, refs=refs, metric=metric, method=method,
            output=output, resume=resume, start=start, heldout=heldout, heldout_refs=heldout_refs, rounds=rounds, k=k,
            forests=forests, grid=grid, format=format, weight_file=weight_file, unit=unit, shell=shell, limit=limit,
            retries=retries, keep=keep, settings=settings, tokenize=tokenize, lowercase=lowercase, column=column,
            threads=threads, quiet=quiet, as_json=as_json,
        )
    )  # fmt: skip
