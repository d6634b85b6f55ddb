"""`nbest score`: score outputs, with signatures, and test their differences."""

from __future__ import annotations

from dataclasses import dataclass

from nbest.base.parameters import parameter
from nbest.cli import commands as c


@dataclass(frozen=True, kw_only=True)
class Score(c.MetricOptions, c.AnswerOption, c.TableOption, c.Quiet, c.AsJson):
    """Score outputs against references; every score carries its signature.

    Outputs with ids (id TAB text of nbest rerank --ids, the JSON lines of nbest rerank --json, or id text where the
    references have the same ids) are matched by id. Outputs without ids are segments 0, 1, ... by line.

    Outputs with commas between them are runs of one system (of tuning with other seeds, say): their mean, their spread
    and a p-value that counts it. NAME= before them names the system. Scores of other programs (COMET) are --metric
    external with --scores, a file for each output: one number a line, or a table with ids. JSON lines of nbest rerank
    carry the gains and groups of their lists: --metric external takes these gains, and tests go by these groups.

    Segments that an output abstains from are left out for all; the column covered then counts what each gives.

    [bold]Examples[/bold]

      nbest score out.txt --refs test.ref --metric bleu,chrf

      nbest score baseline.txt tuned.txt --refs test.ref --metric wer --test bootstrap --normalize whisper

      nbest score old=base.1,base.2,base.3 new=new.1,new.2,new.3 --refs test.ref --groups docs.tsv --table latex

      nbest score a.txt b.txt --refs test.ref -m bleu,external --scores a.comet --scores b.comet --label COMET

      nbest score kiwi=kiwi.jsonl tuned=chosen.jsonl --metric external --label MQM

      nbest score first.tsv vote.tsv tuned.tsv --refs test.jsonl --metric exact --pairs
    """

    outputs: list[str] = parameter(
        ...,
        "Outputs, one text a line or by id, or NAME=FILE; with several, each is tested against the first.",
        flags=("outputs",),
    )
    refs: list[str] | None = parameter(
        None,
        "References, one a line or by id, or lists that carry them (JSON lines with references); repeat for several.",
        flags=("--refs", "-r"),
    )
    metric: str = parameter("bleu", "Metrics, NAME,NAME: bleu,chrf,wer ...", flags=("--metric", "-m"))
    test: str = parameter("permutation", "permutation, bootstrap or wilcoxon.")
    pairs: bool = parameter(False, "Also test each output against each other, not only against the first.")
    groups: str | None = parameter(
        None, "Documents or speakers, id TAB group or a table: their segments are tested together."
    )
    scores: list[str] | None = parameter(
        None, "With --metric external: scores of each output, a file for each; --label COMET names them."
    )
    column: str | None = parameter(None, "The column of --scores, where there are several.")
    seed: int = parameter(12345, "Seed of the test.")

    def run(self) -> None:
        """Score, test, print."""
        from nbest.cli.scoring import run

        run(self)
