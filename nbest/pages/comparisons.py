"""What `nbest compare` found: as JSON, as a table, and as a directory that a report is made of.

results.json      what --json prints, with a sum of its own
models/NAME.json  the model of each method
report.md         the table
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, NbestError, ParameterError
from nbest.base.folders import is_number, replacing_directory
from nbest.evaluation.comparison import Compared, Row
from nbest.evaluation.pooling import POOLED
from nbest.evaluation.rungs import ORACLE
from nbest.model.evidence import LEVEL
from nbest.model.loglinear import LogLinear, load
from nbest.pages.training import training_of
from nbest.report import Cell, Column, Figure, Page, Table
from nbest.report.charts import DotChart
from nbest.report.page import probability, telling
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS, PALE
from nbest.runs.records import read_record, write_record

RESULTS = "results.json"
"""The file of a directory of `nbest compare` that says what was found."""
_MODELS = "models"
_FORM = "nbest-compare/1"
_NOTE = "* best on held-out data; p: paired permutation tests on test"
_BLANK = "blank: nothing was trained or tested there, as for the oracle; of settings: the defaults"
_TOP = 50  # features whose weights are shown
_REMEDY = "run nbest compare again"
Found = Mapping[str, Any]
"""What `content_of` makes."""


def content_of(found: Compared) -> dict[str, Any]:
    """All that was found, for JSON."""
    head = {"metric": found.metric, "best": found.best, "against": found.against}
    told = {"note": found.note, "below": list(found.below), "segments": dict(found.segments)}
    return {**head, **told, "rows": [_row(row) for row in found.rows]}


def _row(row: Row) -> dict[str, Any]:
    settings = {k: str(v) if isinstance(v, float) and math.isinf(v) else v for k, v in row.settings.items()}
    return {
        "name": row.name,
        "dev": row.dev,
        "heldout": row.heldout,
        "test": row.test,
        **({"runs": list(row.runs), "spread": row.spread} if len(row.runs) > 1 else {}),
        "p": row.p,
        **({} if row.p_against is None else {"p_against": row.p_against}),
        "seconds": row.seconds,
        "settings": settings,
        **({"decisions": list(row.decisions), "settled": row.settled} if row.decisions else {}),
        "weights": None if row.model is None else dict(row.model.weights),
    }


def comparison_table(found: Found) -> Table:
    """A row a method."""
    rows = found["rows"]
    optional = {"spread": Column("spread"), "p_against": Column(f"against {found['against']}", probability)}
    shown = {key: column for key, column in optional.items() if any(row.get(key) is not None for row in rows)}
    columns = {
        "name": Column("method"),
        "dev": Column("dev", telling(row["dev"] for row in rows)),
        "heldout": Column("held-out", telling(row["heldout"] for row in rows)),
        "test": Column("test", telling(row["test"] for row in rows)),
        **({"spread": shown["spread"]} if "spread" in shown else {}),
        "p": Column("p against first", probability),
        **({"p_against": shown["p_against"]} if "p_against" in shown else {}),
        "seconds": Column("seconds", ".1f"),
    }
    decided = [Column("decision")] if any(set(row.get("decisions", ())) - {"1best"} for row in rows) else []
    cells: list[list[Cell]] = []
    for row in rows:
        settings = ", ".join(f"{key}={value}" for key, value in row["settings"].items())
        name = row["name"] + (" *" if row["name"] == found["best"] else "")
        taken = [", ".join(row.get("decisions", ()))] if decided else []
        cells.append([name, *(row.get(key) for key in list(columns)[1:]), *taken, settings])
    runs = [f"scores are means over runs; spread: standard deviation of test scores over runs; {POOLED}"]
    below = [f"worse than the first hypotheses on test: {', '.join(found['below'])}"] if found["below"] else []
    settled = any(row.get("settled") and set(row["decisions"]) != {"1best"} for row in rows)
    told = [_sizes(found["segments"], settled=settled)] if found.get("segments") else []
    notes = [_NOTE, *told, *(runs if "spread" in shown else []), *below, *([found["note"]] if found["note"] else [])]
    return Table(
        [*columns.values(), *decided, Column("settings")], cells, caption=found["metric"], notes=notes, missing=""
    )


def _sizes(segments: Mapping[str, int], *, settled: bool) -> str:
    """How many segments methods are tuned on, chosen by and tested on."""
    said = f"segments: {segments['dev']} of dev, {segments['heldout']} held out, {segments['test']} of test"
    return (
        f"{said}; decisions were settled on those held out, by nbest tune in folds of dev where a method has them"
        if settled
        else said
    )


# a directory ----------------------------------------------------------------------------------------------------


def check_comparison_folder(path: str | Path) -> None:
    """Refuse, before any work, to put a comparison in the place of anything else."""
    folder = Path(path)
    if folder.exists() and not (folder / RESULTS).is_file() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ParameterError(f"{path} is there and holds no comparison; name a new directory")
    if not folder.resolve().parent.is_dir():
        raise FormatError(path, None, f"cannot be written: there is no folder {folder.parent}; make it first")


def write_comparison(path: str | Path, found: Compared) -> None:
    """Write the directory, beside its place and renamed."""
    content = content_of(found)
    with replacing_directory(path) as folder:
        (folder / _MODELS).mkdir()
        for row in found.rows:
            if row.model is not None:
                row.model.save(folder / _MODELS / f"{row.name}.json")
        write_record(folder / RESULTS, {"format": _FORM, **content})
        Page("Comparison", [comparison_table(content)]).write(folder)


def comparison_page(path: Path) -> Page:
    """A verdict, the table, a picture of the test scores, weights, and how models were trained."""
    found = read_comparison(path)
    models = {row["name"]: path / _MODELS / f"{row['name']}.json" for row in found["rows"]}
    loaded = {name: model for name, file in models.items() if file.is_file() and (model := _loaded(file)) is not None}
    trained = [training_of(loaded)] if loaded else []
    better = _better(found)
    told = comparison_table(found)
    table = replace(told, caption=f"{told.caption} ({better} is better)" if better else told.caption)
    said = [_verdict(found, better), *([_hint(models[found["best"]])] if found["best"] in loaded else [])]
    shown = replace(table, notes=[*table.notes, _BLANK])
    return Page("Comparison", [*said, shown, _figure(found), _weights(found), *trained])


def _better(found: Found) -> str:
    """Whether "higher" or "lower" is better, by what the oracle reaches; nothing where that is as good as the first."""
    rows = {row["name"]: row for row in found["rows"]}
    own, best = found["rows"][0], rows.get(ORACLE, found["rows"][0])
    gains = [best[key] - own[key] for key in ("dev", "test")]
    return next(("higher" if gain > 0 else "lower" for gain in gains if gain), "")


def _verdict(found: Found, better: str) -> str:
    """Which method is best on held-out lists, and what it is worth on test."""
    rows = {row["name"]: row for row in found["rows"]}
    own, best = found["rows"][0], rows.get(found["best"])
    if best is None or best is own:
        return f"Best on held-out lists: {found['best']}."
    form = telling((own["test"], best["test"]))
    metric = found["metric"].split("|")[0]
    sure = best["p"] is not None and best["p"] < LEVEL
    gained = (best["test"] - own["test"]) * (1.0 if better == "higher" else -1.0)
    said = (
        ("better, and hardly by chance" if gained > 0 else "worse, and hardly by chance")
        if sure
        else "no sure difference"
    )
    p = "" if best["p"] is None else f" (p {probability(best['p'])})"
    return (
        f"Best on held-out lists: {best['name']}. On test it has {metric} {best['test']:{form}} against "
        f"{own['test']:{form}} of the first hypotheses: {said}{p}."
    )


def _hint(file: Path) -> str:
    """How to see more of the best method."""
    command = f"nbest report DEV --model {shlex.quote(str(file))} --test TEST -o report.html"
    return f"All of it, with sliders and segments: {command}, with the lists (and --refs) that were compared on."


def _loaded(file: Path) -> LogLinear | None:
    """A model; None of one that needs files which are not there."""
    try:
        return load(file)
    except NbestError:
        return None


def read_comparison(path: Path) -> Found:
    """What `results.json` says, checked."""
    needed = {
        "format": lambda value: value == _FORM,
        "metric": _is_text,
        "best": _is_text,
        "against": _is_text,
        "note": _is_text,
        "below": lambda value: isinstance(value, list) and all(map(_is_text, value)),
        "rows": lambda value: isinstance(value, list) and bool(value) and all(map(_is_row, value)),
    }
    return read_record(path / RESULTS, needed, {"segments": _are_sizes}, _REMEDY)


def _are_sizes(value: Any) -> bool:
    return isinstance(value, dict) and all(type(value.get(name)) is int for name in ("dev", "heldout", "test"))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_row(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("settings"), dict):
        return False
    weights = row.get("weights")
    numbers = [row.get(key) for key in ("heldout", "p", "seconds", "p_against", "spread")]
    numbers += [*row.get("runs", []), *(weights.values() if isinstance(weights, dict) else [])]
    plain = all(value is None or is_number(value) for value in numbers)
    plain = plain and all(map(_is_text, row.get("decisions", ())))
    return _is_text(row.get("name")) and plain and is_number(row.get("dev")) and is_number(row.get("test"))


def _figure(found: Found) -> Figure:
    """Test scores; of several runs with the least and the greatest."""
    dots = []
    for row in found["rows"]:
        runs = row.get("runs") or [row["test"]]
        colour = COLOURS[0] if row["seconds"] is not None else PALE
        dots.append((row["name"], row["test"], min(runs), max(runs), colour))
    chart = DotChart(dots, "", f"{found['metric'].split('|')[0]} on test", "", found["rows"][0]["test"])
    picture = Picture("Test", "lines: from the worst to the best run", [chart], width=460, height=24.0 * len(dots) + 20)
    rows = [{key: row.get(key) for key in ("name", "dev", "heldout", "test", "p")} for row in found["rows"]]
    return Figure("test", "Scores on test", picture, rows)


def _weights(found: Found) -> Table:
    """A column a method."""
    by_method = {row["name"]: row["weights"] for row in found["rows"] if row.get("weights")}
    names = list(dict.fromkeys(name for weights in by_method.values() for name in weights))
    rows = [[name, *(weights.get(name) for weights in by_method.values())] for name in names[:_TOP]]
    more = [f"{len(names) - _TOP} further features are left out."] if len(names) > _TOP else []
    return Table(["feature", *(Column(name, ".4g") for name in by_method)], rows, caption="Weights", notes=more)
