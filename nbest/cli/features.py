"""`nbest features`: add columns to lists and write them."""

from __future__ import annotations

from typing import Annotated

import typer

from nbest.cli import options as o

app = typer.Typer(
    name="features",
    help="Add features to lists.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _kinds() -> None:
    """Keeps `add-lm` a command of its own while it is the only one."""


@app.command("add-lm")
def add_lm(
    lists: Annotated[str, typer.Argument(help="Candidate lists, any known format; - is stdin.")],
    output: Annotated[
        str, typer.Argument(help="Where to write; the suffix says the format (.gz, .xz packed); - is stdout.")
    ],
    lm: Annotated[str, typer.Option("--lm", help="Language model: ARPA (SRILM, lmplz, ...; packed or not) or .nlm.")],
    name: Annotated[str, typer.Option("--name", help="Name of the feature; NAME_oov counts unknown words.")] = "lm",
    source_format: Annotated[
        str | None, typer.Option("--from", help="Format of the lists, where guessing fails.")
    ] = None,
    target_format: Annotated[
        str | None, typer.Option("--to", help="Format to write (default: by suffix, else jsonl).")
    ] = None,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
) -> None:
    """Add to every hypothesis its log probability by an n-gram language model, and how many words that does not know.

    The words must be those of the model: tokenised and cased as the text it was trained on.

    [bold]Examples[/bold]

      nbest features add-lm dev.nbest dev.lm.jsonl --lm lm.nlm

      nbest features add-lm dev.jsonl.xz out.nbest.gz --lm news.arpa.gz --name news
    """
    from nbest.cli.training_lm import AddCall, add

    add(AddCall(lists, output, lm, name, source_format, target_format, threads, quiet))
