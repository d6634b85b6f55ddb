"""`nbest score`: score outputs, with signatures, and test their differences."""

from __future__ import annotations

from dataclasses import dataclass

from nbest.base.parameters import parameter
from nbest.cli import commands as c


@dataclass(frozen=True, kw_only=True)
class Score(c.MetricOptions, c.AnswerOption, c.AsJson):
    """Score outputs against references; every score carries its signature.

    Outputs with ids (id TAB text of nbest rerank --ids, the JSON lines of nbest rerank --json, or id text where the
    references have the same ids) are matched by id. Outputs without ids are segments 0, 1, ... by line.

    [bold]Examples[/bold]

      nbest score out.txt --refs test.ref --metric bleu,chrf

      nbest score baseline.txt tuned.txt --refs test.ref --metric wer --test bootstrap --normalize whisper
    """

    outputs: list[str] = parameter(
        ..., "Outputs, one text a line or by id; with several, each is tested against the first.", flags=("outputs",)
    )
    refs: list[str] = parameter(..., "References, one a line or by id; repeat for several.", flags=("--refs", "-r"))
    metric: str = parameter("bleu", "Metrics: bleu,chrf,wer ...", flags=("--metric", "-m"))
    test: str = parameter("permutation", "permutation, bootstrap or wilcoxon.")
    seed: int = parameter(12345, "Seed of the test.")

    def run(self) -> None:
        """Score, test, print."""
        from nbest.cli.scoring import run

        run(self)
