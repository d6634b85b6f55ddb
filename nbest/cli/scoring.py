"""What `nbest score` does, once its arguments are known."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError, look_up
from nbest.cli.console import Console, print_json
from nbest.cli.further import refuse_rest, separate, settable
from nbest.cli.loading import measure
from nbest.cli.score import Score
from nbest.cli.streams import put
from nbest.corpus import Texts
from nbest.corpus.answers import answer_rule
from nbest.evaluation.significance import TESTS
from nbest.formats.outputs import read_outputs
from nbest.metrics import METRICS
from nbest.report import Column, Table
from nbest.report.page import probability


def run(call: Score) -> None:
    """Score, test, print."""
    console = Console()
    compare = look_up(TESTS, call.test, "test")
    paths, given = separate(call.outputs)
    outputs = read_outputs(paths, call.refs)
    systems, references = outputs.systems, outputs.references
    if call.answer is not None:
        rule = answer_rule(call.answer)
        systems = {path: [rule.answer(text) for text in texts] for path, texts in systems.items()}
        references = [[rule.of_reference(text) for text in group] for group in references]
    if outputs.left_out:
        console.warn(f"{paths[0]}: {outputs.left_out} segments have references but no output; they are left out")
    names = [name for name in call.metric.split(",") if name]
    if not names:
        raise ParameterError(f"--metric names none; known: {', '.join(METRICS)}")
    rows: list[dict[str, Any]] = []
    for name in names:
        rows += _rows(name, call, given, systems, references, compare=compare)
    rest = {k: v for k, v in given.items() if not any(k in _options(n) for n in names)}
    refuse_rest(rest, *map(_kind, names), own=Score)
    if call.as_json:
        print_json(rows)
        return
    for title in dict.fromkeys((row["name"], row["signature"]) for row in rows):
        mine = [row for row in rows if (row["name"], row["signature"]) == title]
        console.show(_table(mine, call.test), out=True)
        put("")


def _kind(name: str) -> type:
    return look_up(METRICS, name, "metric")


def _options(name: str) -> list[str]:
    return list(settable(_kind(name)))


def _table(rows: list[dict[str, Any]], test: str) -> Table:
    """The systems by one metric; of several, how they differ from the first."""
    columns, keys = [Column("system"), Column(rows[0]["name"])], ["system", "score"]
    if "p" in rows[0]:
        columns += [Column("difference", "+.2f"), Column(f"p ({test})", probability)]
        keys += ["difference", "p"]
    values = [[None if key == "difference" and row["p"] is None else row[key] for key in keys] for row in rows]
    return Table(columns, values, notes=[f"signature: {rows[0]['name']}|{rows[0]['signature']}"], missing="")


def _rows(name, call, given, systems, references, compare) -> list[dict[str, Any]]:  # type: ignore[no-untyped-def]
    """One row a system for one metric."""
    mine = {key: value for key, value in given.items() if key in _options(name)}
    how = measure(name, mine, call)
    metric, offsets = how.metric, np.arange(len(references) + 1)
    with how.progress(len(systems) * len(references)):
        stats = {path: metric.stats(Texts.of(lines), offsets, references) for path, lines in systems.items()}
    base = next(iter(stats.values()))
    rows = []
    for path, values in stats.items():
        row: dict[str, Any] = {"system": path, "name": metric.name, "score": float(metric.score(values.sum(axis=0)))}
        row["signature"] = metric.signature(len(references[0])) + (f"|answer:{call.answer}" if call.answer else "")
        if len(stats) > 1:
            seeded = {} if call.test == "wilcoxon" else {"seed": call.seed}
            found = None if values is base else asdict(compare(metric, base, values, **seeded))
            row |= (
                {"p": None, "difference": 0.0}
                if found is None
                else found | {"difference": row["score"] - found["first"]}
            )
        rows.append(row)
    return rows
