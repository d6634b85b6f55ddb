"""MSR and MSR-II: the same steps as a twin that computes everything anew, falling risk, held-out choice, bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from nbest.base.errors import CapabilityError, ParameterError
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.decisions import oracle
from nbest.lines.sparse_totals import sample_risk
from nbest.metrics import BLEU, F1, WER
from nbest.model.loglinear import LogLinear
from nbest.testing import check_trainer, toy_lists
from nbest.trainers.sparse.base import sparse_lists
from nbest.trainers.sparse.msr import MSR, MSR2
from tests.lines.sparse_twin import Twin, msr_twin

BOTH = [MSR, MSR2]
FIXED = {"first": 1.0}


def lists_of(seed: int, segments_: int = 14, columns: int = 12, metric=None) -> NBest:
    """Toy lists with a coarse base feature and random counts, some of which tell good hypotheses from bad ones."""
    lists = toy_lists(seed, segments_=segments_, metric=metric, noise=0.3).only_features(["first"])
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 3, (lists.hypotheses, columns)) * (rng.random((lists.hypotheses, columns)) < 0.4)
    lists = replace(lists, features=np.round(lists.features * 8) / 8)
    return lists.with_sparse([f"s{c}" for c in range(columns)], csr_array(counts.astype(np.float64)))


def twin_of(corpus: NBest, smoothing: float) -> tuple[Twin, np.ndarray]:
    lists = sparse_lists(corpus, "twin", start=FIXED)
    risk = sample_risk(lists.problem.metric, lists.problem.stats, lists.offsets)
    means = segments.sums(lists.base, lists.offsets) / np.maximum(corpus.lengths, 1)
    unit = float(np.sqrt(np.mean((lists.base - np.repeat(means, corpus.lengths)) ** 2)))
    matrix = lists.matrix.toarray()
    value = lambda totals: risk(totals[None])[0]  # noqa: E731
    return Twin(lists.offsets, lists.base, matrix, risk.stats, value, smoothing * unit, 0.1 * unit), lists.losses


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("metric", [WER(), BLEU(tokenize="none"), F1()])
@settings(max_examples=4, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    alpha=st.sampled_from([0.0, 0.5, 0.8, 1.0]),
    window=st.sampled_from([1, 3, 100]),
    smoothing=st.sampled_from([0.0, 0.2]),
    passes=st.sampled_from([1, 2]),
)
def test_steps_are_those_of_a_twin_that_computes_everything_anew(
    kind, metric, seed, alpha, window, smoothing, passes
) -> None:
    corpus = lists_of(seed, metric=metric)
    trainer = kind(alpha=alpha, limit=5, window=window, smoothing=smoothing, passes=passes, start=FIXED)
    trainer.fit(corpus)
    twin, losses = twin_of(corpus, smoothing)
    options = {"alpha": alpha, "limit": 5, "window": window, "passes": passes}
    steps, _, risks = msr_twin(twin, losses, dynamic=kind is MSR2, **options)
    done = trainer.result_.history
    found = [(int(entry["feature"][1:]), entry["step"]) for entry in done[1:]]
    assert [column for column, _ in found] == [column for column, _ in steps[: len(found)]]
    assert [x for _, x in found] == pytest.approx([x for _, x in steps[: len(found)]])
    assert not any(x for _, x in steps[len(found) :]), "passes ended too early"
    assert [entry["risk"] for entry in done] == pytest.approx(risks[: len(done)])


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("seed", [1, 2])
def test_correlations_equal_recomputed_ones_at_every_step(kind, seed) -> None:
    corpus = lists_of(seed, segments_=24, columns=24)
    seen = []

    class Watched(kind.selection):
        def pick(self):
            seen.append((self.correlations.copy(), self.picked.copy(), self.candidates))
            return super().pick()

    class Watching(kind):
        selection = Watched

    Watching(alpha=0.5, limit=12, window=8, smoothing=0.1, start=FIXED).fit(corpus)
    twin, losses = twin_of(corpus, 0.1)
    _, values, _ = msr_twin(twin, losses, dynamic=kind is MSR2, alpha=0.5, limit=12, window=8)
    assert any(against > 0 for value in values for _, against in value.values())
    for (correlations, picked, candidates), expected in zip(seen, values, strict=False):
        place = {int(column): j for j, column in enumerate(candidates.columns)}
        for column, (effect, against) in expected.items():
            assert not picked[place[column]]
            assert correlations[place[column]] == pytest.approx(against, abs=1e-12)
            assert 0.5 * candidates.effect[place[column]] == pytest.approx(effect)
        assert (~picked.astype(bool)).sum() >= len(expected)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
@pytest.mark.parametrize("metric", [WER(), BLEU(tokenize="none")])
def test_the_sample_risk_never_rises(kind, smoothing, metric) -> None:
    corpus = lists_of(3, segments_=60, columns=60, metric=metric)
    trainer = kind(smoothing=smoothing, limit=50, passes=3, start=FIXED)
    model = trainer.fit(corpus)
    risks = [entry["risk"] for entry in trainer.result_.history]
    assert (np.diff(risks) <= 0).all()
    assert risks[-1] < risks[0]
    assert trainer.result_.history[-1]["dev"] == pytest.approx(model.scores_["dev"])
    sign = 1 if metric.higher_is_better else -1
    assert sign * corpus.score(oracle(corpus)) >= sign * model.scores_["dev"]


@pytest.mark.filterwarnings("ignore:.*start from.* are kept")
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("seed", [1, 2])
def test_heldout_lists_choose_the_number_of_steps(kind, seed) -> None:
    corpus, heldout = lists_of(seed, 80, 40), lists_of(seed + 100, 80, 40)
    trainer = kind(limit=30, start=FIXED, passes=2)
    model = trainer.fit(corpus, heldout)
    scores = [entry["heldout"] for entry in trainer.result_.history]
    assert model.scores_["heldout"] == pytest.approx(min(scores))
    assert model.scores_["heldout"] == pytest.approx(scores[int(np.argmin(scores))])
    # scores that follow the steps are those of models with as many features
    for count in (1, 4):
        other = kind(limit=count, start=FIXED).fit(corpus)
        assert heldout.score(other.predict(heldout)) == pytest.approx(scores[count])


@pytest.mark.parametrize("kind", BOTH)
def test_the_contract_of_trainers(kind) -> None:
    check_trainer(kind, limit=5)


def test_dense_features_of_real_values() -> None:
    corpus = toy_lists(5)
    trainer = MSR2(passes=3)
    model = trainer.fit(corpus)
    assert model.scores_["dev"] <= min(
        corpus.score(replace(model, weights=dict.fromkeys(corpus.feature_names, 0.0) | {name: sign}).predict(corpus))
        for name in corpus.feature_names
        for sign in (1.0, -1.0)
    )


@pytest.mark.parametrize("kind", BOTH)
def test_more_features_than_are_useful_is_said(kind) -> None:
    trainer = kind(limit=10_000, start=FIXED)
    trainer.fit(lists_of(1))
    assert trainer.result_.converged
    assert "no other feature lowers it alone (asked for: 10000)" in trainer.result_.message


def test_columns_that_occur_nowhere_or_everywhere_get_no_weight() -> None:
    corpus = lists_of(2)
    extra = csr_array(np.stack([np.zeros(corpus.hypotheses), np.ones(corpus.hypotheses)], axis=1))
    model = MSR(start=FIXED).fit(corpus.with_sparse(["nowhere", "everywhere"], extra))
    assert "nowhere" not in model.weights
    assert "everywhere" not in model.weights
    assert dict(model.weights) == dict(MSR(start=FIXED).fit(corpus).weights)


def test_no_useful_feature_leaves_the_base_model() -> None:
    corpus = lists_of(1)
    stats = np.ones((corpus.hypotheses, 2))
    chosen = LogLinear(FIXED).predict(corpus)
    stats[chosen[chosen >= 0], 0] = 0.0  # the base model is right everywhere
    trainer = MSR2(start=FIXED)
    model = trainer.fit(replace(corpus, stats=stats))
    assert dict(model.weights) == {"first": 1.0}
    assert "took 0 features" in trainer.result_.message


def test_lists_of_one_hypothesis_are_refused() -> None:
    corpus = lists_of(1)
    with pytest.raises(CapabilityError, match="at least two hypotheses"):
        MSR2().fit(corpus.keep(np.isin(np.arange(corpus.hypotheses), oracle(corpus))))


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"alpha": 1.5}, "'alpha' of MSR2 must be from 0 to 1, got 1.5"),
        ({"alpha": float("nan")}, "'alpha'"),
        ({"limit": 0}, "'limit' of MSR2 must be >= 1, got 0"),
        ({"window": 0}, "'window'"),
        ({"passes": 0}, "'passes'"),
        ({"smoothing": -1.0}, "'smoothing'"),
        ({"smoothing": float("inf")}, "'smoothing'"),
        ({"start": {"sx": 1.0}}, "start weights name 'sx'"),
    ],
)
def test_bad_settings_are_refused(settings_, message) -> None:
    with pytest.raises(ParameterError, match=message):
        MSR2(**settings_).fit(lists_of(1))


def test_progress_rises_to_its_total() -> None:
    calls = []
    MSR(limit=4, start=FIXED, progress=lambda done, total: calls.append((done, total))).fit(lists_of(1, columns=40))
    assert calls == sorted(calls)
    assert len({total for _, total in calls}) == 1
    assert calls[-1][0] <= calls[-1][1]


def test_rounding_cannot_raise_the_risk(monkeypatch) -> None:
    """A search that promises too much is not believed."""
    corpus = lists_of(4)
    monkeypatch.setattr("nbest.lines.sparse_lines.SparseLines.search", lambda self, column: (100.0, -1.0))
    trainer = MSR(start=FIXED, limit=6)
    trainer.fit(corpus)
    assert (np.diff([entry["risk"] for entry in trainer.result_.history]) <= 0).all()
