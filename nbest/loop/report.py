"""The rounds of a loop so far, for people: a curve, its numbers and a table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nbest.base.files import write_text
from nbest.base.json_values import json_lines
from nbest.loop.folder import Folder
from nbest.report import Figure, Items, Page, Table
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS

_SEARCH_ERRORS = 0.1  # share of the segments from which they are worth a warning


def told(place: Folder, number: int, rounds: int, *, higher_is_better: bool) -> list[str]:
    """What is said of a round when it is decoded, and warnings: nothing falls below the start unnoticed."""
    found = place.decoded(number)
    assert found is not None
    held = f", held out {found['heldout']['score']:.2f}" if "heldout" in found else ""
    what = "best strings" if "edges" in found["dev"] else "candidates"
    took = sum(found[name]["seconds"] for name in ("dev", "heldout") if name in found)
    when = f"round {number}" if number <= rounds else "at the end"
    begun = place.decoded(1) or found
    sign = 1.0 if higher_is_better else -1.0
    judge = "heldout" if "heldout" in found else "dev"
    worse = ", worse than round 1" if sign * (found[judge]["score"] - begun[judge]["score"]) < 0 else ""
    lines = [
        f"{when}: {place.metric} {found['dev']['score']:.2f}{held}{worse}; {found['new']} new {what}, {took:.1f} s",
        *_trained_below(place, number - 1, sign),
    ]
    missed = [_missed(place, each) for each in range(1, number + 1)]
    if missed[-1] > _SEARCH_ERRORS >= max(missed[:-1], default=0.0):  # said once, then in the report
        lines.append(
            f"warning: search errors: {missed[-1]:.0%} of the answers score below a candidate of an earlier round by "
            "the same weights; widen the decoder's beam, and check that its scores do not depend on the weights"
        )
    for name in ("dev", "heldout"):
        lost = begun[name]["segments"] - found[name]["segments"] + found[name]["empty"] if name in found else 0
        if lost > 0:
            lines.append(f"warning: {lost} segments of {name} have no candidates in round {number} and are not scored")
    return lines


def _trained_below(place: Folder, number: int, sign: float) -> list[str]:
    """A warning where the training of a round ended below the answers that it began with."""
    trained, began = (place.trained(number), place.decoded(number)) if number > 0 else (None, None)
    if trained is None or began is None or "dev" not in trained["scores"]:
        return []
    now, before = trained["scores"]["dev"], began["dev"]["score"]
    if sign * (now - before) >= 0:
        return []
    return [
        f"warning: the training of round {number} ended below the answers that it began with: {now:.2f} against "
        f"{before:.2f} on all candidates so far"
    ]


def _missed(place: Folder, number: int) -> float:
    """The share of the segments with search errors in a round."""
    found = (place.decoded(number) or {"dev": {"segments": 0}})["dev"]
    return found.get("missed", 0) / max(found["segments"], 1)


def rows_of(place: Folder) -> list[dict[str, Any]]:
    """One row a round: scores of what was decoded, what the training before saw, sizes and seconds."""
    rows: list[dict[str, Any]] = []
    number = 1
    while (found := place.decoded(number)) is not None:
        trained, before = place.trained(number), place.trained(number - 1) if number > 1 else None
        rows.append(
            {
                "round": number,
                "dev": found["dev"]["score"],
                "heldout": found["heldout"]["score"] if "heldout" in found else None,
                "trained_dev": None if before is None else before["scores"].get("dev"),
                "new": found["new"],
                "missed": found["dev"].get("missed"),
                "pool": None if trained is None else trained["pool"].get("hypotheses", trained["pool"].get("edges")),
                "decode_seconds": sum(found[name]["seconds"] for name in ("dev", "heldout") if name in found),
                "train_seconds": None if trained is None else sum(trained["seconds"].values()),
                "weights": found["weights"],
            }
        )
        number += 1
    return rows


def write_report(place: Folder, result: Mapping[str, Any] | None = None) -> None:
    """curve.jsonl, curve.svg and report.md; `result` says how the run ended, if it did."""
    rows = rows_of(place)
    if not rows:
        return
    write_text(place.path / "curve.jsonl", json_lines(rows))
    page(rows, place.config(), result).write(place.path)


def picture(rows: list[dict[str, Any]], metric: str) -> Picture:
    """Decoded scores of each round."""

    def series(name: str, key: str, colour: str, **more: Any) -> Series:
        seen = [row for row in rows if row[key] is not None]
        return Series(name, [row["round"] for row in seen], [row[key] for row in seen], colour, **more)

    lines = [
        series("dev, decoded", "dev", COLOURS[0], dots=True),
        series("dev, as training saw it", "trained_dev", COLOURS[0], style="dashed"),
        series("held out, decoded", "heldout", COLOURS[1], dots=True),
    ]
    chart = LineChart([line for line in lines if len(line.x)], "", "round", metric.split("|")[0])
    return Picture(
        "Decoding again", f"{metric}; round 1 is decoded with the start weights", [chart], 1, width=560, height=360
    )


_COLUMNS = {
    "round": "round",
    "dev": "dev",
    "heldout": "held out",
    "trained_dev": "dev as training saw it",
    "new": "new",
    "missed": "missed",
    "pool": "pool",
    "decode_seconds": "decoding s",
    "train_seconds": "training s",
}
"""Of the table: keys of the rows, and what they are called."""


def page(rows: list[dict[str, Any]], config: Mapping[str, Any], result: Mapping[str, Any] | None) -> Page:
    """How the run stands, its rounds, the curve and what was run."""
    table = Table(list(_COLUMNS.values()), [[row[key] for key in _COLUMNS] for row in rows])
    state = (
        "still running, or stopped: resume it"
        if result is None
        else f"ended: {result['reason']}; the weights that round {result['chosen'] + 1} decoded with were chosen"
    )
    what = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in config.items()]
    curve = Figure("curve", "curve", picture(rows, str(config["metric"])), rows)
    return Page("Outer loop", [state, table, curve, Page("What was run", [Items(what)])])
