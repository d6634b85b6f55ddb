"""How a comparison is shown."""

from __future__ import annotations

import math
from typing import Any

from nbest.cli.console import Console, number, print_json, probability
from nbest.cli.streams import put
from nbest.evaluation.comparison import Row, Table


def show(table: Table, console: Console, as_json: bool) -> None:
    """A table on stdout, or JSON."""
    if as_json:
        print_json({"metric": table.metric, "best": table.best, "rows": [_plain(row) for row in table.rows]})
        return
    header = ("method", "dev", "held-out", "test", "p on test", "seconds", "settings")
    rows = [
        (
            row.name + (" *" if row.name == table.best else ""),
            number(row.dev),
            "" if row.heldout is None else number(row.heldout),
            number(row.test),
            "" if row.p is None else probability(row.p),
            "" if row.seconds is None else f"{row.seconds:.1f}",
            ", ".join(f"{key}={value}" for key, value in row.settings.items()),
        )
        for row in table.rows
    ]
    console.table(header, rows, title=table.metric, out=True)
    put("* best on held-out data; p: paired permutation test against the first hypotheses")


def _plain(row: Row) -> dict[str, Any]:
    settings = {k: str(v) if isinstance(v, float) and math.isinf(v) else v for k, v in row.settings.items()}
    return {
        "name": row.name,
        "dev": row.dev,
        "heldout": row.heldout,
        "test": row.test,
        "p": row.p,
        "seconds": row.seconds,
        "settings": settings,
        "weights": None if row.model is None else dict(row.model.weights),
    }
