"""MERT finds the best there is where that can be enumerated, and says honestly what it found."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import lists

from nbest.base.errors import CapabilityError, ConvergenceWarning, ParameterError
from nbest.corpus import NBest, Texts
from nbest.features import within_scale
from nbest.metrics import BLEU, F1, METRICS, External, make_metric
from nbest.model.loglinear import LogLinear
from nbest.testing import toy_lists, with_scaled
from nbest.trainers import MERT
from nbest.trainers.differing import losses_differ

pytestmark = pytest.mark.filterwarnings("ignore:MERT. the weights collapsed")


def sign_of(corpus):
    return 1.0 if corpus.metric.higher_is_better else -1.0


def by_weights(corpus, weights):
    model = LogLinear(dict(zip(corpus.feature_names, weights, strict=True)))
    return sign_of(corpus) * corpus.score(model.predict(corpus))


def best_of_all_directions(corpus):
    """The best metric in any cell of directions of two weights: between the angles where hypotheses tie."""
    angles = set()
    for low, high in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        for h in range(low, high):
            for k in range(low, h):
                x, y = corpus.features[h] - corpus.features[k]
                if x or y:
                    angle = math.atan2(x, -y) % math.pi
                    angles |= {round(angle % math.pi, 12), round(angle % math.pi, 12) + math.pi}
    edges = sorted(angles)
    edges = [*edges, edges[0] + 2 * math.pi]
    middles = [(a + b) / 2 for a, b in zip(edges[:-1], edges[1:], strict=True) if b - a > 1e-9]
    return max(by_weights(corpus, [math.cos(t), math.sin(t)]) for t in middles)


def trainable(corpus):
    return (within_scale(corpus) > 0).all() and losses_differ(corpus)


@pytest.mark.filterwarnings("ignore:.*the metric is the same for all weights")
@settings(deadline=None, max_examples=80)
@given(lists(segments=4, longest=4), st.sampled_from(["first", "best"]), st.integers(0, 10**6))
def test_two_weights_equal_exhaustive_search(corpus, ascent, seed):
    """With 60 starts every quadrant holds one, from which line searches reach all of it."""
    assume(trainable(corpus))
    trainer = MERT(restarts=60, hops=0, ascent=ascent, seed=seed, threads=1)
    model = trainer.fit(corpus)
    best = best_of_all_directions(corpus)
    assert sign_of(corpus) * trainer.result_.value == pytest.approx(best, abs=1e-9)
    assert corpus.score(model.predict(corpus)) == pytest.approx(trainer.result_.value, abs=1e-9)
    assert model.scores_["dev"] == corpus.score(model.predict(corpus))


@pytest.mark.filterwarnings("ignore:.*the metric is the same for all weights")
@settings(deadline=None, max_examples=40)
@given(
    lists(features=3, segments=4, longest=4), st.lists(st.integers(-2, 2), min_size=3, max_size=3), st.integers(0, 99)
)
def test_never_below_a_start(corpus, start, seed):
    assume((within_scale(corpus) > 0).any() and losses_differ(corpus))
    assume(any(start[d] for d in np.flatnonzero(within_scale(corpus) > 0)))
    given_start = dict(zip(corpus.feature_names, map(float, start), strict=True))
    trainer = MERT(restarts=2, hops=1, start=given_start, seed=seed, threads=1)
    trainer.fit(corpus)
    value = sign_of(corpus) * trainer.result_.value
    # at the very start weights hypotheses may tie, where a line search looks only beside them
    assert value >= beside(corpus, start) - 1e-9
    assert all(value >= sign_of(corpus) * end["value"] - 1e-9 for end in trainer.result_.history)
    assert len(trainer.result_.history) == 3


def test_a_tie_that_no_search_breaks_is_broken_at_the_end():
    """The second and fourth hypotheses tie along (0, 2, -1), and the search took the better for the first of them."""
    rows = [[0, -2, 0], [-3, 1, 1], [0, -3, 0], [-3, 0, -1], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, -1, 0]]
    stats = [[0, 0, 0]] * 3 + [[1, 1, 1]] + [[0, 0, 0]] * 3 + [[0, 0, 1]]
    offsets, names, ids = np.array([0, 4, 6, 8]), ("f0", "f1", "f2"), ("0", "1", "2")
    corpus = NBest(offsets, np.array(rows, float), names, ids, stats=np.array(stats, float), metric=F1())
    trainer = MERT(restarts=2, hops=1, start={"f0": 0.0, "f1": 2.0, "f2": -1.0}, seed=90)
    model = trainer.fit(corpus)
    assert trainer.result_.value == 100.0 == corpus.score(model.predict(corpus))


def beside(corpus, weights):
    """The best metric on either side of a point along each coordinate, close to it."""
    useful = np.flatnonzero(within_scale(corpus) > 0)
    steps = [sign * 1e-7 * np.eye(3)[d] for d in useful for sign in (1, -1)]
    return max(by_weights(corpus, np.array(weights) + step) for step in steps)


@pytest.mark.parametrize("metric", [name for name in METRICS if name != "external"])
def test_every_metric_of_texts(metric):
    corpus = toy_lists(metric=make_metric(metric))
    trainer = MERT(restarts=4, hops=2)
    model = trainer.fit(corpus)
    best = max(by_weights(corpus, sign * row) for row in np.eye(3) for sign in (1, -1))
    assert sign_of(corpus) * trainer.result_.value >= best
    assert corpus.score(model.predict(corpus)) == trainer.result_.value


@pytest.mark.parametrize("higher", [True, False])
def test_external_scores(higher):
    corpus = toy_lists()
    values = np.random.default_rng(3).normal(size=corpus.hypotheses)
    metric = External(higher_is_better=higher)
    corpus = replace(corpus, metric=metric, stats=metric.stats_of(values))
    trainer = MERT(restarts=4)
    trainer.fit(corpus)
    chance = by_weights(corpus, [1, 0, 0])
    assert sign_of(corpus) * trainer.result_.value >= chance


def test_same_bits_whatever_the_threads():
    for restarts in (1, 5):
        found = []
        for threads in (1, 2, 3):
            trainer = MERT(restarts=restarts, hops=2, directions=3, threads=threads)
            found.append((trainer.fit(toy_lists(noise=0.5)).weights, trainer.result_))
        for weights, result in found[1:]:
            assert weights == found[0][0]
            assert np.array_equal(result.weights, found[0][1].weights)
            assert (result.value, result.history, result.evaluations) == (
                found[0][1].value,
                found[0][1].history,
                found[0][1].evaluations,
            )


def test_seeds_differ_and_all_learn():
    corpus = toy_lists(noise=0.2)
    weights = []
    for seed in range(4):
        trainer = MERT(seed=seed, restarts=5)
        weights.append(tuple(trainer.fit(corpus).weights.values()))
        best = max(by_weights(corpus, sign * row) for row in np.eye(3) for sign in (1, -1))
        assert -trainer.result_.value >= best
    assert len(set(weights)) > 1


def test_progress_is_told_to_the_end():
    told = []
    MERT(restarts=3, hops=2, elite=2, threads=1, progress=lambda done, total: told.append((done, total))).fit(
        toy_lists()
    )
    assert told == [(i, 7) for i in range(1, 8)]


# bounds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ascent", ["first", "best"])
@pytest.mark.parametrize("frozen", [("third",), ("first", "third"), ("first", "second", "third")])
def test_frozen_weights_are_kept(ascent, frozen):
    start = {"first": 2.0, "second": -0.5, "third": 0.25}
    trainer = MERT(restarts=5, hops=2, directions=2, ascent=ascent, start=start, frozen=frozen)
    corpus = toy_lists(noise=0.2)
    model = trainer.fit(corpus)
    for name in frozen:
        assert model.weights[name] == pytest.approx(start[name], rel=1e-12)
    if len(frozen) == 3:
        assert trainer.result_.value == -by_weights(corpus, [2.0, -0.5, 0.25])


@pytest.mark.filterwarnings("error")
def test_frozen_at_zero_is_no_collapse():
    corpus = toy_lists()
    trainer = MERT(restarts=3, frozen=("second", "third"))
    model = trainer.fit(corpus)
    assert model.weights["second"] == model.weights["third"] == 0.0
    assert trainer.result_.status == "converged"
    assert -trainer.result_.value == max(by_weights(corpus, [1, 0, 0]), by_weights(corpus, [-1, 0, 0]))


@pytest.mark.filterwarnings("ignore:.*the metric is the same for all weights")
@settings(deadline=None, max_examples=40)
@given(lists(segments=4, longest=4), st.sampled_from(["+", "-"]), st.sampled_from(["+", "-"]), st.integers(0, 999))
def test_signs_are_kept_and_the_value_is_honest(corpus, first, second, seed):
    assume(trainable(corpus))
    signs = {"f0": first, "f1": second}
    for start in (None, {"f0": 0.0, "f1": 1.0 if second == "+" else -1.0}):
        trainer = MERT(restarts=3, hops=2, directions=2, signs=signs, start=start, seed=seed, threads=1)
        model = trainer.fit(corpus)
        for name, sign in signs.items():
            assert model.weights[name] * (1 if sign == "+" else -1) >= 0
        claimed = max(sign_of(corpus) * end["value"] for end in trainer.result_.history)
        assert sign_of(corpus) * trainer.result_.value >= claimed - 1e-9


def test_a_start_against_its_sign_is_refused():
    with pytest.raises(ParameterError, match="against its sign"):
        MERT(start={"first": 1.0}, signs={"first": "-"}).fit(toy_lists())


def test_start_weights_are_in_the_users_units():
    corpus = with_scaled(toy_lists(), [1e-3, 1e4, 1.0])
    start = {"first": 1e3, "second": 1e-4}
    trainer = MERT(restarts=0, hops=0, start=start)
    trainer.fit(corpus)
    assert -trainer.result_.value >= by_weights(corpus, [1e3, 1e-4, 0.0])
    assert len(trainer.result_.history) == 1


# what users of other tools complain of --------------------------------------------------------------------------


@pytest.mark.parametrize("strong", [1.0, -1.0])
def test_collapsed_weights_are_reported(strong):
    """Two lists are right only if the first feature, which hardly differs in them, outweighs the second."""
    rows = [[0, 0], [1e-8, -1], [0, 0], [1e-8, 1], [-1, 0], [1, 0]]
    corpus = NBest(
        offsets=np.array([0, 2, 4, 6]),
        features=np.array(rows) * [strong, 1.0],
        feature_names=("strong", "weak"),
        ids=("0", "1", "2"),
        stats=External().stats_of([0, 1, 0, 1, 0, 1]),
        metric=External(),
    )
    trainer = MERT(restarts=10)
    with pytest.warns(ConvergenceWarning, match="MERT: the weights collapsed: only 'strong' counts"):
        trainer.fit(corpus)
    assert trainer.result_.value == 1.0
    assert trainer.result_.status == "collapsed"
    assert not trainer.result_.converged


def test_one_empty_hypothesis_does_not_make_bleu_zero():
    corpus = toy_lists(metric=BLEU())
    texts = list(corpus.texts)
    texts[0] = ""
    single = corpus.offsets[2]
    texts[single] = ""  # the only hypothesis of its list: always chosen
    corpus = replace(corpus, texts=Texts.of(texts)).with_metric(BLEU())
    trainer = MERT(restarts=5)
    trainer.fit(corpus)
    assert trainer.result_.value > 20


@pytest.mark.filterwarnings("error")
def test_useless_features_change_nothing():
    corpus = toy_lists()
    constant = np.repeat(np.linspace(-3, 1e9, len(corpus)), corpus.lengths)
    more = corpus.with_features(("zero", "constant"), np.stack([0 * constant, constant], axis=1))
    plain, found = MERT(restarts=3).fit(corpus), MERT(restarts=3).fit(more)
    assert {name: found.weights[name] for name in plain.weights} == plain.weights
    assert found.weights["zero"] == found.weights["constant"] == 0.0


def test_a_feature_without_a_match_is_named():
    corpus = toy_lists()
    for options in ({"start": {"frist": 1.0}}, {"frozen": ("frist",)}, {"signs": {"frist": "+"}}):
        with pytest.raises(
            ParameterError, match=r"'frist', which .*; known: first, second, third; did you mean 'first'"
        ):
            MERT(**options).fit(corpus)
    with pytest.raises(ParameterError, match="a weight for 'third' and these lists do not; they have first, second"):
        MERT(restarts=1).fit(corpus).predict(corpus.without_features(("third",)))


def test_held_out_lists_without_a_feature_are_refused_at_once():
    corpus, trainer = toy_lists(), MERT()
    with pytest.raises(ParameterError, match="the held-out data have no feature 'third'"):
        trainer.fit(corpus, heldout=corpus.without_features(("third",)))
    assert trainer.result_ is None


def test_features_must_be_finite():
    corpus = toy_lists()
    features = corpus.features.copy()
    features[3, 1] = np.nan
    with pytest.raises(ParameterError, match="must be finite, got nan for 'second' in hypothesis 3"):
        replace(corpus, features=features)


def test_sparse_features_are_refused():
    with pytest.raises(CapabilityError, match="MERT tunes dense features and these lists have 8 sparse ones"):
        MERT().fit(toy_lists(sparse=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"restarts": -1}, "'restarts' of MERT must be >= 0, got -1"),
        ({"restarts": 0}, "needs 'restarts' >= 1 or weights to 'start' from"),
        ({"hops": -1}, "'hops' of MERT must be >= 0, got -1"),
        ({"elite": 0}, "'elite' of MERT must be >= 1, got 0"),
        ({"directions": -2}, "'directions' of MERT must be >= 0, got -2"),
        ({"ascent": "steepest"}, "'ascent' of MERT must be first or best, got 'steepest'"),
        ({"signs": {"first": "plus"}}, "'signs' of MERT must be . or -, got {'first': 'plus'}"),
        ({"threads": 0}, "'threads' must be >= 1, got 0"),
    ],
)
def test_bad_settings(options, message):
    with pytest.raises(ParameterError, match=message):
        MERT(**options).fit(toy_lists())
