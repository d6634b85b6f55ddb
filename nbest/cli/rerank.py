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
    decision: Annotated[str, typer.Option("--decision", "-d", help="1best, mbr, or first (of each list).")] = "1best",
    gain: Annotated[str, typer.Option("--gain", help="What mbr measures: bleu, chrf, wer, cer, ...")] = "bleu",
    gamma: Annotated[
        float, typer.Option("--gamma", min=0.0, help="Sharpness of mbr's posterior; large is 1best.")
    ] = 1.0,
    evidence: Annotated[
        int, typer.Option("--evidence", min=1, help="Most probable hypotheses mbr measures against.")
    ] = 100,
    output: Annotated[str, typer.Option("--output", "-o", help="Chosen texts, one a line; - is stdout.")] = "-",
    format: o.FormatName = None,
    quiet: o.Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line: id, text, index, score.")] = False,
) -> None:
    """Choose the best hypothesis of each list with a tuned model; the chosen texts, one a line.

    An empty list gives an empty line.

    [bold]Examples[/bold]

      nbest rerank test.nbest --model model.json > out.txt

      nbest rerank test.nbest --decision first > first.txt

      nbest rerank test.nbest --model model.json --decision mbr --gain chrf -o out.txt
    """
    import json

    from nbest.cli.console import Console
    from nbest.cli.loading import Source, read_lists
    from nbest.decisions import DECISIONS
    from nbest.errors import CapabilityError, ParameterError, look_up
    from nbest.files import write_text
    from nbest.model import LogLinear, load

    console = Console(quiet=quiet)
    decide = look_up(DECISIONS, decision, "decision")
    if model is None and decision != "first":
        raise ParameterError(f"nbest rerank --decision {decision} needs --model FILE")
    if model == "-" and "-" in test:
        raise ParameterError("only one input can come from standard input (-)")
    chosen_model = LogLinear({}) if model is None else load(model)
    corpus = read_lists(Source(test, None, format), console)
    if corpus.texts is None:
        raise CapabilityError(f"{test[0]}: these lists carry no texts to choose from")
    unused = [name for name in corpus.feature_names if name not in chosen_model.weights]
    if unused and model is not None:
        console.say(f"{test[0]}: the model has no weight for {', '.join(unused)}; not used")
    with console.progress("deciding") as update:
        done = 0

        def step(count: int) -> None:
            nonlocal done
            done += count
            update(done, len(corpus))

        extra = {"gain": gain, "gamma": gamma, "evidence": evidence, "progress": step} if decision == "mbr" else {}
        choice = decide(chosen_model, corpus, **extra)
    texts = ["" if h < 0 else " ".join(corpus.texts[h].splitlines()) for h in choice]
    if as_json:
        scores = chosen_model.scores(corpus)
        rows = [
            {
                "id": name,
                "text": text,
                "index": int(h - low) if h >= 0 else None,
                "score": float(scores[h]) if h >= 0 else None,
            }
            for name, text, h, low in zip(corpus.ids, texts, choice, corpus.offsets[:-1], strict=True)
        ]
        texts = [json.dumps(row, ensure_ascii=False) for row in rows]
    write_text(output, "".join(f"{text}\n" for text in texts))
