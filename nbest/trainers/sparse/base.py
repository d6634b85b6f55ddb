"""What trainers of sparse features share: all columns as one matrix on top of a base model, and held-out rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, _known
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.model.loglinear import LogLinear
from nbest.trainers.dense.mert import MERT
from nbest.trainers.finishing import finished
from nbest.trainers.problem import Problem, prepare
from nbest.trainers.sharpness import SEGMENTS, spread

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class SparseLists:
    """Lists as base scores [H] plus a matrix [H, C] of the columns whose weights are learnt.

    Columns of dense features are divided by their spread within lists, sparse ones are as they are. In the matrix no
    entry is 0 or twice there, and the indices of a row rise. Values [C] are weights in units of these columns.
    """

    problem: Problem[NBest]
    names: tuple[str, ...]  # C
    scale: Floats  # [C] what columns were divided by
    matrix: csr_array  # [H, C]
    base_weights: Mapping[str, float]  # of the base model, in the user's units
    base: Floats  # [H]
    losses: Floats  # [H]

    @property
    def corpus(self) -> NBest:
        """The lists."""
        return self.problem.corpus

    @property
    def offsets(self) -> Ints:
        """[N+1] hypotheses of segment i."""
        return self.problem.corpus.offsets

    def scores(self, values: Floats) -> Floats:
        """[H] score of each hypothesis."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.asarray(self.base + self.matrix @ values)
        if not np.isfinite(scores).all():
            raise ParameterError("some scores are not finite: weights times features exceed the range of numbers")
        return scores

    def score(self, values: Floats) -> float:
        """The metric of the hypotheses that these values choose."""
        return self.corpus.score(segments.argmax(self.scores(values), self.offsets))

    def not_worse(self, values: Floats, heldout: NBest | None) -> Floats:
        """The values, or all 0 where the base model alone is better on held-out lists."""
        if heldout is None or not self.base.any():
            return values
        held, sign = self.of(heldout), self.problem.sign
        nothing = np.zeros(len(values))
        return nothing if sign * held.score(nothing) > sign * held.score(values) else values

    def model(self, values: Floats) -> LogLinear:
        """Base and values as one model in the user's units; sparse features of weight 0 are left out."""
        weights = dict(self.base_weights)
        for column in np.flatnonzero(values):
            name = self.names[column]
            weights[name] = weights.get(name, 0.0) + float(values[column] / self.scale[column])
        dense = self.corpus.feature_names
        weights = dict.fromkeys(dense, 0.0) | {k: w for k, w in weights.items() if w or k in dense}
        return LogLinear(weights, dense=None if self.corpus.sparse is None else dense)

    def of(self, other: NBest) -> SparseLists:
        """Other lists with the same columns and the same base; columns that they lack are 0."""
        base = _base_scores(other, self.base_weights, self.corpus.feature_names)
        stats, metric = other.need_stats()
        dense = [name for name in self.names if name in self.corpus.feature_names]
        matrix = _matrix(other, dense, self.scale[: len(dense)], self.names[len(dense) :])
        problem = replace(self.problem, corpus=other)
        return replace(self, problem=problem, matrix=matrix, base=base, losses=metric.losses(stats))

    def finish(self, trainer: Any, values: Floats, heldout: NBest | None) -> LogLinear:
        """The model of these values with its scores; further fields as all trainers set them."""
        model = self.model(values)
        few = self.corpus.select(spread(len(self.corpus), SEGMENTS))
        held = None if heldout is None else _used(heldout, model)
        return finished(trainer, model, _used(few, model), held, dev=self.score(values))


def _used(corpus: NBest, model: LogLinear) -> NBest:
    """The lists without the sparse columns that a model has no weight for: then it scores them fast."""
    if corpus.sparse is None:
        return corpus
    columns = [at for at, name in enumerate(corpus.sparse_names) if name in model.weights]
    names = tuple(corpus.sparse_names[at] for at in columns)
    return replace(corpus, sparse=corpus.sparse[:, columns], sparse_names=names)


