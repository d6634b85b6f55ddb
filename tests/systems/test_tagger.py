"""The tagger against enumeration of tag sequences, plain-Python twins of its estimates, and real treebanks."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from nbest.base.errors import FormatError, ParameterError
from nbest.decisions import oracle
from nbest.forests.kbest import kbest
from nbest.formats.conllu import read_conllu
from nbest.metrics import TokenAccuracy
from nbest.systems.tagger.report import TagAccuracy
from nbest.systems.tagger.system import TaggerTraining
from nbest.systems.tagger.tagger import Tagger
from nbest.systems.tagger.transitions import deleted_interpolation, transitions_of
from tests.systems import manifests
from tests.systems.tagger_twin import B, Corpus, Twin


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    """A few tiny sentences with tags."""
    token = st.tuples(st.sampled_from(["run", "Runs", "a1", "b", "bb", "dog"]), st.sampled_from("XYZ"))
    rows = draw(st.lists(st.lists(token, max_size=4), min_size=1, max_size=6).filter(any))
    return [[word for word, _ in row] for row in rows], [[tag for _, tag in row] for row in rows]


settings_ = st.builds(
    TaggerTraining,
    longest=st.integers(0, 4),
    rare=st.integers(1, 4),
    weight=st.floats(0.1, 3.0),
    prior=st.sampled_from([0.0, 0.3, 2.0]),
    contexts=st.booleans(),
    limit=st.integers(1, 4),
    least=st.sampled_from([0.0, 0.0437]),
)


@limits(deadline=None, max_examples=60)
@given(corpora(), settings_, st.lists(st.sampled_from(["run", "Runs", "Run", "b", "new", "A22", "Bb"]), max_size=4))
def test_best_and_all_sequences_by_enumeration(corpus: Corpus, how: TaggerTraining, words: list[str]) -> None:
    if how.limit < 3:
        how = replace(how, limit=3)  # ties at the limit: see below
    twin = Twin(corpus, how)
    tagger = Tagger.train(*corpus, how)
    expected = twin.sequences(words)
    forests = tagger.forests([words, words])
    derivations = kbest(forests, forests.features.sum(axis=1), 1000)
    lists = derivations.lists()
    assert lists.texts is not None
    assert list(lists.lengths) == [len(expected)] * 2
    found = {lists.texts[h]: lists.features[h] for h in range(len(expected))}
    assert set(found) == set(expected)
    for text, values in expected.items():
        assert found[text] == pytest.approx(values, rel=1e-9, abs=1e-9)
    scores = lists.features.sum(axis=1)[: len(expected)]
    assert list(scores) == pytest.approx(sorted((sum(v) for v in expected.values()), reverse=True))
    best = tagger.tag([words])[0]
    assert sum(expected[" ".join(best)]) == pytest.approx(max(sum(v) for v in expected.values()))


@limits(deadline=None, max_examples=100)
@given(corpora())
def test_transitions_against_the_twin(corpus: Corpus) -> None:
    twin = Twin(corpus, TaggerTraining())
    names = {tag: at for at, tag in enumerate(twin.tags)}
    sizes = [len(row) for row in corpus[1]]
    labels = np.array([names[tag] for row in corpus[1] for tag in row], np.int64)
    model = transitions_of(labels, np.concatenate([[0], np.cumsum(sizes)]), len(names))
    assert list(model.shares) == pytest.approx(twin.shares)
    for b in [*twin.tags, B]:  # probabilities of what comes next, the end among it, sum to one after a history seen
        for a in [*twin.tags, B]:
            if twin.h2[a, b]:
                assert sum(twin.transition(a, b, c) for c in [*twin.tags, B]) == pytest.approx(1.0)


def test_deleted_interpolation_by_hand() -> None:
    # f(abc) = 3 of f(ab) = 3: (3-1)/(3-1) = 1 wins; f(abd) = 1: all 0 but f(d) = 2 of 7 events: 1/6 wins for one tag
    won = deleted_interpolation(
        np.array([3, 1, 3]), np.array([3, 2, 9]), np.array([3, 1, 5]), np.array([9, 9, 5]), np.array([3, 2, 4])
    )
    assert list(won) == [1.0, 3.0, 3.0]


@limits(deadline=None, max_examples=60)
@given(corpora(), settings_, st.lists(st.text(min_size=1, max_size=6), max_size=5))
def test_endings_give_probabilities(corpus: Corpus, how: TaggerTraining, words: list[str]) -> None:
    tagger = Tagger.train(*corpus, how)
    p = tagger.suffixes.probabilities([(word, first) for word in words for first in (False, True)])
    assert p.shape == (2 * len(words), len(tagger.tags))
    assert (p > 0).all()
    assert p.sum(axis=1) == pytest.approx(np.ones(2 * len(words)))
    twin = Twin(corpus, how)
    for row, word in zip(p[::2], words, strict=True):
        assert list(row) == pytest.approx(list(twin.guess(word, False).values()))


def test_the_limit_keeps_the_best_tags() -> None:
    words = [[f"{stem}ing", f"{stem}er", f"{stem}ed", f"{stem}ly"] for stem in ("walk", "talk", "jump", "sing")]
    tags = [["VBG", "NN", "VBD", "RB"]] * 4
    for limit in (1, 2, 3):
        forests = Tagger.train(words, tags, TaggerTraining(limit=limit, least=0.0)).forests([["sprinting"]])
        lists = kbest(forests, forests.features.sum(axis=1), 10).lists()
        assert lists.texts is not None
        assert len(lists.texts) == limit
        assert lists.texts[0] == "VBG"


def test_spelling_guides_unknown_words() -> None:
    words = [
        ["The", "dog", "met", name, "in", year] for name, year in (("Ann", "1999"), ("Bob", "2001"), ("Cy", "1850"))
    ]
    tagger = Tagger.train(words, [["DT", "NN", "VBD", "NNP", "IN", "CD"]] * 3, TaggerTraining(limit=6))
    assert tagger.tag([["The", "dog", "met", "Zoe", "in", "1777"]])[0][3::2] == ["NNP", "CD"]
    assert tagger.knows("dog")
    assert not tagger.knows("Zoe")


def test_short_and_long_sentences() -> None:
    tagger = Tagger.train([["a", "b"], ["b"]], [["X", "Y"], ["X"]])
    long = ["zz", "a", "b"] * 200
    found = tagger.tag([[], ["a"], long, ["never"]])
    assert [len(row) for row in found] == [0, 1, 600, 1]
    assert len(tagger.forests([])) == 0
    assert tagger.tag([]) == []
    assert tagger.tag([["1 000"]]) == tagger.tag([["1_000"]])  # a form with a space is one word
    forests = tagger.forests([["1 000", "b"]], references=[["X", "Y"]])
    assert forests.sources == ("1_000 b",)
    assert forests.references == (("X Y",),)


def test_threads_and_batches_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    words = [[f"w{rng.integers(30)}" for _ in range(rng.integers(0, 9))] for _ in range(2100)]
    tags = [[f"T{rng.integers(5)}" for _ in row] for row in words]
    tagger = Tagger.train(words[:1000], tags[:1000])
    told: list[tuple[int, int]] = []
    one = tagger.tag(words, threads=1, progress=lambda *at: told.append(at))
    assert one == tagger.tag(words, threads=3)
    assert one[2000:] == tagger.tag(words[2000:])
    assert told == [(1000, 2100), (2000, 2100), (2100, 2100)]
    a, b = (tagger.forests(words, threads=threads) for threads in (1, 3))
    assert np.array_equal(a.features, b.features)
    assert np.array_equal(a.symbols, b.symbols)


def test_bad_training_input_is_refused() -> None:
    for words, tags, message in (
        ([["a"]], [["X", "Y"]], "sentence 1 has 1 words and 2 tags"),
        ([["a"]], [], "as many as sentences"),
        ([[]], [[]], "at least one word"),
        ([["a"]], [["X Y"]], "one word without white space"),
    ):
        with pytest.raises(ParameterError, match=message):
            Tagger.train(words, tags)
    bad = [("longest", -1), ("rare", 0), ("limit", 0), ("weight", 0.0), ("prior", math.nan), ("least", 2)]
    for name, value in bad:
        with pytest.raises(ParameterError, match=f"'{name}' of TaggerTraining"):
            TaggerTraining(**{name: value})  # type: ignore[arg-type]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    Tagger.train([["a", "\u2028b", "É1"], ["a\tq"]], [["X", "Y", "Z"], ["X"]], TaggerTraining(longest=3)).save(
        tmp_path / "m"
    )
    return tmp_path / "m"


def test_save_and_load(saved: Path) -> None:
    tagger = Tagger.load(saved)
    tagger.save(saved)  # replaced
    again = Tagger.load(saved)
    sentence = ["a", "nb", "É1", "E2"]
    assert np.array_equal(tagger.forests([sentence]).features, again.forests([sentence]).features)
    assert again.settings == TaggerTraining(longest=3)
    assert not list(saved.parent.glob(".*"))


def test_a_damaged_directory_is_refused(saved: Path) -> None:
    with pytest.raises(FormatError, match="is no tagger"):
        Tagger.load(saved.parent)
    for name in ("arrays.npz", "tags.txt", "words.txt", "endings.txt"):
        whole = (saved / name).read_bytes()
        (saved / name).write_bytes(whole[:-3])
        with pytest.raises(FormatError, match="cut short"):
            Tagger.load(saved)
        (saved / name).write_bytes(whole[:-1] + b"x")
        with pytest.raises(FormatError, match="damaged"):
            Tagger.load(saved)
        (saved / name).unlink()
        with pytest.raises(FormatError, match="missing, cut short"):
            Tagger.load(saved)
        (saved / name).write_bytes(whole)
    manifest = json.loads((saved / "manifest.json").read_text())
    del manifest["sha256"]
    for change, message in (
        ({"format": "nbest-tagger/9"}, "train the tagger again"),
        ({"settings": {"colour": 1}}, "settings"),
        ({"column": "lemma"}, "upos or xpos"),
        ({"files": {}}, "does not list"),
    ):
        manifests.change(saved, {**manifest, **change})
        with pytest.raises(FormatError, match=message):
            Tagger.load(saved)
    (saved / "manifest.json").write_text('{"format": ')
    with pytest.raises(FormatError, match="cut short"):
        Tagger.load(saved)


def test_what_is_no_tagger_is_not_replaced(saved: Path, tmp_path: Path) -> None:
    tagger = Tagger.load(saved)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("mine")
    for name in ("file", "folder"):
        with pytest.raises(FormatError):
            tagger.save(tmp_path / name)
    with pytest.raises(FormatError, match="cannot be written"):
        tagger.save(tmp_path / "nowhere" / "m")


@pytest.mark.data
def test_a_real_treebank(data: Path) -> None:
    folder = data / "treebanks" / "fr_sequoia_r2.16"
    train, dev = (read_conllu(folder / f"{name}.conllu.xz") for name in ("train", "dev"))
    tagger = Tagger.train([s.forms for s in train], [s.upos for s in train], TaggerTraining(tags="upos"))
    words, gold = [s.forms for s in dev], [s.upos for s in dev]
    accuracy = TagAccuracy.of(tagger, words, gold, tagger.tag(words)).percentages()
    assert accuracy["all"] > 96.5  # a plain TnT has 96.4
    assert accuracy["unknown"] > 80
    lists = tagger.lists(words, 10, references=[(" ".join(row),) for row in gold]).with_metric(TokenAccuracy())
    assert lists.score(lists.offsets[:-1]) == pytest.approx(accuracy["all"])
    assert lists.score(oracle(lists)) > 98.5
    without = Tagger.train(
        [s.forms for s in train], [s.upos for s in train], TaggerTraining(tags="upos", contexts=False, prior=0.0)
    )
    assert TagAccuracy.of(without, words, gold, without.tag(words)).percentages()["all"] < accuracy["all"]
