"""Phrase extraction and scoring against their definitions; the table, its search and its files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import FormatError, ParameterError
from nbest.compute.segments import offsets_of
from nbest.corpus.words import Words
from nbest.systems.translator.alignment.links import links_of
from nbest.systems.translator.phrases.extract import PhraseCounts, extract_phrases
from nbest.systems.translator.phrases.lexical import lexical_factors
from nbest.systems.translator.phrases.score import phrase_discounts, score_phrases, smoothed
from nbest.systems.translator.phrases.table import PhraseTable, find_phrase, number_words, pairs_of
from tests.systems import manifests

VOCABULARY = ["zero", "one", "two", "three"]


def words(sentences: list[list[int]]) -> Words:
    sizes = np.array([len(s) for s in sentences], np.int64)
    return Words(offsets_of(sizes), np.array([w for s in sentences for w in s], np.int32))


@st.composite
def aligned(draw):
    """Up to three sentence pairs of up to five words a side, with any links."""
    corpus = []
    for _ in range(draw(st.integers(1, 3))):
        source, target = (draw(st.lists(st.integers(0, 3), max_size=5)) for _ in range(2))
        places = [(i, j) for i in range(len(source)) for j in range(len(target))]
        links = draw(st.lists(st.sampled_from(places), unique=True, max_size=6)) if places else []
        corpus.append((source, target, links))
    return corpus


def parts(corpus):
    return words([c[0] for c in corpus]), words([c[1] for c in corpus]), links_of([c[2] for c in corpus])


def consistent_pairs(source, target, links, longest: int):
    """By the definition: at least one link inside, and every link of a word inside stays inside."""
    for a in range(len(source)):
        for b in range(a, min(a + longest, len(source))):
            for c in range(len(target)):
                for d in range(c, min(c + longest, len(target))):
                    inside = [(a <= i <= b, c <= j <= d) for i, j in links]
                    if any(x and y for x, y in inside) and all(x == y for x, y in inside):
                        yield a, b + 1, c, d + 1


def counted(counts: PhraseCounts) -> Counter:
    def phrase(ids, starts, sizes, k):
        return tuple(ids[starts[k] : starts[k] + sizes[k]].tolist())

    out = Counter()
    for s, t, count in zip(counts.sources, counts.targets, counts.counts, strict=True):
        pair = (phrase(counts.source_ids, counts.source_starts, counts.source_sizes, s),
                phrase(counts.target_ids, counts.target_starts, counts.target_sizes, t))  # fmt: skip
        assert pair not in out
        out[pair] = int(count)
    return out


@settings(max_examples=150, deadline=None)
@given(aligned(), st.integers(1, 6))
def test_extracted_phrases_are_the_consistent_ones(corpus, longest: int) -> None:
    wanted: Counter = Counter()
    for source, target, links in corpus:
        for a, b, c, d in consistent_pairs(source, target, links, longest):
            wanted[tuple(source[a:b]), tuple(target[c:d])] += 1
    assert counted(extract_phrases(*parts(corpus), longest=longest)) == wanted


def plain_lexical(corpus, longest: int):
    """Largest lex(e|f) and lex(f|e) of each pair, by the formula, from counts of links."""
    pairs, left, right = Counter(), Counter(), Counter()
    for source, target, links in corpus:
        made = [(source[i], target[j]) for i, j in links]
        made += [(None, w) for j, w in enumerate(target) if all(y != j for _, y in links)]
        made += [(w, None) for i, w in enumerate(source) if all(x != i for x, _ in links)]
        for s, t in made:
            pairs[s, t] += 1
            if t is not None:
                left[s] += 1
            if s is not None:
                right[t] += 1
    out: dict = {}
    for source, target, links in corpus:
        for a, b, c, d in consistent_pairs(source, target, links, longest):
            direct = inverse = 1.0
            for j in range(c, d):
                linked = [source[i] for i, y in links if y == j] or [None]
                direct *= sum(pairs[s, target[j]] / left[s] for s in linked) / len(linked)
            for i in range(a, b):
                linked = [target[j] for x, j in links if x == i] or [None]
                inverse *= sum(pairs[source[i], t] / right[t] for t in linked) / len(linked)
            key = tuple(source[a:b]), tuple(target[c:d])
            old = out.get(key, (0.0, 0.0))
            out[key] = max(old[0], direct), max(old[1], inverse)
    return out


def repetitive(seed: int):
    """Many sentence pairs of two words, so that phrase pairs occur with several alignments."""
    rng = np.random.default_rng(seed)
    corpus = []
    for _ in range(40):
        source, target = (rng.integers(0, 2, rng.integers(1, 4)).tolist() for _ in range(2))
        places = [(i, j) for i in range(len(source)) for j in range(len(target))]
        corpus.append((source, target, [place for place in places if rng.uniform() < 0.5]))
    return corpus


@settings(max_examples=80, deadline=None)
@given(st.one_of(aligned(), st.builds(repetitive, st.integers(0, 9999))))
def test_features_of_the_table(corpus) -> None:
    counts = extract_phrases(*parts(corpus))
    table = score_phrases(counts, VOCABULARY, VOCABULARY, options=1000)
    lexical = plain_lexical(corpus, 7)
    seen = counted(counts)
    assert len(table) == len(seen)
    direct = smoothed(counts.sources, counts.targets, counts.counts)
    inverse = smoothed(counts.targets, counts.sources, counts.counts)
    by_pair = dict(zip(seen, zip(direct, inverse, strict=True), strict=True))
    for s in range(len(table.source_offsets) - 1):
        rows = range(table.option_offsets[s], table.option_offsets[s + 1])
        assert list(table.features[rows, 0]) == sorted(table.features[rows, 0], reverse=True)
        for p in rows:
            pair = tuple(table.source(s).tolist()), tuple(table.target(table.targets[p]).tolist())
            np.testing.assert_allclose(np.exp(table.features[p]), [*by_pair[pair], *lexical[pair], np.e], rtol=1e-5)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=60))
def test_smoothed_probabilities_sum_to_one(occurrences: list[tuple[int, int]]) -> None:
    seen = Counter(occurrences)
    given_side, made = (np.array([pair[k] for pair in seen]) for k in (0, 1))
    counts = np.array(list(seen.values()))
    p = smoothed(given_side, made, counts)
    taken = phrase_discounts(counts)[np.minimum(counts, 3)]
    for g in set(given_side.tolist()):
        here = given_side == g
        spare = taken[here].sum() / counts[here].sum()
        unseen = sum((made == m).sum() / len(made) for m in set(made.tolist()) - set(made[here].tolist()))
        assert p[here].sum() + spare * unseen == pytest.approx(1)


def test_discounts_of_known_counts_of_counts() -> None:
    counts = np.repeat([1, 2, 3, 4, 9], [100, 40, 20, 10, 5])
    share = 100 / 180
    wanted = [0, 1 - 2 * share * 40 / 100, 2 - 3 * share * 20 / 40, 3 - 4 * share * 10 / 20]
    np.testing.assert_allclose(phrase_discounts(counts), wanted)
    assert phrase_discounts(np.array([1, 1])).tolist() == [0, 0, 0, 0]


def some_table(options: int = 20, seed: int = 0, sentences: int = 60) -> PhraseTable:
    rng = np.random.default_rng(seed)
    source = [rng.integers(0, 4, rng.integers(1, 9)).tolist() for _ in range(sentences)]
    target = [[(w + int(rng.integers(0, 2))) % 4 for w in s] for s in source]
    links = links_of([[(k, k) for k in range(len(s))] for s in source])
    return score_phrases(extract_phrases(words(source), words(target), links), VOCABULARY, VOCABULARY, options=options)


def test_phrases_are_sorted_and_found() -> None:
    table = some_table()
    phrases = [tuple(table.source(s).tolist()) for s in range(len(table.source_offsets) - 1)]
    assert phrases == sorted(set(phrases))
    targets = [tuple(table.target(t).tolist()) for t in range(len(table.target_offsets) - 1)]
    assert targets == sorted(set(targets))
    rng = np.random.default_rng(1)
    for _ in range(300):
        words_ = rng.integers(-1, 5, rng.integers(1, 5)).astype(np.int32)
        place = find_phrase(table.source_offsets, table.source_ids, words_, 0, len(words_))
        key = tuple(words_.tolist())
        assert place == (phrases.index(key) if key in phrases else -1)


def test_long_phrases_are_sorted() -> None:
    rng = np.random.default_rng(2)
    source = [[1_000_000 + int(w) for w in rng.integers(0, 2, 7)] for _ in range(40)]
    target = [[0] * 7] * 40
    links = links_of([[(k, k) for k in range(7)]] * 40)
    table = score_phrases(extract_phrases(words(source), words(target), links), [], [])
    phrases = [tuple(table.source(s).tolist()) for s in range(len(table.source_offsets) - 1)]
    assert phrases == sorted(set(phrases))


def test_limit_is_the_limit_of_scoring() -> None:
    full, few = some_table(1000), some_table(2)
    assert len(few) < len(full)
    limited = full.limit(2)
    assert pairs_of(limited) == pairs_of(few)
    np.testing.assert_array_equal(limited.features, few.features)
    with pytest.raises(ParameterError, match="'options'"):
        full.limit(0)


def test_filter_keeps_what_a_text_can_use() -> None:
    table = some_table()
    text = number_words([["one", "two", "unheard"], [], ["three"]], table.source_words)
    assert text.ids.tolist() == [1, 2, -1, 3]
    few = table.filter(text)
    wanted = {("one",), ("two",), ("three",), ("one", "two")}
    assert pairs_of(few) == {pair for pair in pairs_of(table) if pair[0] in wanted}
    for phrase in wanted:
        for (a, x), (b, y) in zip(few.look_up(phrase), table.look_up(phrase), strict=True):
            assert a == b
            np.testing.assert_array_equal(x, y)
    assert few.look_up(["unheard"]) == []


def test_nothing_aligned_gives_an_empty_table(tmp_path: Path) -> None:
    table = score_phrases(
        extract_phrases(words([[], [1]]), words([[0], [2]]), links_of([[], []])), VOCABULARY, VOCABULARY
    )
    assert len(table) == 0
    assert table.look_up(["one"]) == []
    table.save(tmp_path / "t")
    assert len(PhraseTable.load(tmp_path / "t").filter(words([[1]]))) == 0


def test_threads_do_not_change_the_counts() -> None:
    rng = np.random.default_rng(5)
    source = [rng.integers(0, 9, rng.integers(0, 20)).tolist() for _ in range(50)]
    links = links_of([[(k, len(s) - 1 - k) for k in range(0, len(s), 2)] for s in source])
    one, three = (extract_phrases(words(source), words(source), links, threads=threads) for threads in (1, 3))
    for name in ("sources", "targets", "counts", "lexical", "source_starts", "target_starts"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))


def test_a_sentence_of_500_words_and_progress() -> None:
    steps: list[tuple[int, int]] = []
    side, links = words([list(range(500))]), links_of([[(k, k) for k in range(500)]])
    counts = extract_phrases(side, side, links, progress=lambda done, total: steps.append((done, total)))
    assert counts.counts.sum() == sum(500 - k for k in range(7))
    assert steps == [(1, 1)]


def test_bad_parameters() -> None:
    side = words([[1]])
    with pytest.raises(ParameterError, match="one length"):
        extract_phrases(side, words([[1], [2]]), links_of([[]]))
    with pytest.raises(ParameterError, match="'longest'"):
        extract_phrases(side, side, links_of([[]]), longest=0)


def test_factors_without_links_are_those_of_the_null_word() -> None:
    first, second = lexical_factors(words([[0, 0, 1]]), words([[2]]), links_of([[]]))
    np.testing.assert_allclose(np.exp(first), [2 / 3, 2 / 3, 1 / 3])
    np.testing.assert_allclose(np.exp(second), [1])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    some_table().save(tmp_path / "table")
    return tmp_path / "table"


def test_saved_table_is_loaded_as_it_was(folder: Path) -> None:
    table, again = some_table(), PhraseTable.load(folder, verify=True)
    for name in (
        "source_offsets",
        "source_ids",
        "option_offsets",
        "targets",
        "features",
        "target_offsets",
        "target_ids",
    ):
        np.testing.assert_array_equal(getattr(table, name), getattr(again, name))
    assert list(again.source_words) == VOCABULARY
    some_table(3).save(folder)  # replaces the table that was there
    assert len(PhraseTable.load(folder)) == len(some_table(3))
    assert [path.name for path in folder.parent.iterdir()] == ["table"]


@pytest.mark.parametrize("name", ["features.npy", "source_ids.npy", "target_words.txt", "manifest.json"])
def test_file_cut_short(folder: Path, name: str) -> None:
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(FormatError, match=name):
        PhraseTable.load(folder)
    (folder / name).unlink()
    with pytest.raises(FormatError, match=name):
        PhraseTable.load(folder)


def test_damaged_file_is_found_by_its_sum(folder: Path) -> None:
    data = bytearray((folder / "features.npy").read_bytes())
    data[-1] ^= 1
    (folder / "features.npy").write_bytes(data)
    PhraseTable.load(folder, verify=False)
    with pytest.raises(FormatError, match=r"features\.npy: is damaged: its sha256"):
        PhraseTable.load(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version 1"),
        ({"format": "x"}, "expected the format"),
        ({"files": {}}, "does not list"),
    ],
)
def test_other_manifest(folder: Path, change: dict, message: str) -> None:
    manifests.change(folder, change)
    with pytest.raises(FormatError, match=message):
        PhraseTable.load(folder)


def test_other_folders_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(FormatError, match="will not be replaced"):
        some_table().save(tmp_path)
    with pytest.raises(FormatError, match="has no manifest"):
        PhraseTable.load(tmp_path / "nowhere")
