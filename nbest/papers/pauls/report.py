"""What the reproduction of Pauls, DeNero & Klein (2009) reports, beside the paper's tables 1 and 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbest.papers.pauls.deciding import DECISIONS, SHARPNESS
from nbest.papers.pauls.tuning import COMPARED, LONGEST, TRAINING
from nbest.papers.report import PaperTable, Report, mean_and_deviation
from nbest.papers.run import Run
from nbest.report import Cell, Column, Figure
from nbest.report.page import probability
from nbest.studies.consensus import Consensus
from nbest.studies.path import Path

PAIRS = {"es-en": "Spanish", "fr-en": "French"}
METHODS = {
    "default": "default weights",
    "mert-lists": "MERT on lists",
    "mert-zero": "MERT from 0",
    "mert-forests": "MERT on forests",
    "cobleu": "CoBLEU from 0",
    "cobleu-ascent": "CoBLEU from 0, gradient ascent",
    "mert-cobleu": "MERT then CoBLEU",
    "mert-cobleu-ascent": "MERT then CoBLEU, gradient ascent",
    "cobleu-annealed": "CoBLEU, annealed",
    "cobp": "CoBP from 0",
}
"""Steps of a pair, and their names in tables."""
BESIDE = ("mert-zero", "cobleu-ascent", "mert-cobleu-ascent", "cobp")
"""Rows beside those of the paper's tables."""
DRAWS = (1, 2, 3)
DRAWN = ("default", "mert-lists", "cobleu", "mert-cobleu", "cobleu-annealed")
"""Methods that are tuned on further draws of sentences, too."""
PATHS = {"lbfgs": "path", "adaptive": "path-ascent"}
"""Figure 6 by the optimiser of CoBLEU."""
_FORMS = (Column("brevity", ".3f"), Column("p", probability), Column("gamma", "g"))
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
    tables += [_sharpness(run, pair) for pair in PAIRS]
    tables += [table for pair in PAIRS for decision in DECISIONS if (table := _draws(run, pair, decision)).rows]
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
        notes.append(f"gamma: {SHARPNESS[decision]}; the next tables have other rules.")
    title = f"{PAIRS[pair]} to English, {DECISIONS[decision]} decoding, BLEU"
    return PaperTable(
        title, columns, rows, paper=_PAPER[pair, decision], paper_columns=_PAPER_COLUMNS[decision], notes=notes
    )


def _cells(found: dict[str, Any] | None, decision: str) -> list[Cell]:
    if found is None:
        return [None] * (len(_COLUMNS) - 1)
    scores = found[decision]
    cells = [scores["dev"], scores["test"], scores["test"] - scores["dev"], scores["brevity"]]
    return [*cells, found.get("p", {}).get(decision), found["gamma"]]


def _sharpness(run: Run, pair: str) -> PaperTable:
    """Consensus decoding by the rule that chooses gamma."""
    columns: list[Column | str] = ["method"]
    for rule in SHARPNESS:
        short = {"consensus": "1 % rule", "consensus-one": "1", "consensus-fine": "best"}[rule]
        columns += [
            Column(f"gamma, {short}", "g"),
            f"tune, {short}",
            f"test, {short}",
            Column(f"p, {short}", probability),
        ]
    rows: list[list[Cell]] = []
    for method, name in METHODS.items():
        found, cells = run.result(f"{pair}-{method}"), list[Cell]()
        for rule in SHARPNESS:
            scores = {} if found is None else found[rule]
            gamma, p = (None, None) if found is None else (found["gammas"][rule], found.get("p", {}).get(rule))
            cells += [gamma, scores.get("dev"), scores.get("test"), p]
        rows.append([name, *cells])
    notes = [f"{rule}: {said}." for rule, said in zip(("1 % rule", "1", "best"), SHARPNESS.values(), strict=True)]
    title = f"{PAIRS[pair]} to English, consensus decoding by sharpness, BLEU"
    return PaperTable(title, columns, rows, notes=[*notes, f"{_P} And the same rule."])


def _draws(run: Run, pair: str, decision: str) -> PaperTable:
    """BLEU on test of each draw of sentences to tune on, and its difference to MERT on lists."""
    prefixes = ["" if draw == 1 else f"draw{draw}-" for draw in DRAWS]
    found = {name: [run.value(f"{pair}-{each}{name}", decision, "test") for each in prefixes] for name in DRAWN}
    rows: list[list[Cell]] = [[METHODS[name], *values, *mean_and_deviation(values)] for name, values in found.items()]
    for name in DRAWN:
        if name not in ("default", COMPARED):
            both = zip(found[name], found[COMPARED], strict=True)
            gaps = [None if one is None or other is None else one - other for one, other in both]
            rows.append([f"{METHODS[name]} less {METHODS[COMPARED]}", *gaps, *mean_and_deviation(gaps)])
    begun = any(value is not None for values in found.values() for value in values[1:])
    columns = ("method", *(f"draw {draw}" for draw in DRAWS), "mean", "standard deviation")
    title = f"{PAIRS[pair]} to English, {DECISIONS[decision]} decoding, draws of sentences to tune on: BLEU on test"
    note = "Draw 1 is dev; others are as many sentences of dev and devtest, and other random starts of MERT."
    return PaperTable(title, columns, rows if begun else (), notes=[note])


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
        for optimiser, file in PATHS.items():
            kept = run.result(f"{pair}-{file}")
            if kept is not None:
                path, by = Path.of(kept), {"lbfgs": "L-BFGS", "adaptive": "gradient ascent"}[optimiser]
                falls = [f"{path.largest_fall(method):.3f}" for method in ("mert", "cobleu")]
                said = f"CoBLEU by {by}; largest fall of MERT {falls[0]}, of CoBLEU {falls[1]}"
                title = f"Figure 6: paths of training, {language} to English ({said})"
                figures.append(path.figure(f"figure-6-{pair}{file.removeprefix('path')}", title))
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
        f"MERT on lists: {rounds}, beginning with the default weights, 10 random starts a round. 'MERT from 0' begins "
        "as the paper's, with weights of 0 and no random starts, and goes on until nothing is new, for "
        f"{run.size(12, 3)} rounds at most. Figure 6 begins with 0, too, on forests that are not decoded again.",
        "CoBLEU: L-BFGS; rows 'gradient ascent' have the paper's adaptive steps, at most 200 of them a round. Up to "
        f"{run.size(3, 2)} rounds, the sentences decoded again between them, from the forests of the default weights "
        "(from 0) or of MERT.",
        "Consensus decoding: gamma of the posterior is chosen on dev in the first tables; the tables by sharpness have "
        "gamma 1, as in the paper, too.",
        "CoBP: the logarithm of eq. 1 is maximised, with the penalty of CoBLEU; the paper trains with CoBLEU only.",
        "Not in the paper: default weights, MERT on forests (Kumar et al. 2009), annealing, which it suggests, draws.",
        "Significance: a paired permutation test; the paper does not name its test. Each method decodes dev and test "
        f"with its own weights. {METHODS[COMPARED]} is the paper's MERT.",
    ]
