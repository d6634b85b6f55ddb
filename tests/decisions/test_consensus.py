"""Consensus decoding against enumeration, over lists and over forests."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import text_lists

from nbest.base.errors import CapabilityError, ParameterError
from nbest.compute.executors import executor_of, using
from nbest.corpus import Forests, NBest, Texts
from nbest.decisions import DECISIONS, consensus, mbr
from nbest.decisions.consensus import consensus_of_each, expected_stats
from nbest.forests.derivations import Derivations, forests_of
from nbest.metrics import BLEU, WER
from nbest.model.loglinear import LogLinear
from nbest.testing import toy_lists
from nbest.testing.forests import derivation_sums, enumerate_derivations, toy_forests

PLAIN = BLEU(tokenize="none")
MODEL = LogLinear({"f0": 1.0, "f1": -0.5})


def grams(words: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def plain_stats(words: list[str], evidence: list[list[str]], posterior: list[float], order: int) -> list[float]:
    """Statistics of one hypothesis against expected counts, by dictionaries."""
    expected: Counter[tuple[str, ...]] = Counter()
    for other, p in zip(evidence, posterior, strict=True):
        for n in range(1, order + 1):
            for g, count in grams(other, n).items():
                expected[g] += p * count  # type: ignore[assignment]
    matches = [sum(min(c, expected[g]) for g, c in grams(words, n).items()) for n in range(1, order + 1)]
    length = sum(p * len(other) for other, p in zip(evidence, posterior, strict=True))
    return [len(words), length, *matches, *(max(0, len(words) - n) for n in range(order))]


def check_choice(choice: int, stats: list[list[float]], order: int) -> None:
    """The best by the formula of the docstring, up to rounding; the first of those with the same statistics."""
    values = []
    for s in stats:
        logs = [np.log((s[2 + n] + 0.1) / (s[2 + order + n] + 0.1)) for n in range(order)]
        values.append(sum(logs) / order + min(0.0, 1 - (s[1] + 0.1) / (s[0] + 0.1)))
    assert values[choice] == pytest.approx(max(values), abs=1e-9)
    assert stats.index(stats[choice]) == choice


def all_derivations(forests: Forests) -> NBest:
    """Every derivation as a hypothesis."""
    rows = [enumerate_derivations(forests, i) for i in range(len(forests))]
    edges = [d.edges for row in rows for d in row]
    offsets = np.cumsum([0, *(len(row) for row in rows)])
    starts = np.cumsum([0, *(len(row) for row in edges)])
    flat = np.array([e for row in edges for e in row], np.int64)
    return Derivations(forests, offsets, starts, flat).lists()


@settings(deadline=None, max_examples=60)
@given(text_lists(), st.integers(1, 4), st.floats(0, 5))
def test_lists_against_dictionaries(corpus: NBest, order: int, gamma: float) -> None:
    assert corpus.texts is not None
    model = LogLinear(dict.fromkeys(corpus.feature_names, 1.0))
    options = {"gain": PLAIN, "order": order, "gamma": gamma}
    stats = expected_stats(model, corpus, **options)  # type: ignore[arg-type]
    choice = consensus(model, corpus, **options)  # type: ignore[arg-type]
    posterior = model.posterior(corpus, gamma)
    for i, (low, high) in enumerate(zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)):
        words = [corpus.texts[h].split() for h in range(low, high)]
        wanted = [plain_stats(text, words, posterior[low:high].tolist(), order) for text in words]
        assert stats[low:high] == pytest.approx(np.array(wanted).reshape(high - low, 2 + 2 * order), abs=1e-9)
        assert (choice[i] < 0) == (low == high)
        if low < high:
            check_choice(int(choice[i] - low), stats[low:high].tolist(), order)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 4), st.floats(0, 3))
def test_forests_count_all_derivations(seed: int, lattices: bool, order: int, gamma: float) -> None:
    """The list is only part of the forest; expectations are those of the whole."""
    forests = toy_forests(seed, lattices=lattices, limit=60)
    whole = all_derivations(forests)
    part = _heads(whole, 4)
    stats = expected_stats(MODEL, part, forests=forests, gain=PLAIN, order=order, gamma=gamma)
    scores = gamma * MODEL.edge_scores(forests)
    for i in range(len(forests)):
        drawn = enumerate_derivations(forests, i)
        if not drawn:
            continue
        sums = derivation_sums(drawn, scores)
        mass = np.exp(sums - sums.max())
        evidence = [list(d.words) for d in drawn]
        low, high = part.offsets[i : i + 2]
        for h in range(low, high):
            wanted = plain_stats(evidence[h - low], evidence, (mass / mass.sum()).tolist(), order)
            assert stats[h] == pytest.approx(wanted, abs=1e-9)
    choice = consensus(MODEL, part, forests=forests, gain=PLAIN, order=order, gamma=gamma)
    for i, (low, high) in enumerate(zip(part.offsets[:-1], part.offsets[1:], strict=True)):
        assert (choice[i] < 0) == (low == high)
        if low < high:
            check_choice(int(choice[i] - low), stats[low:high].tolist(), order)


def _heads(corpus: NBest, count: int) -> NBest:
    """The first hypotheses of each list."""
    rows = [
        h for low, size in zip(corpus.offsets, corpus.lengths, strict=False) for h in range(low, low + size)[:count]
    ]
    assert corpus.texts is not None
    return replace(
        corpus,
        offsets=np.cumsum([0, *np.minimum(corpus.lengths, count)]),
        features=corpus.features[rows],
        texts=corpus.texts.take(np.array(rows, np.int64)),
        stats=None,
        metric=None,
    )


def test_a_list_as_a_forest_gives_the_numbers_of_the_list() -> None:
    corpus = toy_lists(3)
    model = LogLinear({"first": 1.0, "second": 0.8})
    for gain in (PLAIN, BLEU()):
        direct = expected_stats(model, corpus, gain=gain)
        assert np.array_equal(expected_stats(model, corpus, gain=gain, forests=forests_of(corpus)), direct)


def test_all_derivations_as_a_list_give_the_numbers_of_the_forest() -> None:
    forests = toy_forests(11, limit=60)
    whole = all_derivations(forests)
    over = expected_stats(MODEL, whole, forests=forests, gain=PLAIN, gamma=1.5)
    assert over == pytest.approx(expected_stats(MODEL, whole, gain=PLAIN, gamma=1.5), abs=1e-9)


def test_parts_of_a_corpus_are_decided_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from nbest.decisions import consensus as function

    corpus, model, seen = toy_lists(5), LogLinear({"first": 1.0}), []
    whole = function(model, corpus, progress=seen.append)
    assert seen == [len(corpus)]
    module = __import__("nbest.decisions.consensus", fromlist=["_EDGES"])
    monkeypatch.setattr(module, "_EDGES", 20)
    seen.clear()
    with using(executor_of(3)):
        assert np.array_equal(function(model, corpus, progress=seen.append), whole)
    assert len(seen) > 3
    assert sum(seen) == len(corpus)


def test_order_of_hypotheses_does_not_matter() -> None:
    corpus, model = toy_lists(6), LogLinear({"first": 1.0, "second": 0.5})
    turned = np.concatenate(
        [np.arange(b - 1, a - 1, -1) for a, b in zip(corpus.offsets, corpus.offsets[1:], strict=False)]
    )
    assert corpus.texts is not None
    other = replace(corpus, features=corpus.features[turned], texts=corpus.texts.take(turned), stats=None, metric=None)
    stats = expected_stats(model, corpus)
    assert expected_stats(model, other) == pytest.approx(stats[turned], abs=1e-9)


def test_large_gamma_gives_a_1_best() -> None:
    corpus, model = toy_lists(7), LogLinear({"first": 1.0, "second": 0.77, "third": -0.31})
    assert corpus.texts is not None
    for chosen, best in zip(consensus(model, corpus, gamma=1e6), model.predict(corpus), strict=True):
        assert (chosen < 0) == (best < 0)
        assert chosen < 0 or corpus.texts[int(chosen)].split() == corpus.texts[int(best)].split()


@settings(deadline=None, max_examples=40)
@given(st.lists(st.permutations("abcdef").map(lambda row: row[:4]), min_size=1, max_size=6), st.integers(0, 99))
def test_without_repeated_words_matches_are_expected_matches(rows: list[list[str]], seed: int) -> None:
    """DeNero et al.: where similarity is linear in the counts of the reference, consensus is minimum Bayes risk."""
    corpus = NBest(
        offsets=np.array([0, len(rows)]), features=np.random.default_rng(seed).normal(size=(len(rows), 1)),
        feature_names=("f",), ids=("s",), texts=Texts.of(" ".join(row) for row in rows),
    )  # fmt: skip
    model = LogLinear({"f": 1.0})
    posterior = model.posterior(corpus)
    pairwise = sum(
        p * PLAIN.stats(corpus.texts, corpus.offsets, ((" ".join(row),),))  # type: ignore[arg-type]
        for p, row in zip(posterior, rows, strict=True)
    )
    assert expected_stats(model, corpus, gain=PLAIN) == pytest.approx(pairwise, abs=1e-9)


def test_mbr_over_lists_of_forests_is_mbr_over_the_lists() -> None:
    """Probabilities of derivations in the forest, over those in the list, are the softmax over the list."""
    from nbest.forests.posteriors import posteriors

    forests = toy_forests(12, limit=60)
    lists = _heads(all_derivations(forests), 5)
    log_z = posteriors(forests, MODEL.edge_scores(forests)).log_z
    p = np.exp(MODEL.scores(lists) - np.repeat(log_z, lists.lengths))
    sums = np.repeat([p[a:b].sum() for a, b in zip(lists.offsets, lists.offsets[1:], strict=False)], lists.lengths)
    assert p / sums == pytest.approx(MODEL.posterior(lists), abs=1e-9)
    assert np.array_equal(mbr(MODEL, lists, forests=forests), mbr(MODEL, lists))
    with pytest.raises(ParameterError, match="'forests' of mbr must have the segments of the lists"):
        mbr(MODEL, lists, forests=forests.select([0]))


def test_bad_arguments_are_refused() -> None:
    corpus, model = toy_lists(1), LogLinear({"first": 1.0})
    assert DECISIONS["consensus"] is consensus
    with pytest.raises(CapabilityError, match="no use for WER; its gain must be bleu"):
        consensus(model, corpus, gain=WER())
    with pytest.raises(ParameterError, match="'gamma' of consensus"):
        consensus(model, corpus, gamma=-1.0)
    with pytest.raises(ParameterError, match="'order' of consensus"):
        consensus(model, corpus, order=0)
    with pytest.raises(CapabilityError, match="texts"):
        consensus(model, replace(corpus, texts=None, stats=None, metric=None))
    with pytest.raises(ParameterError, match="read the lists out of these forests"):
        consensus(model, corpus, forests=toy_forests(1))


@settings(deadline=None, max_examples=50)
@given(text_lists(segments=4), st.booleans())
def test_consensus_of_each_gamma_is_that_of_one(corpus: NBest, as_forests: bool) -> None:
    gammas = (0.25, 1.0, 64.0)
    forests = forests_of(corpus) if as_forests else None
    for gamma, choice in zip(gammas, consensus_of_each(MODEL, corpus, gammas, PLAIN, forests), strict=True):
        assert choice.tolist() == consensus(MODEL, corpus, forests=forests, gain=PLAIN, gamma=gamma).tolist()
