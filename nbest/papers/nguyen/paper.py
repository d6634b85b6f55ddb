"""Nguyen, Mahajan & He (2007): bins and Gaussian kernels as features, trained by soft BLEU on jackknifed lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nbest.papers.data import TOKENISING
from nbest.papers.nguyen import lists, rows
from nbest.papers.nguyen.lists import NguyenSizes
from nbest.papers.nguyen.report import report
from nbest.papers.run import Paper, Run
from nbest.runs import Step

_MINUTES = {"baseline": 6.0, "mert": 3.0, "bins": 6.0, "ml-small": 6.0, "ml-large": 10.0, "moved": 10.0}
_FIT = {"ml-small": 2.0, "ml-large": 10.0, "pcp-dev": 0.5, "pcp-train": 1.0}
_KERNELS_OF = {
    "ml-small": ("fold-*",),
    "ml-large": ("fold-*",),
    "pcp-dev": ("dev", "train-baseline"),
    "pcp-train": ("fold-*", "train-baseline"),
}
"""What the fitting of kernels needs."""


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
        kinds = rows.ROWS if on == "train" else rows.ROWS[:-1]
        return [
            step(f"{on}-{kind}", _MINUTES.get(kind, 8.0), rows.train_row, on, kind, needs=_row_needs(on, kind, made))
            for kind in kinds
        ]

    rounds = [f"round-{i}" for i in range(1, sizes.rounds + 1)]
    baseline, *others = table("train")
    return [
        *(step(name, 4.0, lists.decode_round, i + 1, needs=rounds[:i]) for i, name in enumerate(rounds)),
        *(step(part, 2.0, lists.decode_part, part, needs=rounds) for part in ("dev", "devtest", "test")),
        *(step(f"fold-{i}", 4.0, lists.decode_fold, i, needs=rounds) for i in range(1, sizes.folds + 1)),
        baseline,
        *(
            step(f"kernels-{kind}", _FIT[kind], rows.make_kernels, kind, needs=_KERNELS_OF[kind])
            for kind in rows.KERNELS
        ),
        *others,
        step("starts", 10.0, rows.try_starts, needs=rounds),
        step("bins", 3.0, rows.shape_bins, needs=("fold-*", "dev", "test")),
        *table("dev"),
    ]


def _row_needs(on: str, kind: str, made: Sequence[str]) -> tuple[str, ...]:
    """What a row of a table needs: the lists, the baseline, and where its features come from."""
    if kind == "baseline":
        return tuple(made)
    features = [f"kernels-{kind}"] if kind in rows.KERNELS else [f"{on}-pcp-train"] if kind == "moved" else []
    return (f"{on}-baseline", *features)


PAPER = Paper(
    "nguyen-2007",
    "P. Nguyen, M. Mahajan and X. He (2007), Training Non-Parametric Features for Statistical Machine Translation, WMT",
    "mt/europarl with train, dev, devtest and test of fr, de and en",
    steps,
    report,
)
