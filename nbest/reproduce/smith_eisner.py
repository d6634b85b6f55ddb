"""Minimum risk annealing for training log-linear models: Smith & Eisner (2006), tables 1 and 2, figures 1 to 4."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nbest.corpus import NBest
from nbest.decoders import SystemDecoder
from nbest.features import within_scale
from nbest.loop.loop import Inputs, Loop
from nbest.loop.report import rows_of
from nbest.metrics import BLEU, LAS
from nbest.model import load
from nbest.reproduce.data import parallel, translator, treebank
from nbest.reproduce.run import Paper, Run, Step
from nbest.reproduce.smith_eisner_report import report
from nbest.significance import permutation
from nbest.studies.sharpness import sharpness
from nbest.studies.surface import surface
from nbest.systems.parser_train import train_parser
from nbest.trainers import MERT, MaxLikelihood, MinRisk
from nbest.types import Metric

PAIRS = ("fi-en", "fr-en", "de-en")
TREEBANKS = {"sl": "sl_ssj500k_babushka", "bg": "bg_btb_devtest", "nl": "nl_lassysmall_r1.4"}
_OPTIONS = {"beam": 20, "edges_a_node": 8}  # of the translator, in every decoding


@dataclass(frozen=True)
class Method:
    """A trainer for lists of so many segments, and the settings chosen on held-out lists in each round."""

    trainer: Callable[[int], Any]
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    warm: bool = False


def _minimum_error(restarts: int, segments: int) -> MERT:
    """The paper's: coordinate searches from random points, the one that gains most is moved along."""
    return MERT(restarts=restarts, hops=0, ascent="best")


def _annealed(temperature: float, segments: int) -> MinRisk:
    """The paper's temperatures are for each nat of the corpus, ours for each nat of a segment; the cooling goes on to
    the end, although nothing happens at first."""
    return MinRisk(t0=temperature * segments, t1=0.01 * segments, variance=math.inf, polish=False, patience=100)


METHODS = {
    "likelihood": Method(lambda n: MaxLikelihood(), {"variance": [0.25, 0.5, 1.0, math.inf]}),
    "error1": Method(partial(_minimum_error, 1)),
    "error5": Method(partial(_minimum_error, 5)),
    "error10": Method(partial(_minimum_error, 10)),
    "risk100": Method(partial(_annealed, 100.0)),
    "risk200": Method(partial(_annealed, 200.0)),
    "risk1000": Method(partial(_annealed, 1000.0)),
    "error": Method(lambda n: MERT(), warm=True),
    "risk": Method(lambda n: MinRisk()),
}
"""The paper's methods and settings, then those of `nbest tune` as they are."""
LARGE = ("likelihood", "error10", "risk200", "error", "risk")
PARSING = {
    **{name: METHODS[name] for name in ("likelihood", "error1", "error5", "error10", "error")},
    "risk": Method(lambda n: MinRisk(), {"t0": [1.0, 8.0, 64.0], "t1": [0.03, 0.3]}),
}


@dataclass(frozen=True)
class Task:
    """A decoder with its dev, held-out and test segments."""

    decoder: SystemDecoder
    metric: Metric
    dev: Inputs
    heldout: Inputs
    test: Inputs


def _steps(run: Run) -> list[Step]:
    steps: list[Step] = []
    for pair in PAIRS[:1] if run.quick else PAIRS:
        slow = 1.0 if pair == "fi-en" else 6.0
        steps.append(Step(f"{pair}-translator", partial(_translator, run, pair), run.size(5, 1)))
        for name in METHODS:
            steps.append(Step(f"{pair}-{name}", partial(_tuned, run, pair, name), slow * run.size(10, 2) / 10))
        steps.append(Step(f"{pair}-tests", partial(_compared, run, pair, tuple(METHODS)), 0.2))
        steps.append(Step(f"{pair}-figures", partial(_figures, run, pair), 0.5))
    for language in ("sl",) if run.quick else TREEBANKS:
        steps.append(Step(f"{language}-parser", partial(_parser, run, language), run.size(5, 1)))
        for name in PARSING:
            steps.append(Step(f"{language}-{name}", partial(_tuned, run, language, name), run.size(2, 1) / 2))
        steps.append(Step(f"{language}-tests", partial(_compared, run, language, tuple(PARSING)), 0.1))
    if not run.quick:
        for pair in PAIRS:
            slow = 8.0 if pair == "fi-en" else 40.0
            for name in LARGE:
                steps.append(Step(f"{pair}-large-{name}", partial(_tuned, run, pair, name, large=True), slow))
            names = tuple(f"large-{name}" for name in LARGE)
            steps.append(Step(f"{pair}-large-tests", partial(_compared, run, pair, names), 0.2))
    return steps


# base systems -------------------------------------------------------------------------------------------------------


def _count(run: Run) -> int | None:
    return 8000 if run.quick else None


def _translator(run: Run, pair: str) -> dict[str, Any]:
    found = translator(run, pair, count=_count(run))
    return {"phrase pairs": len(found.table)}


def _parser_folder(run: Run, language: str) -> Path:
    return run.base / f"parser-{language}{'-quick' if run.quick else ''}"


