"""Several methods on the same lists: settings chosen on held-out data, the test set looked at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from nbest.base.errors import ParameterError, look_up
from nbest.base.types import Floats, Ints
from nbest.compute import parallel
from nbest.corpus import NBest, split
from nbest.corpus.contract import signature_of
from nbest.decisions import corpus_oracle, first
from nbest.decisions.choose import decision_of
from nbest.decisions.chosen import choice_of
from nbest.decisions.vote import plurality
from nbest.evaluation.pooling import Pooled, pooled_permutation
from nbest.evaluation.rungs import groups_of
from nbest.evaluation.significance import by_group, clustered
from nbest.model.equal import equal_weights
from nbest.model.loglinear import LogLinear
from nbest.trainers import TRAINERS
from nbest.trainers.deciding import AUTO, as_trained
from nbest.trainers.pipeline import Pipeline

SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "likelihood": tuple({"variance": v} for v in (0.25, 0.5, 1.0, float("inf"))),
}
"""What each method may choose from on held-out data; others run with their defaults."""


@dataclass(frozen=True)
class Row:
    """One way to choose: scores on the three sets, p-values on test against the first hypotheses and against the method
    that is named first, seconds to train.

    Of several runs scores are means, `runs` are those on test, and the model is that of the first run.
    """

    name: str
    dev: float
    heldout: float | None
    test: float
    p: float | None
    seconds: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: LogLinear | None = field(default=None, repr=False)
    runs: tuple[float, ...] = ()
    p_against: float | None = None
    decisions: tuple[str, ...] = ()  # by which the runs choose, each once
    settled: bool = False  # whether held-out lists settled that

    @property
    def spread(self) -> float | None:
        """Standard deviation of test scores over runs; None without several."""
        return Pooled(self.runs).spread


@dataclass(frozen=True)
class Compared:
    """Rows for the first hypotheses, a plurality vote where lists have answers, equal weights, each method and the
    oracle; `best` is the method that held-out data prefer, `against` that which others are tested against, too, and
    `below` are those that end below the first.

    `note` says where segments were tested together.
    """

    metric: str
    rows: tuple[Row, ...]
    best: str
    note: str = ""
    against: str = ""
    below: tuple[str, ...] = ()
    segments: Mapping[str, int] = field(default_factory=dict)  # of dev, heldout and test, that have hypotheses


PLURALITY = "plurality vote"
_SAMPLES = 10000  # of a permutation test


def compare(
    dev: NBest,
    test: NBest,
    methods: Sequence[str],
    *,
    heldout: NBest | float = 0.25,
    settings: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    common: Mapping[str, Any] | None = None,
    seed: int | Sequence[int] = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Compared:
    """Train each method on dev, choose its settings (and the method) on held-out data, report test once.

    `heldout` may be a share of dev, which is then held out. `settings` lists what a method may choose from (default
    `SETTINGS`), `common` keywords go to every trainer that has them (`threads`, `seed`). With several seeds each method
    that is random is trained with each of them; scores are then means, and the first seed splits.
    Models choose as those of `nbest tune --heldout` do: by the decision that held-out data prefer, or by the `decision`
    that is said among `common`.
    p-values are of paired permutation tests on test against the first hypothesis of each list, and against the method
    that is named first; several runs are pooled (`pooled_permutation`), and segments of a group are swapped together.
    """
    seeds: list[dict[str, Any]] = [{}] if isinstance(seed, int) else [{"seed": each} for each in seed]
    if not seeds:
        raise ParameterError("'seed' of compare must be a whole number or several, got none")
    if isinstance(heldout, float):
        dev, heldout = split(dev, 1.0 - heldout, seed if isinstance(seed, int) else seed[0])
    plans = [_trials(name, settings or SETTINGS, common or {}, seeds) for name in methods]
    tell = partial(parallel.counter(progress, sum(plan.trainings for plan in plans)), 1)
    judge = _Judge.of(test)
    sets = (dev, heldout, test)
    rows = [_fixed("first hypothesis", sets, partial(first, None))]
    if all(each.answers is not None for each in sets):
        rows.append(replace(_fixed(PLURALITY, sets, _plurality), p=judge.p(_plurality(test))))
    sign = 1.0 if dev.need_metric().higher_is_better else -1.0
    tuned: list[Row] = []
    for plan in plans:
        row, stats = _tuned(plan, (dev, heldout), judge, tell)
        tuned.append(row)
        judge = judge if judge.against else replace(judge, against=stats)
    equal = equal_weights(dev)
    if equal is not None:
        scores = {name: each.score(equal.predict(each)) for name, each in (("dev", dev), ("heldout", heldout))}
        rows.append(judge.row("equal weights", [replace(equal, scores_=scores)])[0])
    best = max(tuned, key=lambda row: sign * (row.heldout or 0.0), default=rows[0]).name
    below = tuple(row.name for row in (*rows, *tuned) if sign * (row.test - rows[0].test) < 0)
    rows += [*tuned, _fixed("oracle", sets, corpus_oracle)]
    against, note = methods[0] if methods else "", clustered(groups_of(test))
    sizes = dict(zip(("dev", "heldout", "test"), (int((each.lengths > 0).sum()) for each in sets), strict=True))
    return Compared(signature_of(dev), tuple(rows), best, note=note, against=against, below=below, segments=sizes)


def _plurality(corpus: NBest) -> Ints:
    """Of lists with answers."""
    chosen = plurality(corpus)
    assert chosen is not None
    return chosen


def _fixed(name: str, sets: tuple[NBest, NBest, NBest], choose: Callable[[NBest], Ints]) -> Row:
    dev, heldout, test = (corpus.score(choose(corpus)) for corpus in sets)
    return Row(name, dev, heldout, test, None)


@dataclass(frozen=True)
class _Trials:
    """A method, the settings that held-out data choose from, and keywords of each run."""

    name: str
    kind: type
    options: tuple[Mapping[str, Any], ...]
    runs: tuple[Mapping[str, Any], ...]

    @property
    def trainings(self) -> int:
        return len(self.options) * len(self.runs)

    def fit(self, options: Mapping[str, Any], run: Mapping[str, Any], dev: NBest, heldout: NBest) -> LogLinear:
        trainer = _made(self.kind, {**run, **options, **as_trained(self.kind)})
        return Pipeline(trainer=trainer, decision=run.get("decision", AUTO)).fit(dev, heldout)


def _trials(
    name: str,
    settings: Mapping[str, Sequence[Mapping[str, Any]]],
    common: Mapping[str, Any],
    seeds: Sequence[Any],
) -> _Trials:
    """One run with each seed, where the seed matters."""
    kind = look_up(TRAINERS, name, "method")
    runs = [{**common, **each} for each in seeds]
    random = getattr(_made(kind, common), "random", True)
    return _Trials(name, kind, tuple(settings.get(name, ({},))), tuple(runs if random else runs[:1]))


def _made(kind: type, options: Mapping[str, Any]) -> Any:
    """A trainer with those of the options that it has."""
    trainer = kind()
    for key, value in options.items():
        if hasattr(trainer, key):
            setattr(trainer, key, value)
    return trainer


def _tuned(
    plan: _Trials, sets: tuple[NBest, NBest], judge: _Judge, tell: Callable[[], None]
) -> tuple[Row, tuple[Floats, ...]]:
    """The row of a method with the settings that held-out data prefer, and statistics of what its runs choose."""
    sign = 1.0 if sets[0].need_metric().higher_is_better else -1.0
    begin = time.perf_counter()
    fitted: list[list[LogLinear]] = []
    for options in plan.options:
        fitted.append([])
        for run in plan.runs:
            fitted[-1].append(plan.fit(options, run, *sets))
            tell()
    pick = max(range(len(fitted)), key=lambda i: sign * _mean(fitted[i], "heldout"))
    seconds = time.perf_counter() - begin
    row, stats = judge.row(plan.name, fitted[pick])
    return replace(row, seconds=seconds, settings=plan.options[pick]), stats


def _mean(runs: Sequence[LogLinear], name: str) -> float:
    return Pooled(tuple(model.scores_[name] for model in runs)).mean


@dataclass(frozen=True, eq=False)
class _Judge:
    """The test set, and what others are tested against: statistics of the first hypotheses, and of each run of the
    method that is named first."""

    test: NBest
    first: Floats
    against: tuple[Floats, ...] = ()

    @classmethod
    def of(cls, test: NBest) -> _Judge:
        return cls(test, _chosen(test, first(None, test)))

    def p(self, choice: Ints) -> float:
        """How easily chance makes a choice of the test set as different from the first hypotheses as it is."""
        chosen = (_chosen(self.test, choice),)
        return pooled_permutation(self.test.need_metric(), (self.first,), chosen, samples=_SAMPLES).p

    def row(self, name: str, runs: Sequence[LogLinear]) -> tuple[Row, tuple[Floats, ...]]:
        """The row of the runs of a method, and the statistics of what each chooses."""
        metric = self.test.need_metric()
        chosen = tuple(_chosen(self.test, choice_of(model, self.test)) for model in runs)
        found = Pooled.of(metric, chosen)
        p, against = (
            pooled_permutation(metric, other, chosen, samples=_SAMPLES).p if other else None
            for other in ((self.first,), self.against)
        )
        dev, heldout = (_mean(runs, each) for each in ("dev", "heldout"))
        kinds = tuple(dict.fromkeys(str(decision_of(model)["kind"]) for model in runs))
        told: dict[str, Any] = {"model": runs[0], "runs": found.scores, "p_against": against, "decisions": kinds}
        told["settled"] = any(model.settled for model in runs)
        return Row(name, dev, heldout, found.mean, p, **told), chosen


def _chosen(test: NBest, choice: Ints) -> Floats:
    """Statistics of what is chosen of the segments that have hypotheses, added up by group."""
    return by_group(test.need_stats()[0][choice[test.lengths > 0]], groups_of(test))
