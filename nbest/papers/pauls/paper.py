"""Pauls, DeNero & Klein (2009), EMNLP: consensus training for consensus decoding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from nbest.corpus import NBest, Texts
from nbest.metrics import BLEU
from nbest.model.loglinear import LogLinear
from nbest.papers.data import TOKENISING
from nbest.papers.pauls.report import BESIDE, DRAWN, DRAWS, METHODS, PAIRS, PATHS, report
from nbest.papers.pauls.tuning import COMPARED, Pair
from nbest.papers.run import Paper, Run
from nbest.runs import Step
from nbest.studies.consensus import consensus
from nbest.studies.path import path

_WORK: dict[str, tuple[Callable[[Pair], dict[str, Any]], float, float, str]] = {
    "default": (Pair.default, 2.5, 0.1, "translator"),
    "mert-lists": (Pair.mert_lists, 5.0, 0.3, "default"),
    "mert-zero": (Pair.mert_zero, 10.0, 0.3, COMPARED),
    "mert-forests": (Pair.mert_forests, 4.0, 0.3, COMPARED),
    "cobleu": (Pair.cobleu, 4.0, 0.2, COMPARED),
    "cobleu-ascent": (Pair.cobleu_ascent, 8.0, 0.3, COMPARED),
    "mert-cobleu": (Pair.mert_cobleu, 3.5, 0.2, COMPARED),
    "mert-cobleu-ascent": (Pair.mert_cobleu_ascent, 6.0, 0.3, COMPARED),
    "cobleu-annealed": (Pair.cobleu_annealed, 4.5, 0.2, COMPARED),
    "cobp": (Pair.cobp, 4.0, 0.2, COMPARED),
}
"""Methods with what runs them, their minutes, in a full run and in a quick one, and the step that they need."""
_QUICK = "fr-en"  # the pair of which a quick run has all rows
_TEXTS = ("Once on a rhyme", "Once upon a rhyme", "Once upon a time")


def steps(run: Run) -> list[Step]:
    """The worked example; for each pair the translator, each method, and the paths of training; further draws."""
    found = [Step("example", example, 0.1, needs=())]
    for name in PAIRS:
        pair = Pair(run, name)
        found.append(Step(f"{name}-translator", partial(_sizes, pair), 0.5 if run.quick else 8.0, TOKENISING, needs=()))
        short = run.quick and name != _QUICK  # what is beside the paper's tables, once
        found += [_step(pair, method, f"{name}-translator") for method in METHODS if not (short and method in BESIDE)]
        for optimiser, file in list(PATHS.items())[: 1 if short else None]:
            work = partial(_path, pair, optimiser)
            found.append(Step(f"{name}-{file}", work, 0.3 if run.quick else 10.0, needs=(f"{name}-default",)))
    for draw in DRAWS[1:]:
        for name in [_QUICK] if run.quick else PAIRS:
            found += [_step(Pair(run, name, draw), method, f"{name}-translator") for method in DRAWN]
    return found


def _step(pair: Pair, method: str, base: str) -> Step:
    """A method on a pair."""
    work, full, quick, needed = _WORK[method]
    needs = (base if needed == "translator" else pair.step(needed),)
    return Step(pair.step(method), partial(work, pair), quick if pair.run.quick else full, TOKENISING, needs=needs)


def example_lists() -> NBest:
    """Figure 1: three translations of "Il était une rime", of which the second is right."""
    return NBest(
        offsets=np.array([0, 3]),
        features=np.array([[-3.0, -7.0], [-5.0, -6.0], [-9.0, -3.0]]),
        feature_names=("TM", "LM"),
        ids=("rime",),
        texts=Texts.of(_TEXTS),
    ).with_metric(BLEU(tokenize="none"), [(_TEXTS[1],)])


def example() -> dict[str, Any]:
    """Figures 1 and 2: along the weight of LM the right translation is never the 1-best."""
    lists = example_lists()
    model = LogLinear({"TM": 1.0, "LM": 1.0})
    study = consensus(lists, "LM", model=model, bounds=(0.0, 3.0), points=301)
    return {"study": asdict(study), "texts": _TEXTS, "posteriors": model.posterior(lists)}


def _sizes(pair: Pair) -> dict[str, Any]:
    """Train or find the translator; how many sentences there are."""
    words = {part: sum(len(row[0].split()) for row in texts.references) for part, texts in pair.parts.items()}
    sizes = {part: len(texts.sources) for part, texts in pair.parts.items()}
    return {"sentences": sizes, "words": words, "phrase pairs": len(pair.system.table.targets)}


def _path(pair: Pair, optimiser: str) -> dict[str, Any]:
    """Figure 6: MERT over growing lists and CoBLEU, both from 0, on the forests of the default weights."""
    run = pair.run
    study = path(
        pair.kept("default"), k=run.size(200, 100), rounds=run.size(20, 8), optimiser=optimiser, seed=run.seed,
        threads=run.threads, progress=run.progress,
    )  # fmt: skip
    return asdict(study)


PAPER = Paper(
    name="pauls-2009",
    citation="Pauls, DeNero & Klein (2009), Consensus training for consensus decoding in machine translation, EMNLP",
    needs="mt/europarl/{train,dev,devtest,test}.{fr,es,en}",
    steps=steps,
    report=report,
    without_data=("example",),
)
"""Tables 1 and 2, figures 1, 2 and 6."""