def sparse_lists(
    corpus: NBest,
    trainer: str,
    heldout: NBest | None = None,
    *,
    start: Mapping[str, float] | None = None,
    dense: bool | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SparseLists:
    """Check that lists can be trained on, and lay them out.

    `start` are the weights of the base model. Without: 1 for the only dense feature beside sparse ones, several are
    tuned by MERT, none where there are no sparse ones. `dense`: whether weights of dense features are learnt as well;
    None: only where there are no sparse ones. `progress` is told of the search for the base model, if there is one.
    """
    problem = prepare(corpus, trainer, heldout, sparse=True, sparse_scale=False)
    base = _base(problem, start, progress)
    width = len(corpus.feature_names) if (dense or (dense is None and corpus.sparse is None)) else 0
    moving = [d for d in range(width) if problem.scale[d] > 0]
    names = [corpus.feature_names[d] for d in moving]
    if not names and not corpus.sparse_names:
        raise CapabilityError(
            f"{trainer} has nothing to learn: 'dense' is false and these lists have no sparse features"
        )
    scale = np.concatenate([problem.scale[moving], np.ones(len(corpus.sparse_names))])
    matrix = _matrix(corpus, names, problem.scale[moving], corpus.sparse_names)
    scores = _base_scores(corpus, base, corpus.feature_names)
    losses = problem.metric.losses(problem.stats)
    return SparseLists(
        problem, (*names, *corpus.sparse_names), scale, matrix=matrix, base_weights=base, base=scores, losses=losses
    )


def _base(
    problem: Problem[NBest], start: Mapping[str, float] | None, progress: Callable[[int, int], None] | None
) -> dict[str, float]:
    corpus = problem.corpus
    names = (*corpus.feature_names, *corpus.sparse_names)
    if start is not None:
        known = set(names)
        odd = next((name for name in start if name not in known), None)
        if odd is not None:
            raise ParameterError(f"start weights name {odd!r}, which the corpus lacks; {_known(names, odd)}")
        return {name: float(weight) for name, weight in start.items()} | {
            name: 0.0 for name in corpus.feature_names if name not in start
        }
    if corpus.sparse is None or not problem.scale[: len(corpus.feature_names)].any():
        return dict.fromkeys(corpus.feature_names, 0.0)
    if len(corpus.feature_names) < 2:
        return dict.fromkeys(corpus.feature_names, 1.0)
    return dict(MERT(progress=progress).fit(corpus.without_sparse()).weights)


def _base_scores(corpus: NBest, weights: Mapping[str, float], dense: Sequence[str]) -> Floats:
    if not any(weights[name] for name in weights.keys() - set(dense)):  # spare the product with a matrix of millions
        corpus, weights = corpus.without_sparse(), {name: weights[name] for name in dense}
    return LogLinear(weights, dense=tuple(dense), versions={}).scores(corpus)


def _matrix(corpus: NBest, dense: Sequence[str], scale: Floats, sparse: Sequence[str]) -> csr_array:
    """[H, len(dense) + len(sparse)] the dense columns over their scale, then the sparse ones by name."""
    from scipy.sparse import coo_array, csr_array, hstack

    parts = []
    if dense:
        columns = np.stack([corpus.column(name) for name in dense], axis=1)
        parts.append(csr_array(columns / scale))
    if sparse:
        matrix = csr_array((corpus.hypotheses, len(sparse))) if corpus.sparse is None else corpus.sparse
        if tuple(corpus.sparse_names) != tuple(sparse):
            place = {name: at for at, name in enumerate(sparse)}
            new = np.array([place.get(name, -1) for name in corpus.sparse_names], np.int64)
            entries = matrix.tocoo()
            columns = new[entries.col] if len(new) else entries.col
            own = columns >= 0
            shape = (corpus.hypotheses, len(sparse))
            matrix = csr_array(coo_array((entries.data[own], (entries.row[own], columns[own])), shape=shape))
        parts.append(matrix)
    joined = csr_array(hstack(parts, format="csr")) if len(parts) > 1 else parts[0]
    return _canonical(joined)


def _canonical(matrix: csr_array) -> csr_array:
    """No zeros, nothing twice, indices that rise, numbers of 64 bits; the same object where it is so already."""
    if matrix.dtype != np.float64:
        matrix = matrix.astype(np.float64)
    if not matrix.has_canonical_format or (matrix.data == 0).any():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return matrix


@dataclass
class Rounds:
    """Values after each round of a trainer, and which round to keep: the best on held-out lists, else the last.

    `patience` rounds without a better held-out score end the training (None: never).
    """

    lists: SparseLists
    heldout: NBest | None
    patience: int | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    best: Floats | None = None
    best_round: int = 0

    def __post_init__(self) -> None:
        self._held = None if self.heldout is None else self.lists.of(self.heldout)

    def see(self, number: int, values: Floats, **record: Any) -> bool:
        """Look at the values after a round; whether to go on."""
        entry: dict[str, Any] = {"round": number, "dev": self.lists.score(values), **record}
        self.history.append(entry)
        if self._held is None:
            self.best, self.best_round = values.copy(), number
            return True
        entry["heldout"] = self._held.score(values)
        sign = self.lists.problem.sign
        earlier = [sign * e["heldout"] for e in self.history[:-1]]
        if self.best is None or sign * entry["heldout"] > max(earlier, default=-np.inf):
            self.best, self.best_round = values.copy(), number
        return self.patience is None or number - self.best_round < self.patience
