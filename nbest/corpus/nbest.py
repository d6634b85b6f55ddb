"""`NBest`: the candidate lists of a corpus in flat arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.mapped import all_finite, taken
from nbest.base.types import Bools, Floats, Ints, References
from nbest.compute import segments
from nbest.corpus.answers import FUNCTION, Find, answer_rule
from nbest.corpus.container import Container, Said
from nbest.corpus.metric import Metric
from nbest.corpus.rows import row_by_row, stacked
from nbest.corpus.scores import Scores, aligned
from nbest.corpus.sparse import rows_of
from nbest.corpus.texts import Texts
from nbest.corpus.views import Segment, frame_of, html_of, item_of, segments_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Origin:
    """What a feature was in the file it came from; in the corpus it is natural-log, larger is better."""

    sign: int = 1  # -1: a cost in the file, negated
    log_base: float | None = None  # the base of the file's logarithm where it was not e
    normalised: str = ""  # e.g. "length": divided by the length in the file

    def __str__(self) -> str:
        parts = ["cost in the file, negated"] if self.sign < 0 else []
        if self.log_base is not None:
            parts.append(f"base-{self.log_base:g} logarithm in the file, turned into a natural one")
        if self.normalised:
            parts.append(f"normalised by {self.normalised}")
        return "; ".join(parts) or "as in the file"


class _CheckedNames(tuple[str, ...]):
    """Sparse names that are known to differ from each other and from the dense names `beside`.

    Lists that are made out of others share them, so that millions of names are compared once.
    """

    beside: tuple[str, ...]


_SAID = Said(many="lists", one="list", choices="hypotheses", texts="hypotheses", row="hypothesis", larger="longer")
_NO_WEIGHTS: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, eq=False, repr=False)
class NBest(Container):
    """N segments with H hypotheses in all, D dense features and M statistics of a metric.

    Checked once at construction; arrays are read-only, so it can be shared between threads and trainers.
    `sparse` is a [H, D'] matrix of further features with `sparse_names`. `gains` say what each hypothesis is worth
    (right or wrong, human quality): an external metric. `answers` are what counts where hypotheses are compared with
    each other or with references ("" where there is none); without them, the texts do. `systems` are the names of those
    that made the hypotheses. Segments of one of the `groups`
    (a document, a speaker) stay together when a corpus is split. `positions` says where each hypothesis stood in the
    file it was read from, when reading had to group them by segment.
    """

    offsets: Ints  # [N+1]: hypotheses of segment i are offsets[i]:offsets[i+1]
    features: Floats  # [H, D]
    feature_names: tuple[str, ...]  # D
    ids: tuple[str, ...]  # N
    texts: Texts | None = None  # H
    references: tuple[tuple[str, ...], ...] | None = None  # N
    sources: tuple[str, ...] | None = None  # N
    groups: tuple[str, ...] | None = None  # N
    gains: Floats | None = None  # [H], larger is better
    answers: Texts | None = None  # H
    systems: Texts | None = None  # H
    answer_rule: str = ""  # by which answers were found in the texts; "": they came with the lists
    sparse: csr_array | None = None  # [H, D']
    sparse_names: tuple[str, ...] = ()  # D'
    stats: Floats | None = None  # [H, M]
    metric: Metric | None = None
    positions: Ints | None = None  # [H]
    origins: Mapping[str, Origin] = field(default_factory=dict)
    recipes: tuple[Mapping[str, Any], ...] = ()  # of the columns that were added (nbest.features), in their order

    @property
    def said(self) -> Said:
        """How messages call the parts of lists."""
        return _SAID

    @property
    def whole(self) -> bool:
        """A row of features is a whole hypothesis."""
        return True

    @property
    def own_weights(self) -> Mapping[str, float]:
        """None: files of lists do not tell them."""
        return _NO_WEIGHTS

    @property
    def absent_is_zero(self) -> bool:
        """A feature that is not among the names is not there."""
        return False

    def __post_init__(self) -> None:
        self.freeze(offsets=np.int64, features=None, stats=np.float64, gains=np.float64, positions=np.int64)
        object.__setattr__(self, "sparse_names", _checked(self.sparse_names, self.feature_names))
        object.__setattr__(self, "recipes", tuple(self.recipes))
        _check(self)

    # sizes -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> dict[str, int]:
        """How many segments and hypotheses."""
        return {"segments": len(self), "hypotheses": self.hypotheses}

    @property
    def hypotheses(self) -> int:
        """H, the number of hypotheses."""
        return int(self.offsets[-1])

    @property
    def lengths(self) -> Ints:
        """[N] number of hypotheses of each segment."""
        return segments.lengths(self.offsets)

    @property
    def row_offsets(self) -> Ints:
        """[N+1] rows of features of segment i."""
        return self.offsets

    @property
    def compared(self) -> Texts | None:
        """H texts that metrics and votes compare: the answers, or else the whole texts."""
        return self.texts if self.answers is None else self.answers

    # to look at --------------------------------------------------------------------------------------------

    @overload
    def __getitem__(self, index: int | str) -> Segment: ...

    @overload
    def __getitem__(self, index: slice) -> NBest: ...

    def __getitem__(self, index: int | str | slice) -> Segment | NBest:
        """The segment with this number or id, a sequence of hypotheses; of a slice the lists."""
        return item_of(self, index)

    def __iter__(self) -> Iterator[Segment]:
        return segments_of(self)

    def _repr_html_(self) -> str:
        """The first lists, for notebooks."""
        return html_of(self)

    def to_pandas(self) -> Any:
        """A data frame with one hypothesis a row: id, index in the list, text, answer, gain, dense features, and what
        belongs to the segment. Sparse features are left out."""
        return frame_of(self)

    # statistics --------------------------------------------------------------------------------------------

    def with_metric(self, metric: Metric, references: References | None = None) -> NBest:
        """The same lists with the statistics of `metric` against `references` (its own when none are given).

        A metric of given values (`External`) takes the gains of the lists.
        """
        if references is None and self.gains is not None and hasattr(metric, "stats_of"):
            return replace(self, stats=metric.stats_of(self.gains), metric=metric)
        corpus, _ = self.to_measure(metric, references)
        if corpus.compared is None:
            raise CapabilityError(f"{metric.name} needs the texts of the hypotheses and these lists carry none")
        stats = stacked(partial(_measured, metric), corpus.shards(), corpus.hypotheses, corpus.compared.starts)
        return replace(corpus, stats=stats, metric=metric)

    def with_answers(self, how: str | Find) -> NBest:
        """The same lists with what `how` (a rule of `nbest.corpus.answers`, a regular expression, a function) finds in
        the texts for answers, "" where it finds nothing. References become their answers, too, or stay whole."""
        if self.texts is None:
            raise CapabilityError("answers are found in the texts of the hypotheses and these lists carry none")
        rule, references = answer_rule(how), self.references
        if references is not None:
            references = tuple(tuple(map(rule.of_reference, group)) for group in references)
        said = how if isinstance(how, str) else FUNCTION
        answers = rule.answers(self.texts)
        return replace(self, answers=answers, answer_rule=said, references=references, stats=None, metric=None)

    def with_references(self, references: References) -> NBest:
        """The same with these references, one sequence of texts a segment; what was measured by others is gone. Where
        answers were found by a rule, so are those of the references."""
        if self.answer_rule == FUNCTION:
            raise CapabilityError("give references before with_answers(function), so that it finds their answers, too")
        if self.answer_rule:
            rule = answer_rule(self.answer_rule)
            references = [[rule.of_reference(text) for text in group] for group in references]
        return super().with_references(references)

    def totals(self, choice: Ints | Sequence[int]) -> Floats:
        """[M] statistics of one choice a segment: flat hypothesis indices, -1 where a list is empty."""
        stats, _ = self.need_stats()
        choice = np.asarray(choice, np.int64)
        return np.asarray(stats[choice[choice >= 0]].sum(axis=0))

    def score(self, choice: Ints | Sequence[int]) -> float:
        """The corpus metric of one choice a segment."""
        _, metric = self.need_stats()
        return float(metric.score(self.totals(choice)))

    def oracle(self) -> Ints:
        """[N] the hypothesis with the smallest loss of each segment alone, ties to the first; -1 if a list is empty."""
        return segments.argmax(-self.losses(), self.offsets)

    def texts_of(self, choice: Ints | Sequence[int]) -> list[str]:
        """The texts of chosen hypotheses, by their flat indices; "" for -1, where a list is empty."""
        if self.texts is None:
            raise CapabilityError("these lists carry no texts")
        return [self.texts[h] if h >= 0 else "" for h in np.asarray(choice).tolist()]

    def losses(self) -> Floats:
        """[H] loss of each hypothesis alone, by the metric; smaller is better."""
        stats, metric = self.need_stats()
        return row_by_row(metric.losses, stats, self.offsets)

    def need_stats(self) -> tuple[Floats, Metric]:
        """Statistics and metric, or a `CapabilityError` that says how to get them."""
        if self.stats is None or self.metric is None:
            raise CapabilityError("these lists have no statistics yet; call corpus.with_metric(metric, references)")
        return self.stats, self.metric

    @property
    def scored(self) -> bool:
        """Whether choices can be scored."""
        return self.stats is not None and self.metric is not None

    def need_metric(self) -> Metric:
        """The metric, or a `CapabilityError` that says how to get one and its statistics."""
        return self.need_stats()[1]

    # parts -------------------------------------------------------------------------------------------------

    def select(self, chosen: Ints | Sequence[int], ids: Sequence[str] | None = None) -> NBest:
        """The segments with these numbers, in this order; under other `ids` one may be there more than once."""
        chosen = np.asarray(chosen, np.int64)
        rows, offsets = segments.rows_of(self.offsets, chosen)
        named = {} if ids is None else {"ids": tuple(ids)}
        return replace(self, **self._rows(rows, offsets), **{**self.of_segments(chosen), **named})

    def between(self, low: int, high: int) -> NBest:
        """The segments from `low` to before `high`; their arrays are views of these."""
        rows = slice(*self.offsets[[low, high]].tolist())
        return replace(
            self,
            **self._rows(rows, self.offsets[low : high + 1] - self.offsets[low]),
            **self.of_segments(range(low, high)),
        )

    def keep(self, mask: Bools) -> NBest:
        """The hypotheses where `mask` [H] is true; segments stay, if need be empty."""
        kept = segments.sums(mask.astype(np.float64), self.offsets).astype(np.int64)
        return replace(self, **self._rows(np.flatnonzero(mask), segments.offsets_of(kept)))

    def reorder(self, rows: Ints) -> NBest:
        """The same lists with hypotheses in another order: `rows` [H] permutes within segments."""
        owners = segments.owners(self.offsets)
        if len(rows) != self.hypotheses or (owners[rows] != owners).any() or len(np.unique(rows)) != len(rows):
            raise ParameterError("'rows' of reorder must permute the hypotheses within each segment")
        return replace(self, **self._rows(rows, self.offsets))

    def _rows(self, rows: Ints | slice, offsets: Ints) -> dict[str, Any]:
        """The fields that hold hypotheses, for these hypotheses."""
        return {
            "offsets": offsets,
            "features": taken(self.features, rows),
            "texts": None if self.texts is None else self.texts.take(rows),
            "gains": None if self.gains is None else taken(self.gains, rows),
            "answers": None if self.answers is None else self.answers.take(rows),
            "systems": None if self.systems is None else self.systems.take(rows),
            "sparse": None if self.sparse is None else rows_of(self.sparse, rows),
            "stats": None if self.stats is None else taken(self.stats, rows),
            "positions": None if self.positions is None else taken(self.positions, rows),
        }

    # columns -----------------------------------------------------------------------------------------------

    def without_sparse(self, names: Sequence[str] | None = None) -> NBest:
        """The same lists without these sparse features, or with their dense ones only."""
        if self.sparse is None or names is None:
            return self if self.sparse is None else replace(self, sparse=None, sparse_names=())
        kept = [at for at, name in enumerate(self.sparse_names) if name not in set(names)]
        return replace(self, sparse=self.sparse[:, kept], sparse_names=tuple(self.sparse_names[at] for at in kept))

    def with_sparse(self, names: Sequence[str], columns: csr_array) -> NBest:
        """The same lists with further sparse columns [H, len(names)]."""
        taken = {*self.sparse_names, *self.feature_names}
        twice = next((name for name in names if name in taken), None)
        if twice is not None:
            raise ParameterError(
                f"these lists already have a feature {twice!r}; the same recipe cannot be applied twice"
            )
        if self.sparse is not None:
            from scipy.sparse import csr_array, hstack

            columns = csr_array(hstack([self.sparse, columns], format="csr"))
        return replace(self, sparse=columns, sparse_names=(*self.sparse_names, *names))

    def with_scores(self, name: str, scores: Scores) -> NBest:
        """The same lists with a further dense feature: one number a hypothesis in their order, or by id and index
        (`{("utt1", 0): 0.5}`), or those of each list by id (`{"utt1": [0.5, 0.25]}`). `nbest.join_scores` reads files.
        """
        if name in self.feature_names or name in self.sparse_names:
            raise ParameterError(f"these lists already have a feature {name!r}")
        return self.with_features([name], aligned(self.ids, self.offsets, scores))

    def _said_of(self, names: Sequence[str]) -> dict[str, Any]:
        return {"origins": {name: origin for name, origin in self.origins.items() if name in names}}


def _measured(metric: Metric, part: NBest) -> Floats:
    """[H, M] statistics of a shard."""
    assert part.compared is not None
    references = part.references if part.references is not None else ((),) * len(part)
    if not getattr(metric, "needs_sources", False):
        return metric.stats(part.compared, part.offsets, references)
    return metric.stats(part.compared, part.offsets, references, sources=part.sources)  # type: ignore[call-arg]


def _checked(names: Sequence[str], dense: tuple[str, ...]) -> _CheckedNames:
    """The sparse names, or a `ParameterError` where one is there twice."""
    if isinstance(names, _CheckedNames) and names.beside == dense:
        return names
    if len({*dense, *names}) < len(set(dense)) + len(names):
        raise ParameterError("'sparse_names' of NBest must differ from each other and from the dense feature names")
    checked = _CheckedNames(names)
    checked.beside = dense
    return checked


def _check(corpus: NBest) -> None:
    corpus.check_offsets("offsets")
    hypotheses = corpus.hypotheses
    corpus.check_columns(hypotheses)
    corpus.check_segments()
    for name in ("texts", "gains", "answers", "systems", "stats", "positions"):
        corpus.check_entries(name, hypotheses)
    if corpus.stats is not None and (corpus.stats.ndim != 2 or not all_finite(corpus.stats)):
        got = f"shape {corpus.stats.shape}" if corpus.stats.ndim != 2 else "some that are not"
        raise ParameterError(f"'stats' of NBest must be finite numbers [H, M], got {got}")
    if corpus.gains is not None and (corpus.gains.ndim != 1 or not all_finite(corpus.gains)):
        raise ParameterError("'gains' of NBest must be one finite number a hypothesis")
    if corpus.sparse is not None and corpus.sparse.shape != (hypotheses, len(corpus.sparse_names)):
        want = (hypotheses, len(corpus.sparse_names))
        raise ParameterError(f"'sparse' of NBest must have shape {want}, got {corpus.sparse.shape}")
    if corpus.references is not None and not all(corpus.references):
        empty = next(i for i, refs in enumerate(corpus.references) if not refs)
        raise ParameterError(f"every segment needs at least one reference; segment {corpus.ids[empty]!r} has none")
