"""Low-dimensional reranking: its matrices against loops, its rounds, its choice of settings, and lists end to end."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import NBest, Texts
from nbest.decisions import first
from nbest.features import FEATURES
from nbest.features.lowdim.alternation import slacks_of, stepped
from nbest.features.lowdim.feature import cosines, lowdim
from nbest.features.lowdim.projections import KINDS
from nbest.features.lowdim.solver import Directions
from nbest.features.lowdim.views import Views
from nbest.metrics import METRICS
from nbest.model.loglinear import load
from nbest.trainers import MaxLikelihood
from nbest.trainers.lowdim.trainer import LowDim
from nbest.trainers.settings_grid import search

ENDINGS = {"ing": "V", "tion": "N", "ly": "A", "ous": "J", "est": "S"}


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(FEATURES, "lowdim", lowdim)


def tagging(seed, n=200, size=6, metric="wer"):
    """Lists of label sequences; endings of the words tell the labels, the base score knows them only roughly."""
    rng = np.random.default_rng(seed)
    endings, tags = list(ENDINGS), list(ENDINGS.values())
    sources, references, texts, base = [], [], [], []
    for _ in range(n):
        words = rng.integers(0, len(endings), rng.integers(3, 7))
        stems = ["".join(rng.choice(list("bcdfgk"), 3)) for _ in words]
        sources.append(" ".join(stem + endings[w] for stem, w in zip(stems, words, strict=True)))
        right = [tags[w] for w in words]
        references.append((" ".join(right),))
        for j in range(size):
            guess = list(right)
            for at in rng.choice(len(words), min(j, len(words)), replace=False):
                guess[at] = tags[rng.integers(len(tags))]
            texts.append(" ".join(guess))
            base.append(-0.3 * sum(a != b for a, b in zip(guess, right, strict=True)) + rng.normal())
    order = np.argsort(np.repeat(np.arange(n), size) * 1e6 - np.array(base), kind="stable")
    lists = NBest(
        offsets=np.arange(n + 1) * size,
        features=np.array(base)[order][:, None],
        feature_names=("base",),
        ids=tuple(f"{seed}-{i}" for i in range(n)),
        texts=Texts.of([texts[h] for h in order]),
        references=tuple(references),
        sources=tuple(sources),
    )
    return lists.with_metric(METRICS[metric]())


def random_views(seed, n=15, d1=9, d2=7):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 5, n)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X, Y, out = (csr_array(rng.poisson(0.8, shape).astype(float)) for shape in ((n, d1), (n, d2), (offsets[-1], d2)))
    return Views(X, Y, out, offsets, rng.integers(0, 3, offsets[-1]).astype(float))


@pytest.mark.parametrize("seed", range(3))
def test_targets_are_those_of_explicit_loops(seed):
    views, lam = random_views(seed), 0.3
    X, Y, out = views.inputs.toarray(), views.references.toarray(), views.outputs.toarray()
    alpha = np.random.default_rng(seed).random(len(views.losses))
    want = {kind: np.zeros((X.shape[1], Y.shape[1])) for kind in KINDS}
    for i, (low, high) in enumerate(zip(views.offsets[:-1], views.offsets[1:], strict=True)):
        by_loss, by_alpha = np.zeros(Y.shape[1]), np.zeros(Y.shape[1])
        for h in range(low, high):
            by_loss += views.losses[h] * (Y[i] - out[h]) / (high - low)
            by_alpha += alpha[h] * (Y[i] - out[h]) / (high - low)
        want["generative"] += np.outer(X[i], Y[i])
        want["softened"] += np.outer(X[i], (1 - lam) * Y[i] + lam * by_loss)
        want["discriminative"] += np.outer(X[i], (1 - lam) / lam * Y[i] + by_alpha)
    for kind in KINDS:
        weights = alpha if kind == "discriminative" else None
        np.testing.assert_allclose((views.inputs.T @ views.targets(kind, lam, weights)).toarray(), want[kind])


@pytest.mark.parametrize("seed", range(3))
def test_slacks_and_steps_are_those_of_explicit_loops(seed):
    views, rng = random_views(seed), np.random.default_rng(seed)
    A, B = rng.standard_normal((9, 3)), rng.standard_normal((7, 3))
    found = slacks_of(views, Directions(A, B, np.ones(3)))
    alpha = rng.random(len(views.losses))
    moved = stepped(views, alpha, found, 0.5)
    X, Y, out, L = views.inputs.toarray(), views.references.toarray(), views.outputs.toarray(), views.losses
    for i, (low, high) in enumerate(zip(views.offsets[:-1], views.offsets[1:], strict=True)):
        margin = {h: X[i] @ A @ B.T @ (Y[i] - out[h]) for h in range(low, high)}
        positive = [(1 - margin[h]) * L[h] for h in range(low, high) if (1 - margin[h]) * L[h] > 0]
        xi = min(positive, default=0.0)
        assert found.least[i] == pytest.approx(xi, rel=1e-9, abs=1e-12)
        assert found.slacks[i] == pytest.approx(max(positive, default=0.0), rel=1e-9, abs=1e-12)
        for h in range(low, high):
            want = alpha[h]
            if xi > 0 and L[h] > 0:
                want = max(alpha[h] - 0.5 * (margin[h] - (1 - xi / L[h])), 0.0)
            assert moved[h] == pytest.approx(want, rel=1e-9, abs=1e-9)


def test_cosines_are_those_of_explicit_loops_and_nested_in_k():
    views, rng = random_views(4), np.random.default_rng(4)
    A, B = rng.standard_normal((9, 4)), rng.standard_normal((7, 4))
    found = cosines(views.inputs, views.outputs, views.offsets, A, B, [1, 3, 4])
    for i, (low, high) in enumerate(zip(views.offsets[:-1], views.offsets[1:], strict=True)):
        for h in range(low, high):
            for at, k in enumerate((1, 3, 4)):
                u, v = views.inputs.toarray()[i] @ A[:, :k], views.outputs.toarray()[h] @ B[:, :k]
                size = np.linalg.norm(u) * np.linalg.norm(v)
                assert found[h, at] == pytest.approx(u @ v / size if size else 0.0, abs=1e-12)


def test_rotated_and_rescaled_directions_give_the_same_cosines():
    views, rng = random_views(5), np.random.default_rng(5)
    A, B = rng.standard_normal((9, 4)), rng.standard_normal((7, 4))
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    one = cosines(views.inputs, views.outputs, views.offsets, A, B, [4])
    np.testing.assert_allclose(cosines(views.inputs, views.outputs, views.offsets, A @ turn, B @ turn, [4]), one)
    scaled = cosines(views.inputs * 3.0, views.outputs * 0.2, views.offsets, A * 5, B * 0.1, [4])
    np.testing.assert_allclose(scaled, one, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_beats_the_base_score_on_held_out_lists(kind, seed):
    dev, heldout, test = tagging(seed), tagging(seed + 100, 100), tagging(seed + 200, 150)
    trainer = LowDim(kind=kind, k=8, tau=0.5)
    model = trainer.fit(dev, heldout)
    assert test.score(model.predict(test)) < 0.8 * test.score(first(None, test))
    assert trainer.result_.value == model.scores_["heldout"]
    assert trainer.result_.history[0]["slack"] > 0
    alone = LowDim(kind=kind, k=8, tau=0.5, base=False).fit(dev, heldout)
    assert alone.weights["base"] == 0
    assert test.score(model.predict(test)) <= test.score(alone.predict(test)) + 1.0


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("step", [0.1, 1.0])
def test_discriminative_rounds_reduce_the_total_slack(seed, step):
    trainer = LowDim(kind="discriminative", k=8, tau=0.5, step=step)
    trainer.fit_features(tagging(seed))
    slacks = [record["slack"] for record in trainer.result_.history]
    assert 2 <= len(slacks) <= 5
    assert min(slacks) < slacks[0]
    assert {"objective", "open", "step", "round"} <= set(trainer.result_.history[0])


def test_the_first_discriminative_round_is_the_softened_model():
    dev = tagging(1)
    one = LowDim(kind="softened", k=5, tolerance=1e-10).fit_features(dev)
    two = LowDim(kind="discriminative", k=5, rounds=1, tolerance=1e-10).fit_features(dev)
    np.testing.assert_allclose(lowdim(dev, **_options(one)).column("lowdim"),
                               lowdim(dev, **_options(two)).column("lowdim"), atol=1e-8)  # fmt: skip


def _options(recipe):
    return {name: value for name, value in recipe.items() if name != "kind"}


def test_saved_and_loaded_it_chooses_the_same(tmp_path):
    dev, test = tagging(1), tagging(2, 50)
    model = LowDim(k=6).fit(dev)
    model.save(tmp_path / "model.json")
    back = load(tmp_path / "model.json")
    assert np.array_equal(back.scores(test), model.scores(test))
    assert back.trainer["kind"] == "softened"


def test_deterministic_on_any_number_of_threads_and_in_any_order_of_hypotheses():
    dev = tagging(3, 80)
    order = np.concatenate([np.random.default_rng(i).permutation(6) + 6 * i for i in range(80)])
    want = LowDim(k=5, threads=1).fit(dev)
    scores = want.scores(dev)
    for threads in (2, 3):
        assert np.array_equal(LowDim(k=5, threads=threads).fit(dev).scores(dev), scores)
    shuffled = LowDim(k=5).fit(dev.reorder(order)).scores(dev)
    np.testing.assert_allclose(shuffled, scores, atol=1e-6)


def test_one_feature_among_others():
    dev, test = tagging(1), tagging(2, 100)
    recipe = LowDim(k=8, tau=0.5).fit_features(dev)
    model = replace(MaxLikelihood().fit(lowdim(dev, **_options(recipe))), features=(recipe,))
    assert model.weights["lowdim"] > 0
    assert test.score(model.predict(test)) < test.score(first(None, test))


@pytest.mark.parametrize("kind", KINDS)
def test_the_grid_finds_what_single_fits_find(kind):
    dev, heldout = tagging(1, 100), tagging(2, 60)
    lams = None if kind == "generative" else [0.3, 0.7]
    model, rows = LowDim(kind=kind, tolerance=1e-8).grid(dev, heldout, tau=[0.2, 0.9], lam=lams, k=[6, 3])
    assert len(rows) == (4 if kind == "generative" else 8)
    assert model.scores_["heldout"] == min(row["heldout"] for row in rows)
    for row in rows[1::3]:
        own = LowDim(kind=kind, tau=row["tau"], lam=row.get("lam", 0.3), k=row["k"], tolerance=1e-8)
        single = own.fit(dev, heldout)
        assert single.scores_["heldout"] == pytest.approx(row["heldout"], abs=0.5)
        assert single.weights["lowdim"] == pytest.approx(row["w"], abs=1) or kind == "discriminative"
        assert replace(own, base=False).fit(dev, heldout).scores_["heldout"] == pytest.approx(row["alone"], abs=0.5)


def test_a_weight_that_is_set_is_not_searched_by_the_grid():
    dev, heldout = tagging(1, 60), tagging(2, 60)
    model, rows = LowDim(w=7.0, k=3).grid(dev, heldout, tau=[0.5, 0.9])
    assert {row["w"] for row in rows} == {7.0}
    assert model.weights["lowdim"] == 7.0
    with pytest.raises(ParameterError, match="no 'lam' to try"):
        LowDim(kind="generative").grid(dev, heldout, lam=[0.1, 0.2])


def test_a_base_feature_that_lists_lack_is_refused():
    dev = tagging(1, 60)
    model = LowDim(k=3).fit(dev)
    with pytest.raises(ParameterError, match=f"weight for {dev.feature_names[0]!r}"):
        model.predict(dev.only_features(list(dev.feature_names[1:])))


def test_settings_of_any_trainer_are_searched():
    dev, heldout = tagging(1, 60), tagging(2, 60)
    seen = []
    values = {"k": [2, 6], "tau": [0.1, 0.5, 0.9]}
    model, rows = search(LowDim, values, dev, heldout, progress=lambda done, total: seen.append((done, total)))
    assert [row["tau"] for row in rows] == [0.1, 0.5, 0.9] * 2
    assert model.scores_["heldout"] == min(row["heldout"] for row in rows)
    assert seen[-1] == (6, 6)
    model, rows = search(MaxLikelihood, {"variance": [0.1, 10.0]}, dev, heldout)
    assert len(rows) == 2
    with pytest.raises(ParameterError, match=r"LowDim has no setting 'tu'; known: .*did you mean 'tau'"):
        search(LowDim, {"tu": [1]}, dev, heldout)
    with pytest.raises(ParameterError, match="'tau' of a grid has no values"):
        search(LowDim, {"tau": []}, dev, heldout)
    with pytest.raises(CapabilityError, match="chosen on held-out lists"):
        search(LowDim, {"tau": [0.5]}, dev, None)


def test_several_base_features_are_weighed():
    dev = tagging(1, 80)
    noise = np.random.default_rng(1).normal(size=dev.hypotheses)
    model = LowDim(k=5).fit(dev.with_features(("noise",), noise))
    assert set(model.weights) == {"base", "noise", "lowdim"}
    assert LowDim(k=5, start={"base": 2.0}, w=3).fit(dev).weights == {"base": 2.0, "lowdim": 3.0}


def test_without_references_the_least_loss_is_the_target():
    dev = tagging(1, 80)
    found = LowDim(k=5).fit(replace(dev, references=None))
    assert dev.score(found.predict(dev)) < dev.score(first(None, dev))


@pytest.mark.parametrize("change", [
    {"kind": "other"}, {"tau": 1.5}, {"lam": -0.1}, {"kind": "discriminative", "lam": 0.0}, {"k": 0}, {"rounds": 0},
    {"w": float("nan")}, {"tolerance": 0.0}, {"inputs": "suffixs"}, {"outputs": "labels3-2"}, {"start": {"bas": 1.0}},
])  # fmt: skip
def test_bad_settings_are_refused(change):
    with pytest.raises(ParameterError):
        LowDim(**{"k": 3, **change}).fit(tagging(1, 20))


def test_lists_that_cannot_be_used_are_refused_with_the_reason():
    dev = tagging(1, 20)
    with pytest.raises(CapabilityError, match="needs the input text of each segment and these lists carry none"):
        LowDim().fit(replace(dev, sources=None))
    with pytest.raises(CapabilityError, match="that of every segment here is empty"):
        LowDim().fit(replace(dev, sources=("  ",) * len(dev)))
    one_empty = replace(dev, sources=("  ", *dev.sources[1:]))
    column = LowDim(k=2).fit(one_empty).prepare(one_empty).column("lowdim")
    assert not column[: dev.offsets[1]].any()  # nothing is near to nothing
    assert column.any()
    with pytest.raises(CapabilityError, match="input view of LowDim is empty"):
        LowDim(inputs="suffixes30").fit(dev)
    with pytest.raises(CapabilityError, match=r"singular .* give tau > 0"):
        LowDim(tau=0.0).fit(dev)
    with pytest.raises(CapabilityError, match="lists have a feature 'lowdim' already"):
        LowDim().fit(dev.with_features(("lowdim",), np.zeros(dev.hypotheses)))
    with pytest.raises(ParameterError, match="views of LowDim must be"):
        Views(*(csr_array(np.ones((2, 2))),) * 3, np.array([0, 1, 3]), np.ones(3))


def test_k_above_the_rank_is_reduced_with_a_warning():
    with pytest.warns(UserWarning, match=r"'k' of LowDim is 500 and the rank"):
        LowDim(k=500).fit_features(tagging(1, 40))


def test_matrices_of_ones_own():
    views = random_views(6, n=60)
    directions = LowDim(k=3, kind="discriminative").fit_views(views)
    assert directions.A.shape == (9, 3)
    assert directions.B.shape == (7, 3)
