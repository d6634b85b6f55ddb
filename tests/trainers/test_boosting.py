"""Boosting against a plain twin that makes everything anew each round, its steps against scipy, and bad input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array, random_array

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.types import Floats
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.metrics import BLEU
from nbest.testing import check_trainer, toy_lists
from nbest.trainers.sparse.base import SparseLists, sparse_lists
from nbest.trainers.sparse.boosting import Boosting
from nbest.trainers.sparse.boosting_descent import Descent
from nbest.trainers.sparse.boosting_kernels import gain_of, line_step, model_step
from nbest.trainers.sparse.boosting_pairs import pairs_of

KINDS = ["indicators", "counts", "numbers"]


def mixed(seed: int, kind: str = "counts", columns: int = 40, noise: float = 0.3) -> NBest:
    """Toy lists with random sparse columns: indicators, counts or real numbers."""
    lists = toy_lists(seed, noise=noise)
    rng = np.random.default_rng(seed)
    draw = {
        "indicators": lambda size: np.ones(size),
        "counts": lambda size: rng.integers(1, 4, size).astype(np.float64),
        "numbers": lambda size: rng.normal(size=size),
    }[kind]
    found = random_array((lists.hypotheses, columns), density=0.2, random_state=rng, data_sampler=draw)
    return lists.with_sparse([f"s{c}" for c in range(columns)], csr_array(found))


class Twin:
    """Boosting in plain NumPy on a dense matrix of differences; nothing is kept from round to round but weights."""

    def __init__(self, lists: SparseLists, *, weighted: bool, smoothing: float, penalty: float) -> None:
        self.smoothing, self.penalty = smoothing, penalty
        dense = lists.matrix.toarray()
        rows, strengths, margins = [], [], []
        for i in range(len(lists.corpus)):
            span = range(lists.offsets[i], lists.offsets[i + 1])
            if not len(span):
                continue
            least = min(lists.losses[h] for h in span)
            gold = max((h for h in span if lists.losses[h] == least), key=lambda h: (lists.base[h], -h))
            for h in span:
                if lists.losses[h] > least:
                    rows.append(dense[gold] - dense[h])
                    strengths.append(lists.losses[h] - least if weighted else 1.0)
                    margins.append(lists.base[gold] - lists.base[h])
        self.differences, self.strengths, self.margins = np.array(rows), np.array(strengths), np.array(margins)
        self.weights = np.zeros(dense.shape[1])
        size = np.abs(self.differences)
        with np.errstate(invalid="ignore"):
            self.sizes = np.nan_to_num((size**2).sum(axis=0) / size.sum(axis=0))

    def pair_weights(self) -> Floats:
        return np.asarray(self.strengths * np.exp(-self.margins - self.differences @ self.weights))

    def loss(self) -> float:
        return float(self.pair_weights().sum() / self.strengths.sum() + self.penalty / 2 * (self.weights**2).sum())

    def masses(self) -> Floats:
        shares = self.pair_weights()[:, None] * self.differences
        return np.stack([np.maximum(shares, 0).sum(axis=0), -np.minimum(shares, 0).sum(axis=0)], axis=1)

    def gains(self) -> Floats:
        """How far the best step of each column lowers the loss, were all its differences of one size."""
        out = np.zeros(len(self.weights))
        stiff = self.penalty * self.strengths.sum()
        for c, (plus, minus) in enumerate(self.masses()):
            size, own = self.sizes[c], self.weights[c]
            if size == 0:
                continue
            if stiff == 0:
                out[c] = (np.sqrt(plus) - np.sqrt(minus)) ** 2 / size
                continue

            def change(t: float, plus=plus, minus=minus, size=size, own=own) -> float:  # type: ignore[no-untyped-def]
                both = plus * np.expm1(-size * t) + minus * np.expm1(size * t)
                return float(both / size + stiff * t * (own + t / 2))

            out[c] = -minimize_scalar(change, bracket=(-0.1, 0.1), tol=1e-12).fun
        return out

    def step(self, column: int) -> float:
        """The least of the smoothed loss along a column, by scipy."""
        weights, d, size = self.pair_weights(), self.differences[:, column], self.sizes[column]
        pseudo, stiff, own = self.smoothing * weights.sum(), self.penalty * self.strengths.sum(), self.weights[column]

        def value(t: float) -> float:
            smooth = pseudo * (np.exp(-size * t) + np.exp(size * t))
            return float(weights @ np.exp(-t * d) + smooth + stiff / 2 * (own + t) ** 2)

        return float(minimize_scalar(value, bracket=(-0.1, 0.1), tol=1e-12).x)

    def closed_step(self, column: int) -> float:
        """The formula of Collins & Koo for differences of -1, 0 and 1."""
        plus, minus = self.masses()[column]
        pseudo = self.smoothing * self.pair_weights().sum()
        return float(0.5 * np.log((plus + pseudo) / (minus + pseudo)))


def followed(lists: SparseLists, rounds: int, **options: Any) -> tuple[Descent, Twin]:
    """Both after some rounds, compared in each."""
    twin = Twin(lists, **options)
    pairs = pairs_of(lists, weighted=options["weighted"])
    margins = lists.base[pairs.golds] - lists.base[pairs.others]
    descent = Descent(pairs, margins, options["smoothing"], options["penalty"])
    before = np.inf
    for _ in range(rounds):
        assert descent.loss == pytest.approx(twin.loss(), rel=1e-9)
        assert descent.loss < before
        before = descent.loss
        column, share = descent.best()
        gains = twin.gains()
        if gains.max() < 1e-9 * twin.pair_weights().sum():
            break
        assert gains[column] == pytest.approx(gains.max(), rel=1e-7)
        assert share * twin.pair_weights().sum() == pytest.approx(gains.max(), rel=1e-7)
        step = descent.step(column)
        assert step == pytest.approx(twin.step(column), abs=1e-6)
        descent.move(column, step)
        twin.weights[column] += step
    masses, total = descent.masses()
    ratio = total / twin.pair_weights().sum()
    assert masses == pytest.approx(twin.masses() * ratio, rel=1e-9, abs=1e-9 * total)
    assert descent.weights == pytest.approx(twin.weights)
    return descent, twin


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalty", [0.0, 1e-3])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_round_is_that_of_the_twin(kind: str, penalty: float, weighted: bool) -> None:
    for seed in (1, 2):
        lists = sparse_lists(mixed(seed, kind), "a trainer", start={"first": 0.5})
        followed(lists, 60, weighted=weighted, smoothing=1e-3, penalty=penalty)
    dense = sparse_lists(toy_lists(3, noise=0.3), "a trainer")
    followed(dense, 60, weighted=weighted, smoothing=1e-3, penalty=penalty)


def test_indicators_take_the_closed_step() -> None:
    lists = sparse_lists(mixed(4, "indicators"), "a trainer", start={"second": 0.3})
    descent, twin = followed(lists, 5, weighted=False, smoothing=2.5e-3, penalty=0.0)
    for column in np.flatnonzero(twin.sizes):
        assert descent.step(int(column)) == pytest.approx(twin.closed_step(int(column)))


@given(
    st.lists(st.tuples(st.floats(0, 10), st.floats(-5, 5)), min_size=1, max_size=8),
    st.floats(-2, 2), st.floats(1e-4, 1), st.sampled_from([0.0, 1e-3, 1.0]), st.floats(-3, 3),
)  # fmt: skip
@settings(deadline=None)
def test_line_step_is_the_least(pairs: list, own: float, pseudo: float, penalty: float, start: float) -> None:
    masses, distances = np.array(pairs).T.copy()
    found = line_step(masses, distances, 1.0, own, pseudo, penalty, start)

    def slope(t: float) -> float:
        return float(-(masses * distances) @ np.exp(-t * distances) + 2 * pseudo * np.sinh(t) + penalty * (own + t))

    near = 1e-6 * (1 + abs(found))
    assert slope(found - near) <= 1e-12
    assert slope(found + near) >= -1e-12


@given(
    st.floats(0, 10), st.floats(0, 10), st.floats(0.1, 5), st.floats(-2, 2), st.sampled_from([0.0, 1e-6, 1e-2, 10.0])
)
@settings(deadline=None)
def test_gain_is_the_fall_of_the_best_step(plus: float, minus: float, size: float, own: float, penalty: float) -> None:
    def fall(t: float) -> float:
        model = plus / size * -np.expm1(-size * t) + minus / size * -np.expm1(size * t)
        return float(model - penalty * t * (own + t / 2))

    gain = gain_of(plus, minus, size, own, penalty)
    for t in np.linspace(-6, 6, 241) / size:
        assert fall(t) <= gain + 1e-9
    if penalty:
        assert gain == pytest.approx(fall(model_step(plus, minus, size, own, 0.0, penalty)), abs=1e-9)


def test_sums_do_not_drift() -> None:
    lists = sparse_lists(mixed(5, "counts", columns=300), "a trainer")
    pairs = pairs_of(lists)
    descent = Descent(pairs, lists.base[pairs.golds] - lists.base[pairs.others], 0.05)
    for _ in range(4000):
        column, _ = descent.best()
        descent.move(column, descent.step(column))
    (kept, total), loss = descent.masses(), descent.loss
    assert loss < 1e-6, "these lists are separable, and the sums must have been made anew"
    descent.refresh()
    fresh, mass = descent.masses()
    assert kept / total == pytest.approx(fresh / mass, abs=1e-11)
    assert loss == pytest.approx(descent.loss, rel=1e-11)
    twin = Twin(lists, weighted=False, smoothing=0.05, penalty=0.0)
    twin.weights = descent.weights
    assert loss == pytest.approx(twin.loss(), rel=1e-8)


def test_pairs_are_all_differences_by_pair_and_by_column() -> None:
    for seed, kind in enumerate(KINDS):
        lists = sparse_lists(mixed(seed, kind), "a trainer")
        pairs = pairs_of(lists, weighted=True)
        expected = lists.matrix.toarray()[pairs.golds] - lists.matrix.toarray()[pairs.others]
        found = csr_array((pairs.values, pairs.columns, pairs.offsets), shape=expected.shape).toarray()
        assert np.array_equal(found, expected)
        by_column = csr_array((pairs.row_values, pairs.rows, pairs.starts), shape=expected.T.shape).toarray()
        assert np.array_equal(by_column, expected.T)
        assert pairs.values.dtype == (np.float64 if kind == "numbers" else np.int8)
        owners = segments.owners(lists.offsets)
        assert (owners[pairs.golds] == owners[pairs.others]).all()
        assert pairs.strengths == pytest.approx(lists.losses[pairs.others] - lists.losses[pairs.golds])
        assert (pairs.strengths > 0).all()


def test_large_counts_are_not_kept_in_a_byte() -> None:
    corpus = mixed(6)
    assert corpus.sparse is not None
    lists = sparse_lists(replace(corpus, sparse=corpus.sparse * 100.0), "a trainer")
    pairs = pairs_of(lists)
    assert pairs.values.dtype == np.float64
    assert np.abs(pairs.values).max() == 300


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_fit_is_the_base_factor_and_the_rounds(kind: str, weighted: bool) -> None:
    corpus = mixed(7, kind).only_features(["second"]).with_sparse(["nowhere"], csr_array((mixed(7).hypotheses, 1)))
    trainer = Boosting(rounds=30, smoothing=0.5, weighted=weighted)
    model = trainer.fit(corpus)
    lists = sparse_lists(corpus, "a trainer")
    pairs = len(pairs_of(lists).others)
    twin = Twin(lists, weighted=weighted, smoothing=0.5 / pairs, penalty=0.0)
    base = twin.margins
    size, pseudo = (base**2).sum() / np.abs(base).sum(), 1e-9 * twin.strengths.sum()

    def value(c: float) -> float:
        return float(twin.strengths @ np.exp(-c * base) + 2 * pseudo * np.cosh(size * c))

    factor = minimize_scalar(value, bracket=(-0.1, 0.1), tol=1e-12).x
    assert model.weights["second"] == pytest.approx(factor, rel=1e-5)
    twin.margins = base * model.weights["second"]
    result = trainer.result_
    assert result is not None
    assert result.history[0] == {"round": 0, "feature": None, "step": 0.0, "loss": pytest.approx(twin.loss())}
    if result.history[1]["step"] and kind == KINDS[0]:  # the smoothing is so many pairs
        assert result.history[1]["step"] == pytest.approx(
            twin.step(corpus.sparse_names.index(result.history[1]["feature"]))
        )
    for entry in result.history[1:]:
        twin.weights[corpus.sparse_names.index(entry["feature"])] += entry["step"]
        assert entry["loss"] == pytest.approx(twin.loss())
    assert result.weights == pytest.approx(twin.weights)
    assert result.value == result.history[-1]["loss"]
    assert "nowhere" not in model.weights
    assert model.scores(corpus) == pytest.approx(_scores(corpus, model.weights))


def _scores(corpus: NBest, weights: Any) -> Floats:
    names = (*corpus.feature_names, *corpus.sparse_names)
    assert corpus.sparse is not None
    both = np.hstack([corpus.features, corpus.sparse.toarray()])
    return np.asarray(both @ np.array([weights.get(name, 0.0) for name in names]))


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_round_on_heldout_lists_is_kept(kind: str) -> None:
    corpus, heldout = mixed(8, kind), mixed(9, kind)
    trainer = Boosting(rounds=80, start={"first": 1.0, "second": 1.0})
    model = trainer.fit(corpus, heldout)
    result = trainer.result_
    assert result is not None
    weights = {"first": 1.0, "second": 1.0}
    seen = []
    for entry in result.history:
        if entry["feature"] is not None:
            weights[entry["feature"]] = weights.get(entry["feature"], 0.0) + entry["step"]
        seen.append(heldout.score(segments.argmax(_scores(heldout, weights), heldout.offsets)))
    assert [entry["heldout"] for entry in result.history] == pytest.approx(seen)
    assert model.scores_["heldout"] == pytest.approx(min(seen))
    best = int(np.argmin(seen))
    assert result.value == result.history[best]["loss"]
    short = Boosting(rounds=best + 1, start=trainer.start).fit(corpus)
    assert best == 0 or len(short.weights) >= len(model.weights)
    patient = Boosting(rounds=80, start=trainer.start, patience=3)
    patient.fit(corpus, heldout)
    assert patient.result_ is not None
    scores = [entry["heldout"] for entry in patient.result_.history]
    assert len(scores) == 81 or len(scores) - 1 - int(np.argmin(scores)) == 3


def test_metrics_where_higher_is_better() -> None:
    corpus = toy_lists(10, metric=BLEU(tokenize="none"), noise=0.3, sparse=True)
    trainer = Boosting(rounds=50)
    model = trainer.fit(corpus, toy_lists(11, metric=BLEU(tokenize="none"), noise=0.3, sparse=True))
    assert trainer.result_ is not None
    assert model.scores_["heldout"] == pytest.approx(max(entry["heldout"] for entry in trainer.result_.history))


@pytest.mark.parametrize("options", [{}, {"penalty": 1e-2}, {"weighted": True, "dense": True}])
def test_the_loss_falls_every_round(options: dict[str, Any]) -> None:
    for seed, kind in enumerate(KINDS):
        trainer = Boosting(rounds=500, **options)
        trainer.fit(mixed(seed + 20, kind))
        assert trainer.result_ is not None
        losses = np.array([entry["loss"] for entry in trainer.result_.history])
        assert (np.diff(losses) < 1e-12 * losses[0]).all()


def test_a_penalty_shrinks_the_weights_and_its_rounds_converge_to_the_least() -> None:
    corpus = mixed(12)
    norms = []
    for penalty in (1e-3, 1e-2, 1e-1):
        trainer = Boosting(rounds=20000, penalty=penalty, tolerance=1e-14)
        trainer.fit(corpus)
        result = trainer.result_
        assert result is not None
        assert result.converged, result.message
        norms.append(float(result.weights @ result.weights))
        base = Boosting(rounds=1, start=None)
        lists = sparse_lists(corpus, "a trainer")
        twin = Twin(lists, weighted=False, smoothing=1.0, penalty=penalty)
        twin.margins = twin.margins * base.fit(corpus).weights["first"] / lists.base_weights["first"]
        twin.weights = result.weights
        shares = twin.pair_weights() / twin.strengths.sum()
        assert -shares @ twin.differences + penalty * twin.weights == pytest.approx(0, abs=1e-6)
    assert norms == sorted(norms, reverse=True)


def test_margins_beyond_the_range_of_exp() -> None:
    corpus = mixed(13)
    for start in ({"first": 1e4}, {"third": -1e5}):
        trainer = Boosting(rounds=300, start=start, penalty=0.0)
        model = trainer.fit(corpus)
        assert trainer.result_ is not None
        assert trainer.result_.evaluations > 0
        assert np.isfinite(list(model.weights.values())).all()
    separable = Boosting(rounds=5000)
    separable.fit(mixed(14, "counts", columns=300))
    assert separable.result_ is not None
    assert separable.result_.converged
    assert "as good as 0" in separable.result_.message


def test_gold_of_equals_is_the_best_by_base_score() -> None:
    corpus = mixed(15)
    stats, _ = corpus.need_stats()
    rough = replace(corpus, stats=np.where(np.arange(stats.shape[1]) == 0, stats > 1, stats).astype(np.float64))
    lists = sparse_lists(rough, "a trainer", start={"first": 1.0})
    pairs = pairs_of(lists)
    for gold in set(pairs.golds.tolist()):
        i = int(np.searchsorted(lists.offsets, gold, side="right")) - 1
        span = slice(lists.offsets[i], lists.offsets[i + 1])
        equal = lists.losses[span] == lists.losses[gold]
        assert lists.losses[gold] == lists.losses[span].min()
        assert lists.base[gold] == lists.base[span][equal].max()


def test_progress_and_the_same_twice() -> None:
    seen: list[tuple[int, int]] = []
    corpus = mixed(16, "numbers")
    trainer = Boosting(rounds=250, progress=lambda done, total: seen.append((done, total)))
    first = trainer.fit(corpus)
    assert seen[-1] == (250, 250) or (trainer.result_ is not None and trainer.result_.converged)
    assert dict(Boosting(rounds=250).fit(corpus).weights) == dict(first.weights)
    assert trainer.result_ is not None
    assert trainer.result_.message


@pytest.mark.parametrize("options", [{}, {"penalty": 1e-3, "weighted": True}])
def test_contract(options: dict[str, Any]) -> None:
    check_trainer(Boosting, seed=2, rounds=1000, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"smoothing": 0.0}, "'smoothing' of Boosting must be > 0"),
        ({"smoothing": -1.0}, "'smoothing' of Boosting must be > 0"),
        ({"smoothing": float("nan")}, "'smoothing' of Boosting must be > 0"),
        ({"rounds": 0}, "'rounds' of Boosting must be >= 1"),
        ({"penalty": -1.0}, "'penalty' of Boosting must be >= 0"),
        ({"penalty": float("inf")}, "'penalty' of Boosting must be >= 0"),
        ({"patience": 0}, "'patience' of Boosting must be >= 1"),
        ({"start": {"frist": 1.0}}, "start weights name 'frist'"),
    ],
)
def test_settings_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Boosting(**options).fit(mixed(17))


def test_lists_that_teach_nothing() -> None:
    corpus = mixed(18)
    stats, _ = corpus.need_stats()
    equal = replace(corpus, stats=np.repeat(stats[:1], len(stats), axis=0))
    with pytest.raises(CapabilityError, match="in every list all hypotheses have the same loss"):
        Boosting().fit(equal)
    place = np.arange(corpus.hypotheses) - np.repeat(corpus.offsets[:-1], corpus.lengths)
    with pytest.raises(CapabilityError, match="at least two hypotheses"):
        Boosting().fit(corpus.keep(place == 0))
    bare = toy_lists(18).with_sparse(["nowhere"], csr_array((corpus.hypotheses, 1)))
    trainer = Boosting()
    model = trainer.fit(bare.only_features(["first"]))
    assert trainer.result_ is not None
    assert trainer.result_.evaluations == 0
    assert set(model.weights) == {"first"}
