"""`nbest demo`: the whole job on bundled lists."""

from __future__ import annotations

from dataclasses import dataclass

from nbest.base.parameters import parameter
from nbest.cli import commands as c

REPORT = "nbest-demo.html"


@dataclass(frozen=True, kw_only=True)
class Demo(c.ThreadsOption, c.Quiet, c.AsJson):
    """Tune, rerank and compare on bundled lists of a speech recogniser, in under a minute; then look at the report.

    [bold]Example[/bold]

      nbest demo

      nbest demo --quick
    """

    quick: bool = parameter(False, "The default method alone, on half of the lists; a report only where -o names one.")

    output: str | None = parameter(
        None, f"Where to write the report, a web page (default {REPORT}; with --json none).", flags=("--output", "-o")
    )

    def run(self) -> None:
        """Do it and say so."""
        from nbest.cli.demonstrating import run

        run(self)
