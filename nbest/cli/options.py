"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Lists = Annotated[list[str], typer.Argument(help="Candidate lists, any known format; several are merged; - is stdin.")]
Refs = Annotated[
    list[str] | None,
    typer.Option(
        "--refs", "-r", help="References, one a line; repeat for several (not needed if the lists carry them)."
    ),
]
MetricName = Annotated[
    str | None,
    typer.Option("--metric", "-m", help="bleu, chrf, chrf++, ter, wer, cer, exact, accuracy, f1, las, external, ..."),
]
Tokenize = Annotated[
    str | None, typer.Option("--tokenize", help="BLEU's tokeniser: 13a (default), none, intl, char, zh.")
]
Lowercase = Annotated[bool, typer.Option("--lowercase", "-lc", help="Ignore case in the metric.")]
Column = Annotated[
    str | None,
    typer.Option("--column", help="With --metric external: the feature that holds the scores; it is not tuned."),
]
ScoresFile = Annotated[
    str | None,
    typer.Option("--scores", help="With --metric external: a file with a score for each hypothesis, one a line."),
]
FormatName = Annotated[str | None, typer.Option("--format", "-f", help="Format of the lists, where guessing fails.")]
Threads = Annotated[
    int | None, typer.Option("--threads", "-j", min=1, help="Threads (default: all cores); never changes results.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no messages, only warnings and errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Results as JSON on stdout.")]
