"""What `nbest tune` says of the worth of its model: on the lists it was tuned on, and on others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nbest.base.errors import CapabilityError, ParameterError
from nbest.cli.console import Console
from nbest.cli.tune import Tune
from nbest.corpus.contract import Corpus, need_lists
from nbest.model.evidence import Evidence
from nbest.model.loglinear import LogLinear
from nbest.pages.verdicts import keeps_first, words
from nbest.report import Column, Table
from nbest.report.page import probability, telling
from nbest.trainers.crossfit import Crossed, check_folds, crossfit
from nbest.trainers.pipeline import Pipeline
from nbest.trainers.validate import FORESTS, held_out, left_out

HINT = (
    "scores of the lists that were tuned on are flattering; --validate 5, --split 0.25 or --heldout LISTS tell what "
    "the model is worth on others"
)


def check_validating(call: Tune) -> None:
    """Complain, before any work, of what cannot be validated."""
    if call.validate == 1:
        raise ParameterError("'validate' must be 0 or at least 2 folds, got 1")
    if call.validate and (call.heldout or call.split):
        raise ParameterError("give held-out lists (--heldout, --split) or --validate, not both")
    if call.validate and call.grid:
        raise ParameterError(
            "--grid chooses on held-out lists, which then tell what the model is worth: leave out --validate"
        )


def check_enough(call: Tune, dev: Corpus) -> None:
    """Complain, before training, of too few segments for as many folds, and of lists without a metric."""
    if call.validate:
        if not dev.scored:
            raise ParameterError("--validate needs a metric: give --metric, and --refs where it has any")
        need_lists(dev, FORESTS)
        check_folds(dev, call.validate)


def in_folds(call: Tune, trainer: Any, dev: Corpus, *, pipeline: Pipeline, console: Console) -> Crossed | None:
    """What models chose that were fitted without each of the folds that were asked for, of all that is tuned, or of
    those that the trainer has fitted anyway."""
    if not call.validate:
        return trainer.crossed_
    with console.progress(f"validating in {call.validate} folds") as update, console.convergence():
        return crossfit(pipeline.fit, need_lists(dev, FORESTS), folds=call.validate, progress=update)


def validated(
    call: Tune, model: LogLinear, dev: Corpus, heldout: Corpus | None, crossed: Crossed | None, *, console: Console
) -> LogLinear:
    """The model with what held-out lists tell, or folds of the development lists, where there are any."""
    if not dev.scored or (heldout is None and crossed is None):
        return model
    try:
        if heldout is not None:
            found = held_out(model, heldout)
        else:
            assert crossed is not None
            found = left_out(crossed, dev, None if call.validate else model.decision)
    except CapabilityError as error:
        console.say(f"not validated: {error}")
        return model
    return replace(model, evidence=found.content())


def scores_table(summary: Mapping[str, Any], known: Evidence | None) -> Table:
    """First, equal, tuned and best choices of the lists that were tuned on and of others."""
    voted = {"plurality": summary["plurality"]} if "plurality" in summary else {}
    dev = {"tuned": summary["dev"], **voted, **{name: summary.get(name) for name in ("first", "equal", "oracle")}}
    rows: list[dict[str, Any]] = [{"how": "dev", **dev}]
    if known is not None:  # folds are of the same lists, of which votes have learned nothing
        rows.append({**(voted if known.how.endswith("folds") else {}), **known.content()})
    heads = {"how": "", "first": "first", **({"plurality": "plurality vote"} if voted else {})}
    heads |= {"equal": "equal weights", "tuned": "tuned", "oracle": "oracle"}
    heads |= {"low": "95 % from", "high": "to", "p": "p against first"} if known is not None else {}
    form = telling(row.get(key) for row in rows for key in ("first", "plurality", "equal", "tuned", "oracle"))
    columns = [Column(head, probability if key == "p" else form) for key, head in heads.items()]
    return Table(columns, [[row.get(key) for key in heads] for row in rows], caption=summary["metric"], missing="")


def say_worth(summary: Mapping[str, Any], model: LogLinear, console: Console, *, higher_is_better: bool) -> None:
    """The scores, what they mean, and warnings where tuning did not help."""
    known = model.validation
    console.show(scores_table(summary, known))
    gain = summary["dev"] - summary.get("first", summary["dev"])
    if gain < 0 if higher_is_better else gain > 0:
        form = telling((summary["dev"], summary["first"]))
        console.warn(
            "tuning ended worse than the first hypotheses of the lists it was tuned on: "
            f"{summary['dev']:{form}} against {summary['first']:{form}}"
        )
    if known is None:
        console.say(HINT)
        return
    said, sure = words(known, kept=keeps_first(model))
    (console.say if sure else console.warn)(said)
    if known.equal is not None and known.p_equal is not None and (known.gain_over_equal or 0.0) < 0:
        form = telling((known.tuned, known.equal))
        console.warn(
            f"equal weights are better there: {known.equal:{form}} against {known.tuned:{form}} "
            f"(p {probability(known.p_equal)}); give more lists, or a method that holds back more (--method likelihood)"
        )
