"""`LogLinear`: weights for features, how they were found, and the file they are kept in."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, FormatError, ParameterError, listed, look_up, need_kind, shown
from nbest.base.files import decode, read_bytes
from nbest.base.mapped import all_finite, room
from nbest.base.types import Floats, Ints
from nbest.base.version import VERSION
from nbest.compute import segments
from nbest.compute.parallel import over_ranges
from nbest.corpus import Forests, NBest
from nbest.corpus.answers import OWN, answer_rule
from nbest.corpus.contract import C, Corpus
from nbest.features import COMPARING, RESTRICTED, apply_recipes, restrict_recipes
from nbest.features.paths import stored
from nbest.features.recipes import carries
from nbest.model.abstention import Abstention
from nbest.model.arrays import detach, pack_arrays, pack_weights
from nbest.model.confidence import Confidence, confidence_of
from nbest.model.evidence import Evidence, evidence_of
from nbest.model.files import reading, save_model
from nbest.model.names import misspelt, not_sparse, they_have
from nbest.model.online import CHOOSERS, Candidates, Chosen

MODEL_FORMAT = "nbest-model/1"
_MANY = 10_000  # sparse weights from which they are kept as arrays
KERNEL = 1 << 20  # features from which a kernel weighs them
_LARGEST = 1e300  # sum of the sizes of all edge scores; sums over derivations must not overflow either


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    others = {name: _installed(name) for name in ("scipy", "numba")}
    return {"nbest": VERSION, "python": platform.python_version(), "numpy": np.__version__, **others}


@cache
def _installed(package: str) -> str:
    """The version of a package, which need not be imported."""
    from importlib.metadata import version

    return version(package)


@dataclass(frozen=True)
class LogLinear:
    """A pipeline: columns are added, scored, and a decision is made (`nbest.choose`).

    score(hypothesis) = weights . features; the posterior is its softmax within a segment. `features` are recipes of
    columns that the model adds to any lists before it scores them; `decision` says how a choice is made, with `gamma`
    for its sharpness.
    """

    weights: Mapping[str, float]
    features: tuple[Mapping[str, Any], ...] = ()
    dense: tuple[str, ...] | None = None  # weights of dense features, the others are of sparse ones; None: not said
    metric: str = ""
    trainer: Mapping[str, Any] = field(default_factory=dict)
    scores_: Mapping[str, float] = field(default_factory=dict)
    seed: int | None = None
    gamma: float = 1.0  # sharpness of the posterior for decisions by consensus and minimum Bayes risk, chosen on dev
    decision: Mapping[str, Any] = field(default_factory=dict)  # {"kind": "mbr", option: value}; nothing: 1best
    answer: str = ""  # the rule by which answers were found in the lists it was tuned on (nbest.corpus.answers.rule_of)
    confidence: Mapping[str, Any] = field(default_factory=dict)  # how sure its choices are (nbest.model.confidence)
    evidence: Mapping[str, Any] = field(
        default_factory=dict
    )  # what it is worth on lists left out (nbest.model.evidence)
    settled: Mapping[str, Any] = field(default_factory=dict)  # decisions that were tried (nbest.model.settled)
    history: tuple[Mapping[str, Any], ...] = ()  # how it was trained, step by step (nbest.model.history)
    versions: Mapping[str, str] = field(default_factory=versions)

    def __post_init__(self) -> None:
        need_kind("LogLinear", "weights", self.weights, Mapping)
        try:
            values = np.fromiter(self.weights.values(), np.float64, len(self.weights))
        except (TypeError, ValueError):
            raise ParameterError("weights of LogLinear must be numbers by name, and one of them is none") from None
        odd = np.flatnonzero(~np.isfinite(values))
        if len(odd):
            name, weight = list(self.weights.items())[odd[0]]
            raise ParameterError(f"weights of LogLinear must be finite, got {weight} for {name!r}")

    def __repr__(self) -> str:
        added = f", adds {listed(str(recipe['kind']) for recipe in self.features)}" if self.features else ""
        metric = f", {self.metric.split('|')[0][:40]}" if self.metric else ""
        return f"LogLinear({len(self.weights)} weights{added}{metric})"

    @cached_property
    def calibration(self) -> Confidence | None:
        """How sure its choices are, if it was calibrated (`nbest.calibrate`)."""
        return confidence_of(self.confidence)

    @cached_property
    def validation(self) -> Evidence | None:
        """What it is worth on lists that it was not fitted on, if they told (`nbest.validate`)."""
        return evidence_of(self.evidence)

    @cached_property
    def _needed(self) -> tuple[Mapping[str, Any], ...]:
        """The recipes, without columns whose weight is 0 where a recipe can do without."""
        if not any(recipe["kind"] in RESTRICTED for recipe in self.features):
            return self.features
        return restrict_recipes(self.features, [name for name, weight in self.weights.items() if weight])

    def prepare(self, corpus: NBest) -> NBest:
        """The lists with the columns that this model adds, if they do not have them by the same recipe already; of
        n-grams only those that have a weight."""
        pairs = zip(self.features, self._needed, strict=True)
        lacking = [needed for recipe, needed in pairs if not carries(corpus, recipe, needed)]
        if any(recipe["kind"] in COMPARING for recipe in lacking):
            corpus = self.answered(corpus)
        return apply_recipes(corpus, lacking) if lacking else corpus

    def answered(self, corpus: NBest) -> NBest:
        """The lists with answers, found as in those that this model was tuned on, where they have none."""
        if not self.answer or corpus.answers is not None or not corpus.hypotheses:
            return corpus
        if self.answer == OWN:
            raise CapabilityError(
                "this model compares answers, which its lists carried, and these lists carry none; give them in the "
                "file ('answer' of JSON lines), or say how they are found (--answer RULE, with_answers)"
            )
        if corpus.texts is None:
            raise CapabilityError("this model compares answers in texts, and these lists carry no texts")
        return replace(corpus, answers=answer_rule(self.answer).answers(corpus.texts), answer_rule=self.answer)

    def scores(self, corpus: NBest) -> Floats:
        """[H] score of each hypothesis. Every weight must find its feature; features without a weight count 0."""
        need_kind("LogLinear.scores", "corpus", corpus, NBest)
        corpus = self.prepare(corpus)
        self.check_features(corpus)
        scores = _weighted(corpus, *self.weighed(corpus.feature_names))
        if corpus.sparse is not None:
            scores += corpus.sparse @ np.array([self.weights.get(name, 0.0) for name in corpus.sparse_names])
        if not all_finite(scores):
            raise ParameterError("some scores are not finite: weights times features exceed the range of numbers")
        return scores

    def weighed(self, names: Sequence[str]) -> tuple[Ints, Floats]:
        """Which of these dense features have a weight that is not 0, and their weights, in the order in which scores
        are added up: that of the model, whatever that of the lists."""
        last = len(self._order)
        which = [(self._order.get(name, last), d) for d, name in enumerate(names) if self.weights.get(name)]
        found = [d for _, d in sorted(which)]
        return np.array(found, np.int64), np.array([self.weights[names[d]] for d in found])

    @cached_property
    def _order(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.weights if self.dense is None else self.dense)}

    def choose(self, candidates: Candidates, *, abstain: float | Abstention = 0.0) -> Chosen:
        """The best hypothesis of one list, by the model's decision: in microseconds, without anything compiled.

            model.choose([{"text": "4", "features": {"logprob": -0.5}}, {"text": "5", "features": {"logprob": -2.0}}])

        Hypotheses are those of our JSON lines ("text", "features", "sparse", "answer"); without "features", the numbers
        beside the text are. `abstained` says that the confidence is less than `abstain`. Models that add features, and
        decisions that compare whole texts (mbr, consensus), go the way of `nbest.choose` with lists of one segment.
        """
        return self._chooser(candidates, abstain)

    @cached_property
    def _chooser(self) -> Callable[..., Chosen]:
        return CHOOSERS["online"](self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_chooser"}

    def check_features(self, corpus: NBest) -> None:
        """Complain where lists do not have a feature that is needed."""
        missing = self.missing(corpus)
        if missing:
            raise ParameterError(
                f"the model has a weight for {missing[0]!r} and these lists do not; "
                f"{they_have(corpus.feature_names, missing[0])}"
            )

    def missing(self, corpus: NBest) -> list[str]:
        """The weights whose features lists lack; a sparse one that no hypothesis has may be missing."""
        needed = self.weights if self.dense is None else self.dense
        missing = [name for name in needed if name not in corpus.feature_names]
        if missing and corpus.sparse is not None:
            known = set(corpus.sparse_names)
            missing = [name for name in missing if name not in known]
            if self.dense is None:
                missing = not_sparse(missing, corpus, self.weights)
        return missing

    def _absent(self, forests: Corpus) -> list[str]:
        """The weights whose features are 0 on all edges because the forests do not have them; an error for others.

        Where the format says that absent is 0, a weight is refused only if it looks like a misspelt name of a feature
        that has no weight, or if no weight finds its feature.
        """
        missing = [name for name in self.weights if name not in forests.feature_names]
        refused = missing
        if forests.absent_is_zero and len(missing) < len(self.weights):
            refused = misspelt(missing, [name for name in forests.feature_names if name not in self.weights])
        if refused:
            raise ParameterError(
                f"the model has a weight for {refused[0]!r} and the forests do not; "
                f"{they_have(forests.feature_names, refused[0])}"
            )
        return missing

    def complete(self, corpus: C) -> C:
        """The corpus with columns of zeros for weights that it lacks, where its format says that absent is 0."""
        missing = self._absent(corpus) if corpus.absent_is_zero else []
        return corpus.with_features(missing, np.zeros((len(corpus.features), len(missing)))) if missing else corpus

    def edge_scores(self, forests: Forests) -> Floats:
        """[E] score of each edge of forests; that of a derivation is their sum."""
        need_kind("LogLinear.edge_scores", "forests", forests, Forests)
        if self.features:
            kinds = ", ".join(sorted({str(recipe["kind"]) for recipe in self.features}))
            raise CapabilityError(
                f"this model adds features to lists ({kinds}), which edges of a forest do not have; "
                "read lists out of the forests first (nbest convert FORESTS LISTS --top 100)"
            )
        absent = set(self._absent(forests))
        scores = np.zeros(forests.edges)
        with np.errstate(over="ignore", invalid="ignore"):
            for name, weight in self.weights.items():
                if weight and name not in absent:
                    scores += weight * forests.column(name)
        if not np.isfinite(scores).all() or np.abs(scores).sum() > _LARGEST:
            raise ParameterError("some scores are not finite: weights times features exceed the range of numbers")
        return scores

    def predict(self, corpus: NBest) -> Ints:
        """[N] flat index of the best-scored hypothesis of each segment, ties to the first; -1 where a list is empty.

        By the scores alone: `nbest.choose` chooses by the decision of the model.
        """
        return segments.argmax(self.scores(corpus), corpus.offsets)

    def posterior(self, corpus: NBest, gamma: float = 1.0) -> Floats:
        """[H] softmax of gamma * score within each segment."""
        return segments.softmax(gamma * self.scores(corpus), corpus.offsets)

    def save(self, path: str | Path) -> None:
        """Write the model as JSON, with its arrays beside it as .npz; nothing is left half-written.

        More than 10,000 sparse weights are arrays too, those that are 0 left out (not on standard
        output). Both files change in one step: the arrays' name has their checksum, and the JSON is renamed into place
        after them; arrays of a model that was there before are removed then.
        """
        weights, many = self._by_place(str(path) == "-")
        kept = [stored(path, _without_columns(recipe)) for recipe in self.features]
        recipes, arrays = detach([*kept, *([pack_weights(many)] if many else [])])
        content = {
            "format": MODEL_FORMAT,
            "kind": "loglinear",
            "weights": weights,
            **({"sparse_weights": recipes.pop()} if many else {}),
            "features": recipes,
            **({"dense": list(self.dense)} if self.dense is not None else {}),
            "metric": self.metric,
            "trainer": _plain(self.trainer),
            "scores": _plain(self.scores_),
            "seed": _plain(self.seed),
            **({"gamma": self.gamma} if self.gamma != 1.0 else {}),
            **({"decision": _plain(self.decision)} if self.decision else {}),
            **({"answer": self.answer} if self.answer else {}),
            **({"confidence": _plain(self.confidence)} if self.confidence else {}),
            **({"evidence": _plain(self.evidence)} if self.evidence else {}),
            **({"settled": _plain(self.settled)} if self.settled else {}),
            **({"history": _plain(self.history)} if self.history else {}),
            "versions": dict(self.versions),
        }
        save_model(path, content, *(pack_arrays(arrays) if arrays else (None,)))

    def _by_place(self, to_stdout: bool) -> tuple[dict[str, float], dict[str, float]]:
        """Weights for the JSON, and those for arrays."""
        weights = {name: float(weight) for name, weight in self.weights.items()}
        if to_stdout or len(weights) - len(self.dense or ()) <= _MANY:
            return weights, {}
        dense = {name: weights[name] for name in self.dense or () if name in weights}
        many = {name: weight for name, weight in weights.items() if name not in dense and (weight or not dense)}
        return (dense, many) if len(many) > _MANY else (dense | many, {})


def added_up(features: Floats, which: Ints, weights: Floats) -> Floats:
    """[H] weights [K] times these columns of features [H, D], added up in this order."""
    scores = np.zeros(len(features))
    with np.errstate(over="ignore", invalid="ignore"):
        for d, weight in zip(which, weights, strict=True):
            scores += weight * features[:, d]
    return scores


def _weighted(corpus: NBest, which: Ints, weights: Floats) -> Floats:
    """[H] the same of lists, whatever the order of the rows or the BLAS.

    Few by NumPy: to load a kernel would take longer.
    """
    if len(which) * corpus.hypotheses < KERNEL:
        return added_up(corpus.features, which, weights)
    from nbest.compute.vectors import weighted_rows

    scores = room(corpus.hypotheses, np.float64, corpus.features)
    rows, offsets = np.ascontiguousarray(corpus.features), corpus.offsets

    def some(low: int, high: int) -> None:
        part = slice(offsets[low], offsets[high])
        weighted_rows(rows[part], which, weights, scores[part])

    over_ranges(some, offsets, cost=2 * len(which))
    return scores


def _without_columns(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe as the file keeps it: the names of the weights say which columns are needed."""
    return {key: value for key, value in recipe.items() if key != "columns" or recipe["kind"] not in RESTRICTED}


