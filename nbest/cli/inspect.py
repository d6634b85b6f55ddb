"""`nbest inspect`: what is in lists, forests or a model, and what is wrong with them."""

from __future__ import annotations

from typing import Annotated

import typer

from nbest.cli import options as o


def inspect(
    lists: o.Lists,
    refs: o.Refs = None,
    metric: o.MetricName = None,
    against: Annotated[
        str | None, typer.Option("--against", help="Other lists (your test set): do the two overlap?")
    ] = None,
    against_refs: Annotated[list[str] | None, typer.Option("--against-refs", help="Their references.")] = None,
    tokenize: o.Tokenize = None,
    lowercase: o.Lowercase = False,
    column: o.Column = None,
    scores: o.ScoresFile = None,
    format: o.FormatName = None,
    top: Annotated[
        int | None,
        typer.Option("--top", min=0, help="Of a model: how many of its strongest sparse features to show (20)."),
    ] = None,
    as_json: o.AsJson = False,
) -> None:
    """Show sizes, features and, with references, the scores of simple choices; find what breaks tuning.

    Lists and forests (lattices, hypergraphs) alike. Of a model file: how it was tuned, its scores, its strongest
    features.

    [bold]Examples[/bold]

      nbest inspect dev.nbest

      nbest inspect dev.nbest --refs dev.ref --metric bleu --against test.nbest --against-refs test.ref

      nbest inspect lattices/ --refs dev.ref --metric wer

      nbest inspect model.json --top 50
    """
    from nbest.cli.inspecting import InspectCall, run

    run(
        InspectCall(
            lists, refs, metric, against, against_refs, tokenize, lowercase, column, scores, format, top, as_json
        )
    )
