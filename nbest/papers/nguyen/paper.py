"""Nguyen, Mahajan & He (2007): bins and Gaussian kernels as features, trained by soft BLEU on jackknifed lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nbest.papers.data import TOKENISING
from nbest.papers.nguyen import curve, lists, rows
from nbest.papers.nguyen.lists import NguyenSizes
from nbest.papers.nguyen.report import report
from nbest.papers.run import Paper, Run
from nbest.runs import Step

_MINUTES = {"baseline": 6.0, "mert": 3.0, "bins": 6.0, "bins-zero": 6.0, "ml-small": 6.0, "ml-large": 10.0}
_MINUTES |= dict.fromkeys(rows.MOVED, 10.0)
_KERNELS = {
    "ml-small": (2.0, ("fold-*",)),
    "ml-large": (10.0, ("fold-*",)),
    "pcp-dev": (0.5, ("dev", "train-baseline")),
    "pcp-train": (1.0, ("fold-*", "train-baseline")),
    "pcp-global": (1.0, ("fold-*", "train-baseline")),
}
"""Minutes that fitting kernels takes, and the steps that it needs."""


def steps(run: Run) -> list[Step]:
    """Rounds on dev, test lists, folds, the table on jackknifed lists, the figures, the table on dev; pair by pair."""
    return [step for pair in NguyenSizes.of(run).pairs for step in _of_pair(run, pair)]


def _of_pair(run: Run, pair: str) -> list[Step]:
    sizes = NguyenSizes.of(run)

    def step(name: str, minutes: float, work: Callable[..., dict[str, Any]], *given: Any, needs: Sequence[str]) -> Step:
        # the name says what a step is of, so that --only can choose; a quick run is some thirty times smaller
        packages = TOKENISING if work in (lists.decode_round, lists.decode_part, lists.decode_fold) else ()
        cost = minutes / 30 if run.quick else minutes
        needed = tuple(f"{pair}-{each}" for each in needs)
        return Step(f"{pair}-{name}", partial(work, run, pair, *given), cost, packages, needs=needed)

    def table(on: str) -> list[Step]:
        made = ("fold-*", "dev", "test") if on == "train" else (*rounds, "devtest", "test")
        return [
            step(f"{on}-{kind}", _MINUTES.get(kind, 8.0), rows.train_row, on, kind, needs=_row_needs(on, kind, made))
            for kind in (*rows.ROWS, *(rows.MOVED if on == "train" else ()))
        ]

    def along(size: int, kind: str) -> Step:
        needs = ("fold-*", "dev", "test", "devtest") if kind == "linear" else (f"curve-{size}-linear",)
        return step(f"curve-{size}-{kind}", size / 500, curve.curve_row, size, kind, needs=needs)

    rounds = [f"round-{i}" for i in range(1, sizes.rounds + 1)]
    folds = range(1, sizes.folds + 1)
    baseline, *others = table("train")
    return [
        *(step(name, 4.0, lists.decode_round, i + 1, needs=rounds[:i]) for i, name in enumerate(rounds)),
        *(step(part, 2.0, lists.decode_part, part, needs=rounds) for part in ("dev", "devtest", "test")),
        *(step(f"fold-{i}", 4.0, lists.decode_fold, i, needs=rounds) for i in folds),
        baseline,
        *(step(f"kernels-{k}", cost, rows.make_kernels, k, needs=needs) for k, (cost, needs) in _KERNELS.items()),
        *others,
        step("speed", 2.0, rows.time_training, needs=rounds),
        step("starts", 10.0, rows.try_starts, needs=rounds),
        step("bins", 3.0, rows.shape_bins, needs=("fold-*", "dev", "test")),
        *(along(size, kind) for size in sizes.curve_of(pair) for kind in curve.kinds(run)),
        *(along(sizes.curve_of(pair)[-1], kind) for kind in curve.TRIED),
        *table("dev"),
    ]


def _row_needs(on: str, kind: str, made: Sequence[str]) -> tuple[str, ...]:
    """What a row of a table needs: the lists, the baseline, and where its features come from."""
    if kind == "baseline":
        return tuple(made)
    features = [f"kernels-{kind}"] if kind in rows.KERNELS else [f"{on}-pcp-train"] if kind in rows.MOVED else []
    return (f"{on}-baseline", *features)


PAPER = Paper(
    "nguyen-2007",
    "P. Nguyen, M. Mahajan and X. He (2007), Training Non-Parametric Features for Statistical Machine Translation, WMT",
    "mt/europarl with train, dev, devtest and test of fr, de and en",
    steps,
    report,
)
