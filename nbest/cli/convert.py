"""`nbest convert`: from one format to another."""

from __future__ import annotations

from typing import Annotated

import typer

from nbest.cli import options as o


def convert(
    source: Annotated[str, typer.Argument(help="Lists in any known format; - is stdin.")],
    target: Annotated[
        str, typer.Argument(help="Where to write; the suffix says the format (.gz, .xz packed); - is stdout.")
    ],
    source_format: Annotated[
        str | None, typer.Option("--from", help="Format of the source, where guessing fails.")
    ] = None,
    target_format: Annotated[
        str | None, typer.Option("--to", help="Format of the target (default: by suffix, else jsonl).")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", help="NAME=VALUE for the reader (n=10, manifest=dev.json, total=true ...)."),
    ] = None,
    refs: o.Refs = None,
    dedupe: Annotated[bool, typer.Option("--dedupe", help="Drop repeated texts of a list.")] = False,
    top: Annotated[
        int | None, typer.Option("--top", min=1, help="Keep only the first hypotheses of each list.")
    ] = None,
    quiet: o.Quiet = False,
) -> None:
    """Convert candidate lists between formats; docs/formats.md says what each keeps.

    [bold]Examples[/bold]

      nbest convert generate.log dev.jsonl

      nbest convert beams.tsv dev.jsonl.xz --from nemo --option manifest=dev.json

      nbest convert dev.jsonl dev.nbest --top 50 --dedupe
    """
    from nbest.cli.console import Console
    from nbest.cli.loading import plain_value
    from nbest.corpus import dedupe as without_repeats
    from nbest.corpus import prune
    from nbest.errors import ParameterError
    from nbest.formats import read, read_references, write

    console = Console(quiet=quiet)
    options = {}
    for pair in option or ():
        name, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError(f"--option must be NAME=VALUE, got {pair!r}")
        options[name] = plain_value(value)
    corpus = read(source, source_format, **options)
    if refs:
        corpus = corpus.with_references(read_references(refs, corpus.ids))
    corpus = without_repeats(corpus) if dedupe else corpus
    corpus = corpus if top is None else prune(corpus, top)
    for name, origin in corpus.origins.items():
        console.say(f"{source}: feature {name!r}: {origin}")
    write(corpus, target, target_format)
    console.say(
        f"{target}: {len(corpus)} segments, {corpus.hypotheses} hypotheses, {len(corpus.feature_names)} features"
    )
