"""What `nbest calibrate` does, and `nbest tune` after it has tuned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nbest.base.errors import CapabilityError, NbestError, ParameterError, look_up
from nbest.cli.calibrate import Calibrate
from nbest.cli.console import Console, print_json
from nbest.cli.further import refuse_rest, separate, take
from nbest.cli.loading import files_of_options, measure, read_lists, source_of
from nbest.cli.moses import WEIGHTS
from nbest.cli.targets import refuse_overwriting
from nbest.cli.tune import Tune
from nbest.corpus.contract import Corpus, need_lists
from nbest.decisions import DECISIONS, needs_model
from nbest.decisions.choose import decision_of
from nbest.model.loglinear import LogLinear, load
from nbest.trainers.calibrate import calibrate, right_from
from nbest.trainers.crossfit import Crossed
from nbest.trainers.pipeline import Pipeline

_LISTS = "calibration works on lists and these are forests; tune without --calibrate"
FOLDS = 5
"""Parts of the development lists on which a model is calibrated that has no held-out lists."""


def run(call: Calibrate) -> None:
    """Read, choose, calibrate, write."""
    console = Console(quiet=call.quiet)
    paths, given = separate(call.lists)
    call = replace(call, lists=paths)
    read = [paths, call.refs, call.model, call.lm, call.scores, *given.values(), files_of_options(call.option)]
    refuse_overwriting([call.output], read)
    how = measure(call.metric, given, call)
    model = None if call.model is None else load(call.model, call.lm or ())
    decision = _decision(call, model, given, type(how.metric))
    lists = how.measured(read_lists(source_of(call, paths, call.refs), console, "calibration"))
    found = calibrate(model, lists, decision=decision, right=call.right, seed=call.seed)
    if call.output != "-" or not call.as_json:
        found.save(call.output)
    known = found.calibration
    assert known is not None
    console.say(known.words())
    if call.as_json:
        print_json({**known.summary(), **({} if call.output == "-" else {"output": call.output})})


def _decision(call: Calibrate, model: LogLinear | None, given: dict[str, str], metric: type) -> dict[str, Any]:
    """The decision that is said, the model's, or votes, with its options."""
    kind = call.decision or ("vote" if model is None else None)
    if kind is not None:
        look_up(DECISIONS, kind, "decision")
        if model is None and needs_model(kind):
            raise ParameterError(f"--decision {kind} needs --model FILE; without a model --decision vote is calibrated")
    own = decision_of(model, kind)
    function = DECISIONS[own["kind"]]
    own |= take(function, given)
    refuse_rest(given, function, metric, own=Calibrate)
    return own


# after tuning ---------------------------------------------------------------------------------------------------


def after_tuning(
    call: Tune,
    model: LogLinear,
    dev: Corpus,
    heldout: Corpus | None,
    crossed: Crossed | None,
    *,
    pipeline: Pipeline,
    console: Console,
) -> LogLinear:
    """The model, calibrated where it is asked for, and where it costs little: on held-out lists, in folds that were
    fitted anyway, or if it votes."""
    asked = call.calibrate or call.right is not None
    if not asked and heldout is None and crossed is None and model.decision.get("kind") != "vote":
        return model
    if not asked and call.output.endswith(WEIGHTS):
        return model
    if asked and not dev.scored:
        raise ParameterError(
            "--calibrate must know which answers are right: give --metric, and --refs where it has any"
        )
    try:
        lists = need_lists(dev if heldout is None else heldout, _LISTS)
        limit = right_from(lists, call.right)
    except NbestError:
        if asked:
            raise
        return model
    try:
        if heldout is not None:
            return calibrate(model, lists, right=limit)
        if crossed is not None:
            return calibrate(model, lists, right=limit, trainer=crossed)
        if call.grid:
            raise CapabilityError("--calibrate with --grid needs held-out lists: --heldout LISTS or --split SHARE")
        with console.progress(f"calibrating in {FOLDS} folds") as update, console.convergence():
            return calibrate(model, lists, right=limit, trainer=pipeline, folds=FOLDS, progress=update)
    except NbestError as error:
        if asked:
            raise
        console.say(f"not calibrated: {error}")
        return model


def check_calibrating(call: Tune) -> None:
    """Complain, before any work, of what cannot be calibrated."""
    asked = "--calibrate" if call.calibrate else "--right" if call.right is not None else None
    if asked and call.output.endswith(WEIGHTS):
        raise ParameterError(f"a Moses weight file cannot hold a calibration; write .json, or tune without {asked}")
    if asked and call.grid and not call.heldout and not call.split:
        raise ParameterError(f"{asked} with --grid needs held-out lists: --heldout LISTS or --split SHARE")
