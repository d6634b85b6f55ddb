"""What studies share: rows with a header as JSON lines, a picture, trainers by name, and ranges of weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from nbest.base.errors import CapabilityError, ConvergenceWarning, KeptWarning, ParameterError, look_up
from nbest.base.files import write_text
from nbest.base.json_values import json_lines
from nbest.base.limits import check_count
from nbest.base.types import Floats
from nbest.corpus import Forests, NBest
from nbest.corpus.contract import signature_of
from nbest.features import within_scale
from nbest.model.loglinear import LogLinear
from nbest.report import Figure
from nbest.report.picture import Picture
from nbest.trainers import TRAINERS
from nbest.trainers.deciding import as_trained

_POINTS = 1_000_000  # weights that a study may try of a feature
_FAILURES = {ConvergenceWarning: "did not converge", KeptWarning: "kept their base model"}

Progress = Callable[[int, int], None] | None


@dataclass(frozen=True)
class Study:
    """What a study found: one row a measurement, and how they were made."""

    metric: str  # signature
    higher_is_better: bool
    settings: Mapping[str, Any]
    rows: tuple[dict[str, Any], ...]

    name: ClassVar[str] = ""

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """The study again from its fields, as JSON has kept them; where it is not said, higher is better."""
        return cls(found["metric"], found.get("higher_is_better", True), found["settings"], tuple(found["rows"]))

    def picture(self) -> Picture:
        """What the rows look like."""
        raise NotImplementedError

    @property
    def said(self) -> str:
        """What was found, in a line or a few, where a picture is not enough."""
        return ""

    def figure(self, name: str, title: str) -> Figure:
        """The picture and its rows for a report."""
        return Figure(name, title, self.picture(), self.rows)

    @property
    def unit(self) -> str:
        """The metric and which way is better, for an axis."""
        return f"{self.metric.split('|')[0]} ({'higher' if self.higher_is_better else 'lower'} is better)"

    def best(self, values: Sequence[float] | Floats) -> int:
        """The place of the best value, the first of equals."""
        return int(np.argmax(values) if self.higher_is_better else np.argmin(values))

    def chosen(self, **keys: Any) -> list[dict[str, Any]]:
        """The rows with these values."""
        return [row for row in self.rows if all(row.get(key) == value for key, value in keys.items())]

    def lines(self) -> str:
        """JSON lines: a header (study, metric, settings), then the rows."""
        header = {"study": self.name, "metric": self.metric, "settings": dict(self.settings)}
        return json_lines((header, *self.rows))

    def write(self, out: str | Path) -> tuple[str, str]:
        """Write `out`.jsonl and `out`.svg, each beside its place and renamed; their paths."""
        data, image = paths_of(out)
        text, drawn = self.lines(), self.picture().svg()  # both are ready before either is written
        write_text(data, text)
        write_text(image, drawn)
        return data, image


def paths_of(out: str | Path) -> tuple[str, str]:
    """The data and the image file of an output named with or without its ending."""
    path = Path(out)
    stem = path.with_suffix("") if path.suffix in (".jsonl", ".svg") else path
    if str(out) == "-" or not stem.name:
        raise ParameterError(f"a study writes two files, NAME.jsonl and NAME.svg; got the name {str(out)!r}")
    if not stem.parent.is_dir():
        raise ParameterError(f"cannot write {stem}.jsonl: there is no folder {str(stem.parent)!r}")
    return f"{stem}.jsonl", f"{stem}.svg"


def about(corpus: NBest | Forests) -> dict[str, Any]:
    """The fields of a study that come from its lists or forests."""
    metric = corpus.need_metric()
    return {"metric": signature_of(corpus), "higher_is_better": bool(metric.higher_is_better)}


# weights --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Held:
    """Lists with the columns of a model, and its weights, of which a study changes some."""

    corpus: NBest
    weights: Mapping[str, float]

    @classmethod
    def at(cls, corpus: NBest, model: LogLinear | None) -> Held:
        """The weights of a model, all 0 without one; every weight must find its feature."""
        if model is None:
            return cls(corpus, {})
        held = cls(model.prepare(corpus), dict(model.weights))
        held.model().scores(held.corpus)
        return held

    def model(self, changed: Mapping[str, float] = MappingProxyType({})) -> LogLinear:
        """The model with some weights changed."""
        return LogLinear({**self.weights, **changed}, versions={})

    def vector(self, changed: Mapping[str, float]) -> Floats:
        """[D + D'] weights with some changed."""
        weights = {**self.weights, **changed}
        names = (*self.corpus.feature_names, *self.corpus.sparse_names)
        return np.array([weights.get(name, 0.0) for name in names])

    def axis(self, name: str, points: int, bounds: tuple[float, float] | None) -> Floats:
        """[points] weights to try for a dense feature: within `bounds`, or around the weight it has.

        By default two units to each side, a unit being what gives the feature as much say as the strongest one has (one
        standard deviation within lists where all weights are 0).
        """
        check_count("'points' of a study", points, 2, _POINTS)
        self.corpus.column(name)
        scale = within_scale(self.corpus)
        own = scale[self.corpus.feature_names.index(name)]
        if own == 0:
            raise CapabilityError(f"the feature {name!r} never differs within a list, so its weight changes nothing")
        if bounds is not None:
            if not bounds[0] < bounds[1]:
                raise ParameterError(
                    f"the range of {name!r} must go from low to high, got {bounds[0]:g} to {bounds[1]:g}"
                )
            return np.linspace(*bounds, points)
        dense = [self.weights.get(each, 0.0) for each in self.corpus.feature_names]
        unit = 2.0 * (float(np.abs(dense * scale).max()) or 1.0) / own
        middle = self.weights.get(name, 0.0)
        return np.linspace(middle - unit, middle + unit, points)


# trainers -------------------------------------------------------------------------------------------------------


def build(method: str, settings: Mapping[str, Any] | None = None, **common: Any) -> Any:
    """A trainer by name, which settles no decision; of the `common` keywords it gets those that it has."""
    kind = look_up(TRAINERS, method, "method")
    trainer = kind(**{**as_trained(kind), **(settings or {})})
    for key, value in common.items():
        if hasattr(trainer, key) and key not in (settings or {}):
            setattr(trainer, key, value)
    return trainer


def within(progress: Progress, part: int, parts: int) -> Progress:
    """Progress in one of several parts, of as much work each."""
    return None if progress is None else lambda done, of: progress(part * of + done, parts * of)


def counted(progress: Progress, of: int) -> Callable[[], None]:
    """Tells, each time it is called, that one more of so many is done."""
    done = count(1)
    return (lambda: None) if progress is None else lambda: progress(next(done), of)


@contextmanager
def counting_failures(what: str) -> Iterator[None]:
    """One `ConvergenceWarning` for all runs inside that did not converge, instead of one each; one `KeptWarning` for
    all that kept their base model.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield
    failed = {kind: [w.message for w in caught if w.category is kind] for kind in _FAILURES}
    for other in caught:
        if other.category not in failed:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    for kind, messages in failed.items():
        if messages:
            first, count = messages[0], len(messages)
            message = str(first) if count == 1 else f"{count} {what} {_FAILURES[kind]}; the first: {first}"
            warnings.warn(message, kind, stacklevel=4)
