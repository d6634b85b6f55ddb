"""Yuan, Gao & Bu (2007): minimum sample risk for kana-kanji conversion, in the news and adapted to other texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nbest.papers.run import Paper, Run
from nbest.papers.yuan.lists import GOLD, NEWS, Kana
from nbest.papers.yuan.report import report
from nbest.papers.yuan.train import METHODS, adapt, compare, interpolate, study, tune
from nbest.runs import Step
from nbest.studies.alpha import METHODS as STUDIED

_QUICK_MINUTES = 0.1
_DECODING = {"disjoint": 0.4, "jackknife": 0.6, "tanaka": 0.5, "aozora": 2.0, "jsquad": 1.2}  # minutes of a part
_HELD = {"disjoint": 0.3, "jackknife": 0.3, "tanaka": 0.1, "aozora": 0.4, "jsquad": 0.3}
_TUNING = {"msr": 1.2, "msr2": 1.2, "boosting": 0.4, "penalised": 0.5, "perceptron": 0.3, "mira": 0.8, "pro": 0.6}


def steps(run: Run) -> list[Step]:
    """Lists and table 1 of the news, gold sets, table 2 of each domain; the studies of alpha follow their lists."""
    kana = Kana(run)

    def minutes(full: float) -> float:
        return _QUICK_MINUTES if run.quick else full

    out = [Step("data", kana.count, minutes(0.3))]
    for name in NEWS:
        out.append(Step(f"{name}-converter", partial(kana.train_converter, name), minutes(0.2)))
        out += _lists(kana, name, minutes)
        if name == "jackknife":
            out += [Step(gold, partial(kana.gold_lists, gold), minutes(0.5)) for gold in GOLD]
        for method in METHODS:
            out.append(Step(f"{name}-{method}", partial(tune, kana, name, method), minutes(_TUNING[method])))
        out.append(Step(f"{name}-pairs", partial(compare, kana, name), minutes(0.2)))
    out += _studies(kana, "jackknife", minutes)
    for name, sizes in kana.sizes.adapt.items():
        out += _lists(kana, name, minutes)
        for size in sizes:
            cost = minutes(0.3 if size <= 8000 else 2.5)
            out.append(Step(f"{name}-{size}-li", partial(interpolate, kana, name, size), minutes(0.4)))
            out.append(Step(f"{name}-{size}-rerank", partial(adapt, kana, name, size), cost))
        if name == "tanaka":
            out += _studies(kana, name, minutes)
    return out


Minutes = Callable[[float], float]


def _lists(kana: Kana, name: str, minutes: Minutes) -> list[Step]:
    """The steps that make the lists of a set."""
    held = [
        Step(f"{name}-{part}", partial(kana.held_lists, name, part), minutes(_HELD[name])) for part in ("dev", "test")
    ]
    parts = range(kana.sizes.parts[name])
    cost = minutes(_DECODING[name])
    return held + [Step(f"{name}-train-{number}", partial(kana.train_lists, name, number), cost) for number in parts]


def _studies(kana: Kana, name: str, minutes: Minutes) -> list[Step]:
    return [Step(f"alpha-{name}-{method}", partial(study, kana, name, method), minutes(1.0)) for method in STUDIED]


PAPER = Paper(
    name="yuan-2007",
    citation=(
        "Yuan, Gao & Bu (2007). A study and improvement of minimum sample risk methods for language modeling. "
        "Journal of Software 18(2), 196-204"
    ),
    needs="kana/auto, kana/dict and kana/gold: Japanese texts with readings and a dictionary",
    steps=steps,
    report=report,
)
