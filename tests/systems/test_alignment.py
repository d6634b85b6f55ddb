"""Word alignment: EM against enumeration of all alignments, Viterbi, symmetrisation against its pseudo-code."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import FormatError, ParameterError
from nbest.base.files import read_lines
from nbest.compute.segments import offsets_of
from nbest.corpus.texts import Texts
from nbest.corpus.words import Words, intern
from nbest.systems.translator.alignment.align import train_alignment
from nbest.systems.translator.alignment.counts import Direction, LexicalTable, uniform
from nbest.systems.translator.alignment.hmm import WIDEST, hmm_expectations, train_hmm
from nbest.systems.translator.alignment.ibm1 import ibm1_expectations, train_ibm1
from nbest.systems.translator.alignment.links import (
    METHODS,
    link_agreement,
    links_of,
    read_links,
    symmetrised,
    write_links,
)
from nbest.systems.translator.alignment.pairs import word_pairs
from nbest.systems.translator.alignment.viterbi import aligned_places

sentence = st.lists(st.integers(0, 3), min_size=1, max_size=3)
corpora = st.lists(st.tuples(sentence, sentence), min_size=1, max_size=4)


def words(sentences: list[list[int]]) -> Words:
    sizes = np.array([len(s) for s in sentences], np.int64)
    return Words(offsets_of(sizes), np.array([w for s in sentences for w in s], np.int32))


def text(*lines: str) -> Words:
    (found,), _ = intern(Texts.of(lines))
    return found


def direction_of(
    corpus: list[tuple[list[int], list[int]]], flipped: bool, trained: np.ndarray | None = None
) -> Direction:
    source, target = words([a for a, _ in corpus]), words([b for _, b in corpus])
    trained = np.ones(len(corpus), np.bool_) if trained is None else trained
    pairs = word_pairs(source, target, trained)
    return Direction(pairs, target if flipped else source, source if flipped else target, flipped, trained)


def random_table(direction: Direction, seed: int) -> LexicalTable:
    rng = np.random.default_rng(seed)
    return direction.normalised(
        rng.uniform(0.1, 1, len(direction.pairs.columns)), rng.uniform(0.1, 1, direction.made_words)
    )


def probability(direction: Direction, table: LexicalTable, source: int, target: int) -> float:
    row = slice(direction.pairs.rows[source], direction.pairs.rows[source + 1])
    return float(table.pairs[row][direction.pairs.columns[row] == target][0])


def enumerate_alignments(direction: Direction, table: LexicalTable, jumps: np.ndarray | None, null: float):
    """Of each sentence: every alignment (place of each made word, 0 for null) and its probability, by the formula."""
    for n in range(len(direction.given.offsets) - 1):
        given_side, made_side = direction.given.of(n).tolist(), direction.made.of(n).tolist()
        size = len(given_side)
        found = []
        for places in itertools.product(range(size + 1), repeat=len(made_side)):
            p, before = 1.0, 0
            for word, place in zip(made_side, places, strict=True):
                if place == 0:
                    p *= float(table.nulls[word])
                else:
                    pair = (word, given_side[place - 1]) if direction.flipped else (given_side[place - 1], word)
                    p *= probability(direction, table, *pair)
                if jumps is None:
                    p /= size + 1
                elif place == 0:
                    p *= null
                else:
                    p *= (1 - null) * jumps[place - before + WIDEST]
                    p /= sum(jumps[k - before + WIDEST] for k in range(1, size + 1))
                    before = place
            found.append((places, p))
        yield given_side, made_side, found


def enumerated_counts(direction: Direction, table: LexicalTable, jumps: np.ndarray | None = None, null: float = 0.0):
    """Counts by slot, of the null word, the numerators and divisors of the jumps, and the log-likelihood."""
    pairs, nulls = np.zeros(len(direction.pairs.columns)), np.zeros(direction.made_words)
    jumped, left, total = np.zeros(2 * WIDEST + 1), np.zeros(2 * WIDEST + 1), 0.0
    for given_side, made_side, found in enumerate_alignments(direction, table, jumps, null):
        mass = sum(p for _, p in found)
        total += np.log(mass)
        for places, p in found:
            before = 0
            for word, place in zip(made_side, places, strict=True):
                if place == 0:
                    nulls[word] += p / mass
                    continue
                s, t = (word, given_side[place - 1]) if direction.flipped else (given_side[place - 1], word)
                row = np.arange(direction.pairs.rows[s], direction.pairs.rows[s + 1])
                pairs[row[direction.pairs.columns[row] == t]] += p / mass
                if jumps is not None:
                    ahead = [k - before + WIDEST for k in range(1, len(given_side) + 1)]
                    jumped[place - before + WIDEST] += p / mass
                    left[ahead] += p / mass / jumps[ahead].sum()
                before = place
    return pairs, nulls, jumped, left, total


@settings(max_examples=25, deadline=None)
@given(corpora, st.booleans(), st.integers(0, 99))
def test_ibm1_expected_counts_are_those_of_all_alignments(corpus, flipped: bool, seed: int) -> None:
    direction = direction_of(corpus, flipped)
    table = random_table(direction, seed)
    pairs, nulls, _, _, total = enumerated_counts(direction, table)
    found = ibm1_expectations(direction, table)
    np.testing.assert_allclose(found[0], pairs, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1], nulls, rtol=1e-5, atol=1e-6)
    assert found[2] == pytest.approx(total, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(corpora, st.booleans(), st.integers(0, 99), st.floats(0.05, 0.9))
def test_hmm_expected_counts_are_those_of_all_alignments(corpus, flipped: bool, seed: int, null: float) -> None:
    direction = direction_of(corpus, flipped)
    table = random_table(direction, seed)
    jumps = np.random.default_rng(seed).uniform(0.1, 1.0, 2 * WIDEST + 1)
    pairs, nulls, jumped, left, total = enumerated_counts(direction, table, jumps, null)
    found = hmm_expectations(direction, table, jumps, null)
    np.testing.assert_allclose(found[0], pairs, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1], nulls, rtol=1e-5, atol=1e-6)
    seen = jumped > 1e-9
    ratio = found[2][seen] / (jumped / np.where(left > 0, left, 1))[seen]
    np.testing.assert_allclose(ratio, ratio[0] if len(ratio) else 1.0, rtol=1e-4)
    assert found[3] == pytest.approx(total, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(corpora, st.booleans(), st.integers(0, 99), st.floats(0.05, 0.9))
def test_viterbi_is_the_best_of_all_alignments(corpus, flipped: bool, seed: int, null: float) -> None:
    direction = direction_of(corpus, flipped)
    table = random_table(direction, seed)
    jumps = np.random.default_rng(seed).uniform(0.1, 1.0, 2 * WIDEST + 1)
    places = aligned_places(direction, table, jumps, null) + 1
    for n, (_, _, found) in enumerate(enumerate_alignments(direction, table, jumps, null)):
        mine = tuple(places[direction.made.offsets[n] : direction.made.offsets[n + 1]].tolist())
        assert dict(found)[mine] == pytest.approx(max(p for _, p in found), rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.lists(st.integers(0, 5), min_size=1, max_size=8),
                          st.lists(st.integers(0, 5), min_size=1, max_size=8)), min_size=1, max_size=8),
       st.booleans())  # fmt: skip
def test_likelihood_never_falls(corpus, flipped: bool) -> None:
    direction = direction_of(corpus, flipped)
    table, history = train_ibm1(direction, 8)
    _, _, more = train_hmm(direction, table, 8, 0.2)
    for values in (history, more):
        assert all(b >= a - 1e-5 * abs(a) - 1e-9 for a, b in zip(values, values[1:], strict=False)), values


def test_two_sentences_tell_what_the_words_mean() -> None:
    source, target = text("la maison", "la fleur", "une maison"), text("the house", "the flower", "a house")
    found = train_alignment(source, target, ibm1_iterations=10, hmm_iterations=5)
    links = found.links()
    assert [links.of(n) for n in range(3)] == [[(0, 0), (1, 1)]] * 3


def test_words_that_move_are_followed() -> None:
    source = text("a b c d", "b a", "c d a", "d c b", "a c", "b d", "d", "c", "b", "a")
    target = text("D C B A", "A B", "A D C", "B C D", "C A", "D B", "D", "C", "B", "A")
    found = train_alignment(source, target, ibm1_iterations=10)
    assert found.links("intersection").of(0) == [(0, 3), (1, 2), (2, 1), (3, 0)]


def random_corpus(sizes: list[int], seed: int = 0) -> tuple[Words, Words]:
    rng = np.random.default_rng(seed)
    source = [rng.integers(0, 50, size).tolist() for size in sizes]
    return words(source), words([[w * 7 % 50 for w in s[::-1]] for s in source])


def test_threads_do_not_change_the_result() -> None:
    source, target = random_corpus(np.random.default_rng(3).integers(1, 30, 300).tolist())
    one, three = (train_alignment(source, target, threads=threads) for threads in (1, 3))
    assert one.history == three.history
    assert np.array_equal(one.forward, three.forward)
    assert np.array_equal(one.backward, three.backward)


def test_empty_and_long_sentences_are_counted_and_aligned() -> None:
    source, target = random_corpus([5, 0, 8, 500, 1, 12, 9])
    steps: list[tuple[int, int]] = []
    found = train_alignment(source, target, progress=lambda done, total: steps.append((done, total)))
    assert found.skipped == {"an empty side": 1, "over 100 words": 1}
    assert steps[-1] == (23, 23)
    links = found.links()
    assert links.of(1) == []
    assert len(links.of(3)) > 0
    assert max(i for i, _ in links.of(3)) < 500


def test_one_empty_side() -> None:
    found = train_alignment(text("a b", "a", ""), text("x y", "", "z"))
    assert [len(found.links().of(n)) for n in (1, 2)] == [0, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [({"null": 0.0}, "'null'"), ({"longest": 0}, "'longest'"), ({"hmm_iterations": -1}, "iterations")],
)
def test_bad_parameters(change: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        train_alignment(text("a"), text("b"), **change)


def test_bad_corpora() -> None:
    with pytest.raises(ParameterError, match="as many sentences, got 1 and 2"):
        train_alignment(text("a"), text("b", "c"))
    with pytest.raises(ParameterError, match="got none"):
        train_alignment(text(""), text(""))
    with pytest.raises(ParameterError, match="unknown words"):
        train_alignment(Words(np.array([0, 1]), np.array([-1], np.int32)), text("b"))


def plain_symmetrise(method: str, sources: int, targets: int, e2f: set, f2e: set) -> set:
    """The pseudo-code of the Moses manual, word for word; points are (target e, source f)."""
    neighbours = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
    union, alignment = e2f | f2e, e2f & f2e
    if method == "union":
        return union

    def free(e: int, f: int) -> tuple[bool, bool]:
        return all(p[0] != e for p in alignment), all(p[1] != f for p in alignment)

    added = method != "intersection"
    while added:
        added = False
        for e in range(targets):
            for f in range(sources):
                if (e, f) not in alignment:
                    continue
                for de, df in neighbours:
                    new = (e + de, f + df)
                    if any(free(*new)) and new in union:
                        alignment.add(new)
                        added = True
    for part in (e2f, f2e) if "final" in method else ():
        for e in range(targets):
            for f in range(sources):
                rule = all if method.endswith("and") else any
                if rule(free(e, f)) and (e, f) in part:
                    alignment.add((e, f))
    return alignment


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(sorted(METHODS)), st.integers(0, 6), st.integers(0, 6))
def test_symmetrised_is_the_published_pseudo_code(data, method: str, sources: int, targets: int) -> None:
    places = st.integers(-1, sources - 1)
    back = st.integers(-1, targets - 1)
    forward = data.draw(st.lists(places, min_size=targets, max_size=targets))
    backward = data.draw(st.lists(back, min_size=sources, max_size=sources))
    source, target = words([[0] * sources, [0]]), words([[0] * targets, [0]])
    links = symmetrised(source, target, np.array([*forward, 0], np.int32), np.array([*backward, -1], np.int32), method)
    e2f = {(e, f) for e, f in enumerate(forward) if f >= 0}
    f2e = {(e, f) for f, e in enumerate(backward) if e >= 0}
    assert links.of(0) == sorted((f, e) for e, f in plain_symmetrise(method, sources, targets, e2f, f2e))


def test_unknown_symmetrisation_names_the_known() -> None:
    with pytest.raises(ParameterError, match="did you mean 'grow-diag'"):
        train_alignment(text("a"), text("b")).links("grow-dia")


def test_links_file(tmp_path: Path) -> None:
    links = links_of([[(1, 0), (0, 0)], [], [(2, 3)]])
    write_links(tmp_path / "a", links)
    assert (tmp_path / "a").read_text() == "0-0 1-0\n\n2-3\n"
    again = read_links(tmp_path / "a")
    assert [again.of(n) for n in range(3)] == [[(0, 0), (1, 0)], [], [(2, 3)]]
    assert link_agreement(again, links) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(("line", "message"), [("0-0 1", "a:1: expected links"), ("0-9", "a:1: link 0-9 points past")])
def test_bad_links_file(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "a").write_text(line + "\n")
    with pytest.raises(FormatError, match=message):
        read_links(tmp_path / "a", text("a b"), text("c d"))
    with pytest.raises(FormatError, match="expected 2 lines"):
        read_links(tmp_path / "a", text("a b", "c"), text("c d", "c"))


def test_agreement_of_links() -> None:
    assert link_agreement(links_of([[(0, 0), (1, 1)]]), links_of([[(0, 0), (1, 2), (2, 2)]])) == (0.5, 1 / 3, 0.4)


def test_uniform_table_sums_to_one() -> None:
    direction = direction_of([([0, 1], [0, 1, 2]), ([1], [3])], False)
    assert uniform(direction).nulls.sum() == pytest.approx(1)


@pytest.mark.data
def test_agreement_with_another_aligner(data: Path) -> None:
    folder, few = data / "mt" / "moses-aligned-fr-en", 1000
    source, target = (text(*read_lines(folder / f"{name}.xz")[:few]) for name in ("fr", "en"))
    theirs = read_links(folder / "align.fr-en.xz")
    theirs = links_of([theirs.of(n) for n in range(few)])
    found = train_alignment(source, target)
    precision, _, _ = link_agreement(found.links("intersection"), theirs)
    _, _, f = link_agreement(found.links(), theirs)
    assert precision > 0.85
    assert f > 0.6
