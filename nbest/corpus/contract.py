"""The contract of a corpus: what `NBest`, `Forests` and any other container answer, so that nobody asks which it is.

What the container itself knows are its attributes and methods, below. What needs higher rooms are functions of a corpus
(`functools.singledispatch`, the corpus first), one for every container, in the lowest room that has what they need:

| question | function | room |
| --- | --- | --- |
| the same as forests | `as_forests` | `forests.derivations` |
| how many segments have something to choose | `filled` | `forests.posteriors` |
| statistics that add up over rows of features | `adds_up`, `additive` | `forests.edge_stats` |
| exact lines along directions | `lines_of` | `lines.forests` |
| shards as objectives see them | `shards_of` | `objectives.forest_shard` |
| scale of features, within segments and over the corpus | `within_scale`, `corpus_scale` | `features.standardise` |
| how features vary together within segments | `within_covariance` | `features.decorrelate` |
| best k under a model, and the forests these are of | `best_lists` | `decisions.chosen` |
| totals of what a model chooses, true ones and such that add up | `chosen_totals`, `totals_of` | `decisions.chosen` |
| score of the first choices | `first_score` | `decisions.chosen` |
| score and totals of the best choices | `oracle_score`, `oracle_totals` | `decisions.chosen` |
| what is in it, and what is wrong with it | `inspect_corpus` | `evaluation.forest_inspection` |
| whether there is anything to learn | `losses_differ` | `trainers.differing` |
| training of a trainer of lists | `fit_on_lists` | `trainers.lists` |

A further container is a class with these attributes and methods and a registered answer to each of these questions;
`nbest.testing.check_corpus` says what is missing or wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeGuard, TypeVar, runtime_checkable

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.types import Floats, Ints, References
from nbest.corpus.answers import rule_of
from nbest.corpus.container import Said
from nbest.corpus.metric import Metric
from nbest.corpus.nbest import NBest, Origin
from nbest.corpus.texts import Texts

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@runtime_checkable
class Corpus(Protocol):
    """N segments, each with something to choose from, and rows of features: of hypotheses, or of edges."""

    @property
    def ids(self) -> tuple[str, ...]:
        """N names of segments."""

    @property
    def references(self) -> tuple[tuple[str, ...], ...] | None:
        """The references of each segment."""

    @property
    def sources(self) -> tuple[str, ...] | None:
        """The input of each segment."""

    @property
    def groups(self) -> tuple[str, ...] | None:
        """What each segment belongs to: a document, a speaker."""

    @property
    def features(self) -> Floats:
        """[rows, D] dense features."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """D names of dense features."""

    @property
    def sparse(self) -> csr_array | None:
        """[rows, D'] sparse features."""

    @property
    def sparse_names(self) -> tuple[str, ...]:
        """D' names of sparse features."""

    @property
    def names(self) -> tuple[str, ...]:
        """D + D' names of features."""

    @property
    def row_offsets(self) -> Ints:
        """[N+1] rows of features of segment i."""

    @property
    def whole(self) -> bool:
        """Whether a row of features is a whole hypothesis, as in lists, or a part of many."""

    @property
    def texts(self) -> Texts | None:
        """The text of each row of features, where it is a whole hypothesis."""

    @property
    def origins(self) -> Mapping[str, Origin]:
        """What features were in the file."""

    @property
    def recipes(self) -> tuple[Mapping[str, Any], ...]:
        """Of columns that were added, in their order."""

    @property
    def own_weights(self) -> Mapping[str, float]:
        """The weights of the system that made the corpus, where its file tells them."""

    @property
    def absent_is_zero(self) -> bool:
        """Whether a feature that is not among the names is 0 everywhere."""

    @property
    def metric(self) -> Metric | None:
        """What choices are measured by."""

    @property
    def scored(self) -> bool:
        """Whether choices can be scored."""

    @property
    def said(self) -> Said:
        """How messages call the parts."""

    @property
    def sizes(self) -> dict[str, int]:
        """How many segments, and how many of each part; rows of features last."""

    @property
    def size(self) -> str:
        """The number of rows of features, in words."""

    @property
    def key(self) -> str:
        """A name of its own, by which an executor knows it again."""

    def __len__(self) -> int:
        """N."""

    def need_metric(self) -> Metric:
        """The metric, or a `CapabilityError` that says how to get one."""

    def need_readable(self, what: str) -> None:
        """A `CapabilityError` where choices cannot be read out, as `what` needs them."""

    def with_metric(self, metric: Metric, references: References | None = None) -> Self:
        """The same, to be measured by `metric` against `references` (its own when none are given)."""

    def with_references(self, references: References) -> Self:
        """The same with these references; what was measured by others is gone."""

    def select(self, chosen: Ints | Sequence[int]) -> Self:
        """The segments with these numbers, in this order."""

    def shards(self, block: int | None = None) -> Sequence[Self]:
        """The same cut after every `block` segments, whoever works on the parts."""

    def column(self, name: str) -> Floats:
        """[rows] one dense feature."""

    def with_features(self, names: Sequence[str], columns: Floats) -> Self:
        """The same with further dense columns."""

    def only_features(self, names: Sequence[str]) -> Self:
        """The same with only these dense columns."""

    def without_features(self, names: Sequence[str]) -> Self:
        """The same without these dense columns."""


C = TypeVar("C", bound=Corpus)
"""Any one container."""


def need_corpus(owner: str, argument: str, value: object) -> None:
    """A `ParameterError` where an argument is no corpus."""
    if not isinstance(value, Corpus):
        raise ParameterError(f"{argument!r} of {owner} must be NBest or Forests, got {type(value).__name__}")


def are_lists(corpus: Corpus | None) -> TypeGuard[NBest]:
    """Whether these are lists: for what is done with lists alone, and otherwise or not at all with others."""
    return isinstance(corpus, NBest)


def need_lists(corpus: Corpus, why: str) -> NBest:
    """The corpus, which must be lists; else a `CapabilityError` with this message."""
    if not are_lists(corpus):
        raise CapabilityError(why)
    return corpus


def no_answer(question: str, corpus: object) -> ParameterError:
    """What to raise where nothing is registered for the kind of a corpus."""
    known = "NBest or Forests" if not isinstance(corpus, Corpus) else "of a kind that this is registered for"
    return ParameterError(f"'corpus' of {question} must be {known}, got {type(corpus).__name__}")


def signature_of(corpus: Corpus) -> str:
    """Name and signature of the metric of a corpus, and how answers are found where it compares these."""
    metric = corpus.need_metric()
    counts = {len(refs) for refs in corpus.references or ((),)}
    rule = "" if hasattr(metric, "stats_of") else rule_of(corpus)
    answer = f"|answer:{rule}" if rule else ""
    return f"{metric.name}|{metric.signature(counts.pop() if len(counts) == 1 else -1)}{answer}"
