"""Jagarlamudi & Daume III (2012), NAACL: low-dimensional discriminative reranking of tag sequences."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from nbest.features.lowdim.projections import KINDS
from nbest.papers.jagarlamudi.report import report
from nbest.papers.jagarlamudi.rerank import PARTS, Grid, Language, Treebank
from nbest.papers.run import Paper, Run
from nbest.runs import Step

_TAUS = (0.5, 0.8, 0.9, 0.95, 0.99)
_SLOW = Grid(lam=(0.1, 0.3), k=(10, 25, 50, 75, 100), tolerance=1e-2, rounds=3)
_SLOWER = replace(_SLOW, tau=(0.8, 0.95), k=(10, 25, 50))
_FAST = Grid(tau=_TAUS, lam=(0.1, 0.3, 0.5, 0.7, 0.9), curve_tau=_TAUS)
_QUICK = Grid(tau=(0.9, 0.95), lam=(0.1, 0.3), k=(10, 25, 50), rounds=3, curve_tau=_TAUS[1:], curve_lam=(0.1, 0.3, 0.6))
TREEBANKS = {
    "en": Treebank("English", "en_ewt"),
    "zh": Treebank("Chinese", "zh_gsd_r1.4", inputs="characters", pieces="character", grid=_SLOWER),
    "fr": Treebank("French", "fr_sequoia_r2.16", column="upos", grid=_FAST),
    "sv": Treebank("Swedish", "sv_talbanken_2015-01", grid=_SLOW),
}
"""Languages of the paper; grids are cut where a solve takes long."""
_MINUTES = {
    "en": {"generative": 2.0, "softened": 8.0, "discriminative": 8.0, "curve-tau": 4.0, "curve-lam": 4.0},
    "zh": {"generative": 3.0, "softened": 5.0, "discriminative": 5.0, "curve-tau": 5.0, "curve-lam": 5.0},
    "fr": {"generative": 0.3, "softened": 1.8, "discriminative": 0.7, "curve-tau": 0.3, "curve-lam": 0.3},
    "sv": {"generative": 3.0, "softened": 4.0, "discriminative": 3.0, "curve-tau": 3.0, "curve-lam": 3.0},
}
"""Of the slow steps of a full run."""


def languages(run: Run) -> list[Language]:
    """The languages of a run: all, or French with a small grid in a quick one."""
    if run.quick:
        return [Language(run, "fr", replace(TREEBANKS["fr"], grid=_QUICK))]
    return [Language(run, code, bank) for code, bank in TREEBANKS.items()]


def steps(run: Run) -> list[Step]:
    """For each language: lists, boosting on three kinds of features, three kinds of projections, stacking, curves."""
    found = []
    for language in languages(run):
        code = language.code
        minutes = dict.fromkeys(_MINUTES[code], 0.1) if run.quick else _MINUTES[code]
        lists = tuple(f"{code}-{part}.jsonl.gz" for part in PARTS)
        found.append(Step(f"{code}-lists", language.make_lists, 0.3, makes=lists, needs=()))
        made, softened = (f"{code}-lists",), (f"{code}-softened",)
        for features in ("pairs", "ngrams", "both"):
            for name, regularised in (("boosting", False), ("regularised", True)):
                work = partial(language.boosting, features, regularised=regularised)
                found.append(Step(f"{code}-{name}-{features}", work, 0.1 if run.quick else 0.5, needs=made))
        for kind in KINDS:
            needs = softened if kind == "discriminative" else made
            found.append(Step(f"{code}-{kind}", partial(language.lowdim, kind), minutes[kind], needs=needs))
        found.append(Step(f"{code}-stacked", language.stacked, 0.2, needs=softened))
        for setting in ("tau", "lam"):
            name = f"curve-{setting}"
            found.append(Step(f"{code}-{name}", partial(language.curve, setting), minutes[name], needs=softened))
    return found


PAPER = Paper(
    name="jagarlamudi-2012",
    citation="Jagarlamudi & Daumé III (2012), Low-dimensional discriminative reranking, NAACL",
    needs="treebanks/{en_ewt,zh_gsd_r1.4,fr_sequoia_r2.16,sv_talbanken_2015-01}/{train,dev,test}.conllu",
    steps=steps,
    report=lambda run: report(run, languages(run)),
)
"""Tables 1, 2 and 3, figure 1."""
