"""Reports of directories: of `nbest compare`, and of a finished or running `loop` or `reproduce`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, NbestError
from nbest.loop.folder import Folder
from nbest.loop.report import page as loop_page
from nbest.loop.report import rows_of
from nbest.model.loglinear import load
from nbest.pages.comparisons import RESULTS, comparison_page
from nbest.pages.training import training_of
from nbest.papers.run import run_page
from nbest.report import Figure, Page
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS

_LOOP, _RUN = "loop.json", "run.json"


def folder_page(path: str | Path) -> Page:
    """The page of what a command left, or is leaving, in a directory."""
    folder = Path(path)
    for file, make in _PAGES.items():
        if (folder / file).is_file():
            return make(folder)
    known = f"nbest compare ({RESULTS}), loop ({_LOOP}) or reproduce ({_RUN})"
    raise FormatError(path, None, f"expected lists, or a directory of {known}")


def is_run(path: str | Path) -> bool:
    """Whether a command left a directory that has a page of its own."""
    return any((Path(path) / file).is_file() for file in _PAGES)


def version_of(path: str | Path) -> str:
    """What changes when files of a directory, or a file, do: their number, sizes and times."""
    folder = Path(path)
    count, size, last = 0, 0, 0
    for file in [folder, *folder.rglob("*")] if folder.is_dir() else [folder]:
        try:
            found = file.stat()
        except OSError:  # it was renamed or removed just now
            continue
        count, size, last = count + 1, size + found.st_size, max(last, found.st_mtime_ns)
    return f"{count}-{size}-{last}"


def _loop(folder: Path) -> Page:
    """Rounds so far, search errors, what was run, and the training of the last model."""
    place = Folder(folder)
    rows = rows_of(place)
    if not rows:
        return Page("Outer loop", ["No round has been decoded yet."])
    found = loop_page(rows, place.config(), place.result())
    state, table, curve, ran = found.parts
    return Page(found.title, [state, table, curve, *_errors(rows), *_trained(place, len(rows)), ran])


def _errors(rows: list[dict[str, Any]]) -> Iterator[Figure]:
    """New candidates and search errors of each round."""
    series = []
    for number, (key, name) in enumerate({"new": "new candidates", "missed": "search errors, segments"}.items()):
        seen = [row for row in rows if row.get(key) is not None]
        x, y = [row["round"] for row in seen], [float(row[key]) for row in seen]
        series += [LineChart([Series("", x, y, COLOURS[number], dots=True)], "", "round", name)] if seen else []
    kept = [{key: row.get(key) for key in ("round", "new", "missed", "pool")} for row in rows]
    if series:
        yield Figure("rounds", "New candidates and search errors", Picture("Rounds", "", series, width=300), kept)


def _trained(place: Folder, rounds: int) -> Iterator[Page]:
    """How the last model was trained, where there is one."""
    for file in (place.path / "model.json", *(place.round(n) / "model.json" for n in range(rounds, 0, -1))):
        if file.is_file():
            try:
                yield training_of(
                    {"the model" if file.parent == place.path else f"round {file.parent.name}": load(file)}
                )
            except NbestError as error:
                yield Page("Training", [f"The model cannot be shown: {error}"])
            return


_PAGES = {RESULTS: comparison_page, _LOOP: _loop, _RUN: run_page}
"""Which file tells a directory, and what makes its page."""
