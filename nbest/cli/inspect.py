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

    [bold]Examples[/bold]

      nbest inspect dev.nbest

      nbest inspect dev.nbest --refs dev.ref --metric bleu --against test.nbest --against-refs test.ref
    """
    from dataclasses import asdict

    from nbest.cli.console import Console, number, print_json
    from nbest.cli.loading import Source, measure, read_lists
    from nbest.cli.options import refuse_rest, separate
    from nbest.inspection import inspect as look

    console = Console()
    paths, given = separate(lists)
    how = None if metric is None else measure(metric, given, tokenize, lowercase, column, scores)
    refuse_rest(given, *([] if how is None else [type(how.metric)]))
    corpus = read_lists(Source(paths, refs, format), console)
    corpus = corpus if how is None else how.measured(corpus)
    other = None if against is None else read_lists(Source([against], against_refs, format), console)
    found = look(corpus, other)
    if as_json:
        print_json(asdict(found))
        return
    distinct = "" if found.distinct_texts is None else f", {found.distinct_texts} distinct texts"
    print(
        f"{found.segments} segments, {found.hypotheses} hypotheses "
        f"({found.shortest} to {found.longest} a list{distinct}), "
        f"{len(found.features)} features"
        + (f" and {found.sparse_features} sparse ones" if found.sparse_features else "")
    )
    if how is not None:
        print(f"{how.metric.name}: " + ", ".join(f"{name} {number(value)}" for name, value in found.scores.items()))
    header = ["feature", "lowest", "highest", "mean", "spread in lists"]
    header += ["1-best by it", "by minus it"] if how is not None else []
    rows = []
    for each in found.features:
        row = [each.name, *(f"{value:.4g}" for value in (each.low, each.high, each.mean, each.spread))]
        rows.append(row + ([number(each.score or 0.0), number(each.reverse_score or 0.0)] if how is not None else []))
    console.table(header, rows, out=True)
    for finding in found.findings:
        print(f"! {finding}")
    if not found.findings:
        print("nothing wrong found" + ("" if how else "; with --refs and --metric more can be checked"))