def _plain(value: Any) -> Any:
    """A setting as JSON can hold it: NumPy numbers as Python's, infinities as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | None) else str(value)


def _loglinear(path: str | Path, content: Mapping[str, Any], files: Sequence[str | Path]) -> LogLinear:
    from nbest.model.reading import loglinear_fields

    return LogLinear(**loglinear_fields(path, content, files))


MODELS = {"loglinear": _loglinear}


def load(path: str | Path, files: Sequence[str | Path] = ()) -> LogLinear:
    """A model from its file: our JSON, or a Moses weight file.

    `files` are what its features read from outside of its folder (language models), which it may not open by itself.
    """
    need_kind("load", "path", path, str, Path)
    return reading(path, lambda: _load(path, files))


def _load(path: str | Path, files: Sequence[str | Path]) -> LogLinear:
    from nbest.formats.json_text import loads
    from nbest.formats.moses_weights import parse_moses_weights

    text = decode(path, read_bytes(path))
    if not text.lstrip().startswith("{"):
        return LogLinear(parse_moses_weights(path, text), trainer={"name": "Moses weight file"})
    content = loads(path, 1, text)
    if not isinstance(content, dict) or content.get("format") != MODEL_FORMAT:
        got = content.get("format") if isinstance(content, dict) else content
        raise FormatError(path, None, f"expected a model with 'format': {MODEL_FORMAT!r}, got {shown(got)}")
    try:
        kind = content.get("kind")
        reader = look_up(MODELS, kind if isinstance(kind, str) else shown(kind), "model kind")
    except ParameterError as error:
        raise FormatError(path, None, str(error)) from None
    return reader(path, content, files)
