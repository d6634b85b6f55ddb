"""Line searches with shards in other processes: small messages, the same bits."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import nbest
from nbest.compute.executors import Serial, Threads, using
from nbest.corpus import blocks
from nbest.lines.forests import lines_of
from nbest.lines.positions import SLOTS, narrow, wide
from nbest.testing import toy_forests, toy_lists
from nbest.trainers.dense.climbs import Climber
from nbest.trainers.dense.mert import MERT, _Search
from nbest.trainers.problem import prepare
from tests.compute.elsewhere import Elsewhere

BLEU = nbest.BLEU(tokenize="none", max_ngram_order=2)


class Counting(Elsewhere):
    """Counts the bytes of functions and results; those of shards that are sent once are left out."""

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.sent, self.back = [], []

    def map(self, function, shards, told=None):
        found = super().map(function, shards, told)
        self.sent.append(len(pickle.dumps(function)) * len(shards))
        self.back.append(len(pickle.dumps(found)))
        return found


def long_lists(longest=400):
    return toy_lists(4, noise=0.4, metric=BLEU, segments_=20, longest=longest)


def forests():
    return toy_forests(4, forests=10, limit=100).with_metric(BLEU)


def climbed(corpus, executor, **given):
    told, problem = [], prepare(corpus, "MERT")
    with using(executor):
        trainer = MERT(**{"restarts": 5, "hops": 2, "seed": 3, "progress": lambda *much: told.append(much)} | given)
        found = _Search(trainer, problem).run()
    return found.weights.tolist(), found.value, found.history, found.evaluations, told[-1]


@pytest.mark.parametrize("block", [3, 4096])
@pytest.mark.parametrize("make", [partial(long_lists, 10), forests])
@pytest.mark.parametrize("given", [{}, {"ascent": "best", "directions": 2}, {"signs": {"first": "+"}}])
def test_climbs_elsewhere_end_where_they_end_here(block, make, given, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", block)
    corpus = make()
    if "signs" in given:
        given = {"signs": {corpus.feature_names[0]: "+"}}
    expected = climbed(corpus, Serial(), **given)
    assert climbed(corpus, Threads(3), **given) == expected
    for executor in (Elsewhere(1), Elsewhere(3, seed=2), Elsewhere(8), Elsewhere(2, loses=0.7)):
        assert climbed(corpus, executor, **given) == expected
        assert executor.passes > 0
    assert executor.lost > 0


def test_a_search_sends_little(monkeypatch):
    """The scores of all hypotheses would be 8 bytes each, for every shard; statistics in double precision as well."""
    monkeypatch.setattr(blocks, "BLOCK", 5)
    corpus = long_lists()
    scores = 8 * len(corpus.stats)
    with using(Counting(2)) as executor:
        lines = lines_of(corpus, corpus.features)
        position = lines.scores(np.ones(3))
        for x in range(20):
            position = lines.moved(position, np.eye(3)[x % 3], 0.1 * x)
        lines.search(position, np.eye(3)[0])
    cuts, _ = lines.intervals(np.concatenate([shard.own(position) for shard in lines.shards]), np.eye(3)[0])
    assert [len(lines.shards), len(executor.sent)] == [4, 1]
    assert executor.sent[0] < scores / 4, "all scores were sent"
    plain = len(cuts) * 8 * (1 + len(BLEU.stat_names))
    assert executor.back[0] < plain / 2 + 4 * 1000, "statistics could be narrower"


def test_whole_climbs_are_sent_where_lists_are_one_shard():
    corpus = long_lists()
    executor = Counting(2)
    climbed(corpus, executor, restarts=6, hops=3, elite=4)
    # for the covariance, the lists, each start, each hop, and the score of the end
    assert executor.passes == 2 + 6 + 4 * 3 + 1
    assert sum(isinstance(held, Climber) for held in executor.kept.values()) == 2  # a copy for each worker
    assert max(executor.sent) + max(executor.back) < len(corpus.stats)


def test_a_shard_keeps_few_scores_and_makes_those_that_are_gone_again(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 7)
    corpus = long_lists(10)
    here, random = lines_of(corpus, corpus.features), np.random.default_rng(1)
    with using(Elsewhere(2)):
        there = lines_of(corpus, corpus.features)
        starts = random.normal(size=(2 * SLOTS, 3))
        positions = [there.scores(start) for start in starts]
    arrays = [here.scores(start) for start in starts]
    for number in random.integers(0, len(starts), 60):
        direction, x = random.normal(size=3) * random.integers(0, 2, 3), random.normal()
        positions[number] = there.moved(positions[number], direction, x)
        arrays[number] = here.moved(arrays[number], direction, x)
        if random.random() < 0.7:  # else two moves at once
            found = np.concatenate([shard.own(positions[number]) for shard in there.shards])
            assert found.tobytes() == arrays[number].tobytes()
        if random.random() < 0.2:
            there.shards[0].room.clear()
        assert all(len(shard.room.get("scores", ())) <= SLOTS for shard in there.shards)


def test_positions_that_part_do_not_share_scores():
    corpus = long_lists(10)
    with using(Elsewhere(2)):
        lines = lines_of(corpus, corpus.features)
        first = lines.scores(np.ones(3))
        one, two = (lines.moved(first, np.eye(3)[d], 0.5) for d in (0, 1))
    for position in (one, two, first, one):
        fresh = lines_of(corpus, corpus.features).shards[0].own(position)
        assert lines.shards[0].own(position).tobytes() == fresh.tobytes()


values = st.one_of(st.integers(-(2**33), 2**33).map(float), st.integers(-200, 200).map(float), st.floats())


@settings(deadline=None, max_examples=200)
@given(arrays(np.float64, st.tuples(st.integers(0, 5), st.integers(1, 3)), elements=values))
def test_narrow_statistics_are_the_same_numbers(stats):
    place = np.zeros(len(stats))
    there = narrow((place, stats, stats[:1]))
    assert all(part.nbytes <= 8 * part.size for part in there)
    for back in wide(there)[1:]:
        assert back.dtype == np.float64
    np.testing.assert_array_equal(wide(there)[1], stats)


@pytest.mark.parametrize(
    ("value", "kind"),
    [(127.0, "int8"), (-128.0, "int8"), (128.0, "int16"), (-40000.0, "int32"), (2.0**31, "float64"), (0.5, "float64")],
)
def test_narrow_kinds(value, kind):
    stats = np.array([[0.0, value]])
    assert [str(part.dtype) for part in narrow((np.zeros(1), stats, stats[:0]))] == ["float64", kind, "int8"]
