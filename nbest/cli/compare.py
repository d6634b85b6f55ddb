"""`nbest compare`: several methods, honestly."""

from __future__ import annotations

from typing import Annotated

import typer

from nbest.cli import options as o

_DENSE, _SPARSE = "risk,mert,likelihood,grid,random", "risk,likelihood,mira,boosting,msr2"


def compare(
    dev: o.Lists,
    refs: o.Refs = None,
    metric: o.MetricName = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", help=f"Methods, NAME,NAME (default {_DENSE}; with sparse features {_SPARSE})."),
    ] = None,
    test: Annotated[list[str], typer.Option("--test", help="Test lists, looked at once.")] = [],  # noqa: B006
    test_refs: Annotated[list[str] | None, typer.Option("--test-refs", help="Their references.")] = None,
    heldout: Annotated[
        list[str] | None, typer.Option("--heldout", help="Held-out lists, to choose settings on.")
    ] = None,
    heldout_refs: Annotated[list[str] | None, typer.Option("--heldout-refs", help="Their references.")] = None,
    split: Annotated[
        float, typer.Option("--split", min=0.01, max=0.9, help="Without --heldout: share of dev to hold out.")
    ] = 0.25,
    add: Annotated[str | None, typer.Option("--add", help="Features to add: length, frequency, ...")] = None,
    only: Annotated[str | None, typer.Option("--features", help="Use only these features.")] = None,
    drop: Annotated[str | None, typer.Option("--drop", help="Leave these features out.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the methods and of the split.")] = 1,
    tokenize: o.Tokenize = None,
    lowercase: o.Lowercase = False,
    column: o.Column = None,
    format: o.FormatName = None,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
    as_json: o.AsJson = False,
) -> None:
    """Tune several methods on dev, choose settings on held-out data, report test once, with p-values.

    [bold]Example[/bold]

      nbest compare dev.nbest --refs dev.ref --metric bleu --test test.nbest --test-refs test.ref

      nbest compare dev.jsonl --metric wer --methods mert,likelihood --heldout held.jsonl --test test.jsonl
    """
    from nbest.base.errors import ParameterError
    from nbest.cli.comparing import show
    from nbest.cli.console import Console
    from nbest.cli.loading import Source, columns, measure, read_lists, wanted, warn_of_labels, warn_of_overlap
    from nbest.cli.options import refuse_rest, separate
    from nbest.corpus import split as cut
    from nbest.evaluation.comparison import compare as run
    from nbest.features import fit_recipes

    if methods is not None and not methods.strip(","):
        raise ParameterError("--methods names none")
    if not test:
        raise ParameterError("nbest compare needs --test LISTS to report on")
    console = Console(quiet=quiet)
    paths, given = separate(dev)
    how = measure(metric, given, tokenize, lowercase, column, None)
    refuse_rest(given, type(how.metric))
    sets = {}
    for name, lists, references in (
        ("dev", paths, refs),
        ("test", test, test_refs),
        ("held-out", heldout, heldout_refs),
    ):
        if lists:
            sets[name] = how.measured(read_lists(Source(lists, references, format), console))
    whole = sets["dev"]
    tuned = whole if "held-out" in sets else cut(whole, 1.0 - split, seed)[0]
    added = fit_recipes(tuned, wanted(add))  # held-out segments must not shape the features
    sets = {name: columns(corpus, added, only, drop) for name, corpus in sets.items()}
    warn_of_labels(console, sets["dev"])
    for name, other in (("test", "dev"), ("test", "held-out"), ("held-out", "dev")):
        if name in sets and other in sets:
            warn_of_overlap(console, name, sets[name], other, sets[other])
    methods = methods or (_DENSE if sets["dev"].sparse is None else _SPARSE)
    names = [name for name in methods.split(",") if name]
    with console.progress("tuning") as update, console.convergence():
        table = run(
            sets["dev"],
            sets["test"],
            names,
            heldout=sets.get("held-out"),
            holdout=split,
            common={"threads": threads, "seed": seed},
            seed=seed,
            progress=update,
        )
    show(table, console, as_json)
