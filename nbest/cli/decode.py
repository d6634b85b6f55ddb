"""`nbest decode`: run base systems; texts, lists or forests come out."""

from __future__ import annotations

from typing import Annotated

import typer

from nbest.cli import options as o

app = typer.Typer(
    name="decode",
    help="Run base systems: texts, lists or forests come out.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _systems() -> None:
    """Keeps `translator` a command of its own while it is the only one."""


@app.command()
def translator(
    system: Annotated[str, typer.Argument(help="Directory of nbest train translator.")],
    text: Annotated[str, typer.Argument(help="Text to translate, one sentence a line (.gz, .xz too); - is stdin.")],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="Texts, or by its suffix lists or forests (.forests.jsonl.gz); - is stdout."
        ),
    ] = "-",
    to: Annotated[str | None, typer.Option("--to", help="text, or a format of lists or forests.")] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Weights of nbest tune (default: those of the directory).")
    ] = None,
    refs: Annotated[
        list[str] | None,
        typer.Option("--refs", "-r", help="References, raw text, to keep with lists and forests; repeat for several."),
    ] = None,
    beam: Annotated[int, typer.Option("--beam", min=1, help="Nodes a span.")] = 100,
    span_limit: Annotated[int, typer.Option("--span-limit", min=1, help="Longest span that may be reordered.")] = 12,
    k: Annotated[int, typer.Option("--k", min=1, help="Lists: how many distinct translations.")] = 200,
    decision: Annotated[str, typer.Option("--decision", "-d", help="Texts: 1best, consensus or mbr.")] = "1best",
    longest: Annotated[int, typer.Option("--longest", min=1, help="Most tokens of a sentence.")] = 200,
    raw: Annotated[bool, typer.Option("--raw", help="Texts as tokens, not detokenised.")] = False,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
) -> None:
    """Translate texts by a phrasal inversion transduction grammar.

    Lists and forests hold tokens, truecased, and so do the references kept with them: tune on them with
    --metric bleu --tokenize none.

    [bold]Examples[/bold]

      nbest decode translator fr-en test.fr > test.out

      nbest decode translator fr-en dev.fr --refs dev.en -o dev.forests.jsonl.gz

      nbest decode translator fr-en test.fr --model model.json --decision consensus -o test.out
    """
    from nbest.cli.decoding import DecodeCall, run

    run(DecodeCall(system, text, output, to, model, refs, beam, span_limit, k, decision, longest, raw, threads, quiet))
