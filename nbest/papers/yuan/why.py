"""The tables of what keeps the gain in the news small and of why interpolation is strong, for the report of Yuan, Gao &
Bu (2007)."""

from __future__ import annotations

from typing import Any

from nbest.papers.report import PaperTable
from nbest.papers.run import Run
from nbest.papers.yuan import isolate_li
from nbest.papers.yuan.isolate import METHODS, ROWS
from nbest.papers.yuan.lists import sizes_of
from nbest.papers.yuan.tables import below
from nbest.papers.yuan.train import ADAPTING
from nbest.papers.yuan.train import METHODS as ADAPTED
from nbest.report import Cell, Column
from nbest.report.page import probability

_P = Column("p", probability)
_COUNT = ",.0f"


def why(run: Run) -> PaperTable:
    """One row a change: base, what methods reach on training lists and test, and by how much they are lower."""
    columns: list[str | Column] = ["lists", Column("number", _COUNT), "trigram, training", "MSR-II", "%"]
    columns += ["trigram, test", "oracle"]
    for title in METHODS.values():
        columns += [title, "%", _P]
    rows = [row for name in ROWS if (row := _row(run, name)) is not None]
    notes = [
        "Training: rates of the lists that are trained on, before and after. %: by how much a rate is lower. alpha of "
        "MSR-II and numbers of features are chosen on dev; boosting and MIRA have their default settings.",
        "Sure readings: each word with other characters than kana has its reading in the dictionary, or is read as it "
        "is written (digits, letters).",
        "The paper: training 2.09 with 2,000 features (against the best hypothesis), test 3.73 and 2.95.",
    ]
    return PaperTable("What keeps the gain in the news small: one change a row (CER, %)", columns, rows, notes=notes)


def _row(run: Run, name: str) -> list[Cell] | None:
    found = run.result(f"why-{name}")
    if found is None:
        return None
    base, own = found["base"], found["methods"]["msr2"]["train"]
    row: list[Cell] = [ROWS[name].title, found["lists"], base["train"], own, below(own, base["train"])]
    row += [base["test"], found["oracle"]]
    for method in METHODS:
        reached = found["methods"][method]
        row += [reached["cer"], below(reached["cer"], base["test"]), reached["p"]]
    return row


def why_li(run: Run) -> PaperTable:
    """One row a change: the converter alone, interpolation on the same lists, and the methods."""
    columns: list[str | Column] = ["domain", "change", Column("sentences", _COUNT), "converter", "oracle"]
    columns += ["LI, same lists", "%", "weight of the news"]
    for method in ADAPTING:
        columns += [ADAPTED[method].title, "%", _P]
    names = [(domain, row) for domain in sizes_of(run).why_li for row in isolate_li.ROWS]
    rows = [_li_row(domain, row, found) for domain, row in names if (found := run.result(f"why-li-{domain}-{row}"))]
    note = "%: by how much the rate of the converter is lowered. p: against interpolation on the same lists."
    return PaperTable("Why interpolation is strong: one change a row (CER, %)", columns, rows, notes=[note])


def _li_row(domain: str, name: str, found: dict[str, Any]) -> list[Cell]:
    base, li = found["cer"], found["li"]
    row: list[Cell] = [domain, isolate_li.ROWS[name].title, found["sentences"], base, found["oracle"]]
    row += [li["cer"], below(li["cer"], base), li["weight"]]
    for method in ADAPTING:
        reached = found["methods"][method]
        row += [reached["cer"], below(reached["cer"], base), reached["p_fixed"]]
    return row
