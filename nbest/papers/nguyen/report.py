"""The report of `nguyen-2007`: table 1 of each pair, the rounds, the starts and the shapes of bins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nbest.papers.nguyen.lists import Sizes
from nbest.papers.nguyen.rows import ROWS
from nbest.papers.report import PaperTable, Report
from nbest.papers.run import Run
from nbest.report import Cell, Figure
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
_HEADS = ("variance", "Wilcoxon p", "permutation p")
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
    sizes = Sizes.of(run)
    tables: list[PaperTable] = []
    figures: list[Figure] = []
    for pair in sizes.pairs:
        tables += [_table(run, pair, "train"), _table(run, pair, "dev"), _rounds(run, pair, sizes)]
        found = run.result(f"{pair}-starts")
        if found is not None:
            study = Starts(found["metric"], True, found["settings"], tuple(found["rows"]))
            tables.append(_starts(pair, study, found))
            title = f"{pair}: BLEU after training from corners of the unit cube (figures 1 and 2)"
            figures.append(Figure(f"{pair}-starts", title, study.picture(), study.rows))
        found = run.result(f"{pair}-bins")
        if found is not None:
            shapes = BinWeights(found["metric"], True, found["settings"], tuple(found["rows"]))
            title = f"{pair}: weights of bins before and after training (figure 3)"
            figures.append(Figure(f"{pair}-bins", title, shapes.picture(), shapes.rows))
    return Report(tables, figures, _differences(run, sizes))


# tables ---------------------------------------------------------------------------------------------------------


def _label(run: Run, pair: str, kind: str) -> str:
    sizes = Sizes.of(run)
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
        best = base["oracle"]
        cells.append(("Oracle", best["train"], best["heldout"], best["test"], None, None, None))
    for kind in ROWS if on == "train" else ROWS[:-1]:
        found = run.result(f"{pair}-{on}-{kind}") or {}
        label = _label(run, pair, kind)
        if kind != "moved":
            cells.append((f"{label}; no prior", *_cells(found.get("none"))))
        if kind != "mert":
            cells.append((f"{label}; prior", *_cells(found.get("prior"))))
    names = ("jackknifed", "dev", "test") if on == "train" else ("dev", "devtest", "test")
    title = f"{pair}: table 1, weights trained on {'jackknifed training' if on == 'train' else 'dev'} lists"
    notes = [*_NOTES, *([_sizes(base, names)] if base else [])]
    if on == "dev":
        notes.append("Kernels are those of the table above; only their weights are trained on dev.")
        return PaperTable(title, ("system", *names, *_HEADS), cells, notes=notes)
    heads = ("System", "Train", "Dev", "Eval")
    return PaperTable(title, ("system", *names, *_HEADS), cells, PAPER_TABLE, heads, (*notes, _PAPER_NOTE))


def _cells(found: Mapping[str, Any] | None) -> tuple[Cell, ...]:
    if not found:
        return (None,) * 6
    p: list[Cell] = [f"{found[test]:.4f}" if test in found else None for test in ("wilcoxon", "permutation")]
    variance = found.get("variance")
    return (found["train"], found["heldout"], found["test"], None if variance is None else f"{variance:g}", *p)


def _sizes(base: Mapping[str, Any], names: tuple[str, ...]) -> str:
    parts = zip(names, base["lists"].values(), strict=True)
    return "Lists: " + ", ".join(f"{name} {count[0]:,} with {count[1]:,} hypotheses" for name, count in parts) + "."


def _rounds(run: Run, pair: str, sizes: Sizes) -> PaperTable:
    heads = ("round", "hypotheses", "BLEU of the lists, trained", "BLEU decoded with the weights before")
    cells: list[tuple[Cell, ...]] = []
    for number in range(1, sizes.rounds + 1):
        found = run.result(f"{pair}-round-{number}")
        empty: tuple[Cell, ...] = (None, None, None)
        values = empty if found is None else (f"{found['hypotheses']:,}", found["lists"], found["decoded"])
        cells.append((str(number), *values))
    return PaperTable(f"{pair}: rounds of decoding dev and soft BLEU", heads, cells)


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
    return PaperTable(f"{pair}: starts at corners of the unit cube", heads, cells, paper, columns, (note,))


# what differs ---------------------------------------------------------------------------------------------------


def _differences(run: Run, sizes: Sizes) -> list[str]:
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
