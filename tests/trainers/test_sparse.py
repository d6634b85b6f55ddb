"""Sparse lists: the matrix scores as the model does, on these lists and on others; rounds of held-out lists."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from nbest.base.errors import CapabilityError, ParameterError
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.testing import toy_lists
from nbest.trainers import MERT, TRAINERS
from nbest.trainers.sparse.base import Rounds, sparse_lists


def mixed(seed: int, columns: int = 30) -> NBest:
    """Toy lists with random counts as sparse columns."""
    lists = toy_lists(seed)
    rng = np.random.default_rng(seed)
    counts = random_array(
        (lists.hypotheses, columns), density=0.2, random_state=rng, data_sampler=lambda size: rng.integers(0, 3, size)
    )
    return lists.with_sparse([f"s{c}" for c in range(columns)], csr_array(counts).astype(np.float32))


@pytest.mark.parametrize("dense", [None, True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_matrix_scores_as_the_model_does(seed: int, dense: bool | None) -> None:
    corpus = mixed(seed)
    lists = sparse_lists(corpus, "a trainer", start={"first": 0.5, "s3": -1.0}, dense=dense)
    values = np.random.default_rng(seed).normal(size=len(lists.names))
    values[::4] = 0
    model = lists.model(values)
    assert lists.scores(values) == pytest.approx(model.scores(corpus))
    assert lists.score(values) == pytest.approx(corpus.score(model.predict(corpus)))
    other = corpus.select([4, 1, 2])
    assert lists.of(other).scores(values) == pytest.approx(model.scores(other))


def test_other_lists_may_have_other_columns_in_another_order() -> None:
    corpus = mixed(3)
    lists = sparse_lists(corpus, "a trainer", dense=True)
    values = np.random.default_rng(3).normal(size=len(lists.names))
    order = [5, 2, 29, 7]
    assert corpus.sparse is not None
    names = [*(corpus.sparse_names[c] for c in order), "unseen"]
    counts = csr_array(np.hstack([corpus.sparse.toarray()[:, order], np.ones((corpus.hypotheses, 1))]))
    other = toy_lists(3).with_sparse(names, counts)
    assert lists.of(other).scores(values) == pytest.approx(lists.model(values).scores(other))
    bare = toy_lists(3)
    assert lists.of(bare).scores(values) == pytest.approx(lists.model(values).scores(bare))


def test_the_base_of_one_of_several_and_of_no_dense_features() -> None:
    corpus = mixed(4)
    assert sparse_lists(corpus.only_features(["second"]), "a trainer").base_weights == {"second": 1.0}
    tuned = sparse_lists(corpus, "a trainer")
    alone = toy_lists(4)
    assert corpus.score(segments.argmax(tuned.base, corpus.offsets)) <= alone.score(alone.offsets[:-1])
    assert sparse_lists(alone, "a trainer").base_weights == dict.fromkeys(alone.feature_names, 0.0)
    assert sparse_lists(alone, "a trainer").names == alone.feature_names
    with pytest.raises(ParameterError, match="start weights name 'frist'"):
        sparse_lists(corpus, "a trainer", start={"frist": 1.0})


@dataclass
class Nothing:
    """A trainer without settings."""

    seed: int = 1


def test_the_round_that_is_best_on_heldout_lists_is_kept() -> None:
    corpus, heldout = mixed(5), mixed(6)
    lists = sparse_lists(corpus, "a trainer")
    rng = np.random.default_rng(5)
    tried = [rng.normal(size=len(lists.names)) * 0.1 for _ in range(8)]
    rounds = Rounds(lists, heldout, patience=3)
    for number, values in enumerate(tried, 1):
        if not rounds.see(number, values):
            break
    seen = [lists.of(heldout).score(values) for values in tried[: len(rounds.history)]]
    assert rounds.best_round == 1 + int(np.argmin(seen))
    assert len(seen) == 8 or len(seen) == rounds.best_round + 3
    assert rounds.best is not None
    model = lists.finish(Nothing(), rounds.best, heldout)
    assert model.scores_["heldout"] == pytest.approx(min(seen))
    assert model.trainer["name"] == "Nothing"
    last = Rounds(lists, None)
    assert all(last.see(number, values) for number, values in enumerate(tried, 1))
    assert last.best_round == 8


def test_the_base_model_is_kept_where_nothing_is_better() -> None:
    corpus, heldout = mixed(7), mixed(8)
    lists = sparse_lists(corpus, "a trainer")
    held = lists.of(heldout)
    tried = [np.random.default_rng(n).normal(size=len(lists.names)) for n in range(8)]
    for values in tried:
        kept = lists.not_worse(values, heldout)
        assert held.score(kept) == min(held.score(values), held.score(0 * values))
    assert lists.not_worse(tried[0], None) is tried[0]


def test_dense_features_alone_must_be_learnt() -> None:
    with pytest.raises(CapabilityError, match="nothing to learn: 'dense' is false"):
        sparse_lists(toy_lists(1), "a trainer", dense=False)


def test_scores_beyond_the_range_of_numbers_are_refused() -> None:
    lists = sparse_lists(mixed(2), "a trainer")
    with pytest.raises(ParameterError, match="not finite"):
        lists.scores(np.full(len(lists.names), 1e308))


def test_dense_features_that_never_differ_beside_sparse_ones() -> None:
    corpus = mixed(3)
    constant = replace(corpus, features=np.ones_like(corpus.features))
    lists = sparse_lists(constant, "a trainer")
    assert not any(lists.base_weights.values())


@pytest.mark.filterwarnings("ignore::nbest.base.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", ["msr", "msr2", "boosting", "perceptron", "mira", "pro", "lowdim"])
def test_the_search_for_a_base_model_is_told_as_progress(name: str) -> None:
    """MERT tells of all of its starts and hops; a trainer tells of its own rounds afterwards."""
    corpus = toy_lists(5) if name == "lowdim" else mixed(5)
    expected: list[tuple[int, int]] = []
    MERT(threads=1, progress=lambda *call: expected.append(call)).fit(toy_lists(5))
    told: list[tuple[int, int]] = []
    trainer = TRAINERS[name](threads=1, progress=lambda *call: told.append(call))
    trainer.fit(corpus)
    assert told[: len(expected)] == expected
