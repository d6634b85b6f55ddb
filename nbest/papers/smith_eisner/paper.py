"""Minimum risk annealing for training log-linear models: Smith & Eisner (2006), tables 1 and 2, figures 1 to 4."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from nbest.papers.smith_eisner.methods import DRAWN, LARGE, METHODS, PARSING
from nbest.papers.smith_eisner.report import DRAWS, PAIRS, report
from nbest.papers.smith_eisner.tasks import TREEBANKS, Task, parsing, train_experts, train_translator, translation
from nbest.papers.smith_eisner.variants import LISTS, FixedLists, all_variants, keep_lists, kept_lists
from nbest.runs import Step
from nbest.studies.sharpness import sharpness
from nbest.studies.surface import surface
from nbest.systems.decoder import SystemDecoder

_LISTS = "tables and figures of this paper are made of lists"


@dataclass(frozen=True)
class _Setting:
    """A task with some dev and held-out sentences: draw 1 are the first of their parts; or 2,000 dev sentences."""

    task: str
    draw: int = 1
    large: bool = False

    @property
    def prefix(self) -> str:
        """Of the names of its methods."""
        return "large-" if self.large else "" if self.draw == 1 else f"draw{self.draw}-"

    @property
    def is_parsing(self) -> bool:
        """Whether it is a treebank."""
        return self.task in TREEBANKS

    def step(self, name: str) -> str:
        """The step of a method, or another one."""
        return f"{self.task}-{self.prefix}{name}"

    def load(self, run: Run) -> Task:
        """Decoder and sentences."""
        if self.is_parsing:
            return parsing(run, self.task)
        return translation(run, self.task, large=self.large, draw=self.draw)


def _steps(run: Run) -> list[Step]:
    steps: list[Step] = []
    pairs = PAIRS[:1] if run.quick else PAIRS
    for pair in pairs:
        train = partial(train_translator, run, pair)
        steps.append(Step(f"{pair}-translator", train, run.size(5, 1), TOKENISING, needs=()))
        steps += _tuning(run, _Setting(pair), tuple(METHODS), _minutes(run, pair))
        risk = (f"{pair}-risk",)
        steps.append(Step(f"{pair}-figures", partial(_figures, run, pair), 0.5, TOKENISING, needs=risk))
    for language in ("sl",) if run.quick else TREEBANKS:
        steps.append(Step(f"{language}-parser", partial(train_experts, run, language), run.size(5, 1), needs=()))
        steps += _tuning(run, _Setting(language), tuple(PARSING), run.size(2, 1) / 2)
    steps += [_variants_step(run, _Setting(pair)) for pair in pairs]
    for draw in DRAWS[1:]:
        for pair in pairs:
            setting = _Setting(pair, draw)
            steps += _tuning(run, setting, DRAWN, _minutes(run, pair))
            steps += [] if run.quick else [_variants_step(run, setting)]
    if not run.quick:
        for pair in PAIRS:
            steps += _tuning(run, _Setting(pair, large=True), LARGE, 8.0 if pair == "fi-en" else 40.0)
    return steps


def _minutes(run: Run, pair: str) -> float:
    """About how long one loop takes."""
    return (1.0 if pair == "fi-en" else 6.0) * run.size(10, 2) / 10


def _variants_step(run: Run, setting: _Setting) -> Step:
    minutes = run.size(4 if setting.task == "fi-en" else 10, 1)
    work = partial(_variants, run, setting)
    return Step(setting.step("variants"), work, minutes, TOKENISING, needs=(setting.step(LISTS),))


def _tuning(run: Run, setting: _Setting, methods: tuple[str, ...], minutes: float) -> list[Step]:
    """The methods on a task, which need its base system, and the tests of all pairs of them."""
    base = f"{setting.task}-{'parser' if setting.is_parsing else 'translator'}"
    packages = () if setting.is_parsing else TOKENISING
    steps = [
        Step(setting.step(name), partial(_tuned, run, setting, name), minutes, packages, needs=(base,))
        for name in methods
    ]
    tests, tuned = partial(_compared, run, setting, methods), tuple(step.name for step in steps)
    return [*steps, Step(setting.step("tests"), tests, 0.1 if setting.is_parsing else 0.4, needs=tuned)]


# tuning -------------------------------------------------------------------------------------------------------------


def _tuned(run: Run, setting: _Setting, method: str) -> dict[str, Any]:
    """Run the loop of a method, then decode the test segments with the weights that were chosen."""
    task, folder = setting.load(run), run.work / setting.step(method)
    chosen = (PARSING if setting.is_parsing else METHODS)[method]
    trainer = chosen.trainer(task.words)
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
    if method == LISTS and not (setting.is_parsing or setting.large):
        _pools(loop, result["rounds"])
    loop.place.forget()
    return {
        "test": found.score(answers),
        **{name: model.scores_[name] for name in ("dev", "heldout")},
        "held": chosen.held,
        "rounds": result["rounds"],
        "chosen": result["chosen"],
        "reason": result["reason"],
        "seconds": seconds,
        "weights": dict(model.weights),
        "curve": curve,
    }


def _pools(loop: Loop, rounds: int) -> None:
    """Leave the candidates of all rounds for variants that are tried on fixed lists, unless that was done."""
    for part in ("dev", "heldout"):
        path = loop.place.path / f"{part}.npz"
        if not path.exists():
            keep_lists(path, loop.place.pool(rounds, loop.metric, part=part))


def _variants(run: Run, setting: _Setting) -> dict[str, Any]:
    """Variants of annealed risk on the lists of one loop; lists to test on are decoded with the weights of its end."""
    task, step = setting.load(run), setting.step(LISTS)
    about = run.need(step)
    dev, heldout = (kept_lists(run.work / step / f"{part}.npz", step, task.metric) for part in ("dev", "heldout"))
    test = need_lists(task.decoder.decode(about["weights"], task.test.segments), _LISTS)
    test = test.with_metric(task.metric, task.test.references)  # type: ignore[arg-type]
    references = task.dev.references_of(dev.ids, ())
    return all_variants(FixedLists(replace(dev, references=tuple(map(tuple, references))), heldout, test), run)


def _tested(task: Task, weights: Mapping[str, float]) -> NBest:
    """The decoder's answers on the test segments."""
    decoder = SystemDecoder(
        task.decoder.path, 1, options=task.decoder.options, threads=task.decoder.threads, progress=task.decoder.progress
    )
    found = need_lists(decoder.decode(weights, task.test.segments), _LISTS)
    return found.with_metric(task.metric, task.test.references)  # type: ignore[arg-type]


def _compared(run: Run, setting: _Setting, names: tuple[str, ...]) -> dict[str, Any]:
    """Permutation tests (1,000 replications) of all pairs of methods on the test segments."""
    metric: Metric = LAS() if setting.is_parsing else BLEU_OF_TOKENS
    stats = {}
    for name in names:
        run.need(setting.step(name))
        stats[name] = map_array(run.work / setting.step(name) / "test.npy")
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
