"""Every container answers the questions of the corpus contract, and nobody else asks which container it is."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import replace
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nbest
from nbest.base.errors import ParameterError
from nbest.corpus import Forests, NBest, Texts
from nbest.corpus.contract import Corpus, need_corpus
from nbest.decisions import first
from nbest.decisions.chosen import best_lists, chosen_totals, oracle_score, score_of, totals_of
from nbest.features.standardise import corpus_scale, within_scale
from nbest.forests.derivations import forests_of
from nbest.forests.edge_stats import additive
from nbest.forests.posteriors import filled
from nbest.metrics import BLEU, METRICS, WER
from nbest.testing import check_corpus, toy_forests, toy_lists
from nbest.testing.corpus import QUESTIONS
from nbest.trainers.differing import losses_differ
from tests.strategies import lists, text_lists

seeds = st.integers(0, 10**6)
BIGRAMS = BLEU(max_ngram_order=2, tokenize="none")


CORPORA = {
    "lists": lambda: toy_lists(3, segments_=9, noise=0.5),
    "lists by BLEU": lambda: toy_lists(3, segments_=9, noise=0.5, metric=BIGRAMS),
    "sparse lists": lambda: toy_lists(3, segments_=9, noise=0.5, sparse=True),
    "lists of one length": lambda: even(toy_lists(3, segments_=12, longest=2, noise=0.5)),
    "forests": lambda: toy_forests(3, forests=6, limit=100).with_metric(WER()),
    "forests by BLEU": lambda: toy_forests(4, forests=6, limit=100).with_metric(BIGRAMS),
    "lattices": lambda: toy_forests(5, forests=6, limit=100, lattices=True).with_metric(WER()),
    "lists as forests": lambda: forests_of(toy_lists(3, segments_=9, noise=0.5)),
}


def even(corpus: NBest) -> NBest:
    """The lists of two hypotheses."""
    return corpus.select(np.flatnonzero(corpus.lengths == 2))


@pytest.mark.parametrize("name", CORPORA)
def test_containers_keep_the_contract(name: str) -> None:
    check_corpus(CORPORA[name]())


@settings(deadline=None, max_examples=10)
@given(seeds)
def test_random_forests_keep_the_contract(seed: int) -> None:
    check_corpus(toy_forests(seed, forests=4, limit=50).with_metric(WER()))


# copies ---------------------------------------------------------------------------------------------------------


def copies(corpus: Any) -> list[Any]:
    return [pickle.loads(pickle.dumps(corpus)), copy.deepcopy(corpus), copy.copy(corpus)]


def read_only(corpus: Any) -> set[str]:
    arrays = {name for name, value in vars(corpus).items() if isinstance(value, np.ndarray)}
    return {name for name in arrays if not getattr(corpus, name).flags.writeable}


@settings(deadline=None, max_examples=40)
@given(st.one_of(lists(), text_lists(), text_lists(references=True)))
def test_lists_are_equal_to_their_copies(corpus: NBest) -> None:
    for other in copies(corpus):
        assert other == corpus
        assert read_only(other) == read_only(corpus) >= {"offsets", "features"}
        assert repr(other) == repr(corpus)
        if corpus.texts is not None:
            assert other.texts.buffer.flags.writeable == corpus.texts.buffer.flags.writeable
    if corpus.hypotheses:
        assert replace(corpus, features=corpus.features + 1.0) != corpus


@settings(deadline=None, max_examples=20)
@given(seeds, st.booleans())
def test_forests_are_equal_to_their_copies_without_what_was_derived(seed: int, measured: bool) -> None:
    forests = toy_forests(seed, limit=100)
    forests = forests.with_metric(WER()) if measured else replace(forests, own_weights={"f0": 2.0})
    assert forests.layout is forests.layout
    for other in copies(forests):
        assert other == forests
        assert "layout" not in vars(other)
        assert read_only(other) == read_only(forests) >= {"tails", "features", "symbols"}
        assert np.array_equal(other.layout.graph.first, forests.layout.graph.first)
        assert repr(other) == repr(forests)
    assert forests.select(np.arange(len(forests))[::-1]) != forests


def test_a_corpus_has_a_line_for_a_name_and_no_hash() -> None:
    assert repr(toy_lists(3)) == "NBest(30 segments, 135 hypotheses, 3 features, WER)"
    assert repr(toy_lists(3, sparse=True)).endswith("3 features and 8 sparse ones, WER)")
    assert re.fullmatch(r"Forests\(5 segments, \d+ nodes, \d+ edges, 3 features\)", repr(toy_forests(3)))
    for corpus in (toy_lists(3), toy_forests(3), Texts.of("ab")):
        with pytest.raises(TypeError):
            hash(corpus)
    assert toy_lists(3) != toy_forests(3)
    assert Texts.of(["a", "bc"]) == Texts.of(["ab", "bc", "a"]).take(np.array([2, 1])) != Texts.of(["ab", "c"])


@pytest.mark.parametrize("name", METRICS)
def test_metrics_go_with_a_copy(name: str) -> None:
    corpus = replace(toy_lists(3), metric=METRICS[name]())
    assert all(other == corpus for other in copies(corpus))


# two roads ------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=25)
@given(seeds, st.booleans(), st.booleans())
def test_lists_as_forests_give_the_same_answers(seed: int, bleu: bool, same_length: bool) -> None:
    corpus = toy_lists(seed, segments_=10, noise=0.5, metric=BIGRAMS if bleu else WER())
    corpus = even(corpus) if same_length else corpus
    forests, rng = forests_of(corpus), np.random.default_rng(seed)
    assert (forests.names, forests.ids, len(forests), forests.scored) == (corpus.names, corpus.ids, len(corpus), True)
    assert filled(forests) == filled(corpus)
    assert losses_differ(forests) == losses_differ(corpus)
    for weights in rng.normal(size=(3, 3)):
        model = nbest.LogLinear(dict(zip(corpus.feature_names, weights.tolist(), strict=True)))
        assert score_of(forests, model) == score_of(corpus, model)
        mine, others = best_lists(corpus, model, 1)[0], best_lists(forests, model, 1)[0]
        chosen = [mine.texts[h] for h in model.predict(mine) if h >= 0]
        assert chosen == list(others.texts)
        if bleu:
            totals = [totals_of(same, model, stats) for same, stats in map(additive, (corpus, forests))]
            assert np.array_equal(*totals)
    if not bleu:
        assert oracle_score(forests) == oracle_score(corpus)
    if same_length and len(corpus):
        within = within_scale(corpus)
        np.testing.assert_allclose(within_scale(forests), within, rtol=1e-6)
        np.testing.assert_allclose(corpus_scale(forests, within), corpus_scale(corpus, within), rtol=1e-6)


# a further container --------------------------------------------------------------------------------------------


class Boxed:
    """A container that is neither lists nor forests: it holds some, and has answers registered to all questions."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __len__(self) -> int:
        return len(self.inner)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Boxed) and self.inner == other.inner

    def __repr__(self) -> str:
        return f"Boxed({self.inner!r})"

    def shards(self, block: int | None = None) -> list[Boxed]:
        return [Boxed(part) for part in self.inner.shards(block)]


