"""What `nbest tune` does, once its arguments are known."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from nbest.base.errors import ParameterError, look_up
from nbest.cli.adding import show_added
from nbest.cli.calibrating import after_tuning, check_calibrating
from nbest.cli.console import Console, has_compiled, print_json
from nbest.cli.deciding import say_alone
from nbest.cli.further import grid_values, refuse_rest, refuse_twice, separate, take
from nbest.cli.loading import (
    Unmeasured,
    files_of_options,
    in_line,
    measure,
    naming,
    read_corpus,
    source_of,
    warn_of_labels,
    warn_of_overlap,
)
from nbest.cli.moses import WEIGHTS, put_weights
from nbest.cli.settling import decision_asked, words
from nbest.cli.targets import refuse_overwriting
from nbest.cli.tune import Tune
from nbest.cli.validating import check_enough, check_validating, in_folds, say_worth, validated
from nbest.corpus import split
from nbest.corpus.contract import Corpus, are_lists, signature_of
from nbest.decisions.arguments import normalisation_of
from nbest.decisions.choose import decision_of
from nbest.decisions.chosen import first_score, oracle_score, score_of
from nbest.decisions.vote import plurality
from nbest.features.wanted import files_of
from nbest.forests.posteriors import filled
from nbest.model.arrays import detach
from nbest.model.equal import equal_weights
from nbest.model.loglinear import LogLinear, load
from nbest.model.settled import settled_of
from nbest.pages.verdicts import keeps_first
from nbest.report import Column, Table
from nbest.trainers import TRAINERS
from nbest.trainers.deciding import as_trained
from nbest.trainers.lowdim.trainer import LowDim
from nbest.trainers.pipeline import Pipeline
from nbest.trainers.settings_grid import search as search_settings

_SHOWN = 20  # weights, the largest


def run(call: Tune) -> None:
    """Tune, write the model, say what was reached."""
    console = Console(quiet=call.quiet)
    paths, given = separate(call.dev)
    further = list(given.values())  # some may name a model file
    kind = look_up(TRAINERS, call.method, "method")
    without = call.metric is None and getattr(kind, "unlabelled", False)
    how = Unmeasured(call.answer) if without else measure(call.metric, given, call)
    settings = take(kind, given, load=lambda path: load(path).weights) | as_trained(kind)
    refuse_rest(given, kind, type(how.metric), own=Tune)
    if call.heldout and call.split:
        raise ParameterError("give --heldout or --split, not both")
    decision = decision_asked(call)
    _check_output(call, paths, further)
    check_calibrating(call)
    check_validating(call)
    begin = time.perf_counter()
    sets = [(paths, call.refs), *([(call.heldout, call.heldout_refs)] if call.heldout else [])]
    corpora = []
    for (files, refs), option in zip(sets, ("--refs", "--heldout-refs"), strict=False):
        with naming(files, option):
            corpora.append(in_line(how.measured(read_corpus(source_of(call, files, refs), console))))
    if call.heldout:
        warn_of_overlap(console, "held-out", corpora[1], "dev", corpora[0])
    if call.split:
        corpora = list(split(corpora[0], 1.0 - call.split, call.split_seed))
    pipeline = Pipeline(trainer=kind, add=call.add, only=call.only, drop=call.drop, decision=decision)
    with console.progress("adding features") as pipeline.progress, console.convergence():
        dev, *held = pipeline.prepare(*corpora)
    heldout, pipeline.progress = held[0] if held else None, None
    show_added(console, pipeline.added_, pipeline.replaced_, dev)
    check_enough(call, dev)
    if dev.scored:
        warn_of_labels(console, dev)
    if "vote" in (call.method, call.decision):
        say_alone(console, paths[0], dev, normalisation_of(signature_of(dev)) if dev.scored else "none")
    loaded = time.perf_counter()
    trainer = kind(**settings)
    if call.grid:
        model = search(kind, settings, wanted=call.grid, dev=dev, heldout=heldout, console=console)
    else:
        model = train(trainer, dev, heldout, console=console, name=call.method)
    with console.progress("deciding"):
        model = pipeline.finish(model, dev, heldout, crossed=trainer.crossed_)
    done = time.perf_counter()
    whole = replace(pipeline, trainer=kind(**settings))
    crossed = in_folds(call, trainer, corpora[0], pipeline=whole, console=console)
    model = validated(call, model, dev, heldout, crossed, console=console)
    lists = corpora[0] if crossed is None else dev
    model = after_tuning(call, model, lists, heldout, crossed, pipeline=replace(whole, decision=None), console=console)
    _write(model, call.output, console, call.as_json)
    summary = _summary(call, model, dev, heldout, {"read": loaded - begin, "train": done - loaded})
    _report(summary, model, console, higher=dev.scored and dev.need_metric().higher_is_better)
    if call.as_json:
        print_json(summary | ({"model": _content(model)} if call.output == "-" else {"output": call.output}))


def train(
    trainer: Any,
    dev: Corpus,
    heldout: Corpus | None,
    console: Console,
    name: str,
) -> LogLinear:
    """Fit a trainer with progress on stderr."""
    with console.progress(f"tuning by {name}") as update, console.convergence():
        if hasattr(trainer, "progress"):
            trainer.progress = update
        return trainer.fit(dev, heldout)


def search(
    kind: type,
    settings: dict[str, Any],
    wanted: list[str],
    dev: Corpus,
    heldout: Corpus | None,
    console: Console,
) -> LogLinear:
    """Fit a trainer with each combination of settings; the best on held-out lists, and all of them as a table."""
    values = grid_values(kind, wanted)
    refuse_twice(settings, values, "--grid")
    with console.progress("settings") as update, console.convergence():
        shared = issubclass(kind, LowDim) and values.keys() <= {"tau", "lam", "k"}  # one solve for many settings
        if shared and heldout is not None:
            model, rows = kind(**settings, progress=update).grid(dev, heldout, **values)
        else:
            model, rows = search_settings(partial(kind, **settings), values, dev, heldout, progress=update)
    heads = [Column(name, "g") for name in rows[0]]
    console.show(Table(heads, [list(row.values()) for row in rows], missing="None"))
    return model


def _content(model: LogLinear) -> dict[str, Any]:
    more: dict[str, Any] = {"decision": dict(model.decision), "answer": model.answer}
    more |= {"confidence": dict(model.confidence), "evidence": dict(model.evidence), "settled": dict(model.settled)}
    said = {name: value for name, value in more.items() if value}
    return {"weights": dict(model.weights), "features": detach(model.features)[0], **said}


def _check_output(call: Tune, paths: list[str], further: list[str]) -> None:
    """Complain of an output that cannot be written now, not after the work."""
    if call.output == "-":
        return
    named = [call.refs, call.heldout, call.heldout_refs, call.scores, files_of(call.add), files_of_options(call.option)]
    refuse_overwriting([call.output], [paths, further, *named])
    if not Path(call.output).resolve().parent.is_dir():
        raise ParameterError(f"the folder of the output {call.output!r} does not exist")
    if call.output.endswith(WEIGHTS) and call.add:
        raise ParameterError("a Moses weight file cannot hold added features; write .json, or tune without --add")


def _write(model: LogLinear, output: str, console: Console, as_json: bool) -> None:
    if output == "-":
        if not as_json:
            model.save("-")
    elif output.endswith(WEIGHTS):
        put_weights(model, output, console)
    else:
        model.save(output)
        console.say(f"wrote {output}")


def _summary(
    call: Tune,
    model: LogLinear,
    dev: Corpus,
    heldout: Corpus | None,
    seconds: dict[str, float],
) -> dict[str, Any]:
    return {
        "method": call.method,
        "metric": model.metric,
        **_about(dev),
        **model.scores_,
        **({} if heldout is None else {"heldout_segments": len(heldout)}),
        **({"added": model.trainer["added"]} if "added" in model.trainer else {}),
        **({} if model.validation is None else {"evidence": {**model.evidence, "verdict": model.validation.verdict}}),
        **({"settled": {"decision": decision_of(model), **model.settled}} if model.settled else {}),
        **({} if model.calibration is None else {"confidence": model.calibration.summary()}),
        "seconds": {key: round(value, 3) for key, value in seconds.items()},
    }


def _about(dev: Corpus) -> dict[str, Any]:
    """Sizes, and scores of simple choices where there is a metric."""
    sizes = {**dev.sizes, "features": len(dev.names), "empty": len(dev) - filled(dev)}
    if not dev.scored:
        return sizes
    own, equal = first_score(dev), equal_weights(dev)
    simple = {"first": own, "equal": None if equal is None else score_of(dev, equal), "oracle": oracle_score(dev)}
    if are_lists(dev) and (voted := plurality(dev)) is not None:
        simple["plurality"] = dev.score(voted)
    return {**sizes, **{name: value for name, value in simple.items() if value is not None}}


def _report(summary: dict[str, Any], model: LogLinear, console: Console, *, higher: bool) -> None:
    what = "hypotheses" if "hypotheses" in summary else "edges"
    console.say(
        f"{summary['segments']} segments, {summary[what]} {what}, {summary['features']} features; "
        f"read in {summary['seconds']['read']:.1f} s, tuned in {summary['seconds']['train']:.1f} s"
        f"{', compiling included' if has_compiled() else ''}"
    )
    if summary["empty"]:
        console.warn(f"{summary['empty']} segments have nothing to choose from; they are left out of these scores")
    if "dev" in summary:
        say_worth(summary, model, console, higher_is_better=higher)
    else:
        console.say("no metric: the lists were not scored")
    if (known := settled_of(model.settled)) is not None:
        console.say(words(known, model.decision))
    if model.calibration is not None:
        console.say(model.calibration.words())
    if keeps_first(model) and model.validation is None:
        console.warn("all weights are 0: no choice is better than another by this metric, or none could be found")
    strongest = sorted(model.weights.items(), key=lambda item: -abs(item[1]))
    more = len(strongest) - _SHOWN
    notes = [f"and {more} more, in the model"] if more > 0 else []
    console.show(Table(("feature", Column("weight", ".6g")), strongest[:_SHOWN], notes=notes))
