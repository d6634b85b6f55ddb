"""What the reproduction of Pauls, DeNero & Klein (2009) reports, beside the paper's tables 1 and 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbest.papers.pauls.tuning import COMPARED, DECISIONS, LONGEST, TRAINING
from nbest.papers.report import PaperTable, Report
from nbest.papers.run import Run
from nbest.report import Cell, Column, Figure
from nbest.studies.consensus import Consensus
from nbest.studies.path import Path

PAIRS = {"es-en": "Spanish", "fr-en": "French"}
METHODS = {
    "default": "default weights",
    "mert-lists": "MERT on lists",
    "mert-forests": "MERT on forests",
    "cobleu": "CoBLEU from 0",
    "mert-cobleu": "MERT then CoBLEU",
    "cobleu-annealed": "CoBLEU, annealed",
}
"""Steps of a pair, and their names in tables."""
_FORMS = (Column("brevity", ".3f"), Column("p", ".3f"), Column("gamma", "g"))
_COLUMNS = ("method", "tune", "test", "test - tune", *_FORMS)
_PAPER_COLUMNS = {
    "consensus": ("method", "tune", "test", "test - tune", "brevity"),
    "1-best": ("method", "tune", "test", "test - tune"),
}
_PAPER: dict[tuple[str, str], Sequence[Sequence[Cell]]] = {
    ("es-en", "consensus"): (
        ("MERT", "32.5", "30.2", "-2.3", "0.992"),
        ("CoBLEU", "31.4", "30.4", "-1.0", "0.992"),
        ("MERT then CoBLEU", "31.7", "30.8", "-0.9", "0.992"),
    ),
    ("fr-en", "consensus"): (
        ("MERT", "32.5", "31.1*", "-1.4", "0.972"),
        ("CoBLEU", "31.9", "30.9", "-1.0", "0.954"),
        ("MERT then CoBLEU", "32.4", "31.2*", "-0.8", "0.953"),
    ),
    ("es-en", "1-best"): (("MERT", "32.5", "30.2", "-2.3"), ("MERT then CoBLEU", "30.5", "30.9", "+0.4")),
    ("fr-en", "1-best"): (("MERT", "32.0", "31.0", "-1.0"), ("MERT then CoBLEU", "31.7", "30.9", "-0.8")),
}
"""Tables 1 (consensus decoding; * differences that are not significant) and 2 (Viterbi decoding)."""
_P = "p: paired permutation test on test against MERT on lists with the same decision; no correction for several rows."


def report(run: Run) -> Report:
    """Tables and figures of what was done so far."""
    tables = [_example_table(run)] if run.result("example") else []
    tables += [_table(run, pair, decision) for pair in PAIRS for decision in DECISIONS]
    tables.append(_rounds(run))
    return Report(tables, _figures(run), _differences(run))


def _table(run: Run, pair: str, decision: str) -> PaperTable:
    consensus = decision == "consensus"
    columns = _COLUMNS if consensus else _COLUMNS[:-1]
    rows = [
        [name, *_cells(run.result(f"{pair}-{method}"), decision)][: len(columns)] for method, name in METHODS.items()
    ]
    sizes = run.value(f"{pair}-translator", "sentences")
    notes = [_P]
    if sizes is not None:
        counts = f"{sizes['dev']} sentences to tune on, {sizes['test']} to test on"
        notes.append(f"{counts}, of at most {LONGEST} words a side.")
    if consensus:
        notes.append("gamma: sharpness of the posterior in decisions, chosen on dev.")
    title = f"{PAIRS[pair]} to English, {'consensus' if consensus else 'Viterbi (1-best)'} decoding, BLEU"
    return PaperTable(
        title, columns, rows, paper=_PAPER[pair, decision], paper_columns=_PAPER_COLUMNS[decision], notes=notes
    )


def _cells(found: dict[str, Any] | None, decision: str) -> list[Cell]:
    if found is None:
        return [None] * (len(_COLUMNS) - 1)
    scores = found[decision]
    cells = [scores["dev"], scores["test"], scores["test"] - scores["dev"], scores["brevity"]]
    return [*cells, found.get("p", {}).get(decision), found["gamma"]]


def _rounds(run: Run) -> PaperTable:
    """What each round of a method reached on dev."""
    rows: list[list[Cell]] = []
    for pair in PAIRS:
        for method, name in METHODS.items():
            for number, entry in enumerate(run.value(f"{pair}-{method}", "history") or (), 1):
                value = entry.get("cobleu", entry.get("lists", entry.get("forests")))
                what = "CoBLEU" if "cobleu" in entry else "BLEU"
                rows.append([f"{pair}, {name}", number, what, value, entry.get("decoded", entry.get("best"))])
    columns = ("method", "round", "objective", "on what it was tuned on", "1-best BLEU after it")
    note = "After MERT the sentences are decoded again for the last column, after CoBLEU it is of the same forests."
    return PaperTable("Rounds on dev", columns, rows, notes=[note])


def _example_table(run: Run) -> PaperTable:
    found = run.need("example")
    rows = [[f"H{at + 1}", text, found["posteriors"][at]] for at, text in enumerate(found["texts"])]
    expected = sum(p for p, text in zip(found["posteriors"], found["texts"], strict=True) if "Once upon" in text)
    note = f'Expected count of "Once upon": {expected:.2f}; in the paper 0.24 + 0.09 = 0.33. H2 is the reference.'
    return PaperTable("Worked example (figure 1)", ("", "hypothesis", "posterior"), rows, notes=[note])


def _figures(run: Run) -> list[Figure]:
    found = run.value("example", "study")
    figures = []
    if found is not None:
        title = "Figure 2: the reference H2 is never the 1-best, consensus decoding finds it"
        figures.append(Consensus.of(found).figure("figure-2", title))
    for pair, language in PAIRS.items():
        kept = run.result(f"{pair}-path")
        if kept is not None:
            path = Path.of(kept)
            falls = f"largest fall of MERT {path.largest_fall('mert'):.3f}, of CoBLEU {path.largest_fall('cobleu'):.3f}"
            title = f"Figure 6: paths of training, {language} to English ({falls})"
            figures.append(path.figure(f"figure-6-{pair}", title))
    return figures


def _differences(run: Run) -> list[str]:
    data = f"the first {TRAINING:,} (or as many as there are)" if run.quick else "all"
    beam = f"beam {run.size(50, 20)}, at most {run.size(6, 4)} edges a node"
    rounds = f"{run.size(4, 3)} rounds of decoding, cumulative {run.size(200, 100)}-best lists"
    return [
        f"Data: a four-way parallel part of Europarl with its own dev and test parts, the translator trained on {data} "
        "sentence pairs of its train part (unless --systems had one); the paper "
        "has about 8.5 million words a pair, tunes on 880 (Spanish) and 923 (French) sentences of the 2007 shared task "
        "and tests on 447 and 512. No test set is the same, so only differences between rows can be compared.",
        "Language model: Kneser-Ney 4-grams of the English side of the training data; the paper has trigrams of all "
        "English parliamentary proceedings.",
        "Tokens: sacremoses, truecased; BLEU is of these tokens, with case, one reference.",
        "Phrases: word alignment by IBM model 1 and an HMM instead of GIZA++ model 4. The grammar has the paper's nine "
        f"features. Cube pruning with {beam}.",
        f"MERT: {rounds}, beginning with the default weights (the paper begins with 0 and goes on until "
        "convergence), 20 random starts a round. Figure 6 does begin with 0, on forests that are not decoded again.",
        f"CoBLEU: L-BFGS where the paper has gradient ascent with adaptive steps; up to {run.size(3, 2)} rounds, the "
        "sentences decoded again between them, from the forests of the default weights (from 0) or of MERT.",
        "Not in the paper: default weights, MERT on forests (Kumar et al. 2009), annealing, which it suggests.",
        "Significance: a paired permutation test; the paper does not name its test. Each method decodes dev and test "
        f"with its own weights. {METHODS[COMPARED]} is the paper's MERT.",
    ]
