"""`nbest convert`: from one format to another."""

from __future__ import annotations

from typing import Annotated

import typer

from nbest.cli import options as o


def convert(
    source: Annotated[str, typer.Argument(help="Lists in any known format; - is stdin.")],
    target: Annotated[
        str, typer.Argument(help="Where to write; the suffix says the format (.gz, .xz packed); - is stdout.")
    ],
    source_format: Annotated[
        str | None, typer.Option("--from", help="Format of the source, where guessing fails.")
    ] = None,
    target_format: Annotated[
        str | None, typer.Option("--to", help="Format of the target (default: by suffix, else jsonl).")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", help="NAME=VALUE for the reader (n=10, manifest=dev.json, total=true ...)."),
    ] = None,
    refs: o.Refs = None,
    dedupe: Annotated[bool, typer.Option("--dedupe", help="Drop repeated texts of a list.")] = False,
    top: Annotated[
        int | None,
        typer.Option("--top", min=1, help="Keep only the first hypotheses of each list; of forests: their best."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Weights that rank the derivations of forests (default: their own).")
    ] = None,
    prune: Annotated[
        float | None,
        typer.Option("--prune", min=0.0, max=1.0, help="Of forests: drop edges whose posterior is smaller."),
    ] = None,
    gamma: Annotated[
        float | None,
        typer.Option(
            "--gamma", min=0.0, help="Sharpness of that posterior (default: the model's; for own weights 1 / largest)."
        ),
    ] = None,
    quiet: o.Quiet = False,
) -> None:
    """Convert candidate lists and forests between formats; docs/formats.md says what each keeps.

    From forests to lists with --top: the best distinct strings. From lists to forests: a forest of one node each.

    [bold]Examples[/bold]

      nbest convert generate.log dev.jsonl

      nbest convert beams.tsv dev.jsonl.xz --from nemo --option manifest=dev.json

      nbest convert dev.jsonl dev.nbest --top 50 --dedupe

      nbest convert lattices/ dev.forests.jsonl.gz --prune 1e-4 --model model.json

      nbest convert lattices/ dev.jsonl --top 100 --model model.json
    """
    from nbest.cli.converting import ConvertCall, run

    run(
        ConvertCall(source, target, source_format, target_format, option, refs, dedupe, top, model, prune, gamma, quiet)
    )
