"""`nbest inspect`: what is in lists, and what is wrong with them."""

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
    as_json: o.AsJson = False,
) -> None:
    """Show sizes, features and, with references, the scores of simple choices; find what breaks tuning.

    Lists and forests (lattices, hypergraphs) alike.

    [bold]Examples[/bold]

      nbest inspect dev.nbest

      nbest inspect dev.nbest --refs dev.ref --metric bleu --against test.nbest --against-refs test.ref

      nbest inspect lattices/ --refs dev.ref --metric wer
    """
    from nbest.cli.inspecting import InspectCall, run

    run(InspectCall(lists, refs, metric, against, against_refs, tokenize, lowercase, column, scores, format, as_json))