def _sentences(run: Run, language: str) -> dict[str, list[Any]]:
    """Train, dev, held-out and test sentences; Bulgarian has no training part, so its dev part is split."""
    folder = TREEBANKS[language]
    dev, test = treebank(run, folder, "dev"), treebank(run, folder, "test")
    small = run.size(200, 60)
    if (run.data / "treebanks" / folder / "train.conllu.xz").is_file():
        train, held = treebank(run, folder, "train"), dev[small : 2 * small]
        dev = dev[:small]
    else:
        train, held, dev = dev[2 * small :], dev[small : 2 * small], dev[:small]
    return {
        "train": train[: 300 if run.quick else None],
        "dev": dev,
        "heldout": held,
        "test": test[: run.size(2000, 60)],
    }


def _parser(run: Run, language: str) -> dict[str, Any]:
    folder = _parser_folder(run, language)
    sentences = _sentences(run, language)["train"]
    if not (folder / "manifest.json").is_file():
        train_parser(sentences, seed=run.seed, threads=run.threads, progress=run.progress).save(folder)
    return {"sentences": len(sentences), "experts": len(SystemDecoder(folder).start)}


# tuning -------------------------------------------------------------------------------------------------------------


def _translation(run: Run, pair: str, large: bool) -> Task:
    name = pair if _count(run) is None else f"{pair}-{_count(run)}"
    decoder = SystemDecoder(run.base / name, 200, options=_OPTIONS, threads=run.threads, progress=run.progress)

    def inputs(part: str, count: int) -> Inputs:
        source, target = (texts[:count] for texts in _texts(run, pair, part))
        return Inputs(source, [(text,) for text in decoder.references(target)])

    small = run.size(200, 40)
    dev, heldout = inputs("dev", 2000 if large else small), inputs("devtest", small)
    return Task(decoder, BLEU(tokenize="none"), dev, heldout, inputs("test", run.size(2000, 100)))


def _texts(run: Run, pair: str, part: str) -> tuple[list[str], list[str]]:
    """Both sides of a part; where there is no devtest part, the last tenth of dev stands in."""
    if pair != "fi-en" or part not in ("dev", "devtest"):
        return parallel(run, pair, part)
    source, target = parallel(run, pair, "dev")
    cut = len(source) - len(source) // 10
    return (source[:cut], target[:cut]) if part == "dev" else (source[cut:], target[cut:])


def _parsing(run: Run, language: str) -> Task:
    decoder = SystemDecoder(_parser_folder(run, language), 200, threads=run.threads, progress=run.progress)
    sets = _sentences(run, language)
    return Task(decoder, LAS(), Inputs(sets["dev"]), Inputs(sets["heldout"]), Inputs(sets["test"]))


def _tuned(run: Run, task_name: str, method: str, *, large: bool = False) -> dict[str, Any]:
    """Run the loop of a method, then decode the test segments with the weights that were chosen."""
    parsing = task_name in TREEBANKS
    task = _parsing(run, task_name) if parsing else _translation(run, task_name, large)
    chosen = (PARSING if parsing else METHODS)[method]
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
    np.save(folder / "test.npy", found.need_stats()[0][found.offsets[:-1][found.lengths > 0]], allow_pickle=False)
    curve = [{key: value for key, value in row.items() if key != "weights"} for row in rows_of(loop.place)]
    _forget(folder)
    return {
        "test": found.score(np.where(found.lengths > 0, found.offsets[:-1], -1)),
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
    found = decoder.decode(weights, task.test.segments)
    assert isinstance(found, NBest)
    return found.with_metric(task.metric, task.test.references)  # type: ignore[arg-type]


def _forget(folder: Path) -> None:
    """Remove the candidates of a loop that has ended; what is said of them stays."""
    for part in [*folder.glob("rounds/*/dev"), *folder.glob("rounds/*/heldout")]:
        shutil.rmtree(part)


def _compared(run: Run, task_name: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Permutation tests (1,000 replications) of all pairs of methods on the test segments."""
    metric: Metric = LAS() if task_name in TREEBANKS else BLEU(tokenize="none")
    stats = {}
    for name in names:
        run.need(f"{task_name}-{name}")
        stats[name] = np.load(run.work / f"{task_name}-{name}" / "test.npy", allow_pickle=False)
    found = {}
    for at, first in enumerate(names):
        for second in names[at + 1 :]:
            found[f"{first} {second}"] = permutation(metric, stats[first], stats[second], samples=1000).p
    return found


# figures 1 and 2 ----------------------------------------------------------------------------------------------------


def _figures(run: Run, pair: str) -> dict[str, Any]:
    """The dev lists of the best risk weights: BLEU over two weights, and over one for several gamma."""
    task = _translation(run, pair, large=False)
    model = load(run.work / f"{pair}-risk" / "model.json")
    lists = task.decoder.decode(model.weights, task.dev.segments).with_metric(task.metric, task.dev.references)  # type: ignore[arg-type]
    assert isinstance(lists, NBest)
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
    "mt/fi-en, mt/europarl and treebanks",
    _steps,
    report,
)
