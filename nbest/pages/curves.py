"""The section "Curves": studies of the lists that are asked for, with what the first model chooses of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from nbest.base.errors import NbestError, look_up
from nbest.corpus import NBest, split
from nbest.model.loglinear import LogLinear
from nbest.pages.base import Judged, Subject
from nbest.pages.counts import trainer_of
from nbest.report import Figure, Page
from nbest.studies.base import Progress, Study, within
from nbest.studies.calibration import calibration
from nbest.studies.coverage import coverage
from nbest.studies.curve import curve
from nbest.studies.learning import learning

_SPLIT = 0.25  # of dev, held out from the learning curve where there are no other lists
_ORDERS = 5  # of lists, for votes of k


@dataclass(frozen=True)
class _How:
    """What studies are told: from which score of a segment on it is right, and whom to tell of progress."""

    right: float | None
    progress: Progress


def curves(
    subject: Subject,
    wanted: Sequence[str],
    *,
    right: float | None = None,
    progress: Progress = None,
    refused: Callable[[str], None] | None = None,
) -> Page:
    """The studies of these names (`CURVES`), each with its picture, or with a sentence why it cannot be done, which
    `refused` is told, too.

    `right`: the score of a segment from which on it is right, for the confidence by metrics that are not only 0 and 1.
    """
    chosen = {name: look_up(CURVES, name, "curve") for name in wanted}
    found = []
    for number, (name, (title, study)) in enumerate(chosen.items()):
        how = _How(right, within(progress, number, len(chosen)))
        found.append(Page(title, list(_section(name, title, partial(study, subject, how), refused))))
    return Page("Curves", found)


def _section(
    name: str, title: str, study: Callable[[], tuple[str, Study]], refused: Callable[[str], None] | None
) -> Iterator[str | Figure]:
    try:
        said, found = study()
    except NbestError as error:
        yield f"This cannot be shown for these lists: {error}"
        if refused is not None:
            refused(f"--curves {name} cannot be shown for these lists: {error}")
        return
    yield said
    yield found.figure(f"curve-{found.name}", title)
    yield from found.said.splitlines() if "|" not in found.said else ()


def _last(subject: Subject) -> tuple[Judged, LogLinear]:
    """The lists that tell most, and the first model."""
    return subject.sets[-1], next(iter(subject.models.values()))


def _best_of(subject: Subject, how: _How) -> tuple[str, Study]:
    judged, model = _last(subject)
    said = (
        f"What the model chooses of k hypotheses of the {judged.name} lists: one that still gets better asks for more."
    )
    return said, curve(judged.lists, model=model, orders=_ORDERS, seed=subject.seed, progress=how.progress)


def _calibration(subject: Subject, how: _How) -> tuple[str, Study]:
    judged, model = _last(subject)
    said = f"Whether the confidence of choices of the {judged.name} lists can be believed{_tuned_on(subject)}."
    return said, calibration(judged.lists, model=model, right=how.right, seed=subject.seed, progress=how.progress)


def _coverage(subject: Subject, how: _How) -> tuple[str, Study]:
    judged, model = _last(subject)
    said = f"How often the surest choices of the {judged.name} lists are wrong{_tuned_on(subject)}."
    return said, coverage(judged.lists, model=model, right=how.right, seed=subject.seed, progress=how.progress)


def _tuned_on(subject: Subject) -> str:
    """A word of warning where there are no other lists than dev."""
    return "" if len(subject.sets) > 1 else "; it was tuned on these lists, which is flattering"


def _learning(subject: Subject, how: _How) -> tuple[str, Study]:
    dev, other, where = _parts(subject)
    method, settings, why = trainer_of(next(iter(subject.models.values())))
    said = f"The metric as {method} learns from more segments of dev, judged on {where}{why}. {_more(dev)}"
    by_method = {method: settings}
    found = learning(dev, other, methods=[method], settings=by_method, seed=subject.seed, progress=how.progress)
    return said, found


def _more(dev: NBest) -> str:
    """How to read the curve."""
    way = "rises" if dev.need_metric().higher_is_better else "falls"
    return f"Where the solid line still {way} at the right end, it still gets better: more lists would help."


def _parts(subject: Subject) -> tuple[NBest, NBest, str]:
    """What is learned on, what it is judged on, and what to call that."""
    model = next(iter(subject.models.values()))
    dev = model.prepare(subject.dev.lists)
    if len(subject.sets) > 1:
        return dev, model.prepare(subject.sets[-1].lists), f"the {subject.sets[-1].name} lists"
    return *split(dev, 1.0 - _SPLIT, subject.seed), f"{_SPLIT:.0%} of it that are held out"


CURVES: dict[str, tuple[str, Callable[[Subject, _How], tuple[str, Study]]]] = {
    "best-of": ("Best of k", _best_of),
    "calibration": ("Calibration", _calibration),
    "coverage": ("Risk and coverage", _coverage),
    "learning": ("Learning curve", _learning),
}
"""Titles and studies by the name used on the command line."""
