"""Yuan, Gao & Bu (2007): minimum sample risk for kana-kanji conversion, in the news and adapted to other texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nbest.papers.run import Paper, Run
from nbest.papers.yuan import isolate_li
from nbest.papers.yuan.isolate import ROWS, Isolated, isolate
from nbest.papers.yuan.lists import GOLD, NEWS, Kana
from nbest.papers.yuan.report import report
from nbest.papers.yuan.same_lists import compare_fixed, later
from nbest.papers.yuan.train import METHODS, adapt, compare, interpolate, study, tune
from nbest.runs import Step
from nbest.studies.alpha import METHODS as STUDIED

_QUICK_MINUTES = 0.1
_DECODING = {"disjoint": 0.4, "jackknife": 0.6, "tanaka": 0.5, "aozora": 2.0, "jsquad": 1.2}  # minutes of a part
_HELD = {"disjoint": 0.3, "jackknife": 0.3, "tanaka": 0.1, "aozora": 0.4, "jsquad": 0.3}
_TUNING = {"msr": 1.2, "msr2": 1.2, "boosting": 0.4, "penalised": 0.5, "perceptron": 0.3, "mira": 0.8, "pro": 0.6}
_DATA = ("data",)  # data that are missing are missed there, before anything else begins
_CONVERTER = ("jackknife-converter",)  # of all news
Minutes = Callable[[float], float]


def steps(run: Run) -> list[Step]:
    """Lists and table 1 of the news, gold sets, table 2 of each domain; the studies of alpha follow their lists; then
    interpolation on the same lists, later news, what keeps the gain of the news small, why interpolation is strong."""
    kana = Kana(run)

    def minutes(full: float) -> float:
        return _QUICK_MINUTES if run.quick else full

    out = [Step("data", kana.count, minutes(0.3), needs=())]
    for name in NEWS:
        train = partial(kana.train_converter, name)
        out.append(Step(f"{name}-converter", train, minutes(0.2), needs=_DATA))
        out += _lists(kana, name, minutes)
        if name == "jackknife":
            out += [Step(gold, partial(kana.gold_lists, gold), minutes(0.5), needs=_CONVERTER) for gold in GOLD]
        for method in METHODS:
            work, needs = partial(tune, kana, name, method), _lists_of(name)
            out.append(Step(f"{name}-{method}", work, minutes(_TUNING[method]), needs=needs))
        tuned = (f"{name}-test", *(f"{name}-{method}" for method in METHODS))
        out.append(Step(f"{name}-pairs", partial(compare, kana, name), minutes(0.2), needs=tuned))
    out += _studies(kana, "jackknife", minutes)
    for name, sizes in kana.sizes.adapt.items():
        out += _lists(kana, name, minutes)
        for size in sizes:
            cost, li = minutes(0.3 if size <= 8000 else 2.5), f"{name}-{size}-li"
            work = partial(interpolate, kana, name, size)
            out.append(Step(li, work, minutes(0.4), needs=(*_DATA, f"{name}-test")))
            needs = (*_DATA, *_lists_of(name), li)
            out.append(Step(f"{name}-{size}-rerank", partial(adapt, kana, name, size), cost, needs=needs))
        if name == "tanaka":
            out += _studies(kana, name, minutes)
    out += [_fixed(kana, name, minutes) for name in kana.sizes.adapt]
    out.append(Step("later-news", partial(later, kana), minutes(4.0), needs=_DATA))
    out += [_isolated(kana, name, row, minutes) for name, row in ROWS.items()]
    return out + [_change(kana, name, row, minutes) for name in kana.sizes.why_li for row in isolate_li.ROWS]


def _fixed(kana: Kana, name: str, minutes: Minutes) -> Step:
    needs = (*_DATA, *_CONVERTER, *_lists_of(name))
    return Step(f"{name}-li-fixed", partial(compare_fixed, kana, name), minutes(1.5), needs=needs)


def _isolated(kana: Kana, name: str, row: Isolated, minutes: Minutes) -> Step:
    needs = (*_DATA, *(step for each in row.sets for step in _lists_of(each)))
    return Step(f"why-{name}", partial(isolate, kana, name), minutes(1.0), needs=needs)


def _change(kana: Kana, domain: str, name: str, minutes: Minutes) -> Step:
    work = partial(isolate_li.isolate_li, kana, domain, name)
    return Step(f"why-li-{domain}-{name}", work, minutes(2.0), needs=(*_DATA, *_CONVERTER))


def _lists(kana: Kana, name: str, minutes: Minutes) -> list[Step]:
    """The steps that make the lists of a set; a fold of the news trains a converter of its own."""
    converter = (f"{name}-converter",) if name in NEWS else _CONVERTER
    held = [
        Step(f"{name}-{part}", partial(kana.held_lists, name, part), minutes(_HELD[name]), needs=converter)
        for part in ("dev", "test")
    ]
    needs, cost = _DATA if name == "jackknife" else converter, minutes(_DECODING[name])
    return held + [
        Step(f"{name}-train-{number}", partial(kana.train_lists, name, number), cost, needs=needs)
        for number in range(kana.sizes.parts[name])
    ]


def _lists_of(name: str) -> tuple[str, ...]:
    """The steps that leave the lists of a set."""
    return (f"{name}-train-*", f"{name}-dev", f"{name}-test", *(GOLD if name == "jackknife" else ()))


def _studies(kana: Kana, name: str, minutes: Minutes) -> list[Step]:
    needs = (*_DATA, *_lists_of(name))
    return [
        Step(f"alpha-{name}-{method}", partial(study, kana, name, method), minutes(1.0), needs=needs)
        for method in STUDIED
    ]


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
