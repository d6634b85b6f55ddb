"""`nbest score`: score outputs, with signatures, and test their differences."""

from __future__ import annotations

from typing import Annotated

import typer

from nbest.cli import options as o


def score(
    outputs: Annotated[
        list[str],
        typer.Argument(help="Outputs, one text a line or by id; with several, each is tested against the first."),
    ],
    refs: Annotated[
        list[str], typer.Option("--refs", "-r", help="References, one a line or by id; repeat for several.")
    ],
    metric: Annotated[str, typer.Option("--metric", "-m", help="Metrics: bleu,chrf,wer ...")] = "bleu",
    test: Annotated[str, typer.Option("--test", help="permutation, bootstrap or wilcoxon.")] = "permutation",
    seed: Annotated[int, typer.Option("--seed", help="Seed of the test.")] = 12345,
    tokenize: o.Tokenize = None,
    lowercase: o.Lowercase = False,
    as_json: o.AsJson = False,
) -> None:
    """Score outputs against references; every score carries its signature.

    Outputs with ids (id TAB text of nbest rerank --ids, the JSON lines of nbest rerank --json, or id text where the
    references have the same ids) are matched by id. Outputs without ids are segments 0, 1, ... by line.

    [bold]Examples[/bold]

      nbest score out.txt --refs test.ref --metric bleu,chrf

      nbest score baseline.txt tuned.txt --refs test.ref --metric wer --test bootstrap
    """
    from nbest.cli.scoring import ScoreCall, run

    run(ScoreCall(outputs, refs, metric, test, seed, tokenize, lowercase, as_json))
