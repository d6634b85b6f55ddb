"""What `nbest compare` does, once its arguments are known."""

from __future__ import annotations

import math
from typing import Any

from nbest.base.errors import ParameterError
from nbest.cli.adding import show_added
from nbest.cli.compare import DENSE, SPARSE, Compare
from nbest.cli.console import Console, print_json
from nbest.cli.further import refuse_rest, separate
from nbest.cli.loading import measure, read_lists, source_of, warn_of_labels, warn_of_overlap
from nbest.cli.streams import put
from nbest.corpus import split
from nbest.evaluation.comparison import Compared, Row, compare
from nbest.evaluation.pooling import POOLED
from nbest.report import RENDERERS, Column, Table
from nbest.report.page import probability, telling
from nbest.trainers.adding import add_columns

_NOTE = "* best on held-out data; p: paired permutation tests on test"


def run(call: Compare) -> None:
    """Tune all methods, show what they reach."""
    if call.methods is not None and not call.methods.strip(","):
        raise ParameterError("--methods names none")
    if not call.test:
        raise ParameterError("nbest compare needs --test LISTS to report on")
    if call.table is not None:
        RENDERERS.look_up(call.table)
    console = Console(quiet=call.quiet)
    paths, given = separate(call.dev)
    how = measure(call.metric, given, call)
    refuse_rest(given, type(how.metric), own=Compare)
    sets = {}
    for name, lists, references in (
        ("dev", paths, call.refs),
        ("test", call.test, call.test_refs),
        ("held-out", call.heldout, call.heldout_refs),
    ):
        if lists:
            sets[name] = how.measured(read_lists(source_of(call, lists, references), console))
    whole = sets["dev"]
    tuned = whole if "held-out" in sets else split(whole, 1.0 - call.split, call.seed)[0]
    # held-out segments must not shape the features
    made = add_columns(call.add, [tuned, *sets.values()], only=call.only, drop=call.drop)
    show_added(console, made.added)
    sets = dict(zip(sets, made.sets[1:], strict=True))
    warn_of_labels(console, sets["dev"])
    for name, other in (("test", "dev"), ("test", "held-out"), ("held-out", "dev")):
        if name in sets and other in sets:
            warn_of_overlap(console, name, sets[name], other, sets[other])
    methods = call.methods or (DENSE if sets["dev"].sparse is None else SPARSE)
    names = [name for name in methods.split(",") if name]
    with console.progress("tuning") as update, console.convergence():
        found = compare(
            sets["dev"],
            sets["test"],
            names,
            heldout=sets.get("held-out", call.split),
            common={"seed": call.seed},
            seed=call.seed if call.repeats == 1 else range(call.seed, call.seed + call.repeats),
            progress=update,
        )
    show(found, console, call.as_json, call.table)


def show(found: Compared, console: Console, as_json: bool, form: str | None = None) -> None:
    """A table on stdout, or JSON."""
    if as_json:
        head = {"metric": found.metric, "best": found.best, "against": found.against}
        print_json({**head, "rows": [_content(row) for row in found.rows]})
        return
    if form is None:
        console.show(_table(found), out=True)
    else:
        put(_table(found).render(form).rstrip("\n"))


def _table(found: Compared) -> Table:
    repeated = any(len(row.runs) > 1 for row in found.rows)
    tested = any(row.p_against is not None for row in found.rows)
    columns = [
        Column("method"),
        Column("dev", telling(row.dev for row in found.rows)),
        Column("held-out", telling(row.heldout for row in found.rows)),
        Column("test", telling(row.test for row in found.rows)),
        *([Column("spread")] if repeated else []),
        Column("p against first", probability),
        *([Column(f"against {found.against}", probability)] if tested else []),
        Column("seconds", ".1f"),
        Column("settings"),
    ]
    rows = []
    for row in found.rows:
        settings = ", ".join(f"{key}={value}" for key, value in row.settings.items())
        name = row.name + (" *" if row.name == found.best else "")
        spread, against = [row.spread] * repeated, [row.p_against] * tested
        rows.append([name, row.dev, row.heldout, row.test, *spread, row.p, *against, row.seconds, settings])
    runs = [f"scores are means over runs; spread: standard deviation of test scores over runs; {POOLED}"] * repeated
    below = [f"worse than the first hypotheses on test: {', '.join(found.below)}"] if found.below else []
    notes = [_NOTE, *runs, *below, *([found.note] if found.note else [])]
    return Table(columns, rows, caption=found.metric, notes=notes, missing="")


def _content(row: Row) -> dict[str, Any]:
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
        "weights": None if row.model is None else dict(row.model.weights),
    }
