"""What `nbest report` does, once its arguments are known."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nbest.base.errors import ParameterError
from nbest.base.files import write_text
from nbest.base.parameters import parameters_of
from nbest.cli.commands import flags_of
from nbest.cli.console import Console
from nbest.cli.further import refuse_rest, separate
from nbest.cli.loading import files_of_options
from nbest.cli.report import ReportRun
from nbest.cli.reported import named_models, subject_of
from nbest.cli.serving import serve
from nbest.cli.targets import check_folder, refuse_overwriting
from nbest.pages.curves import CURVES
from nbest.pages.folders import folder_page, is_run, version_of
from nbest.pages.page import report_page
from nbest.report import RENDERERS, Page

_HOW_SHOWN = ("quiet", "output", "serve", "port", "browse")  # arguments that change no report
_OF_PAGES = ("lists", *_HOW_SHOWN)  # arguments that any page takes


def run(call: ReportRun) -> None:
    """Make the page, and write or show it."""
    console = Console(quiet=call.quiet)
    paths, given = separate(call.lists)
    files = [path for _, path in named_models(call.model or ())]
    read = [paths, files, call.refs, call.test, call.test_refs, call.heldout, call.heldout_refs, call.scores, call.lm]
    read += [list(given.values()), files_of_options(call.option)]
    kind = _form(call, read)
    if len(paths) == 1 and (is_run(paths[0]) or (not call.model and Path(paths[0]).is_dir())):
        refuse_rest(given, own=ReportRun)
        _refuse_options(call, paths[0])

        def make() -> Page:
            return folder_page(paths[0])
    else:
        wanted = _curves(call)

        def make() -> Page:
            subject = replace(subject_of(call, paths, dict(given), console), made_by=command_of(call))
            with console.progress("report") as update, console.convergence():
                how: dict[str, Any] = {"draws": call.draws, "right": call.right, "progress": update}
                how["refused"] = console.warn
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
        stem = Path(output).stem
        before = re.sub(r"[^\w.-]", "-", stem) if re.match(r"\w", stem) else "report"
        page.with_figures(f"{before}-").write(Path(output).parent, stem, (kind,))


def _refuse_options(call: ReportRun, path: str) -> None:
    """Complain of what says something of lists and models: the page of a directory is what the directory holds."""
    known = {name: each for name, each in parameters_of(type(call)).items() if name not in _OF_PAGES}
    given = [flags_of(each)[0] for name, each in known.items() if getattr(call, name) != each.default]
    if given:
        hint = f"leave {'them' if len(given) > 1 else 'it'} out, or give lists instead of the directory"
        raise ParameterError(
            f"{path} is a directory of compare, loop or reproduce, whose page has no use for {', '.join(given)}; {hint}"
        )


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


def command_of(call: Any) -> str:
    """The command that was given, to be run again: what is not as by default."""
    words = ["nbest", "report"]
    for name, each in parameters_of(type(call)).items():
        value, flag = getattr(call, name), flags_of(each)[0].split("/")[0]
        if value is None or value == each.default or name in _HOW_SHOWN:
            continue
        values = value if isinstance(value, list) else [value]
        if not flag.startswith("-"):
            words[2:2] = values
        elif value is True:
            words.append(flag)
        else:
            words += [word for one in values for word in (flag, str(one))]
    return shlex.join(words)
