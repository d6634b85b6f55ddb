"""Any executor gives the same bits, wherever the shards are; and many shards what one shard gives, up to rounding."""

from __future__ import annotations

import numpy as np
import pytest

import nbest
from nbest.compute.executors import Serial, Threads, using
from nbest.corpus import blocks
from nbest.decisions import consensus, mbr, one_best
from nbest.decisions.chosen import score_of
from nbest.evaluation.significance import bootstrap, permutation
from nbest.features import apply_recipes
from nbest.features.kernels import posteriors
from nbest.features.kernels.gaussians import GaussianKernels
from nbest.features.kernels.reestimate import reestimate
from nbest.features.standardise import corpus_scale, within_scale
from nbest.lines.forests import lines_of
from nbest.metrics import BLEU
from nbest.objectives import Risk
from nbest.studies.starts import starts
from nbest.testing import toy_forests, toy_lists
from nbest.trainers.settings_grid import search
from tests.compute.elsewhere import Elsewhere


def lists(**options):
    return toy_lists(4, noise=0.4, metric=BLEU(tokenize="none", max_ngram_order=2), segments_=20, **options)


def forests():
    return toy_forests(4, forests=10, limit=100).with_metric(BLEU(tokenize="none", max_ngram_order=2))


def weights_of(model):
    return np.array(list(model.weights.values())), model.gamma


def along(corpus):
    lines = lines_of(corpus, corpus.features)
    start, direction = np.array([0.3, -1.0, 0.5]), np.array([1.0, 0.5, -0.2])
    scores = lines.scores(start)
    step = lines.search(scores, direction, (-2.0, 3.0))
    moved = lines.moved(scores, direction, step.x)
    there = [shard.own(moved) for shard in lines.shards]
    return *lines.intervals(scores, direction), np.concatenate(there), step.x, step.value


def paired(test):
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 9, (2, 40, 3)).astype(float)
    found = test(nbest.F1(), *np.cumsum(rows, axis=2), samples=500)
    return np.array([found.p, found.first, found.second, *(found.interval or ())])


KERNELS = GaussianKernels().fit_ml(lists(), 3)


def posteriors_of_kernels():
    found = apply_recipes(lists(), [KERNELS]).sparse
    return found.data, found.indices, found.indptr


def reestimated():
    weights = {"first": 1.0, "kernel:0": 2.0, "kernel:1": -1.0}
    return reestimate(KERNELS, lists(), Risk(lists().metric), weights, iterations=3)["means"]


def grid_of_settings():
    values = {"variance": [0.1, 1.0, 10.0], "iterations": [5, 50]}
    model, rows = search(nbest.MaxLikelihood, values, lists(), lists())
    return *weights_of(model), np.array([list(row.values()) for row in rows])


