"""What `nbest report` does, once its arguments are known."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nbest.base.errors import ParameterError
from nbest.base.files import write_text
from nbest.base.parameters import parameters_of
from nbest.cli.commands import flags_of
from nbest.cli.console import Console
from nbest.cli.further import refuse_rest, separate
from nbest.cli.loading import Measure, files_of_options, measure, read_lists, source_of, warn_of_overlap
from nbest.cli.report import ReportRun
from nbest.cli.serving import serve
from nbest.cli.targets import check_folder, refuse_overwriting
from nbest.corpus import NBest
from nbest.corpus.answers import OWN
from nbest.corpus.contract import signature_of
from nbest.decisions.mbr import gain_of
from nbest.model.loglinear import LogLinear, load
from nbest.pages.base import Judged, Subject
from nbest.pages.curves import CURVES
from nbest.pages.folders import folder_page, version_of
from nbest.pages.page import report_page
from nbest.pages.verdicts import same_metric
from nbest.report import RENDERERS, Page


def run(call: ReportRun) -> None:
    """Make the page, and write or show it."""
    console = Console(quiet=call.quiet)
    paths, given = separate(call.lists)
    files = [path for _, path in _named(call.model or ())]
    read = [paths, files, call.refs, call.test, call.test_refs, call.heldout, call.heldout_refs, call.scores, call.lm]
    read += [list(given.values()), files_of_options(call.option)]
    kind = _form(call, read)
    if not call.model and len(paths) == 1 and Path(paths[0]).is_dir():
        refuse_rest(given, own=ReportRun)

        def make() -> Page:
            return folder_page(paths[0])
    else:
        wanted = _curves(call)

        def make() -> Page:
            subject = _subject(call, paths, dict(given), console)
            with console.progress("report") as update, console.convergence():
                how: dict[str, Any] = {"draws": call.draws, "right": call.right, "progress": update}
                return report_page(subject, curves=wanted, **how)

    if call.serve:
        watched = [path for part in read for path in ([part] if isinstance(part, str) else part or ())]
        serve(make, lambda: " ".join(map(version_of, watched)), console, port=call.port, browse=call.browse)
        return
    write(make(), str(call.output), kind)
    if call.output != "-":
        console.say(f"wrote {call.output}")


def write(page: Page, output: str, kind: str) -> None:
    """A web page is one file; others have their pictures beside them."""
    if kind == "html":
        write_text(output, page.render(kind))
    else:
        page.write(Path(output).parent, Path(output).stem, (kind,))


def _form(call: ReportRun, read: Sequence[Any]) -> str:
    """The form by the suffix of the output, which is checked before any work."""
    if call.serve:
        if call.output is not None:
            raise ParameterError("give --serve, or -o to write a file, not both")
        return "html"
    if call.output is None:
        raise ParameterError("say where to write the report: -o report.html, or show it: --serve")
    refuse_overwriting([call.output], read)
    check_folder(call.output)
    suffixes = {RENDERERS[name].suffix: name for name in RENDERERS if name != "terminal"}
    if call.output != "-" and Path(call.output).suffix not in suffixes:
        raise ParameterError(f"the report {call.output!r} must end in one of {', '.join(suffixes)}")
    return "html" if call.output == "-" else suffixes[Path(call.output).suffix]


def _curves(call: ReportRun) -> list[str]:
    wanted = [name for name in (call.curves or "").split(",") if name]
    for name in wanted:
        if name not in CURVES:
            raise ParameterError(f"--curves must be of {', '.join(CURVES)}, got {name!r}")
    return wanted


# models ---------------------------------------------------------------------------------------------------------


def _named(given: Sequence[str]) -> list[tuple[str, str]]:
    """Names and files of models: NAME=FILE, or the file's own name, with a number where it is taken."""
    found: list[tuple[str, str]] = []
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or Path(text).is_file():
            name, path = Path(text).stem, text
        taken = [other for other, _ in found]
        free = (each for each in (name, *(f"{name} {n}" for n in range(2, len(given) + 2))) if each not in taken)
        if equals and name in taken and path != text:
            raise ParameterError(f"two models are called {name!r}; give one of them another name")
        found.append((next(free), path))
    return found


def _subject(call: ReportRun, paths: Sequence[str], given: dict[str, str], console: Console) -> Subject:
    """All lists with statistics, and all models."""
    if not call.model:
        raise ParameterError("nbest report needs --model MODEL for lists, or a directory of compare, loop or reproduce")
    models = {name: load(path, call.lm or ()) for name, path in _named(call.model)}
    how = _measure(call, given, next(iter(models.values())))
    refuse_rest(given, type(how.metric), own=ReportRun)
    sets: dict[str, NBest] = {}
    for name, lists, refs in (
        ("dev", paths, call.refs),
        ("held-out", call.heldout, call.heldout_refs),
        ("test", call.test, call.test_refs),
    ):
        if lists:
            sets[name] = how.measured(read_lists(source_of(call, lists, refs), console, "nbest report"))
    if call.metric is None:
        _check_same(next(iter(models.values())), sets["dev"])
    for name, other in (("test", "dev"), ("test", "held-out"), ("held-out", "dev")):
        if name in sets and other in sets:
            warn_of_overlap(console, name, sets[name], other, sets[other])
    judged = tuple(Judged(name, lists, models) for name, lists in sets.items())
    return Subject(judged, models, made_by=command_of(call), seed=call.seed)


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


def command_of(call: Any) -> str:
    """The command that was given, to be run again: what is not as by default."""
    words = ["nbest", "report"]
    for name, each in parameters_of(type(call)).items():
        value, flag = getattr(call, name), flags_of(each)[0].split("/")[0]
        if value is None or value == each.default or name in ("quiet", "output", "serve", "port", "browse"):
            continue
        values = value if isinstance(value, list) else [value]
        if not flag.startswith("-"):
            words[2:2] = values
        elif value is True:
            words.append(flag)
        else:
            words += [word for one in values for word in (flag, str(one))]
    return shlex.join(words)
