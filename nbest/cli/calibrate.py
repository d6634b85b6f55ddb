"""`nbest calibrate`: learn from held-out lists how sure the choices of a model are."""

from __future__ import annotations

from dataclasses import dataclass

from nbest.base.parameters import parameter
from nbest.cli import commands as c


@dataclass(frozen=True, kw_only=True)
class Calibrate(
    c.References, c.MetricOptions, c.AnswerOption, c.ScoresFile, c.FormatOption, c.ThreadsOption, c.Quiet, c.AsJson
):
    """Learn from held-out lists how probably the choices of a model are right, for rerank --json, --coverage, --risk.

    The lists must not be those that the model was tuned on; nbest tune --calibrate takes folds of these instead.
    Without a model, majority votes are calibrated (--decision vote), and the model file that is written votes.
    Options of the decision follow (--gamma 0.5 ...).

    [bold]Examples[/bold]

      nbest calibrate heldout.jsonl --model model.json --metric exact -o calibrated.json

      nbest calibrate heldout.jsonl --metric external --answer boxed -o votes.json

      nbest calibrate heldout.jsonl --model model.json --metric wer --right 0 -o calibrated.json
    """

    lists: list[str] = parameter(..., c.LISTS, flags=("lists",))
    model: str | None = parameter(None, "Model of nbest tune; without one, votes.")
    lm: list[str] | None = parameter(None, "Language model of the model's features, if not in its folder; repeat.")
    decision: str | None = parameter(
        None, "How rerank chooses: vote, mbr, 1best, ...; default the model's own.", flags=("--decision", "-d")
    )
    right: float | None = parameter(
        None, "The score of a segment from which on it is right, where scores are not only 0 and 1."
    )
    seed: int = parameter(1, "Seed of the folds that compare maps.")
    output: str = parameter("-", "The calibrated model; - is stdout.", flags=("--output", "-o"))

    def run(self) -> None:
        """Read, choose, calibrate, write."""
        from nbest.cli.calibrating import run

        run(self)
