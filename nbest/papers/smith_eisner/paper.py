"""Minimum risk annealing for training log-linear models: Smith & Eisner (2006), tables 1 and 2, figures 1 to 4."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from nbest.base.arrays_file import map_array
from nbest.corpus import NBest
from nbest.corpus.contract import need_lists
from nbest.corpus.metric import Metric
from nbest.decisions import first
from nbest.evaluation.significance import permutation
from nbest.features import within_scale
from nbest.loop.loop import Loop
from nbest.loop.report import rows_of
from nbest.metrics import LAS
from nbest.model.loglinear import load
from nbest.papers.data import BLEU_OF_TOKENS, TOKENISING, chosen_stats
from nbest.papers.run import Paper, Run
from nbest.papers.smith_eisner.report import LARGE, PAIRS, report
from nbest.papers.smith_eisner.tasks import TREEBANKS, Task, parsing, train_experts, train_translator, translation
from nbest.runs import Step
from nbest.studies.sharpness import sharpness
from nbest.studies.surface import surface
from nbest.systems.decoder import SystemDecoder
from nbest.trainers import MERT, MaxLikelihood, MinRisk


@dataclass(frozen=True)
class ListMethod:
    """A trainer for lists of so many segments, and the settings chosen on held-out lists in each round."""

    trainer: Callable[[int], Any]
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    warm: bool = False


def _minimum_error(restarts: int, segments: int) -> MERT:
    """The paper's: coordinate searches from random points, the one that gains most is moved along."""
    return MERT(restarts=restarts, hops=0, ascent="best", axes="features")


def _annealed(temperature: float, segments: int) -> MinRisk:
    """The paper's temperatures are for each nat of the corpus, ours for each nat of a segment; the cooling goes on to
    the end, although nothing happens at first."""
    return MinRisk(t0=temperature * segments, t1=0.01 * segments, variance=math.inf, polish=False, patience=100)


_LISTS = "tables and figures of this paper are made of lists"
METHODS = {
    "likelihood": ListMethod(lambda n: MaxLikelihood(), {"variance": [0.25, 0.5, 1.0, math.inf]}),
    "error1": ListMethod(partial(_minimum_error, 1)),
    "error5": ListMethod(partial(_minimum_error, 5)),
    "error10": ListMethod(partial(_minimum_error, 10)),
    "risk100": ListMethod(partial(_annealed, 100.0)),
    "risk200": ListMethod(partial(_annealed, 200.0)),
    "risk1000": ListMethod(partial(_annealed, 1000.0)),
    "error": ListMethod(lambda n: MERT(), warm=True),
    "risk": ListMethod(lambda n: MinRisk()),
}
"""The paper's methods and settings, then those of `nbest tune` as they are."""
PARSING = {
    **{name: METHODS[name] for name in ("likelihood", "error1", "error5", "error10", "error")},
    "risk": ListMethod(lambda n: MinRisk(), {"t0": [1.0, 8.0, 64.0], "t1": [0.03, 0.3]}),
}


def _steps(run: Run) -> list[Step]:
    steps: list[Step] = []
    for pair in PAIRS[:1] if run.quick else PAIRS:
        train = partial(train_translator, run, pair)
        steps.append(Step(f"{pair}-translator", train, run.size(5, 1), TOKENISING, needs=()))
        steps += _tuning(run, pair, tuple(METHODS), (1.0 if pair == "fi-en" else 6.0) * run.size(10, 2) / 10)
        risk = (f"{pair}-risk",)
        steps.append(Step(f"{pair}-figures", partial(_figures, run, pair), 0.5, TOKENISING, needs=risk))
    for language in ("sl",) if run.quick else TREEBANKS:
        steps.append(Step(f"{language}-parser", partial(train_experts, run, language), run.size(5, 1), needs=()))
        steps += _tuning(run, language, tuple(PARSING), run.size(2, 1) / 2)
    if not run.quick:
        for pair in PAIRS:
            steps += _tuning(run, pair, LARGE, 8.0 if pair == "fi-en" else 40.0, large=True)
    return steps


def _tuning(run: Run, task: str, methods: tuple[str, ...], minutes: float, *, large: bool = False) -> list[Step]:
    """The methods on a task, which need its base system, and the tests of all pairs of them."""
    is_parsing = task in TREEBANKS
    packages, base = ((), (f"{task}-parser",)) if is_parsing else (TOKENISING, (f"{task}-translator",))
    names = tuple(f"large-{name}" if large else name for name in methods)
    steps = [
        Step(f"{task}-{name}", partial(_tuned, run, task, method, large=large), minutes, packages, needs=base)
        for name, method in zip(names, methods, strict=True)
    ]
    tests, tuned = partial(_compared, run, task, names), tuple(step.name for step in steps)
    end = f"{task}-large-tests" if large else f"{task}-tests"
    return [*steps, Step(end, tests, 0.1 if is_parsing else 0.2, needs=tuned)]


