"""`nbest tune`: learn weights from a development set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nbest.base.parameters import parameter
from nbest.cli import commands as c


@dataclass(frozen=True, kw_only=True)
class Tune(
    c.References, c.MetricOptions, c.AnswerOption, c.ScoresFile, c.FormatOption, c.EngineOption, c.Quiet, c.AsJson
):
    """Learn how to weigh the features of candidate lists or forests, so that the chosen outputs are best by a metric.

    mert, and risk and cobleu for BLEU, train on all derivations of a forest (lattices, hypergraphs); other methods and
    metrics on its best strings, more of them as the weights change.

    The default, auto, fits the lists in many ways, and averages the fits by how often each is the best on lists left
    out of it, in folds or held out (--heldout, --split): it needs no settings, from 20 segments on.
    Further options are those of the method (--folds 5, --restarts 20, --seed 1, --variance 0.5, --trials 500 ...) and
    of the metric (--smooth-method floor ...); a wrong name lists the known ones. Methods: auto, risk, mert,
    cobleu, likelihood, vote, softbleu, grid, random; without labels weak; for many sparse features msr2, msr, boosting,
    perceptron, mira, pro; lowdim.

    What the model is worth is told by lists that it was not fitted on, held-out ones or folds: first, equal weights,
    tuned and oracle, with a 95 % interval and p against the first hypotheses; where tuning did not help, a warning.

    How the model chooses is settled on held-out lists, or in the folds of a method that has them: 1-best, unless
    minimum Bayes risk, consensus or (of lists with answers) a vote is better beyond chance; --decision says it instead.

    How sure choices are (nbest rerank --json, --coverage, --risk) is learned on held-out lists or folds where scores
    are 0 and 1, for decisions by vote, and with --calibrate.

    [bold]Examples[/bold]

      nbest tune dev.nbest --refs dev.ref --metric bleu -o model.json

      nbest tune dev.jsonl --metric wer --method mert --restarts 20 --seed 1 --split 0.25 -o model.json

      nbest tune dev.jsonl --metric wer --method likelihood --validate 5 -o model.json

      nbest tune dev.jsonl --metric external --column comet --add length -o model.json

      nbest tune dev.jsonl --metric wer --add auto -o model.json

      nbest tune train.jsonl --metric cer --add ngrams --method boosting --grid penalty=0,1e-4 --heldout dev.jsonl

      nbest tune dev.jsonl --metric exact --answer last-number -o model.json

      nbest tune dev.jsonl --metric exact --answer boxed --method vote -o model.json

      nbest tune samples.jsonl --answer last-number --method weak -o model.json

      nbest tune lattices/ --refs dev.ref --metric wer --method mert -o model.json

      nbest tune dev.store --metric bleu --engine ray://head:10001 -o model.json
    """

    panels: ClassVar[c.Panels] = {
        "Held-out lists, settings": ("heldout", "heldout_refs", "split", "split_seed", "validate", "grid"),
        "Features": ("add", "only", "drop"),
        "Choosing by the model": ("decision", "calibrate", "right"),
    }
    dev: list[str] = parameter(..., c.LISTS, flags=("dev",))
    method: str = parameter(
        "auto", "auto, risk, mert, likelihood, msr2, boosting, ...: see docs/methods.md.", flags=("--method", "-M")
    )
    heldout: list[str] | None = parameter(None, "Held-out lists, scored but not tuned on.")
    heldout_refs: list[str] | None = parameter(None, "Their references.")
    split: float = parameter(0.0, "Hold this share of the segments out.", least=0.0, most=0.9)
    split_seed: int = parameter(1, "Seed of the split.")
    validate: int = parameter(
        0, "Also fit without each of so many folds, and score these: any method, honestly.", least=0
    )
    add: str | None = parameter(
        None, "Features to add, NAME,NAME: length, frequency, ...; auto: what cross-validation supports."
    )
    grid: list[str] | None = parameter(None, "Try settings on held-out lists: NAME=VALUE,VALUE; repeatable.")
    only: str | None = parameter(None, "Tune only these features: NAME,NAME.", flags=("--features",))
    drop: str | None = parameter(None, "Leave these features out: NAME,NAME.")
    decision: str = parameter(
        "auto",
        "How rerank chooses by this model: 1best, mbr, consensus, ...; auto: settled on held-out lists or in folds.",
        flags=("--decision", "-d"),
    )
    calibrate: bool = parameter(
        False,
        "Also learn how sure choices are, on held-out lists or in folds (default: where these are there, and votes).",
    )
    right: float | None = parameter(
        None, "Calibrate; the score of a segment from which on it is right, where scores are not only 0 and 1."
    )
    output: str = parameter("-", "Model file (.ini: Moses weights); - is stdout.", flags=("--output", "-o"))

    def run(self) -> None:
        """Tune, write the model, say what was reached."""
        from nbest.cli.beside import compiling
        from nbest.cli.tuning import run

        with compiling("words", "ngrams", "first pass", "second pass", "consensus", quiet=self.quiet):
            run(self)
