"""The report of `nguyen-2007`: table 1 of each pair, the rounds, the starts and the shapes of bins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nbest.papers.nguyen import curve
from nbest.papers.nguyen.lists import NguyenSizes
from nbest.papers.nguyen.rows import MOVED, ROWS
from nbest.papers.report import PaperTable, Report
from nbest.papers.run import Run
from nbest.report import Cell, Column, Figure
from nbest.report.axes import geometric
from nbest.report.charts import LineChart, Series
from nbest.report.page import probability
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS
from nbest.studies.bins import BinWeights
from nbest.studies.starts import Starts

PAPER_TABLE: tuple[tuple[Cell, ...], ...] = (
    ("Oracle", 14.10, None, None),
    ("Baseline", 10.95, 35.15, 25.95),
    ("GMM-ML-1k", 10.95, 35.15, 25.95),
    ("GMM-ML-16k", 11.09, 35.25, 25.89),
    ("GMM-PCP-2k", 10.95, 35.15, 25.95),
    ("GMM-PCP-300k-unreg", 13.00, None, None),
    ("GMM-PCP-300k", 12.11, 35.74, 26.42),
)
"""Table 1 of the paper: BLEU of train, dev and eval; N/A there is None here."""
_COLUMNS = {
    "variance": Column("variance", "g"),
    "wilcoxon": Column("Wilcoxon p", probability),
    "permutation": Column("permutation p", probability),
}
_DEVTEST = {"devtest": Column("devtest"), "both": Column("p, both", probability)}
_DEVTEST_NOTE = "Nothing was chosen on devtest. p, both: paired permutation over the sentences of test and devtest."
_NOTES = (
    "Prior: the variance that is best on the held-out lists; BLEU of tokens. p: against the baseline without a prior, "
    "on test; Wilcoxon's signed ranks over batches of 10 sentences, and paired permutation.",
)
_PAPER_NOTE = (
    "The paper's eval gain of 0.47 is significant at the 0.9 level by Wilcoxon's test over batches of 10 sentences. Of "
    "bins it says that the training BLEU and objective rise only marginally."
)


def report(run: Run) -> Report:
    """What was found so far."""
    sizes = NguyenSizes.of(run)
    tables: list[PaperTable] = []
    figures: list[Figure] = []
    for pair in sizes.pairs:
        tables += [_table(run, pair, "train"), _table(run, pair, "dev"), _rounds(run, pair, sizes), _speed(run, pair)]
        found = run.result(f"{pair}-starts")
        if found is not None:
            study = Starts.of(found)
            tables.append(_starts(pair, study, found))
            title = f"{pair}: BLEU after training from corners of the unit cube (figures 1 and 2)"
            figures.append(study.figure(f"{pair}-starts", title))
        found = run.result(f"{pair}-bins")
        if found is not None:
            title = f"{pair}: weights of bins before and after training (figure 3)"
            figures.append(BinWeights.of(found).figure(f"{pair}-bins", title))
        rows = _along(run, pair)
        if rows:
            tables += [_curve(run, pair, rows), _tried(run, pair)]
            figures.append(_curves(pair, rows))
    return Report(tables, figures, _differences(run, sizes))


# tables ---------------------------------------------------------------------------------------------------------


def _label(run: Run, pair: str, kind: str) -> str:
    sizes = NguyenSizes.of(run)
    names = {
        "baseline": "Baseline, soft BLEU",
        "mert": "Baseline, MERT",
        "bins": "Bins, 20 a feature",
        "bins-zero": "Bins, 20 a feature, all weights from 0",
        "ml-small": f"ML kernels, {sizes.small:,}",
        "ml-large": f"ML kernels, {sizes.large:,}",
        "pcp-dev": "Perceptron kernels of dev",
        "pcp-train": "Perceptron kernels of training lists",
        "pcp-global": "Perceptron kernels of training lists, covariance of all hypotheses",
        "moved": "Perceptron kernels of training lists, means re-estimated",
        "moved-all": "Perceptron kernels of training lists, means, variances and priors re-estimated",
    }
    made = run.result(f"{pair}-kernels-{kind}")
    return names[kind] if made is None or kind.startswith("ml") else f"{names[kind]}, {made['kernels']:,}"


def _table(run: Run, pair: str, on: str) -> PaperTable:
    """Table 1: the rows that are there, others empty."""
    cells: list[tuple[Cell, ...]] = []
    base = run.result(f"{pair}-{on}-baseline")
    if base is not None:
        cells.append(("Oracle", *_cells(base["oracle"])))
    for kind in (*ROWS, *(MOVED if on == "train" else ())):
        label = _label(run, pair, kind)
        if kind not in MOVED:
            cells.append((f"{label}; no prior", *_cells(run.value(f"{pair}-{on}-{kind}", "none"))))
        if kind != "mert":
            cells.append((f"{label}; prior", *_cells(run.value(f"{pair}-{on}-{kind}", "prior"))))
    names = ("jackknifed", "dev", "test") if on == "train" else ("dev", "devtest", "test")
    title = f"{pair}: table 1, weights trained on {'jackknifed training' if on == 'train' else 'dev'} lists"
    columns: list[str | Column] = ["system", *names, *_COLUMNS.values()]
    notes = [*_NOTES, *([_sizes(base, names)] if base else [])]
    if on == "dev":
        notes.append("Kernels are those of the table above; only their weights are trained on dev.")
        return PaperTable(title, columns, cells, notes=notes)
    return PaperTable(
        title, columns, cells, PAPER_TABLE, ("System", "Train", "Dev", "Eval"), notes=(*notes, _PAPER_NOTE)
    )


# the learning curve ---------------------------------------------------------------------------------------------------


def _along(run: Run, pair: str) -> list[dict[str, Any]]:
    """Rows of the learning curve that are there: kind, prior or none, lists, and what was found."""
    found = []
    for kind in curve.kinds(run):
        for prior in ("none", "prior"):
            for size in NguyenSizes.of(run).curve_of(pair):
                row = run.value(f"{pair}-curve-{size}-{kind}", prior)
                if row is not None:
                    found.append({"kind": kind, "with": prior, "lists": size, **row})
    return found


def _curve(run: Run, pair: str, rows: list[dict[str, Any]]) -> PaperTable:
    cells = [
        (_kind(row["kind"]), _PRIORS[row["with"]], row["lists"], *_cells(row), *map(row.get, _DEVTEST)) for row in rows
    ]
    notes = [*_NOTES, _DEVTEST_NOTE, *_gaps(rows)]
    heads: list[str | Column] = [
        "features",
        "prior",
        Column("lists", whole=","),
        "jackknifed",
        "dev",
        "test",
        *_COLUMNS.values(),
        *_DEVTEST.values(),
    ]
    return PaperTable(f"{pair}: as lists grow", heads, cells, notes=notes)


def _gaps(rows: list[dict[str, Any]]) -> list[str]:
    """How the gap between training and test lists shrinks, and where it would be that of the linear model."""
    by_kind: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for row in rows:
        by_kind.setdefault((row["kind"], row["with"]), {})[row["lists"]] = row
    linear = by_kind.get(("linear", "none"), {})
    found = []
    for (kind, prior), own in by_kind.items():
        fitted = curve.gap({size: _beyond(row, linear[size]) for size, row in own.items() if size in linear})
        if kind == "linear" or fitted is None:
            continue
        a, b = fitted
        end = f"; it would be 0.1 at {(a / 0.1) ** (1 / b):.2g} lists" if b > 0.05 else "; it does not close"
        found.append(f"{_kind(kind)}, {_PRIORS[prior]}: gain on training less gain on test is {a:.3g} N^{-b:.2f}{end}.")
    return found


def _beyond(row: Mapping[str, Any], linear: Mapping[str, Any]) -> dict[str, float]:
    """Gains over the linear model of as many lists."""
    return {part: row[part] - linear[part] for part in ("train", "test")}


def _tried(run: Run, pair: str) -> PaperTable:
    size = NguyenSizes.of(run).curve_of(pair)[-1]
    cells: list[tuple[Cell, ...]] = []
    for kind in curve.TRIED:
        for prior in ("none", "prior"):
            found = run.value(f"{pair}-curve-{size}-{kind}", prior)
            if found is not None:
                width = f", width {found['width']:g}" if "width" in found else ""
                cells.append((f"{_TRIED[kind]}{width}", _PRIORS[prior], *_cells(found), *map(found.get, _DEVTEST)))
    heads: list[str | Column] = [
        "features", "prior", "jackknifed", "dev", "test", *_COLUMNS.values(), *_DEVTEST.values()
    ]  # fmt: skip
    notes = (*_NOTES, _DEVTEST_NOTE)
    return PaperTable(f"{pair}: what the paper did not try, {size:,} lists", heads, cells, notes=notes)


def _curves(pair: str, rows: list[dict[str, Any]]) -> Figure:
    names = list(dict.fromkeys(row["kind"] for row in rows if row["kind"] != "linear"))
    linear = {row["lists"]: row for row in rows if row["kind"] == "linear" and row["with"] == "none"}
    panels: list[LineChart] = []
    for part, said in (("train", "the training lists"), ("test", "test")):
        series = []
        for at, name in enumerate(names):
            for prior, style in (("none", "dashed"), ("prior", "solid")):
                own = [row for row in rows if row["kind"] == name and row["with"] == prior and row["lists"] in linear]
                x, y = [float(row["lists"]) for row in own], [_beyond(row, linear[row["lists"]])[part] for row in own]
                label = "" if panels else f"{_kind(name)}, {_PRIORS[prior]}"
                series.append(Series(label, x, y, COLOURS[at % len(COLOURS)], style, dots=True))
        sizes = sorted({each for one in series for each in one.x})
        ticks = [(size, f"{size:,.0f}") for size in sizes]
        panels.append(LineChart(series, f"on {said}", "lists", "BLEU", x_ticks=ticks, log=geometric(sizes)))
    title = f"{pair}: gain over the linear model as lists grow"
    picture = Picture(title, "BLEU of soft BLEU with added features, less that of the linear model", panels)
    return Figure(f"{pair}-curve", title, picture, rows)


def _kind(kind: str) -> str:
    if kind.startswith("ml-"):
        return f"{int(kind.removeprefix('ml-')):,} ML kernels"
    return {"linear": "linear", "bins": "20 bins a feature", "pcp": "perceptron kernels of all lists"}[kind]


_PRIORS = {"none": "no prior", "prior": "prior"}
_TRIED = {
    "pcp-within": "perceptron kernels of differences from the list's mean",
    "ml-within": "ML kernels of differences from the list's mean",
    "pcp-width": "perceptron kernels, width by dev",
    "pcp-local": "perceptron kernels of local updates, best of 10",
    "pcp-risk": "perceptron kernels, weights by annealed risk",
}


def _cells(found: Mapping[str, Any] | None) -> list[Cell]:
    return [(found or {}).get(key) for key in ("train", "heldout", "test", *_COLUMNS)]


def _sizes(base: Mapping[str, Any], names: tuple[str, ...]) -> str:
    parts = zip(names, base["lists"].values(), strict=True)
    return "Lists: " + ", ".join(f"{name} {count[0]:,} with {count[1]:,} hypotheses" for name, count in parts) + "."


def _rounds(run: Run, pair: str, sizes: NguyenSizes) -> PaperTable:
    columns = {
        "hypotheses": Column("hypotheses", whole=","),
        "lists": Column("BLEU of the lists, trained"),
        "decoded": Column("BLEU decoded with the weights before"),
    }
    rows: list[list[Cell]] = []
    for number in range(1, sizes.rounds + 1):
        rows.append([str(number), *(run.value(f"{pair}-round-{number}", key) for key in columns)])
    return PaperTable(f"{pair}: rounds of decoding dev and soft BLEU", ("round", *columns.values()), rows)


def _speed(run: Run, pair: str) -> PaperTable:
    names = {"softbleu": "soft BLEU by RProp", "mert-1": "MERT, one start", "mert": "MERT of this package"}
    found = run.result(f"{pair}-speed") or {}
    rows: list[list[Cell]] = []
    for name, said in names.items():
        own = found.get(name, {})
        ratio = own["seconds"] / found["softbleu"]["seconds"] if own else None
        rows.append([said, own.get("seconds"), ratio, own.get("train")])
    heads = ("method", Column("processor seconds", ".2f"), Column("of soft BLEU's", ".2f"), "BLEU of the lists")
    notes = ["The paper: RProp was about 6 times faster than minimum error rate training."]
    if found:
        notes.insert(
            0, f"{found['segments']:,} dev lists of all rounds, {found['hypotheses']:,} hypotheses; one thread."
        )
    return PaperTable(f"{pair}: speed", heads, rows, notes=notes)


def _starts(pair: str, study: Starts, found: Mapping[str, Any]) -> PaperTable:
    """How far the ends of different starts are apart."""
    cells: list[tuple[Cell, ...]] = []
    for method in ("none", *study.settings["methods"]):
        values = study.values(method)
        quarters = [float(value) for value in np.percentile(values, [0, 25, 50, 75, 100])]
        cells.append((method, str(len(values)), *quarters))
    heads = ("method", "starts", "least", "25 %", "median", "75 %", "largest")
    note = f'On {found["segments"]:,} dev lists with {found["hypotheses"]:,} hypotheses; "none" is before training.'
    paper = (("empirical Bayes reward (soft BLEU)", "2048", 24.8, 25.4),)
    columns = ("method", "starts", "least, read off the axis of figure 1", "largest")
    return PaperTable(
        f"{pair}: starts at corners of the unit cube", heads, cells, paper=paper, paper_columns=columns, notes=(note,)
    )


# what differs ---------------------------------------------------------------------------------------------------


def _each(sizes: NguyenSizes) -> str:
    return ", ".join(f"{count:,} ({pair})" for pair, count in zip(sizes.pairs, sizes.lists, strict=True))


def _differences(run: Run, sizes: NguyenSizes) -> list[str]:
    pairs = "all" if sizes.train is None else f"the first {sizes.train:,}"
    return [
        f"European Parliament text ({', '.join(sizes.pairs)}; sentences of 1 to 40 words a side), not NIST MT-02; one "
        "reference; BLEU of truecased tokens.",
        f"A phrase-based translator with nine features, trained on {pairs} sentence pairs; the paper's: treelets, 11.",
        f"{sizes.folds} folds, which share one word alignment and the truecasers of all texts: only phrase extraction, "
        "scoring and the language model leave the fold out. "
        f"At most {_each(sizes)} sentences of a fold are decoded, spread evenly over it, {sizes.fold_k} hypotheses "
        "each and once; the paper decodes all of its 175,000 in 7 rounds, about 700 hypotheses each.",
        f"Decoder weights are the best of {sizes.rounds} rounds on dev, not of rounds on the jackknifed lists; so dev, "
        "on which the variance is chosen, is not new to the decoder.",
        "Weights and prior are in units of columns divided by their spread (kernels: root mean square), so rare "
        "kernels are held less than by the paper's prior, which is on plain weights; and the prior of added columns is "
        "on these only, where the paper's is on all weights. With a prior on all of them (tried first, variances 1 to "
        "10,000) every kind of kernel was 0.2 to 1.9 BLEU below the linear model on dev.",
        f"Maximum-likelihood kernels are fitted to at most {sizes.pool:,} hypotheses, those of the learning curve to "
        f"{sizes.curve_pool:,}; of a hypothesis the 8 largest posteriors count. The covariance of perceptron kernels "
        "is measured around the nearest mean (docs/features.md); one row has that of all hypotheses, as printed.",
        "Bins and kernels start from the weights of the linear model and 0 for new columns and are trained for "
        f"{sizes.iterations} iterations of RProp (the paper: about 50); the variance is one of "
        f"{', '.join(f'{value:g}' for value in sizes.variances)}.",
        f"Starts: {sizes.corners} corners at most, on {sizes.start_lists:,} dev lists of {sizes.start_k} hypotheses; "
        "the paper: all 2,048 on its lists. Kernels are re-estimated in two rows; the paper has the "
        "formula of means only.",
    ]
