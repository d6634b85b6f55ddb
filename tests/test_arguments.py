"""Arguments of the wrong kind are named, not tripped over; and what is printed of containers is one short line."""

from dataclasses import replace

import numpy as np
import pytest

import nbest
from nbest.base.errors import ParameterError
from nbest.corpus import intern
from nbest.decisions import DECISIONS, one_best, random_score
from nbest.features import FEATURES, apply_recipes, fit_recipes
from nbest.forests.derivations import forests_of
from nbest.testing import toy_forests, toy_lists
from nbest.trainers import TRAINERS

LISTS, MODEL = toy_lists(), nbest.LogLinear({"first": 1.0})


@pytest.mark.parametrize("name", DECISIONS)
def test_swapped_arguments_of_decisions(name):
    decide = DECISIONS[name]
    with pytest.raises(ParameterError, match=r"'model' of \w+ must be a model, got NBest; call \w+\(model, corpus\)"):
        decide(LISTS, MODEL)
    for wrong in (MODEL, None, "dev.nbest", toy_forests(2)):
        with pytest.raises(ParameterError, match=r"'corpus' of .* must be NBest, got"):
            decide(MODEL, wrong)
    with pytest.raises(ParameterError, match="must be a model, got str"):
        decide("model.json", LISTS)


def test_decisions_that_need_a_model():
    for decide in (nbest.best_of_majority, nbest.consensus, one_best):
        with pytest.raises(ParameterError, match="must be a model, got None"):
            decide(None, LISTS)


def test_other_functions(tmp_path):
    for call in (
        lambda: nbest.oracle(MODEL), lambda: nbest.corpus_oracle(MODEL), lambda: random_score(MODEL),
        lambda: MODEL.predict("dev.nbest"), lambda: MODEL.scores(toy_forests(2)), lambda: MODEL.edge_scores(LISTS),
        lambda: nbest.split(0.5, LISTS), lambda: nbest.prune(3, LISTS), lambda: nbest.dedupe("text"),
        lambda: nbest.merge(LISTS, MODEL), lambda: nbest.write(tmp_path / "x", LISTS),
        lambda: nbest.write_forests(tmp_path / "x", toy_forests(2)),
        lambda: nbest.write(toy_forests(2), tmp_path / "x"),
        lambda: apply_recipes([], LISTS), lambda: fit_recipes([], LISTS),
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=r"'\w+' of [\w.]+ must be \w+( or \w+)?, got \w+"):
            call()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", TRAINERS)
def test_trainers(name):
    options = {"inputs": "words", "outputs": "words", "k": 1} if name == "lowdim" else {}
    corpus = LISTS.with_metric(nbest.BLEU()) if name in ("softbleu", "cobleu") else LISTS
    with pytest.raises(ParameterError, match=r"'corpus' of .* must be NBest"):
        TRAINERS[name](**options).fit(MODEL)
    with pytest.raises(ParameterError, match=r"'heldout' of .* must be NBest"):
        TRAINERS[name](**options).fit(corpus, MODEL)


# repr ------------------------------------------------------------------------------------------------------------


def test_short_repr():
    names = [f"feature{number}" for number in range(5000)]
    wide = replace(LISTS, features=np.ones((LISTS.hypotheses, 5000)), feature_names=tuple(names))
    (words,), _ = intern(wide.texts)
    model = nbest.LogLinear(dict.fromkeys(names, 1.0), features=tuple({"kind": kind} for kind in FEATURES))
    for value in (wide, forests_of(wide), wide.texts, words, model, toy_lists(sparse=True)):
        assert len(repr(value)) < 200
        assert "\n" not in repr(value)
    assert repr(LISTS) == f"NBest(30 segments, {LISTS.hypotheses} hypotheses, 3 features, WER)"
    assert repr(MODEL) == "LogLinear(1 weights)"


# versions ----------------------------------------------------------------------------------------------------------


def test_signatures_need_no_installed_package(monkeypatch):
    """A tree that was only unpacked has no metadata; WER says its version all the same."""
    import importlib.metadata

    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert nbest.WER().signature().endswith(f"version:nbest-{nbest.__version__}")
    assert nbest.MERT(restarts=1, hops=0).fit(LISTS).metric.startswith("WER|")


@pytest.mark.parametrize(
    "call",
    [
        lambda: LISTS.with_metric(LISTS.references, nbest.BLEU()),
        lambda: LISTS.with_metric("bleu", "dev.ref"),
        lambda: toy_forests(2).with_metric("bleu"),
        lambda: nbest.LogLinear({"a": "b"}),
        lambda: nbest.LogLinear([1, 2]),
        lambda: nbest.load(LISTS),
        lambda: nbest.read(None),
        lambda: nbest.read_references(3, 4),
    ],
)
def test_arguments_of_another_kind(call):
    with pytest.raises(ParameterError, match="must be"):
        call()
