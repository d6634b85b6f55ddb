"""The report of `nguyen-2007`: table 1 of each pair, the rounds, the starts and the shapes of bins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nbest.papers.nguyen.lists import NguyenSizes
from nbest.papers.nguyen.rows import ROWS
from nbest.papers.report import PaperTable, Report
from nbest.papers.run import Run
from nbest.report import Cell, Column, Figure
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
    "wilcoxon": Column("Wilcoxon p", ".4f"),
    "permutation": Column("permutation p", ".4f"),
}
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
        tables += [_table(run, pair, "train"), _table(run, pair, "dev"), _rounds(run, pair, sizes)]
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
    return Report(tables, figures, _differences(run, sizes))


# tables ---------------------------------------------------------------------------------------------------------


def _label(run: Run, pair: str, kind: str) -> str:
    sizes = NguyenSizes.of(run)
    names = {
        "baseline": "Baseline, soft BLEU",
        "mert": "Baseline, MERT",
        "bins": "Bins, 20 a feature",
        "ml-small": f"ML kernels, {sizes.small:,}",
        "ml-large": f"ML kernels, {sizes.large:,}",
        "pcp-dev": "Perceptron kernels of dev",
        "pcp-train": "Perceptron kernels of training lists",
        "moved": "Perceptron kernels of training lists, means re-estimated",
    }
    made = run.result(f"{pair}-kernels-{kind}")
    return names[kind] if made is None or kind.startswith("ml") else f"{names[kind]}, {made['kernels']:,}"


def _table(run: Run, pair: str, on: str) -> PaperTable:
    """Table 1: the rows that are there, others empty."""
    cells: list[tuple[Cell, ...]] = []
    base = run.result(f"{pair}-{on}-baseline")
    if base is not None:
        cells.append(("Oracle", *_cells(base["oracle"])))
    for kind in ROWS if on == "train" else ROWS[:-1]:
        label = _label(run, pair, kind)
        if kind != "moved":
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


def _differences(run: Run, sizes: NguyenSizes) -> list[str]:
    pairs = "all" if sizes.train is None else f"the first {sizes.train:,}"
    return [
        f"European Parliament text ({', '.join(sizes.pairs)}; sentences of 1 to 40 words a side), not NIST MT-02; one "
        "reference; BLEU of truecased tokens.",
        f"A phrase-based translator with nine features, trained on {pairs} sentence pairs; the paper's: treelets, 11.",
        f"{sizes.folds} folds, which share one word alignment and the truecasers of all texts: only phrase extraction, "
        "scoring and the language model leave the fold out. "
        f"At most {sizes.lists:,} sentences of a fold are decoded, spread evenly over it, {sizes.fold_k} hypotheses "
        "each and once; the paper decodes all of its 175,000 in 7 rounds, about 700 hypotheses each.",
        f"Decoder weights are the best of {sizes.rounds} rounds on dev, not of rounds on the jackknifed lists; so dev, "
        "on which the variance is chosen, is not new to the decoder.",
        "Weights and prior are in units of columns divided by their spread (kernels: root mean square), so rare "
        "kernels are held less than by the paper's prior, which is on plain weights; and the prior of added columns is "
        "on these only, where the paper's is on all weights. With a prior on all of them (tried first, variances 1 to "
        "10,000) every kind of kernel was 0.2 to 1.9 BLEU below the linear model on dev.",
        f"Maximum-likelihood kernels are fitted to at most {sizes.pool:,} hypotheses; of a hypothesis the 8 largest "
        "posteriors count. The covariance of perceptron kernels is measured around the nearest mean "
        "(docs/features.md).",
        "Bins and kernels start from the weights of the linear model and 0 for new columns and are trained for "
        f"{sizes.iterations} iterations of RProp (the paper: about 50); the variance is one of "
        f"{', '.join(f'{value:g}' for value in sizes.variances)}.",
        f"Starts: {sizes.corners} corners at most, on {sizes.start_lists:,} dev lists of {sizes.start_k} hypotheses; "
        "the paper: all 2,048 on its lists. Means are re-estimated in one row; the paper has the formula only.",
    ]
