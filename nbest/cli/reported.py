"""What a report is made of, as its arguments say: models with their names, and lists with statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nbest.base.errors import FormatError, ParameterError
from nbest.base.files import read_bytes
from nbest.cli.console import Console
from nbest.cli.further import refuse_rest
from nbest.cli.loading import Measure, in_line, measure, naming, read_lists, source_of, warn_of_overlap
from nbest.cli.report import ReportRun
from nbest.corpus import NBest
from nbest.corpus.answers import OWN
from nbest.corpus.contract import signature_of
from nbest.decisions.mbr import gain_of
from nbest.formats import sniff_contents
from nbest.formats.lists.base import HEAD
from nbest.model.loglinear import LogLinear, load
from nbest.pages.base import Judged, Subject
from nbest.pages.verdicts import same_metric


def named_models(given: Sequence[str]) -> list[tuple[str, str]]:
    """Names and files of models: NAME=FILE, or the name of the file, with its folder where two are called so, and with
    a number where that is not enough."""
    said = [_name_and_file(text) for text in given]
    plain = Counter(Path(path).stem for name, path in said if not name)
    found: list[tuple[str, str]] = []
    for name, path in said:
        taken = [other for other, _ in found]
        if name in taken:
            raise ParameterError(f"two models are called {name!r}; give one of them another name")
        stem = Path(path).stem
        own = name or (stem if plain[stem] == 1 else f"{Path(path).resolve().parent.name}/{stem}")
        free = (each for each in (own, *(f"{own} {n}" for n in range(2, len(said) + 2))) if each not in taken)
        found.append((next(free), path))
    return found


def _name_and_file(text: str) -> tuple[str, str]:
    """The name that is given to a model, if any, and its file."""
    name, equals, path = text.partition("=")
    return (name, path) if equals and name and not Path(text).is_file() else ("", text)


def _load(path: str, call: ReportRun) -> LogLinear:
    """A model; lists in its place are told by what they hold."""
    try:
        return load(path, call.lm or ())
    except FormatError:
        if Path(path).is_file() and (kind := sniff_contents(path, read_bytes(path)[:HEAD])):
            raise FormatError(
                path, None, f"this is lists (format {kind}), not a model of nbest tune: give a model to --model"
            ) from None
        raise


def subject_of(call: ReportRun, paths: Sequence[str], given: dict[str, str], console: Console) -> Subject:
    """All lists with statistics, and all models."""
    if not call.model:
        absent = next((path for path in paths if path != "-" and not Path(path).exists()), None)
        if absent is not None:
            raise FormatError(absent, None, "no such file or directory")
        raise ParameterError("nbest report needs --model MODEL for lists, or a directory of compare, loop or reproduce")
    models = {name: _load(path, call) for name, path in named_models(call.model)}
    how = _measure(call, given, next(iter(models.values())))
    refuse_rest(given, type(how.metric), own=ReportRun)
    sets: dict[str, Judged] = {}
    for name, lists, refs, option in (
        ("dev", paths, call.refs, "--refs"),
        ("held-out", call.heldout, call.heldout_refs, "--heldout-refs"),
        ("test", call.test, call.test_refs, "--test-refs"),
    ):
        if lists:
            with naming(lists, option):
                measured = in_line(how.measured(read_lists(source_of(call, lists, refs), console, "nbest report")))
                sets[name] = Judged(name, measured, models)
                _ = sets[name].chosen  # a model that does not fit the lists complains here, where they have a name
    if call.metric is None:
        _check_same(next(iter(models.values())), sets["dev"].lists)
    for name, other in (("test", "dev"), ("test", "held-out"), ("held-out", "dev")):
        if name in sets and other in sets:
            warn_of_overlap(console, name, sets[name].lists, other, sets[other].lists)
    return Subject(tuple(sets.values()), models, seed=call.seed)


def _measure(call: ReportRun, given: dict[str, str], model: LogLinear) -> Measure:
    """The metric that is asked for, or that which the model was tuned for."""
    if call.metric is not None:
        return measure(call.metric, given, call)
    metric = gain_of(model)
    if metric.name.lower() != model.metric.partition("|")[0].lower():
        raise ParameterError(f"say which metric to report with --metric: {_tuned_for(model)}")
    answer = model.answer if model.answer not in ("", OWN) else None
    return Measure(metric, quiet=call.quiet, answer=call.answer or answer)


def _tuned_for(model: LogLinear) -> str:
    return f"the model was tuned for {model.metric}" if model.metric else "the model file names none"


def _check_same(model: LogLinear, lists: NBest) -> None:
    """The metric that was made of the model's signature is the same one."""
    if not same_metric(model.metric, signature_of(lists)):
        raise ParameterError(f"say the metric and its options with --metric: {_tuned_for(model)}")
