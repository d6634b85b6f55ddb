"""The table of what keeps the gain in the news small, for the report of Yuan, Gao & Bu (2007)."""

from __future__ import annotations

from nbest.papers.report import PaperTable
from nbest.papers.run import Run
from nbest.papers.yuan.isolate import METHODS, ROWS
from nbest.papers.yuan.tables import below
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
