"""`nbest tune`: learn weights from a development set."""

from __future__ import annotations

from typing import Annotated

import typer

from nbest.cli import options as o


def tune(
    dev: o.Lists,
    refs: o.Refs = None,
    metric: o.MetricName = None,
    method: Annotated[
        str, typer.Option("--method", "-M", help="risk, mert, likelihood, msr2, boosting, ...: see docs/methods.md.")
    ] = "risk",
    heldout: Annotated[
        list[str] | None, typer.Option("--heldout", help="Held-out lists, scored but not tuned on.")
    ] = None,
    heldout_refs: Annotated[list[str] | None, typer.Option("--heldout-refs", help="Their references.")] = None,
    split: Annotated[
        float, typer.Option("--split", min=0.0, max=0.9, help="Hold this share of the segments out.")
    ] = 0.0,
    split_seed: Annotated[int, typer.Option("--split-seed", help="Seed of the split.")] = 1,
    add: Annotated[str | None, typer.Option("--add", help="Features to add: length, frequency, ...")] = None,
    grid: Annotated[
        list[str] | None, typer.Option("--grid", help="Try settings on held-out lists: NAME=VALUE,VALUE; repeatable.")
    ] = None,
    only: Annotated[str | None, typer.Option("--features", help="Tune only these features: NAME,NAME.")] = None,
    drop: Annotated[str | None, typer.Option("--drop", help="Leave these features out: NAME,NAME.")] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="Model file (.ini: Moses weights); - is stdout.")] = "-",
    tokenize: o.Tokenize = None,
    lowercase: o.Lowercase = False,
    column: o.Column = None,
    scores: o.ScoresFile = None,
    format: o.FormatName = None,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn how to weigh the features of candidate lists or forests, so that the chosen outputs are best by a metric.

    mert, and risk and cobleu for BLEU, train on all derivations of a forest (lattices, hypergraphs); other methods and
    metrics on its best strings, more of them as the weights change.

    Held-out lists (--heldout, --split) or folds (--folds 5) also choose where minimum risk stops, against overfitting.
    Further options are those of the method (--folds 5, --restarts 20, --seed 1, --variance 0.5, --trials 500 ...) and
    of the metric (--smooth-method floor ...); a wrong name lists the known ones. Methods: risk, mert, cobleu,
    likelihood, softbleu, grid, random; for many sparse features msr2, msr, boosting, perceptron, mira, pro; lowdim.

    [bold]Examples[/bold]

      nbest tune dev.nbest --refs dev.ref --metric bleu -o model.json

      nbest tune dev.jsonl --metric wer --method mert --restarts 20 --seed 1 --split 0.25 -o model.json

      nbest tune dev.jsonl --metric external --column comet --add length -o model.json

      nbest tune train.jsonl --metric cer --add ngrams --method boosting --grid penalty=0,1e-4 --heldout dev.jsonl

      nbest tune lattices/ --refs dev.ref --metric wer --method mert -o model.json
    """
    from nbest.cli.tuning import TuneCall, run

    run(
        TuneCall(
            lists=dev, refs=refs, metric=metric, method=method, heldout=heldout, heldout_refs=heldout_refs, split=split,
            split_seed=split_seed, add=add, grid=grid, only=only, drop=drop, output=output, tokenize=tokenize,
            lowercase=lowercase, column=column, scores=scores, format=format, threads=threads, quiet=quiet,
            as_json=as_json,
        )
    )  # fmt: skip
