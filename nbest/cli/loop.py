"""`nbest loop`: tune a decoder by decoding again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nbest.base.parameters import parameter
from nbest.cli import commands as c


@dataclass(frozen=True, kw_only=True)
class LoopRun(c.References, c.MetricOptions, c.ScoresColumn, c.FormatOption, c.EngineOption, c.Quiet, c.AsJson):
    """Decode with the current weights, add the new candidates, tune on all of them, and again, until nothing is new.

    Each round is on disk before the next begins: the same command with --resume goes on after any stop and ends with
    the same weights. The directory holds what was run, all candidates, a model a round, the curve (report.md,
    curve.svg), what the command wrote to standard error, and the chosen model.json. Further options are those of the
    method and the metric, as in nbest tune.

    In a command, {weights} is a file with the weights, {weight:NAME} one of them, {input} the input file, {k} the
    number of candidates, {output} where lists or lattices are expected, in any format that nbest reads (without it,
    standard output). No shell runs it unless --shell is given. A command that treats every line of its input alone can
    run on parts of it (--part-lines), as many at a time as there are threads.

    [bold]Examples[/bold]

      nbest loop dev.src --decoder 'mydecoder -w {weights} -i {input} -n {k} -o {output}' --refs dev.ref --metric bleu
      --start 'lm=0.5,tm=0.2,length=0' --method mert -o run

      nbest loop dev.fr --decoder translator.fr-en --refs dev.en --heldout held.fr --heldout-refs held.en --metric bleu
      --tokenize none --set beam=50 -o run

      nbest loop dev.scp --decoder 'recognise --lw {weight:lm} --wip {weight:words} {input} {output}' --refs dev.ref
      --metric wer --start 'am=1,lm=8,words=0' --unit am --limit 600 --part-lines 50 -o run --resume

      nbest loop dev.fr --decoder translator.fr-en --refs dev.en --metric bleu --tokenize none --engine ray --workers 16
      -o run
    """

    panels: ClassVar[c.Panels] = {
        "Held-out input, settings": ("heldout", "heldout_refs", "grid"),
        "The decoder": ("weight_file", "unit", "shell", "limit", "retries", "part_lines", "keep", "settings"),
    }
    dev: list[str] = parameter(..., "What is decoded: a file, whose name is passed on to a command.", flags=("dev",))
    decoder: str = parameter(..., "Command with {weights}, {input}, {output}, {k}; or a system's directory.")
    output: str = parameter(..., "Directory of the run.", flags=("--output", "-o"))
    method: str = parameter(
        "auto", "auto, risk, mert, likelihood, pro, mira, ...: see docs/methods.md.", flags=("--method", "-M")
    )
    resume: bool = parameter(False, "Go on with a run that was stopped.")
    start: str | None = parameter(
        None, "First weights: a model, NAME=VALUE,NAME=VALUE or zero (systems have their own)."
    )
    heldout: str | None = parameter(None, "Held-out input; chooses the round.")
    heldout_refs: list[str] | None = parameter(None, "Its references.")
    rounds: int = parameter(20, "Rounds at most.", least=1)
    k: int = parameter(200, "Candidates of each segment in a round.", least=1)
    step: float = parameter(
        1.0,
        "How far weights go from the last ones to the trained in each round (1: all the way).",
        above=0,
        most=1,
    )
    forests: bool = parameter(False, "Train on forests, if the decoder gives them.")
    grid: list[str] | None = parameter(None, "Settings tried on held-out: NAME=VALUE,VALUE; repeatable.")
    weight_file: str = parameter(
        "json", "Of {weights}: json, moses or lines (name value).", flags=("--weights-format",)
    )
    unit: str | None = parameter(None, "Feature whose weight the command takes as 1.")
    shell: bool = parameter(False, "Run the command by the shell.")
    limit: float | None = parameter(None, "Seconds that a run of the command may take.")
    retries: int = parameter(1, "Further tries of a command that failed.", least=0)
    part_lines: int | None = parameter(
        None, "Lines of the input that a run of the command decodes, several runs side by side (default: all).", least=1
    )
    keep: bool = parameter(False, "Keep weights and output of each run of the command.")
    settings: list[str] | None = parameter(None, "Option of a system's decoder: beam=50; repeatable.", flags=("--set",))

    def run(self) -> None:
        """Run the loop; say what was reached and where the model is."""
        from nbest.cli.looping import run

        run(self)
