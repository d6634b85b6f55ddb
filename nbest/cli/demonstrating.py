"""What `nbest demo` does, once its arguments are known."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np

from nbest.cli.beside import compile_methods
from nbest.cli.comparing import show
from nbest.cli.console import Console, number
from nbest.cli.demo import REPORT, Demo
from nbest.cli.reporting import write
from nbest.cli.streams import put
from nbest.cli.targets import check_folder
from nbest.corpus import NBest
from nbest.decisions import first, mbr
from nbest.evaluation.comparison import Compared, compare
from nbest.evaluation.significance import permutation
from nbest.formats import bundled
from nbest.metrics import WER
from nbest.model.loglinear import LogLinear
from nbest.pages.base import Judged, Subject
from nbest.pages.page import report_page
from nbest.report.page import probability

_METHODS = ("auto", "risk", "mert", "likelihood", "softbleu", "grid", "random")


def run(call: Demo) -> None:
    """Tune, choose, say so, and write the report."""
    console = Console(quiet=call.quiet)
    output = call.output or (None if call.quick or call.as_json else REPORT)
    if output is not None:
        check_folder(output)
    methods = _METHODS[:1] if call.quick else _METHODS
    sets = [_lists(name, call) for name in bundled.SETS]
    compile_methods(methods, sets[0], WER(), quiet=console.quiet)
    tune, heldout, test = (lists.with_metric(WER()) for lists in sets)
    console.say(
        f"A recogniser's lists for {len(tune)} tune, {len(heldout)} held-out and {len(test)} test sentences, "
        f"up to {tune.lengths.max()} candidates each, with the features {', '.join(tune.feature_names)}"
    )
    with console.progress("tuning") as update, console.convergence():
        found = compare(tune, test, methods, heldout=heldout, common={"decision": "1best"}, progress=update)
    show(found, console, call.as_json)
    if not call.as_json:
        _tell(found, test)
    if output is not None:
        _report(found, {"dev": tune, "held-out": heldout, "test": test}, output)
        console.say(f"wrote {output}: open it in a browser to look at all this")
    if not call.as_json:
        put(f"\nNow with your own lists: {_command()} inspect, tune, rerank (each has --help with examples).")


def _command() -> str:
    """How this program was started; a program that is not on the path is named with its folder."""
    begun = Path(sys.argv[0])
    is_command = begun.name == "nbest" and not shutil.which("nbest")
    return os.path.relpath(begun) if is_command else "nbest"


def _lists(name: str, call: Demo) -> NBest:
    lists = bundled.lists(name)
    return lists.select(np.arange(0, len(lists), 2)) if call.quick else lists


def _model(found: Compared, name: str) -> LogLinear:
    return next(row.model for row in found.rows if row.name == name and row.model is not None)


def _tell(found: Compared, test: NBest) -> None:
    """What minimum Bayes risk gives, and a sentence that got better."""
    model, (stats, metric) = _model(found, found.best), test.need_stats()
    shown, tuned = first(None, test), model.predict(test)
    assert test.texts is not None
    assert test.references is not None
    tested = permutation(metric, stats[shown], stats[mbr(model, test, gain="wer")])
    put(f"mbr with the {found.best} model: test {number(tested.second)}, p {probability(tested.p)} against first")
    gains = stats[shown, 0] - stats[tuned, 0]
    best = int(gains.argmax())
    put(f"\nA sentence that got better by {gains[best]:.0f} words:")
    for name, text in (
        ("said", test.references[best][0]),
        ("first", test.texts[shown[best]]),
        ("tuned", test.texts[tuned[best]]),
    ):
        put(f"  {name:6} {text}")


def _report(found: Compared, sets: dict[str, NBest], output: str) -> None:
    """The page of the best model and of the first other one; weights are not learned again, which would take long."""
    names = [found.best, *(name for name in _METHODS if name != found.best)][:2]
    models = {name: _model(found, name) for name in names}
    judged = tuple(Judged(name, lists, models) for name, lists in sets.items())
    write(report_page(Subject(judged, models, made_by="nbest demo"), draws=0), output, "html")