def _passed_on(name: str) -> property:
    def get(self: Boxed) -> Any:
        value = getattr(self.inner, name)
        if not callable(value) or name == "metric":
            return value

        def call(*given: Any, **more: Any) -> Any:
            found = value(*given, **more)
            return Boxed(found) if isinstance(found, NBest | Forests) else found

        return call

    return property(get)


for _name in vars(Corpus):
    if not _name.startswith("_") and _name != "shards":
        setattr(Boxed, _name, _passed_on(_name))
for _question in QUESTIONS:

    def _answer(corpus: Boxed, *given: Any, question: Any = _question, **more: Any) -> Any:
        return question(corpus.inner, *given, **more)

    _question.register(Boxed, _answer)


@pytest.mark.parametrize("name", ["lists", "forests"])
def test_a_further_container_needs_answers_and_nothing_else(name: str) -> None:
    corpus = CORPORA[name]()
    check_corpus(Boxed(corpus))
    for trainer in (nbest.MERT(restarts=2, hops=1), nbest.MinRisk(), nbest.RandomSearch(trials=200)):
        assert trainer.fit(Boxed(corpus)).weights == trainer.fit(corpus).weights


# known-bad ------------------------------------------------------------------------------------------------------


class SelectsInOrder(NBest):
    """Forgets the order that was asked for."""

    def select(self, chosen: Any) -> NBest:
        return super().select(np.sort(np.asarray(chosen, np.int64)))


