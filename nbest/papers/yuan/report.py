"""The report of the reproduction of Yuan, Gao & Bu (2007): its tables, the study of alpha, figures, differences."""

from __future__ import annotations

import numpy as np

from nbest.papers.report import PaperTable, Report
from nbest.papers.run import Run
from nbest.papers.yuan.lists import METRIC, sizes_of
from nbest.papers.yuan.tables import gold, table_1, table_2
from nbest.papers.yuan.train import ALPHAS, METHODS
from nbest.papers.yuan.why import why, why_li
from nbest.report import Cell, Column, Figure
from nbest.report.axes import geometric
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS
from nbest.studies.alpha import METHODS as STUDIED
from nbest.studies.alpha import Alpha

_SETS = {"jackknife": "news", "tanaka": "tanaka"}  # of the study of alpha

DIFFERENCES = (
    "Data: Wikinews instead of Nikkei and Yomiuri (400,000 sentences for the trigram, 80,000 for the lists, 860,000 "
    "n-grams, 5,000 sentences each for dev and test); the Tanaka corpus for TuneUp, novels of Aozora Bunko for "
    "Shincho, Japanese Wikipedia (JSQuAD) for Encarta. Most are smaller, the sizes are beside the tables; dev and "
    "test of the news are of the source trained on. For the second newspaper (Yomiuri) stand documents that speak of "
    "later years, with a converter of the others.",
    "Readings of these texts were made by a program and are partly wrong; those of kuwiki, ROHAN4600 and ITA were made "
    "or corrected by hand. Dev and test are whole documents, or blocks of neighbouring sentences of a domain; "
    "sentences of a domain with more than 150 kana are left out, and those of ROHAN4600 and ITA with a word whose "
    "reading is not given.",
    "Two ways to have lists from a converter that has not seen their sentences: 'disjoint' as in the paper (two thirds "
    "of the news for the converter, one third for the lists), and 'jackknife', which uses all of the news for both.",
    "The base model is a modified Kneser-Ney trigram over words with their readings (a joint model; the paper's is "
    "over words), with a model of characters for unknown words and the words of IPADIC; its weights are not tuned.",
    "Errors are counted against the true text, the paper counts them against the best hypothesis of the list.",
    "Settings (alpha and smoothing of MSR, smoothing and penalty of boosting, margin of the perceptron, C of MIRA) and "
    "numbers of rounds or features are chosen on dev in table 1; in table 2 the numbers of rounds and features only.",
    "Linear interpolation twice: LI also brings the new domain's words and converts the test text anew, so it may "
    "choose what is not in the lists of the others; on the same lists it has the vocabulary of the news and chooses "
    "from what all choose from, as in the paper. Its weight makes a tenth of the sentences most likely (EM).",
    "p: paired permutation test over sentences with 2,000 samples, uncorrected for the number of comparisons.",
    "MIRA, PRO and penalised boosting are not in the paper.",
)


def report(run: Run) -> Report:
    """What there is so far."""
    studies = {name: found for name in _SETS if (found := _study(run, name)) is not None}
    tables = [table_1(run), gold(run), table_2(run), why(run), why_li(run)]
    tables += [_alpha(run, *study) for study in studies.items()]
    figures = [
        study.figure(f"alpha-{name}", f"Figures 1 to 4, {_SETS[name]}: effect and correlation")
        for name, study in studies.items()
    ]
    if (curves := _curves(run)) is not None:
        figures.append(curves)
    return Report(tables, figures, DIFFERENCES)


# alpha ----------------------------------------------------------------------------------------------------------


def _study(run: Run, name: str) -> Alpha | None:
    """What was found of a set so far: one step a method."""
    found = {method: run.result(f"alpha-{name}-{method}") for method in STUDIED}
    done = {method: result for method, result in found.items() if result is not None}
    if not done:
        return None
    last = list(done.values())[-1]
    settings = {**last["settings"], "methods": list(done)}
    rows = tuple(row for result in done.values() for row in result["rows"])
    return Alpha.of({**last, "settings": settings, "rows": rows, "higher_is_better": METRIC.higher_is_better})


def _alpha(run: Run, name: str, found: Alpha) -> PaperTable:
    """Training and test CER after some numbers of features."""
    marks = sizes_of(run).marks
    columns: list[str | Column] = ["method", Column("alpha", "g")]
    columns += [f"{part}, {mark:,}" for part in ("training", "test") for mark in marks]
    rows = [_curve(found, method, alpha, marks) for method in found.settings["methods"] for alpha in ALPHAS]
    paper = [("MSR, MSR-II", 1, 2.09, 2.99)] if name == "jackknife" else []
    heads = ("method", "alpha", "training, 2,000", "test, 2,000")
    notes = []
    for method in found.settings["methods"]:
        about = run.need(f"alpha-{name}-{method}")
        lists = f"{about['segments']:,} training lists, {about['columns']:,} n-grams"
        cost = f"{about['seconds']:.1f} s a training of at most {sizes_of(run).limit:,} features"
        notes.append(f"{METHODS[method].title}: {lists}, {cost}.")
    notes.append("The paper's trainings of 2,000 features took 20 minutes (MSR) and 18 (MSR-II), on one 1.9 GHz Xeon.")
    title = f"Figures 1 to 4 in numbers, {_SETS[name]}: character error rate (%) after so many features"
    return PaperTable(title, columns, rows, paper, paper_columns=heads, notes=notes)


def _curve(found: Alpha, method: str, alpha: float, marks: tuple[int, ...]) -> list[Cell]:
    row: list[Cell] = [METHODS[method].title, alpha]
    for key in ("dev", "heldout"):
        features, values = found.curve(method, alpha, key)
        near = [int(np.argmin(np.abs(np.array(features) - mark))) for mark in marks]
        row += [values[at] if max(features) >= mark else None for at, mark in zip(near, marks, strict=True)]
    return row


# adaptation -----------------------------------------------------------------------------------------------------


def _curves(run: Run) -> Figure | None:
    """Table 2 as curves: one panel a domain with two sizes or more."""
    table = table_2(run)
    panels: list[LineChart] = []
    for name in sizes_of(run).adapt:
        rows = [row for row in table.rows if row[0] == name and None not in row[:4]]
        if len(rows) < 2:
            continue
        sizes = [float(str(row[1])) for row in rows]
        series = []
        for at, title in list(enumerate(column.head for column in table.tables()[0].heads))[2:]:
            if None in (row[at] for row in rows):
                continue
            values = [float(str(row[at])) for row in rows]
            series.append(Series("" if panels else title, sizes, values, COLOURS[at % len(COLOURS)], dots=True))
        ticks = [(size, f"{size:,.0f}") for size in sizes]
        x, y = "sentences to adapt to", "CER (lower is better)"
        panels.append(LineChart(series, name, x, y, x_ticks=ticks, log=geometric(sizes)))
    if not panels:
        return None
    picture = Picture("Adaptation", "character error rate on test; news only: the converter of the news", panels)
    return Figure("adaptation", "Adaptation by the number of sentences", picture)
