"""TER equals sacrebleu 2.6.0."""

import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu import metrics as sacrebleu
from sacrebleu.metrics import lib_ter

from nbest.compute import parallel
from nbest.metrics import TER, ter

from .corpora import corpora, nasty_texts, pairs, plain_texts, stats_of

SWITCHES = ["normalized", "no_punct", "asian_support", "case_sensitive"]
options = st.fixed_dictionaries({switch: st.booleans() for switch in SWITCHES})


@settings(deadline=None, max_examples=60)
@given(corpus=corpora(st.one_of(nasty_texts, plain_texts)), options=options)
def test_statistics_and_score(corpus, options):
    metric, oracle = TER(**options), sacrebleu.TER(**options)
    found = stats_of(metric, corpus)
    for row, (text, group) in zip(found, pairs(corpus), strict=True):
        expected = oracle.sentence_score(text, group)
        assert row.tolist() == [expected.num_edits, expected.ref_length]
        assert metric.score(row) == pytest.approx(expected.score)


def sacrebleu_edits(corpus):
    """Edits of each hypothesis to each of its references, as sacrebleu counts them now."""
    found = []
    for text, group in pairs(corpus):
        found.append([lib_ter.translation_edit_rate(text.split(), reference.split())[0] for reference in group])
    return found


def edited(rng, words, vocabulary):
    """Words after a few random edits and shifts."""
    words = list(words)
    for _ in range(rng.randrange(6)):
        at, to = rng.randrange(len(words) + 1), rng.randrange(len(words) + 1)
        many = rng.randrange(13)
        kind = rng.randrange(3)
        if kind == 0:
            words[at : at + 1] = [f"w{rng.randrange(vocabulary)}"]
        elif kind == 1:
            del words[at : at + 1]
        else:
            block = words[at : at + many]
            del words[at : at + many]
            words[to:to] = block
    return words


@cache
def drawn(seed, sizes, vocabularies, count):
    """Segments with a few hypotheses and references that are edits of one text, or other texts of the same words."""
    rng = random.Random(seed)
    hypotheses, references = [], []
    for _ in range(count):
        vocabulary = rng.choice(vocabularies)
        base = [f"w{rng.randrange(vocabulary)}" for _ in range(rng.choice(sizes))]
        other = [f"w{rng.randrange(vocabulary)}" for _ in range(rng.choice(sizes))]
        hypotheses.append([" ".join(edited(rng, base, vocabulary)) for _ in range(3)])
        references.append([" ".join(edited(rng, words, vocabulary)) for words in (base, base, other)])
    return hypotheses, references


@pytest.mark.parametrize(
    ("sizes", "vocabularies", "count"),
    [((0, 1, 2, 3, 5, 8), (2, 3, 5), 200), ((6, 12, 18), (10, 50, 2000), 100), ((30, 50), (40, 400), 6)],
)
def test_edits(sizes, vocabularies, count):
    corpus = drawn(1, sizes, vocabularies, count)
    assert stats_of(TER(), corpus)[:, 0].tolist() == [min(each) for each in sacrebleu_edits(corpus)]


WORDS = [f"w{k}" for k in range(60)]
REPEATS = "cabbaaaccbcbbabbacbcccaaccccbcccabba", "bbbbcaaccbaacacbbacccccacbacbbbcaacc"


def moved(many, by):
    """The same words with the first `many` moved behind `by` others; and as they were."""
    shifted = WORDS[many : many + by] + WORDS[:many] + WORDS[many + by :]
    return [" ".join(WORDS), " ".join(shifted)], [" ".join(shifted)]


LIMITS = {
    "_MAX_SHIFT_SIZE": (11, tuple(zip(moved(10, 20), moved(11, 20), strict=True))),
    "_MAX_SHIFT_DIST": (51, tuple(zip(moved(1, 50), moved(1, 51), strict=True))),
    "_MAX_SHIFT_CANDIDATES": (1100, ([[" ".join(REPEATS[0])]], [[" ".join(REPEATS[1])]])),
    "_BEAM_WIDTH": (26, ([["a " * 26 + " ".join(WORDS[:34])]], [[" ".join(WORDS[:34]) + " b" * 26]])),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_each_limit_is_met(limit, monkeypatch):
    """Texts on which another limit would give other edits."""
    other, corpus = LIMITS[limit]
    found = stats_of(TER(), corpus)[:, 0].tolist()
    assert found == [min(each) for each in sacrebleu_edits(corpus)]
    monkeypatch.setattr(lib_ter, limit, other)
    assert found != [min(each) for each in sacrebleu_edits(corpus)]


@pytest.mark.parametrize(("size", "length"), [(1, 120), (2, 160), (120, 1), (200, 3), (0, 4), (4, 0), (0, 0)])
def test_lengths_far_apart(size, length):
    corpus = [["a b " * (size // 2) + "a" * (size % 2)]], [["b a " * (length // 2) + "b" * (length % 2)]]
    assert stats_of(TER(), corpus)[:, 0].tolist() == [each[0] for each in sacrebleu_edits(corpus)]


def test_any_number_of_threads():
    corpus = drawn(1, (6, 12, 18), (10, 50, 2000), 100)
    alone, told = stats_of(TER(), corpus), []
    for threads in (1, 2, 5):
        before = parallel.wanted.set(threads), parallel.told.set(told.append)
        again = stats_of(TER(), corpus)
        parallel.wanted.reset(before[0])
        parallel.told.reset(before[1])
        assert again.tobytes() == alone.tobytes()
    assert sum(told) == 3 * len(alone)
    assert len(told) > 3


@pytest.mark.parametrize("switch", [None, *SWITCHES])
def test_signature(switch):
    options = {switch: True} if switch else {}
    oracle = sacrebleu.TER(**options)
    oracle.num_refs = -1
    assert TER(**options).signature(-1) == str(oracle.get_signature())


def test_each_distinct_text_of_a_segment_once(monkeypatch):
    calls = []
    compute = ter.fewest_edits

    def counted(hypotheses, references, pairs, out):
        low, high, chosen, _, _ = pairs
        calls.extend(chosen[low:high].tolist())
        compute(hypotheses, references, pairs, out)

    monkeypatch.setattr(ter, "fewest_edits", counted)
    found = stats_of(TER(), ([["a b", "a c", "A  b"], ["a b"]], [["a b"], ["b a"]]))
    assert found.tolist() == [[0, 2], [1, 2], [0, 2], [1, 2]]
    assert calls == [0, 1, 3]
    assert np.array_equal(stats_of(TER(), ([[], []], [["a"], ["b"]])), np.zeros((0, 2)))
