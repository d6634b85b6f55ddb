"""Segments that two corpora share: told by inputs, names, texts and features, never by references alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nbest.corpus import NBest, Texts
from nbest.evaluation.overlap import shared_segments
from nbest.forests.derivations import forests_of

LETTERS = ("A", "B", "C", "D")


def questions(count: int, seed: int, name: str = "", sources: bool = False, ranks: bool = False) -> NBest:
    """Lists of the same four answers, of which the reference is one."""
    rng = np.random.default_rng(seed)
    ranked = np.tile(-1.0 - np.arange(4), count)[:, None]
    return NBest(
        offsets=4 * np.arange(count + 1),
        features=ranked if ranks else rng.normal(size=(4 * count, 1)),
        feature_names=("score",),
        ids=tuple(f"{name}{i}" for i in range(count)),
        texts=Texts.of(LETTERS * count),
        references=tuple((LETTERS[a],) for a in rng.integers(0, 4, count)),
        sources=tuple(f"question {seed} {i}" for i in range(count)) if sources else None,
    )


def sentences(count: int, seed: int, name: str = "") -> NBest:
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(["cat", "dog", "sat", "ran", "over", "house"], 9)) for _ in range(3 * count)]
    return NBest(
        offsets=3 * np.arange(count + 1),
        features=rng.normal(size=(3 * count, 1)),
        feature_names=("score",),
        ids=tuple(f"{name}{i}" for i in range(count)),
        texts=Texts.of(texts),
        references=tuple((texts[3 * i],) for i in range(count)),
    )


@pytest.mark.parametrize("sources", [False, True])
@pytest.mark.parametrize("name", ["", "q"])
@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize("count", [3, 100])
def test_answers_that_repeat_are_no_overlap(sources: bool, name: str, ranks: bool, count: int) -> None:
    dev = questions(count, 1, sources=sources, ranks=ranks, name=name)
    test = questions(count, 2, sources=sources, ranks=ranks, name=f"{name}-" if name else "")
    assert shared_segments(test, dev) == 0


@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize("sources", [False, True])
def test_the_same_lists_are_found(sources: bool, ranks: bool) -> None:
    dev = questions(100, 1, sources=sources, ranks=ranks)
    assert shared_segments(dev, dev) == 100
    part = dev.select(range(20, 60))
    if sources or not ranks:  # with nothing but ranks and letters, who knows
        assert shared_segments(part, dev) == 40


def test_sentences_are_told_by_their_texts() -> None:
    dev, test = sentences(30, 1), sentences(30, 2)
    assert shared_segments(test, dev) == 0
    mixed = replace(dev.select(range(10)), ids=tuple(str(100 + i) for i in range(10)))
    assert shared_segments(mixed, dev) == 10
    shorter = mixed.keep(np.arange(mixed.hypotheses) % 3 < 2)
    assert shared_segments(shorter.with_features(["more"], np.ones(shorter.hypotheses)), dev) == 10


def answers(seed: int, name: str) -> NBest:
    """Samples of a language model: a number in a sentence that all have."""
    rng = np.random.default_rng(seed)
    right = rng.permutation(40)
    said = np.where(rng.random((40, 8)) < 0.6, right[:, None], rng.integers(0, 40, (40, 8))).ravel()
    return NBest(
        offsets=8 * np.arange(41),
        features=rng.normal(size=(320, 1)),
        feature_names=("score",),
        ids=tuple(f"{name}{i}" for i in range(40)),
        texts=Texts.of(f"Let us see. The answer is {number}." for number in said),
        references=tuple((str(number),) for number in right),
    )


def test_short_references_are_told_by_all_hypotheses() -> None:
    dev, test = answers(1, "q"), answers(2, "t")
    assert shared_segments(test, dev) == 0
    other = np.arange(320.0)
    again = replace(dev.with_features(["verifier"], other), ids=test.ids)  # scored anew, under other names
    texts = list(dev.texts or ())
    assert shared_segments(again, dev) == sum(len(set(texts[at : at + 8])) > 2 for at in range(0, 320, 8)) > 30


def test_names_tell_where_texts_do_not() -> None:
    dev = sentences(30, 1, name="utt-")
    other = replace(sentences(30, 2, name="utt-"), references=dev.references)  # decoded by another system
    assert shared_segments(other, dev) == 30
    assert shared_segments(sentences(30, 2, name="utt-"), dev) == 0  # names that both sets count by
    numbers = replace(sentences(30, 2), references=dev.references)
    assert shared_segments(numbers, replace(dev, ids=numbers.ids)) == 0


def test_forests() -> None:
    dev, test = (forests_of(sentences(12, seed)) for seed in (1, 2))
    assert shared_segments(dev, dev) == 12
    assert shared_segments(dev.select([3, 4]), dev) == 2
    assert shared_segments(test, dev) == 0


def test_lists_without_texts_or_references() -> None:
    dev = replace(sentences(5, 1), texts=None, references=None)
    assert shared_segments(dev, dev) == 5
    assert shared_segments(replace(sentences(5, 2), texts=None, references=None), dev) == 0
