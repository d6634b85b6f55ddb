"""The section "Training": how each model was learned, step by step, as its file tells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nbest.model.loglinear import LogLinear
from nbest.pages.base import Subject
from nbest.report import Cell, Column, Figure, Page, Table
from nbest.report.axes import label
from nbest.report.charts import DotChart, LineChart, Series
from nbest.report.page import telling
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS, GAMMA, PALE

_SCORES = {"dev": "dev", "heldout": "held out", "left_out": "left out"}  # what rows call them, and their names
_PLACES = ("round", "step", "start")  # keys that number the rows
_PANELS = 4  # of a picture without a shape of its own
_ROWS = 40  # of a table, and of the starts of a picture
_DIGITS = 5  # of the largest number of a column of steps
_RATIO = 1000.0  # of the largest to the smallest number, up to which all have as many decimals
_OBJECTIVES = {
    "MaxLikelihood": "-log likelihood plus the penalty of the prior (minimised)"
}  # what "value" is, by trainer
_SHORTER = {"around the base model": "around base"}  # words of the names of fits
Rows = Sequence[Mapping[str, Any]]


def training(subject: Subject) -> Page:
    """How the models of a report were trained."""
    return training_of(subject.models)


def training_of(models: Mapping[str, LogLinear]) -> Page:
    """Scores that each model reached on dev and held-out lists, and its path to them."""
    sections = [
        Page(name, list(_of_model(f"training-{number}", model)))
        for number, (name, model) in enumerate(models.items(), 1)
    ]
    return Page("Training", [_reached(models), *(sections if len(sections) > 1 else sections[0].parts)])


def _reached(models: Mapping[str, LogLinear]) -> Table:
    """Dev against held-out lists, as the trainers saw them, and lists left out, where the files know of them."""
    scores = {name: dict(model.scores_) for name, model in models.items()}
    for name, model in models.items():
        if model.validation is not None:
            scores[name]["left_out"] = model.validation.tuned
    keys = ["dev", "heldout", *(["left_out"] if any("left_out" in each for each in scores.values()) else [])]
    form = telling(value for each in scores.values() for value in each.values())
    rows: list[list[Cell]] = [
        [name, str(model.trainer.get("name", "by hand")), _settings(model), *map(scores[name].get, keys)]
        for name, model in models.items()
    ]
    columns = [Column("model"), Column("trained by", align="left"), Column("settings", align="left")]
    columns += [Column({"heldout": "held-out"}.get(key, _SCORES[key]), form) for key in keys]
    notes = ["Held-out lists take part in training where settings are chosen on them; a large gap is overfitting."]
    how = {name: model.validation.how for name, model in models.items() if model.validation is not None}
    notes += [f"Left out: lists that were not fitted on ({_by_name(how)})."] if how else []
    metrics = ", ".join(dict.fromkeys(model.metric.split("|")[0] for model in models.values() if model.metric))
    caption = "dev against held-out lists, as they were in training"
    return Table(columns, rows, f"{metrics}: {caption}" if metrics else caption.capitalize(), notes)


def _by_name(said: Mapping[str, str]) -> str:
    """What is said of all, or of each."""
    one = set(said.values())
    return one.pop() if len(one) == 1 else ", ".join(f"{name}: {text}" for name, text in said.items())


def _settings(model: LogLinear) -> str:
    """What was said to the trainer, plain values only."""
    plain = {key: value for key, value in model.trainer.items() if isinstance(value, str | int | float)}
    return ", ".join(f"{key}={value}" for key, value in plain.items() if key != "name")


def _of_model(name: str, model: LogLinear) -> Iterator[str | Figure | Table]:
    rows = model.history
    if not rows:
        yield "The model file tells no steps of the training."
        return
    drawn = next(
        draw for keys, draw in _SHAPES.items() if all(_is_number(row.get(key)) for row in rows for key in keys)
    )
    panels, said = drawn(rows, model)
    if panels:
        columns = 1 if len(panels) == 1 else 2
        width = 560.0 if columns == 1 else 380.0
        height = 22.0 * len(panels[0].dots) + 30 if isinstance(panels[0], DotChart) else 280.0
        picture = Picture("Training", said, panels, columns, width=width, height=height)
        yield Figure(name, f"Training: {said}", picture, rows)
    bare = all(key in (*_PLACES, "value") for row in rows for key in row)  # the picture says it all
    if not panels or (len(rows) <= _ROWS and not bare):
        yield _table(rows)


def _table(rows: Rows) -> Table:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    left = len(rows) - _ROWS
    notes = [f"{left} further rows are left out."] if left > 0 else []
    columns = [Column(_SCORES.get(key, key.replace("_", " ")), _form(_values(rows, key))) for key in keys]
    return Table(columns, [[row.get(key) for key in keys] for row in rows[:_ROWS]], "Steps", notes)


def _form(values: Sequence[float]) -> str | Callable[[float], str]:
    """One form for a column: as many decimals for all; as many digits where sizes differ too much for that."""
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes or max(sizes) > min(sizes) * _RATIO:
        return lambda value: format(value, f"#.{_DIGITS}g").rstrip(".")
    return f".{max(0, _DIGITS - 1 - max(-1, math.floor(math.log10(max(sizes)))))}f"


# shapes ---------------------------------------------------------------------------------------------------------

Drawn = tuple[list[LineChart] | list[DotChart], str]


def _annealing(rows: Rows, model: LogLinear) -> Drawn:
    """The metric along the path: the temperature falls, then the posterior becomes ever sharper."""
    x = list(range(len(rows)))
    hot = [bool(row["temperature"]) for row in rows]
    named = [
        f"T {label(row['temperature'])}" if row["temperature"] else f"{GAMMA} {label(row['gamma'])}" for row in rows
    ]
    cold = [(hot.index(False) - 0.5, "T = 0")] if True in hot and False in hot else []
    ticks = [(float(at), text) for at, text in zip(x, named, strict=True)]
    axis = f"temperature T, then sharpness {GAMMA}" if True in hot else f"sharpness {GAMMA}"
    scores = LineChart(_scores(rows, x), "what is chosen", axis, _metric(model), ticks, rules=cold)
    smooth = Series("", x, _values(rows, "expected"), dots=True)
    return [
        scores,
        LineChart([smooth], "what is minimised", axis, "expected loss", ticks, rules=cold),
    ], "the path of risk"


def _fits(rows: Rows, model: LogLinear) -> Drawn:
    """Each fit by what it reaches on lists left out; those that the average takes are coloured."""
    reached = [float(row["left_out"]) for row in rows]
    dots = [
        (_shorter(str(row.get("fit", ""))), score, score, score, COLOURS[0] if row["share"] else PALE)
        for row, score in zip(rows, reached, strict=True)
    ]
    chart = DotChart(dots, "", f"{_metric(model)} of lists left out (coloured: fits with a share)", "")
    return [chart], "fits that were averaged"


def _shorter(name: str) -> str:
    for words, other in _SHORTER.items():
        name = name.replace(words, other)
    return name


def _starts(rows: Rows, model: LogLinear) -> Drawn:
    """What was reached from each start, the nearest to the model first, below the model itself."""
    reached = model.scores_.get("dev")
    found = sorted((abs(float(row["value"]) - (reached or 0.0)), row["start"], float(row["value"])) for row in rows)
    dots = [] if reached is None else [("the model", reached, reached, reached, COLOURS[0])]
    dots += [(f"start {start}", value, value, value, PALE) for _, start, value in found[:_ROWS]]
    few = f", the {_ROWS} nearest to the model of {len(found)}" if len(found) > _ROWS else ""
    return [DotChart(dots, "", f"{_metric(model)} on dev", "", reached)], f"where each start ended{few}"


def _plain(rows: Rows, model: LogLinear) -> Drawn:
    """Scores in one panel, each other number in one of its own."""
    place = next((key for key in _PLACES if key in rows[0]), None)
    x = [row[place] for row in rows] if place and all(_is_number(row.get(place)) for row in rows) else None
    at, axis = (list(range(1, len(rows) + 1)), "step") if x is None else (x, str(place))
    scored = _scores(rows, at)
    panels = [LineChart(scored, "", axis, _metric(model))] if scored else []
    keys = dict.fromkeys(key for row in rows for key in row if key not in (*_SCORES, place))
    varied = [key for key in keys if len({row.get(key) for row in rows if _is_number(row.get(key))}) > 1]
    for key in varied[: _PANELS - len(panels)]:
        panels.append(LineChart([Series("", at, _values(rows, key))], "", axis, _named(key, model, rows)))
    return panels if len(rows) > 1 else [], f"{len(rows)} steps"


def _metric(model: LogLinear) -> str:
    return model.metric.split("|")[0]


def _named(key: str, model: LogLinear, rows: Rows) -> str:
    """What a column is, for an axis: of a value also whether it is to fall or to rise."""
    if key != "value":
        return key.replace("_", " ")
    known = [value for value in _values(rows, key) if not math.isnan(value)]
    way = "minimised" if known[-1] <= known[0] else "maximised"
    return _OBJECTIVES.get(str(model.trainer.get("name")), f"objective ({way})")


_SHAPES = {
    ("temperature", "gamma", "expected", "dev"): _annealing,
    ("left_out", "share"): _fits,
    ("start", "value"): _starts,
    (): _plain,
}
"""What is drawn, by keys whose values are numbers in all rows."""


def _scores(rows: Rows, x: Sequence[float]) -> list[Series]:
    """Lines of dev and held-out scores, where rows have them."""
    found = [(key, name) for key, name in _SCORES.items() if any(_is_number(row.get(key)) for row in rows)]
    return [
        Series(name, x, _values(rows, key), COLOURS[number], dots=len(rows) <= _ROWS)
        for number, (key, name) in enumerate(found)
    ]


def _values(rows: Rows, key: str) -> list[float]:
    """The numbers of a column; NaN where there is none."""
    return [float(row[key]) if _is_number(row.get(key)) else math.nan for row in rows]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