# tuning -------------------------------------------------------------------------------------------------------------


def _tuned(run: Run, task_name: str, method: str, *, large: bool = False) -> dict[str, Any]:
    """Run the loop of a method, then decode the test segments with the weights that were chosen."""
    is_parsing = task_name in TREEBANKS
    task = parsing(run, task_name) if is_parsing else translation(run, task_name, large=large)
    chosen = (PARSING if is_parsing else METHODS)[method]
    folder = run.work / f"{task_name}-{'large-' if large else ''}{method}"
    trainer = chosen.trainer(len(task.dev.segments))
    if hasattr(trainer, "seed"):
        trainer.seed, trainer.threads = run.seed, run.threads
    loop = Loop(
        task.decoder,
        trainer,
        task.metric,
        folder,
        rounds=run.size(20, 3),
        start=dict.fromkeys(task.decoder.start, 0.0),
        warm=chosen.warm,
        grid=chosen.grid or None,
        say=run.say,
    )
    begin = time.perf_counter()
    model = loop.run(task.dev, task.heldout, resume=folder.exists())
    seconds = time.perf_counter() - begin
    result = loop.place.result()
    assert result is not None
    found = _tested(task, model.weights)
    answers = first(None, found)
    np.save(folder / "test.npy", chosen_stats(found, answers), allow_pickle=False)
    curve = [{key: value for key, value in row.items() if key != "weights"} for row in rows_of(loop.place)]
    loop.place.forget()
    return {
        "test": found.score(answers),
        **{name: model.scores_[name] for name in ("dev", "heldout")},
        "rounds": result["rounds"],
        "chosen": result["chosen"],
        "reason": result["reason"],
        "seconds": seconds,
        "weights": dict(model.weights),
        "curve": curve,
    }


def _tested(task: Task, weights: Mapping[str, float]) -> NBest:
    """The decoder's answers on the test segments."""
    decoder = SystemDecoder(
        task.decoder.path, 1, options=task.decoder.options, threads=task.decoder.threads, progress=task.decoder.progress
    )
    found = need_lists(decoder.decode(weights, task.test.segments), _LISTS)
    return found.with_metric(task.metric, task.test.references)  # type: ignore[arg-type]


def _compared(run: Run, task_name: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Permutation tests (1,000 replications) of all pairs of methods on the test segments."""
    metric: Metric = LAS() if task_name in TREEBANKS else BLEU_OF_TOKENS
    stats = {}
    for name in names:
        run.need(f"{task_name}-{name}")
        stats[name] = map_array(run.work / f"{task_name}-{name}" / "test.npy")
    found = {}
    for one, other in combinations(names, 2):
        found[f"{one} {other}"] = permutation(metric, stats[one], stats[other], samples=1000).p
    return found


# figures 1 and 2 ----------------------------------------------------------------------------------------------------


def _figures(run: Run, pair: str) -> dict[str, Any]:
    """The dev lists of the best risk weights: BLEU over two weights, and over one for several gamma."""
    task = translation(run, pair)
    run.need(f"{pair}-risk")
    model = load(run.work / f"{pair}-risk" / "model.json")
    lists = need_lists(task.decoder.decode(model.weights, task.dev.segments), _LISTS)
    lists = lists.with_metric(task.metric, task.dev.references)  # type: ignore[arg-type]
    points = run.size(41, 11)
    x, y = _that_differ(lists, ("inverted", "length", *lists.feature_names))[:2]  # distortion, words: the paper's
    first = surface(lists, x, y, model=model, points=points, threads=run.threads)
    second = sharpness(lists, "p(e|f)", model=model, points=5 * points, threads=run.threads)
    for name, study in (("figure1", first), ("figure2", second)):
        study.write(run.work / f"{pair}-{name}")
    return {
        "surface": {"metric": first.metric, "settings": dict(first.settings), "rows": list(first.rows)},
        "sharpness": {"metric": second.metric, "settings": dict(second.settings), "rows": list(second.rows)},
    }


def _that_differ(lists: NBest, names: Sequence[str]) -> list[str]:
    """Those of the features whose weight can matter, once each."""
    scale = dict(zip(lists.feature_names, within_scale(lists).tolist(), strict=True))
    return [name for name in dict.fromkeys(names) if scale[name] > 0]


PAPER = Paper(
    "smith-eisner-2006",
    "Smith & Eisner (2006): Minimum risk annealing for training log-linear models",
    "mt/fi-en (train, dev, test), mt/europarl (train, dev, devtest, test of fr, de, en), treebanks of sl, bg and nl",
    _steps,
    report,
)
