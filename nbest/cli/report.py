"""`nbest report`: a page to look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nbest.base.parameters import parameter
from nbest.cli import commands as c


@dataclass(frozen=True, kw_only=True)
class ReportRun(c.References, c.MetricOptions, c.AnswerOption, c.ScoresFile, c.FormatOption, c.EngineOption, c.Quiet):
    """One web page of lists and models, or of a directory that nbest compare, loop or reproduce wrote.

    It needs no network and no program beside a browser: did tuning help, what counts, sliders for the weights with the
    chosen outputs, how models were trained, every segment with its hypotheses. The metric is the one that the model was
    tuned for unless --metric says another. --serve shows the page at an address of this machine alone, and makes it
    anew when its files change: so it follows a loop or a reproduction that is running.

    [bold]Examples[/bold]

      nbest report dev.nbest --refs dev.ref --model model.json -o report.html

      nbest report dev.jsonl --metric wer --model risk.json --model base=old.json --test test.jsonl -o report.html

      nbest report dev.jsonl --model model.json --curves best-of,learning --draws 50 -o report.html

      nbest report compared -o report.html

      nbest report --serve run
    """

    panels: ClassVar[c.Panels] = {
        "Test and held-out lists": ("test", "test_refs", "heldout", "heldout_refs"),
        "What is shown": ("curves", "right", "draws", "seed"),
        "Serving": ("serve", "port", "browse"),
    }
    lists: list[str] = parameter(..., "Lists that models were tuned on, or a directory.", flags=("lists",))
    model: list[str] | None = parameter(None, "Model file, or NAME=FILE; repeat to compare, the first counts most.")
    output: str | None = parameter(
        None, "Where to write: .html, or .md, .tex, .csv with pictures beside; - is stdout.", flags=("--output", "-o")
    )
    test: list[str] | None = parameter(None, "Test lists.")
    test_refs: list[str] | None = parameter(None, "Their references.")
    heldout: list[str] | None = parameter(None, "Held-out lists.")
    heldout_refs: list[str] | None = parameter(None, "Their references.")
    curves: str | None = parameter(None, "Curves to add, NAME,NAME: best-of, calibration, coverage, learning.")
    right: float | None = parameter(
        None, "For calibration and coverage: the score of a segment from which on it is right, where not only 0 and 1."
    )
    draws: int = parameter(10, "Bootstrap samples that weights are learned again on; 0: none.", least=0)
    lm: list[str] | None = parameter(None, "Language model of a model's features, if not in its folder; repeat.")
    seed: int = parameter(1, "Seed of everything random.")
    serve: bool = parameter(False, "Show the page at an address of this machine, and follow its files.")
    port: int = parameter(0, "With --serve: the port (0: any that is free).", least=0, most=65535)
    browse: bool = parameter(True, "With --serve: open it in the browser.", flags=("--open/--no-open",))

    def run(self) -> None:
        """Make the page, say where it is."""
        from nbest.cli.reporting import run

        run(self)