class Writeable(NBest):
    """Lets others write."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "features", np.array(self.features))


class CarriesCaches(NBest):
    """Pickles and copies all that it has, derived or not."""

    @cached_property
    def derived(self) -> Any:
        return self.offsets.tolist()

    @property
    def row_offsets(self) -> Any:
        return np.array(self.derived)

    def __reduce__(self) -> Any:
        return _with_caches, (super().__reduce__(), {"derived": self.derived})


def _with_caches(made: Any, kept: dict[str, Any]) -> Any:
    corpus = made[0](*made[1])
    vars(corpus).update(kept)
    return corpus


class KeepsScores(NBest):
    """Keeps statistics of other references."""

    def with_references(self, references: Any) -> Any:
        return replace(self, references=tuple(map(tuple, references)))


class LongRepr(NBest):
    """Says more than a line."""

    def __repr__(self) -> str:
        return super().__repr__() + "\n..."


class ScoresWrongly(NBest):
    """Scores what is first, whatever the model."""


class CountsEmpty(NBest):
    """Counts segments that have nothing to choose."""


class WrongShards(NBest):
    """Cuts with something left over."""

    def shards(self, block: int | None = None) -> Any:
        return super().shards(block)[:-1]


chosen_totals.register(ScoresWrongly, lambda corpus, model: corpus.totals(first(None, corpus)))
filled.register(CountsEmpty, lambda corpus: len(corpus))
BAD = {
    SelectsInOrder: "select must keep the order",
    Writeable: "features may be written to",
    CarriesCaches: "is carried when",
    KeepsScores: "with_references must drop",
    LongRepr: "repr is one line",
    ScoresWrongly: "score_of",
    CountsEmpty: "filled must count",
    WrongShards: "shards",
}


@pytest.mark.parametrize("kind", BAD, ids=lambda kind: kind.__name__)
def test_the_check_finds_what_is_wrong(kind: type) -> None:
    good = toy_lists(3, segments_=9, noise=0.5)
    with pytest.raises(AssertionError, match=f"{kind.__name__}: .*{BAD[kind]}"):
        check_corpus(kind(**good._fields()))


def test_the_check_finds_what_is_missing() -> None:
    with pytest.raises(AssertionError, match="has no ids"):
        check_corpus(object())

    bare = type("Bare", (), {name: None for name in vars(Corpus) if not name.startswith("_")})
    with pytest.raises(AssertionError, match="nothing is registered for Bare that answers as_forests"):
        check_corpus(bare())


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
def test_a_question_says_who_can_answer(question: Any) -> None:
    others = [None] * (len(signature(question).parameters) - 1)
    with pytest.raises(ParameterError, match="must be NBest or Forests, got str"):
        question("dev.nbest", *others)


def test_what_is_no_corpus_is_told() -> None:
    for corpus in (toy_lists(3), toy_forests(3)):
        need_corpus("fit", "corpus", corpus)
    with pytest.raises(ParameterError, match="'heldout' of fit must be NBest or Forests, got list"):
        nbest.MERT().fit(toy_lists(3), [toy_lists(3)])  # type: ignore[arg-type]


# nobody asks ----------------------------------------------------------------------------------------------------

ASKS = {  # who may ask which container it is, and why
    "formats/streams.py": "whether a file that cannot be streamed holds lists or forests",
    "systems/jackknife.py": "what a function of the user returned",
    "testing/formats.py": "whether a reader of lists gives lists",
    "testing/forest_formats.py": "whether a reader of forests gives forests",
    "testing/systems.py": "whether a system gives the container that was wanted",
}


def test_nobody_asks_which_container_it_is() -> None:
    root = Path(nbest.__file__).parent
    asking = re.compile(r"isinstance\([^)]*\b(NBest|Forests)\b")
    found = {
        str(path.relative_to(root)): count
        for path in root.rglob("*.py")
        if path.parent.name != "corpus" and (count := len(asking.findall(path.read_text(encoding="utf-8"))))
    }
    assert found.keys() <= ASKS.keys(), f"ask the corpus (nbest.corpus.contract), not its type: {found}"
    assert sum(found.values()) < 10
