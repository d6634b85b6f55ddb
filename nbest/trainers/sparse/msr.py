"""Minimum sample risk: sparse features one by one, each with an exact line search on its weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nbest.base.parameters import parameter
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.lines.sparse_index import sparse_index
from nbest.lines.sparse_lines import SparseLines
from nbest.lines.sparse_totals import sample_risk
from nbest.model.loglinear import LogLinear
from nbest.optimisers.result import Result
from nbest.trainers.keeping import keeping_base
from nbest.trainers.lists import on_lists
from nbest.trainers.sparse.base import SparseLists, sparse_lists
from nbest.trainers.sparse.msr_selection import MeanCorrelation, ModelCorrelation, Selection, candidates, ranking
from nbest.trainers.trainer import Trainer

_LIMIT, _LIMIT_HELD = 2_000, 10_000  # features to take without and with held-out lists
_BEYOND = 0.1  # past the outermost cut where smoothing is 0, in units of the spread of base scores


@dataclass
class MSR(Trainer):
    """Adds features one by one to a base model, each at the weight that makes the sample risk least.

    Yuan, Gao & Bu (2007), after Gao et al. (2005). The sample risk is the loss of the chosen hypotheses in all (eq. 4),
    or any corpus metric that is no sum of losses. All features are first tried alone on top of the base model, which
    gives their effect E (eq. 6) and the segments each improves; step k then takes, of the `window` most effective ones
    left, the one with the largest alpha E(f_j) - (1 - alpha) (mean correlation with those taken) (eq. 7 and 8), and
    searches its weight exactly. A weight stays 0 where no other lowers the risk, which therefore never rises.

    With held-out lists the number of steps with the best held-out metric is kept, the first of equals; without, all.
    Differs from the paper: any metric; real-valued features; b in units of the spread of base scores; features without
    any effect alone are never taken; which interval wins is said at `nbest.lines.sparse_lines.SparseLines`.
    Cost: two passes over the features for the index, one over the index for E, then only the lists of each feature.
    """

    alpha: float = parameter(
        0.8,
        "how much the effect counts against the correlation; paper: 0.7 to 0.8 (MSR-II: to 0.9)",
        least=0,
        most=1,
    )
    limit: int | None = parameter(
        None,
        "L, how many features are taken (None: 2,000; 10,000 with held-out lists, which choose how many to keep)",
        least=1,
    )
    window: int = parameter(1000, "N, how many compete in a step", least=1)
    smoothing: float = parameter(
        0.1,
        "b of eq. 5, in standard deviations of the base scores within lists for each unit of a feature (of a dense "
        "one: for each of its standard deviations); 0: the middle of the best interval",
        least=0,
        finite=True,
    )
    passes: int = parameter(
        1, "how often the weights are searched; from the second pass on in the order in which they were taken", least=1
    )
    start: dict[str, float] | None = parameter(
        None,
        "weights of the base model, in the features' own units (None: 1 for the only dense feature beside sparse ones; "
        "several are tuned by MERT; without sparse features the best dense one alone)",
    )
    seed: int = parameter(1, "kept in the model; nothing is random")

    selection: ClassVar[type[Selection]] = MeanCorrelation

    @property
    def random(self) -> bool:
        """Nothing is drawn."""
        return False

    @keeping_base
    @on_lists
    def fit(self, corpus: NBest, heldout: NBest | None = None) -> LogLinear:
        """Learn weights from lists with statistics; held-out ones choose the number of steps."""
        limit = self.limit or (_LIMIT if heldout is None else _LIMIT_HELD)
        lists = sparse_lists(corpus, type(self).__name__, heldout, start=self.start, progress=self.progress)
        run = _MsrRun(self, lists, heldout, limit)
        values, self.result_ = run.values(), run.result()
        return lists.finish(self, values, heldout)


@dataclass
class MSR2(MSR):
    """MSR-II: as `MSR`, with the correlation of a feature and the whole present model instead of the mean (eq. 10).

    The present model improves the segments on which its loss is below the base model's, so that the correlation
    follows the model. The settings are those of `MSR`.
    """

    selection: ClassVar[type[Selection]] = ModelCorrelation


class _MsrRun:
    """One training: the steps taken, and what dev and held-out lists made of them."""

    def __init__(self, trainer: MSR, lists: SparseLists, heldout: NBest | None, limit: int) -> None:
        self.trainer, self.lists, self.limit = trainer, lists, limit
        self.history: list[dict[str, Any]] = []
        self.searched = 0  # line searches on one column
        problem, unit = lists.problem, segments.deviation(lists.base, lists.offsets) or 1.0
        risk = sample_risk(problem.metric, problem.stats, lists.offsets)
        index = sparse_index(lists.matrix, lists.offsets)
        half = trainer.smoothing * unit
        self.dev = SparseLines(index, lists.base, risk, half=half, beyond=_BEYOND * unit)
        self.steps: list[tuple[int, float]] = self._first()
        self.first = [column for column, _ in self.steps]
        self.taken: list[int] = []
        self.selection = self._select()
        self.held = None if heldout is None else self._heldout(heldout)
        self._record()
        self._take()
        self._again()

    def _first(self) -> list[tuple[int, float]]:
        """Without sparse features or weights to start from the best column alone is the base."""
        if self.lists.corpus.sparse is not None or self.lists.base.any():
            return []
        steps, reached = self.dev.search_all()
        column = int(np.argmin(reached))
        x = float(np.sign(steps[column]))  # all scores were 0: the size means nothing yet
        return [(column, x)] if self.dev.move(column, x) is not None else []

    def _select(self) -> Selection:
        """E of every column, and the segments that the best ones improve."""
        trainer = self.trainer
        base = self.dev.risk
        steps, reached = self.dev.search_all(self._progress_of_effects)
        columns, effect = ranking(base - reached, self.limit + trainer.window)
        improved = self.dev.improved(columns, steps[columns], self.lists.losses)
        self.base_losses = self._losses(self.dev.choice)
        self.better = np.zeros(len(self.base_losses), np.int8)  # x_mF
        return trainer.selection(
            candidates(columns, effect, improved), len(self.base_losses), trainer.alpha, trainer.window
        )

    def _heldout(self, heldout: NBest) -> SparseLines:
        """Held-out lists with the scores of the base model and an index of the columns that may be taken."""
        lists = self.lists.of(heldout)
        wanted = np.zeros(lists.matrix.shape[1], np.bool_)
        wanted[self.selection.candidates.columns] = True
        wanted[self.first] = True
        index = sparse_index(lists.matrix, lists.offsets, wanted=wanted)
        held = SparseLines(index, lists.base, sample_risk(lists.problem.metric, lists.problem.stats, lists.offsets))
        for column, x in self.steps:
            held.move(column, x, falling=False)
        return held

    def _take(self) -> None:
        """Step k: pick a feature, search its weight, tell the selection what the model improves now."""
        picks = self.selection.candidates.columns
        for _ in range(self.limit):
            pick = self.selection.pick()
            if pick is None:
                break
            self.taken.append(int(picks[pick]))
            changed = self._step(self.taken[-1])
            self.better[changed] = self._losses(self.dev.choice[changed]) < self.base_losses[changed]
            self.selection.see(pick, changed, self.better)

    def _again(self) -> None:
        """Further passes over the features taken, until one changes nothing."""
        columns = [*self.first, *self.taken]
        for _ in range(1, self.trainer.passes):
            before = len(self.steps)
            for column in columns:
                self._step(column)
            if len(self.steps) == before:
                break

    def _step(self, column: int) -> Ints:
        """Search and move along a column; the segments whose choice changed."""
        risk = self.dev.risk
        x, _ = self.dev.search(column)
        changed = self.dev.move(column, x) if x else None
        if changed is not None:
            self.steps.append((column, x))
            if self.held is not None:
                self.held.move(column, x, falling=False)
        assert self.dev.risk <= risk, "the sample risk rises"
        self.searched += 1
        self._record(column, x if changed is not None else 0.0)
        return np.zeros(0, np.int64) if changed is None else changed

    def _losses(self, choice: Ints) -> Floats:
        """Loss of each choice; 0 where a list is empty."""
        return np.where(choice >= 0, self.lists.losses[choice], 0.0)

    def _record(self, column: int | None = None, x: float = 0.0) -> None:
        entry: dict[str, Any] = {"round": self.searched, "features": len(self.taken), "steps": len(self.steps)}
        entry["risk"] = self.dev.risk
        if column is not None:
            entry |= {"feature": self.lists.names[column], "step": x / float(self.lists.scale[column])}
        entry["dev"] = self.dev.score
        if self.held is not None:
            entry["heldout"] = self.held.score
        self.history.append(entry)
        if self.trainer.progress is not None:
            size = self.limit
            self.trainer.progress(size + self.searched, size * (1 + self.trainer.passes))

    def _progress_of_effects(self, done: int, total: int) -> None:
        if self.trainer.progress is not None:
            size = self.limit
            self.trainer.progress(size * done // total, size * (1 + self.trainer.passes))

    @property
    def best(self) -> int:
        """Which entry of the history to keep."""
        if self.held is None:
            return len(self.history) - 1
        return int(np.argmax([self.lists.problem.sign * entry["heldout"] for entry in self.history]))

    def values(self) -> Floats:
        """[C] values after the best round."""
        out = np.zeros(len(self.lists.names))
        for column, x in self.steps[: self.history[self.best]["steps"]]:
            out[column] += x
        return out

    def result(self) -> Result:
        """The values, the sample risk they reach, and how the training went."""
        kept = self.history[self.best]
        taken = len(self.taken)
        message = f"took {taken} features in {self.searched} line searches, of which {len(self.steps)} lowered the risk"
        if taken < self.limit:
            message += f"; no other feature lowers it alone (asked for: {self.limit})"
        if self.held is not None:
            message += f"; the best held-out score was after {kept['round']} of them"
        return Result(
            self.values(), kept["risk"], "converged", message, evaluations=self.searched, history=tuple(self.history)
        )
