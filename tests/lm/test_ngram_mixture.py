"""Mixtures of two language models: they sum to one, EM finds the maximum, states lose nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from nbest.base.errors import ParameterError
from nbest.corpus import Texts
from nbest.lm.estimate import KneserNey
from nbest.lm.mixture import Mixture, em_weight, fit_mixture, sides_of, token_logprobs, word_ids

SENTENCES = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=5).map(" ".join), min_size=2, max_size=8)
OTHERS = st.lists(st.lists(st.sampled_from("cdefg"), min_size=1, max_size=5).map(" ".join), min_size=2, max_size=8)
TEXTS = st.lists(st.lists(st.sampled_from("abcdefgx"), max_size=6).map(" ".join), min_size=1, max_size=5)


def pair(one: list[str], two: list[str], orders: tuple[int, int] = (3, 2), weight: float = 0.3) -> Mixture:
    first, second = (KneserNey(order).fit(Texts.of(lines)) for order, lines in zip(orders, (one, two), strict=True))
    return Mixture(first, second, weight)


def plain(mixture: Mixture, text: str) -> float:
    words = ["<s>", *text.split(), "</s>"]
    return sum(mixture.logprob(words[:at], words[at]) for at in range(1, len(words)))


@settings(max_examples=40, deadline=None)
@given(SENTENCES, OTHERS, st.sampled_from([(3, 2), (1, 3), (2, 2)]), st.sampled_from([0.0, 0.25, 1.0]))
def test_probabilities_sum_to_one(one: list[str], two: list[str], orders: tuple[int, int], weight: float) -> None:
    mixture = pair(one, two, orders, weight)
    for context in (["<s>"], ["<s>", "a"], ["c", "d"], ["x", "g"], []):
        total = sum(np.exp(mixture.logprob(context, word)) for word in mixture.vocabulary)
        assert total == pytest.approx(1.0, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(SENTENCES, OTHERS, TEXTS, st.sampled_from([(3, 2), (1, 3), (4, 4)]), st.sampled_from([0.0, 0.25, 1.0]))
def test_scores_are_those_of_single_words(
    one: list[str], two: list[str], texts: list[str], orders: tuple[int, int], weight: float
) -> None:
    mixture = pair(one, two, orders, weight)
    wanted = [plain(mixture, text) for text in texts]
    np.testing.assert_allclose(mixture.score(Texts.of(texts), threads=1), wanted, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(SENTENCES, TEXTS, st.integers(1, 4))
def test_states_give_the_scores_of_the_model(one: list[str], texts: list[str], order: int) -> None:
    model = KneserNey(order).fit(Texts.of(one))
    words = [word for text in texts for word in text.split()]
    offsets = np.cumsum([0, *(len(text.split()) for text in texts)])
    bounds, columns = token_logprobs(sides_of(model), offsets, word_ids(model, words), threads=1)
    sums = [columns[low:high, 0].sum() for low, high in zip(bounds[:-1], bounds[1:], strict=True)]
    np.testing.assert_allclose(sums, model.score(Texts.of(texts)).logprobs, atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(-9, -0.1), st.floats(-9, -0.1)), min_size=1, max_size=30))
def test_em_finds_the_largest_likelihood(pairs: list[tuple[float, float]]) -> None:
    first, second = np.array(pairs).T

    def loss(weight: float) -> float:
        return -float(np.mean(np.logaddexp(np.log(weight) + first, np.log1p(-weight) + second)))

    weight, history = em_weight(first, second)
    best = minimize_scalar(loss, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-10})
    assert loss(min(max(weight, 1e-9), 1 - 1e-9)) <= best.fun + 1e-6
    assert (np.diff(history) >= -1e-12).all()


def test_the_weight_follows_the_text() -> None:
    one, two = ["a b c", "a b d", "c d"] * 5, ["f g", "g f e", "e e f"] * 5
    first, second = (KneserNey(2).fit(Texts.of(lines)) for lines in (one, two))
    assert fit_mixture(first, second, Texts.of(one)).weight > 0.9
    assert fit_mixture(first, second, Texts.of(two)).weight < 0.1
    middle = fit_mixture(first, second, Texts.of(one + two))
    assert 0.3 < middle.weight < 0.7
    held = Texts.of(one + two)
    assert middle.score(held).sum() >= Mixture(first, second, 0.2).score(held).sum()


def test_what_cannot_be_estimated_is_refused() -> None:
    with pytest.raises(ParameterError, match="no words"):
        em_weight(np.zeros(0), np.zeros(0))
    with pytest.raises(ParameterError, match="probability 0"):
        em_weight(np.array([-np.inf]), np.array([-np.inf]))
    with pytest.raises(ParameterError, match="'weight' of Mixture"):
        pair(["a"], ["b"], weight=1.5)
