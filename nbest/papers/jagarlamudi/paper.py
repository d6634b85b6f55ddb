"""Jagarlamudi & Daume III (2012), NAACL: low-dimensional discriminative reranking of tag sequences."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from nbest.features.lowdim.projections import KINDS
from nbest.papers.jagarlamudi.report import report
from nbest.papers.jagarlamudi.rerank import DRAWN, FEATURES_OF, PARTS, Language
from nbest.papers.jagarlamudi.treebanks import QUICK, TREEBANKS
from nbest.papers.run import Paper, Run
from nbest.runs import Step

_ORDER = ("fr", "sv", "en", "zh")  # of the steps: the quick ones first
_CURVES = ("en", "fr")  # the paper's figure is of English
_MINUTES = {
    "en": {"generative": 1.0, "softened": 3.0, "discriminative": 7.0, "curve": 2.5, "jackknife": 1.5},
    "zh": {"generative": 1.5, "softened": 3.0, "discriminative": 6.0, "curve": 2.5, "jackknife": 1.5},
    "fr": {"generative": 0.2, "softened": 0.6, "discriminative": 1.5, "curve": 0.3, "jackknife": 0.3},
    "sv": {"generative": 0.8, "softened": 1.5, "discriminative": 2.0, "curve": 1.0, "jackknife": 0.7},
}
"""Of the slow steps of a full run, one processor."""


def languages(run: Run) -> list[Language]:
    """The languages of a run: all, or French with a small grid in a quick one."""
    if run.quick:
        return [Language(run, "fr", replace(TREEBANKS["fr"], grid=QUICK))]
    return [Language(run, code, bank) for code, bank in TREEBANKS.items()]


def steps(run: Run) -> list[Step]:
    """For each language: lists, boosting on kinds of features, three kinds of projections, stacking, curves; then other
    draws of the jackknife of each."""
    found = {language.code: language for language in languages(run)}
    ordered = [found[code] for code in _ORDER if code in found]
    return [step for each in (_methods, _draws) for language in ordered for step in each(run, language)]


def _minutes(run: Run, code: str, kind: str) -> float:
    return 0.1 if run.quick else _MINUTES[code][kind]


def _methods(run: Run, language: Language) -> list[Step]:
    code = language.code
    made = (f"{code}-lists",)
    found = [Step(*made, language.make_lists, 0.3, makes=tuple(f"{code}-{part}.jsonl.gz" for part in PARTS), needs=())]
    for features in FEATURES_OF:
        for name, regularised in (("boosting", False), ("regularised", True)):
            work = partial(language.boosting, features, regularised=regularised)
            found.append(Step(f"{code}-{name}-{features}", work, 0.1 if run.quick else 0.3, needs=made))
    for kind in KINDS:
        work = partial(language.lowdim, kind)
        found.append(Step(f"{code}-{kind}", work, _minutes(run, code, kind), needs=made))
    found.append(Step(f"{code}-stacked", language.stacked, 0.2, needs=(*made, f"{code}-softened")))
    for setting in ("tau", "lam") if code in _CURVES else ():
        needs, cost = (*made, f"{code}-discriminative"), _minutes(run, code, "curve")
        found.append(Step(f"{code}-curve-{setting}", partial(language.curve, setting), cost, needs=needs))
    return found


def _draws(run: Run, language: Language) -> list[Step]:
    code = language.code
    needs, cost = (f"{code}-lists", *(f"{code}-{step}" for step in DRAWN)), _minutes(run, code, "jackknife")
    return [
        Step(f"{code}-jackknife-{seed}", partial(language.drawn, seed), cost, needs=needs) for seed in language.seeds
    ]


PAPER = Paper(
    name="jagarlamudi-2012",
    citation="Jagarlamudi & Daumé III (2012), Low-dimensional discriminative reranking, NAACL",
    needs="treebanks/{en_ewt,zh_gsd_r1.4,fr_sequoia_r2.16,sv_talbanken_2015-01}/{train,dev,test}.conllu",
    steps=steps,
    report=lambda run: report(run, languages(run)),
)
"""Tables 1, 2 and 3, figure 1."""
