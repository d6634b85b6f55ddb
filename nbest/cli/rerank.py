"""`nbest rerank`: choose with a model."""

from __future__ import annotations

from typing import Annotated

import typer

from nbest.cli import options as o


def rerank(
    test: o.Lists,
    model: Annotated[
        str | None, typer.Option("--model", help="Model of nbest tune, or a Moses weight file; not for first.")
    ] = None,
    lm: Annotated[
        list[str] | None,
        typer.Option("--lm", help="Language model of the model's features, if not in its folder; repeat."),
    ] = None,
    decision: Annotated[
        str, typer.Option("--decision", "-d", help="1best, mbr, consensus, or first (of each list).")
    ] = "1best",
    gain: Annotated[
        str | None,
        typer.Option("--gain", help="What mbr measures: wer, bleu, chrf, ... (default: the model's metric)."),
    ] = None,
    gamma: Annotated[
        float | None,
        typer.Option("--gamma", min=0.0, help="Sharpness of mbr and consensus (default: the model's); large is 1best."),
    ] = None,
    evidence: Annotated[
        int, typer.Option("--evidence", min=1, help="Most probable hypotheses mbr measures against.")
    ] = 100,
    order: Annotated[
        int | None, typer.Option("--order", min=1, help="Longest n-grams of consensus (default 4); 1 is word counts.")
    ] = None,
    k: Annotated[
        int, typer.Option("--k", min=1, help="From a forest: mbr and consensus choose among its k best strings.")
    ] = 1000,
    output: Annotated[str, typer.Option("--output", "-o", help="Chosen texts, one a line; - is stdout.")] = "-",
    ids: Annotated[bool, typer.Option("--ids", help="Write id TAB text, which nbest score matches by id.")] = False,
    format: o.FormatName = None,
    quiet: o.Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line: id, text, index, score.")] = False,
) -> None:
    """Choose the best hypothesis of each list, or derivation of each forest, with a tuned model; texts, one a line.

    Lines stand in the order of the ids where these are numbers, else in that of the lists. An empty list gives an empty
    line, and so does a number that is missing among the ids; --ids and --json carry the ids.
    mbr takes the hypothesis that is nearest to all others, consensus the one whose n-grams are nearest to those the
    model expects, over the whole list or forest.

    [bold]Examples[/bold]

      nbest rerank test.nbest --model model.json > out.txt

      nbest rerank test.nbest --decision first > first.txt

      nbest rerank test.nbest --model model.json --decision mbr --gain chrf -o out.txt

      nbest rerank kaldi/ --model model.json --ids -o out.tsv && nbest score out.tsv --refs text -m wer

      nbest rerank lattices/ --model model.json --decision consensus > out.txt
    """
    from nbest.cli.reranking import RerankCall, run

    run(RerankCall(test, model, lm, decision, gain, gamma, evidence, order, k, output, ids, format, quiet, as_json))
