"""Words are those of `str.split()`, characters those of `list(str)`."""

import sys

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.corpus.texts import Texts
from nbest.corpus.words import characters, index_words, intern, join_words, look_up

SPACES = [chr(point) for point in range(sys.maxunicode + 1) if chr(point).isspace()]
texts = st.lists(
    st.text(
        st.one_of(st.sampled_from([*SPACES, "a", "b", "é", "中", "💥"]), st.characters(exclude_categories=["Cs"])),
        max_size=10,
    ),
    max_size=5,
)


def check_words(*parts):
    words, vocabulary = intern(*(Texts.of(part) for part in parts))
    found = [[[vocabulary[number] for number in part.of(h)] for h in range(len(part.offsets) - 1)] for part in words]
    assert found == [[text.split() for text in part] for part in parts]
    seen = [word for part in parts for text in part for word in text.split()]
    assert vocabulary == list(dict.fromkeys(seen))


@settings(deadline=None, max_examples=200)
@given(texts, texts)
def test_words_are_those_of_split(first, second):
    check_words(first, second)


def test_every_white_space():
    check_words([f"a{space}b" for space in SPACES], SPACES, [f"{space}a{space}{space}" for space in SPACES])


def test_every_other_code_point_is_part_of_a_word():
    points = [point for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000]
    lines = ["x" + "x".join(map(chr, points[at : at + 4096])) + "x" for at in range(0, len(points), 4096)]
    check_words(lines)


def test_many_words_grow_the_table():
    rng = np.random.default_rng(3)
    check_words([" ".join(f"w{number}" for number in rng.integers(0, 60_000, 90_000))], ["w1 w2", ""])


@settings(deadline=None, max_examples=200)
@given(texts, st.booleans())
def test_characters_are_those_of_list(lines, spaces):
    (found,) = characters(Texts.of(lines), spaces=spaces)
    kept = [text if spaces else "".join(text.split()) for text in lines]
    assert [[chr(point) for point in found.of(h)] for h in range(len(lines))] == [list(text) for text in kept]


@settings(deadline=None, max_examples=200)
@given(texts, texts, st.integers(1, 3))
def test_words_are_looked_up(known, parts, cut):
    vocabulary = [word for text in known for word in text.split()] + known
    numbers = np.arange(10, 10 + len(vocabulary), dtype=np.int32)
    index = index_words(vocabulary, numbers)
    all_texts = Texts.of(parts)
    found = join_words([look_up(all_texts.take(slice(low, low + cut)), index, 7) for low in range(0, len(parts), cut)])
    expected = dict(zip(vocabulary, numbers.tolist(), strict=True))
    assert [found.of(h).tolist() for h in range(len(parts))] == [
        [expected.get(word, 7) for word in text.split()] for text in parts
    ]
