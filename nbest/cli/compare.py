"""`nbest compare`: several methods, honestly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nbest.base.parameters import parameter
from nbest.cli import commands as c

DENSE, SPARSE = "auto,risk,mert,likelihood,grid,random", "auto,risk,likelihood,mira,boosting,msr2"


@dataclass(frozen=True, kw_only=True)
class Compare(
    c.References,
    c.MetricOptions,
    c.AnswerOption,
    c.ScoresFile,
    c.FormatOption,
    c.EngineOption,
    c.TableOption,
    c.Quiet,
    c.AsJson,
):
    """Tune several methods on dev, choose settings on held-out data, report test once, with p-values.

    p is against the first hypotheses, and against the method that is named first. Methods that draw (starts, folds,
    orders) are tuned with three seeds (--repeats): scores are means, with their spread. Models choose as those of tune
    do; --decision 1best compares the weights alone. Seconds are of tuning, without compilation of kernels.

    [bold]Example[/bold]

      nbest compare dev.nbest --refs dev.ref --metric bleu --test test.nbest --test-refs test.ref

      nbest compare dev.jsonl --metric wer --methods mert,likelihood --heldout held.jsonl --test test.jsonl

      nbest compare dev.jsonl --metric bleu --decision 1best --test test.jsonl

      nbest compare dev.jsonl --metric bleu --methods mert,risk --repeats 5 --test test.jsonl --table latex

      nbest compare dev.jsonl --metric wer --test test.jsonl -o compared, then: nbest report compared -o report.html
    """

    panels: ClassVar[c.Panels] = {
        "Held-out and test lists": ("test", "test_refs", "heldout", "heldout_refs", "split"),
        "Features": ("add", "only", "drop"),
    }
    dev: list[str] = parameter(..., c.LISTS, flags=("dev",))
    methods: str | None = parameter(None, f"Methods, NAME,NAME (default {DENSE}; with sparse features {SPARSE}).")
    test: list[str] = parameter(factory=list, help="Test lists, looked at once.")
    test_refs: list[str] | None = parameter(None, "Their references.")
    heldout: list[str] | None = parameter(None, "Held-out lists, to choose settings on.")
    heldout_refs: list[str] | None = parameter(None, "Their references.")
    split: float = parameter(0.25, "Without --heldout: share of dev to hold out.", least=0.01, most=0.9)
    add: str | None = parameter(None, "Features to add, NAME,NAME: length, frequency, ...")
    only: str | None = parameter(None, "Use only these features: NAME,NAME.", flags=("--features",))
    drop: str | None = parameter(None, "Leave these features out: NAME,NAME.")
    decision: str = parameter(
        "auto",
        "How models choose: 1best, mbr, ...; auto: settled on held-out lists, as nbest tune does.",
        flags=("--decision", "-d"),
    )
    seed: int = parameter(1, "Seed of the methods and of the split.")
    output: str | None = parameter(
        None, "Directory to write: results, a model of each method, the table.", flags=("--output", "-o")
    )
    repeats: int = parameter(
        3, "Tune methods that are random so often, with one seed after the other; scores are means.", least=1
    )

    def run(self) -> None:
        """Tune all, report."""
        from nbest.cli.comparing import run

        run(self)
