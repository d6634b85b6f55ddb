"""The whole report of lists and models: did it help, what counts, the surface, training, curves, segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from nbest.corpus.contract import signature_of
from nbest.model.loglinear import LogLinear, versions
from nbest.pages.base import Subject
from nbest.pages.counts import DRAWS, counts
from nbest.pages.curves import curves as curves_page
from nbest.pages.helped import helped
from nbest.pages.training import training
from nbest.report import Cell, Column, Items, Page, Table
from nbest.studies.base import Progress, within


def report_page(
    subject: Subject,
    *,
    curves: Sequence[str] = (),
    draws: int = DRAWS,
    right: float | None = None,
    progress: Progress = None,
    refused: Callable[[str], None] | None = None,
) -> Page:
    """A page of all sections; write it with `page.render("html")`.

        models = {"risk": nbest.load("model.json")}
        lists = nbest.read("dev.nbest").with_metric(nbest.BLEU(), nbest.read_references("dev.ref"))
        page = nbest.report_page(nbest.Subject((nbest.Judged("dev", lists, models),), models))

    `curves` are names of `nbest.pages.curves.CURVES`, which says what `right` is; `draws` bootstrap samples tell how
    sure the weights are (0: they are not learned again). `progress` is told in hundredths of the whole; `refused` is
    told, in a sentence each, which curves cannot be drawn.
    """
    from nbest.pages.explorer import explorer
    from nbest.pages.segments import segments

    told = _in_hundredths(progress)
    sections = [helped(subject), counts(subject, draws=draws, progress=within(told, 0, 1 + bool(curves)))]
    sections += [explorer(subject), training(subject)]
    if curves:
        sections.append(curves_page(subject, curves, right=right, progress=within(told, 1, 2), refused=refused))
    sections += [segments(subject), _made(subject)]
    return Page(_title(subject), sections)


def _in_hundredths(progress: Progress) -> Progress:
    """One total for parts that count in units of their own."""
    return None if progress is None else lambda done, of: progress(100 * done // max(of, 1), 100)


def _title(subject: Subject) -> str:
    names = ", ".join(subject.models)
    return f"Report: {signature_of(subject.dev.lists).split('|')[0]} of {names}"


def _made(subject: Subject) -> Page:
    """The metric's signature, the command, when, versions and sizes."""
    said = [
        f"metric: {signature_of(subject.dev.lists)}",
        *([f"command: {subject.made_by}"] if subject.made_by else []),
        f"date: {datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
        f"versions: {_versions(versions())}",
        *(_of_model(name, model) for name, model in subject.models.items()),
    ]
    return Page("How it was made", [Items(said), _sizes(subject)])


def _versions(known: dict[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in known.items())


def _of_model(name: str, model: LogLinear) -> str:
    """What is known of where a model came from."""
    seed = "" if model.seed is None else f", seed {model.seed}"
    return f"model {name}: trained by {model.trainer.get('name', 'hand')}{seed}; {_versions(dict(model.versions))}"


def _sizes(subject: Subject) -> Table:
    rows: list[list[Cell]] = []
    for each in subject.sets:
        lists = each.lists
        groups = None if lists.groups is None else len(set(lists.groups))
        longest = int(lists.lengths.max(initial=0))
        rows.append([each.name, len(lists), lists.hypotheses, longest, len(lists.names), groups])
    names = ("segments", "hypotheses", "longest list", "features", "groups")
    return Table(["lists", *(Column(name, whole=",") for name in names)], rows, caption="Sizes")
