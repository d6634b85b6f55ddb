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
    """Base systems; each is a command."""


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
    from nbest.cli.decoding_translator import DecodeCall, run

    run(DecodeCall(system, text, output, to, model, refs, beam, span_limit, k, decision, longest, raw, threads, quiet))


@app.command()
def tagger(
    system: Annotated[str, typer.Argument(help="Directory of nbest train tagger.")],
    text: Annotated[str, typer.Argument(help="CoNLL-U, or a sentence a line, words between spaces; - is stdin.")],
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="By its suffix CoNLL-U, lists or forests; else tags, one sentence a line."),
    ] = "-",
    to: Annotated[str | None, typer.Option("--to", help="text, conllu, or a format of lists or forests.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Weights of nbest tune (default: 1 and 1).")] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="Lists: how many tag sequences.")] = 10,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
    as_json: o.AsJson = False,
) -> None:
    """Tag words. Where a CoNLL-U file has tags, they become the references, and the accuracy is reported.

    [bold]Examples[/bold]

      nbest decode tagger tagger test.conllu -o tagged.conllu

      nbest decode tagger tagger dev.conllu -o dev.jsonl --k 10

      echo "The cat sat ." | nbest decode tagger tagger -
    """
    from nbest.cli.decoding_tagger import DecodeCall, run

    run(DecodeCall(system, text, output, to, model, k, threads, quiet, as_json))


@app.command()
def parser(
    system: Annotated[str, typer.Argument(help="Directory of nbest train parser.")],
    text: Annotated[str, typer.Argument(help="Tagged sentences, CoNLL-U (.gz, .xz too); - is stdin.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="By its suffix lists or forests, else CoNLL-U; - is stdout.")
    ] = "-",
    to: Annotated[str | None, typer.Option("--to", help="conllu, text, or a format of lists or forests.")] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Weights of nbest tune (default: those of the directory).")
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="Lists: how many trees.")] = 200,
    labels_an_arc: Annotated[
        int, typer.Option("--labels-an-arc", min=1, help="Lists and forests: relations tried for an arc.")
    ] = 3,
    arc_floor: Annotated[
        float, typer.Option("--arc-floor", min=0.0, help="Lists and forests: least probability of an arc.")
    ] = 1e-4,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
    as_json: o.AsJson = False,
) -> None:
    """Parse tagged sentences. Where they have trees, these become the references, and LAS and UAS are reported.

    [bold]Examples[/bold]

      nbest decode parser parser test.conllu -o parsed.conllu

      nbest decode parser parser dev.conllu -o dev.jsonl.gz --k 200

      nbest decode parser parser test.conllu --model model.json -o test.forests.jsonl.gz
    """
    from nbest.cli.decoding_parser import DecodeCall, run

    limits = {"labels_an_arc": labels_an_arc, "arc_floor": arc_floor}
    run(DecodeCall(system, text, output, to, model, k, limits, threads, quiet, as_json))


@app.command()
def converter(
    system: Annotated[str, typer.Argument(help="Directory of nbest train converter.")],
    text: Annotated[str, typer.Argument(help="Kana, one sentence a line (.gz, .xz too); - is stdin.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Texts, or by its suffix lists or forests; - is stdout.")
    ] = "-",
    to: Annotated[str | None, typer.Option("--to", help="text, or a format of lists or forests.")] = None,
    given: Annotated[
        str,
        typer.Option("--input", help="kana, or read: training text, whose readings are converted and words kept."),
    ] = "kana",
    model: Annotated[
        str | None, typer.Option("--model", help="Weights of nbest tune (default: those of the directory).")
    ] = None,
    refs: Annotated[
        list[str] | None, typer.Option("--refs", "-r", help="References to keep with lists and forests; repeat.")
    ] = None,
    beam: Annotated[int, typer.Option("--beam", min=1, help="States of the language model at a position.")] = 20,
    margin: Annotated[
        float, typer.Option("--margin", min=0.0, help="Keep what is within this of the best derivation's score.")
    ] = 20.0,
    k: Annotated[int, typer.Option("--k", min=1, help="Lists: how many texts that differ in characters.")] = 100,
    decision: Annotated[str, typer.Option("--decision", "-d", help="Texts: 1best, consensus or mbr.")] = "1best",
    fold: Annotated[bool, typer.Option(help="Read katakana of the text as hiragana.")] = True,
    words: Annotated[bool, typer.Option("--words", help="Texts with spaces between words.")] = False,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
) -> None:
    """Convert kana into Japanese text.

    Lists and forests hold words between spaces; measure them by characters without spaces.

    [bold]Examples[/bold]

      nbest decode converter news kana.txt > text.txt

      nbest decode converter news dev.read.tsv.xz --input read -o dev.jsonl.gz --k 20

      nbest decode converter news kana.txt --model model.json -o text.txt
    """
    from nbest.cli.decoding_converter import DecodeCall, run

    run(
        DecodeCall(system, text, output, to, given, model, refs, beam, margin, k, decision, fold, words, threads, quiet)
    )