MODEL = nbest.LogLinear({"first": 0.7, "second": -0.2, "third": 1.1})
FOREST_MODEL = nbest.LogLinear(dict(zip(forests().feature_names, (0.7, -0.2, 1.1), strict=True)))
PASSES = {
    "statistics": lambda: lists().with_metric(nbest.CHRF()).stats,
    "scales of lists": lambda: (within_scale(lists()), corpus_scale(lists(), within_scale(lists()))),
    "scales of forests": lambda: (within_scale(forests()), corpus_scale(forests(), within_scale(forests()))),
    "lines of lists": lambda: along(lists()),
    "lines of forests": lambda: along(forests()),
    "likelihood": lambda: weights_of(nbest.MaxLikelihood().fit(lists())),
    "likelihood, sparse": lambda: weights_of(nbest.MaxLikelihood().fit(lists(sparse=True))),
    "risk": lambda: weights_of(nbest.MinRisk(t0=0.5, t1=0.25, iterations=5).fit(lists(), lists())),
    "risk of forests": lambda: weights_of(nbest.MinRisk(t0=0.5, t1=0.25, iterations=5).fit(forests())),
    "softbleu": lambda: weights_of(nbest.SoftBLEU(iterations=10, prior="sparse").fit(lists(sparse=True))),
    "cobleu": lambda: weights_of(nbest.TRAINERS["cobleu"](iterations=10).fit(forests())),
    "mert": lambda: weights_of(nbest.MERT(restarts=2, hops=1).fit(lists())),
    "mert of forests": lambda: weights_of(nbest.MERT(restarts=2, hops=1).fit(forests())),
    "grid search": lambda: weights_of(nbest.GridSearch(points=5).fit(lists())),
    "grid search, one feature at a time": lambda: weights_of(nbest.GridSearch(points=9, limit=10).fit(lists())),
    "random search": lambda: weights_of(nbest.RandomSearch(trials=100).fit(lists())),
    "pro": lambda: weights_of(nbest.PRO(rounds=2).fit(lists())),
    "pro, sparse": lambda: weights_of(nbest.PRO(gamma=5, iterations=10).fit(lists(sparse=True), lists(sparse=True))),
    "folds of risk": lambda: weights_of(nbest.MinRisk(t0=0.5, t1=0.25, iterations=5, folds=3).fit(lists())),
    "grid of settings": lambda: grid_of_settings(),
    "study of starts": lambda: starts(lists(), methods=("mert",), count=4).values("mert"),
    "kernels": lambda: GaussianKernels().fit_ml(lists(), 3)["means"],
    "posteriors of kernels": lambda: posteriors_of_kernels(),
    "re-estimation of kernels": lambda: reestimated(),
    "one-best": lambda: one_best(MODEL, lists()),
    "mbr": lambda: mbr(MODEL, lists()),
    "consensus": lambda: consensus(MODEL, lists()),
    "significance": lambda: (paired(bootstrap), paired(permutation)),
    "score": lambda: (score_of(lists(), MODEL), score_of(forests(), FOREST_MODEL)),
}


def run(name, executor, monkeypatch, block=3):
    monkeypatch.setattr(blocks, "BLOCK", block)
    monkeypatch.setattr(posteriors, "_PART", 16)  # a multiple of what a kernel takes at a time
    with using(executor):
        found = PASSES[name]()
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.filterwarnings("ignore::nbest.base.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", PASSES)
def test_any_executor_gives_the_same_bits(name, monkeypatch):
    expected = run(name, Serial(), monkeypatch)
    there = [Elsewhere(1), Elsewhere(3, seed=2), Elsewhere(2, loses=0.5)]
    for executor in (Threads(2), Threads(5), *there):
        found = run(name, executor, monkeypatch)
        for one, two in zip(found, expected, strict=True):
            assert np.asarray(one).tobytes() == np.asarray(two).tobytes(), f"{executor} gives {one}, not {two}"
    assert all(executor.passes for executor in there), "the pass does not go through the executor"
    if there[2].met > 20:  # shards that were there before
        assert there[2].lost > 0


@pytest.mark.filterwarnings("ignore::nbest.base.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", PASSES)
def test_many_shards_give_what_one_gives(name, monkeypatch):
    whole = run(name, Serial(), monkeypatch, block=4096)
    for block in (3, 7):
        for one, two in zip(run(name, Serial(), monkeypatch, block), whole, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


def test_blocks():
    assert blocks.blocks(0) == [(0, 0)]
    assert blocks.blocks(7, 3) == [(0, 3), (3, 6), (6, 7)]
    assert blocks.blocks(blocks.BLOCK) == [(0, blocks.BLOCK)]
    assert len(blocks.blocks(blocks.BLOCK + 1)) == 2


@pytest.mark.parametrize("make", [lambda: lists(sparse=True), forests, lambda: lists().select([])])
def test_shards_are_the_segments_in_their_order(make):
    corpus = make()
    parts = corpus.shards(3)
    assert [name for part in parts for name in part.ids] == list(corpus.ids)
    for number, part in enumerate(parts):
        assert part == corpus.select(range(3 * number, min(3 * number + 3, len(corpus))))
    assert corpus.shards() == [corpus]
    assert corpus.shards(3)[0] is parts[0]
