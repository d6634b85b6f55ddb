"""Moses and its relatives: each dialect by hand, what is refused, writing, and the fast way against the plain one."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import CapabilityError, FormatError, ParameterError
from nbest.base.files import decode
from nbest.compute import segments
from nbest.corpus import NBest, Texts
from nbest.formats.lists import moses
from nbest.formats.lists.lines import Piece
from nbest.formats.lists.moses import read_moses
from nbest.formats.lists.moses_writer import write_moses
from nbest.testing.formats import _snapshot, mutant

DIALECTS = {
    "current": (
        "0 ||| a b ||| LM0= -1.5 TM0= 1 -2 Dist= -4 ||| -4.4\n",
        {"LM0": -1.5, "TM0_0": 1, "TM0_1": -2, "Dist": -4},
    ),
    "with alignments": ("0 ||| a b ||| LM0= -1.5 ||| -4.4 ||| 0-0 1-1\n", {"LM0": -1.5}),
    "with phrase alignments": ("0 ||| a b ||| LM0= -1.5 ||| -4.4 ||| 0=0 1-2=1 \n", {"LM0": -1.5}),
    "with an utterance": ("0 ||| a b ||| ASR0= -3.5 BpeLen0= 4 ||| -3.5 ||| utt-1-a\n", {"ASR0": -3.5, "BpeLen0": 4}),
    "old": (
        "0||| a b  ||| d: 0 -7.5 0 lm: -41.25 tm: -6 -2 w: -9 ||| -14.6\n",
        {"d_0": 0, "d_1": -7.5, "d_2": 0, "lm": -41.25, "tm_0": -6, "tm_1": -2, "w": -9},
    ),
    "Travatar, three fields": ("0 ||| a b ||| lm=-1.5 bi:x=y=2\n", {"lm": -1.5, "bi:x=y": 2}),
    "Travatar, four fields": ("0 ||| a b ||| -3.25 ||| lm=-1.5 tm=2e0\n", {"lm": -1.5, "tm": 2}),
    "cdec, score last": ("0 ||| a b ||| lm=-1.5 Glue=1 ||| -3.25\n", {"lm": -1.5, "Glue": 1}),
    "Marian": ("0 ||| a b ||| F0= -1.5 ||| -0.5\n", {"F0": -1.5}),
    "Marian, glued": ("0 ||| a b ||| F0=-1.5 F1= -2 ||| -0.5\n", {"F0": -1.5, "F1": -2}),
    "Marian, alignment": ("0 ||| a b ||| 0-0 1-1 ||| F0= -1.5 ||| -0.5\n", {"F0": -1.5}),
    "Marian, no alignment": ("0 ||| a b |||  ||| F0= -1.5 ||| -0.5\n", {"F0": -1.5}),
    "Marian, soft alignment": ("0 ||| a b ||| 0.5,0.5 1,0 ||| F0= -1.5 ||| -0.5\n", {"F0": -1.5}),
    "Marian, words": ("0 ||| a b ||| 0-0 ||| WordScores= -1 -0.5 ||| F0= -1.5 ||| -0.5\n", {"F0": -1.5}),
    "no names": ("0 ||| a b ||| -1 2 .5 ||| -3\n", {"f_0": -1, "f_1": 2, "f_2": 0.5}),
    "total only": ("0 ||| a b ||| -3.5\n", {"score": -3.5}),
    "total after nothing": ("0 ||| a b |||  ||| -3.5\n", {"score": -3.5}),
    "nothing": ("0 ||| a b ||| \n", {}),
    "tabs": ("0\t|||\ta b\t|||\tF=\t1\tG=2\n", {"F": 1, "G": 2}),
}


@pytest.mark.parametrize("name", DIALECTS)
def test_dialects(reading, name: str) -> None:
    contents, features = DIALECTS[name]
    corpus = reading("moses", contents)
    assert corpus.ids == ("0",)
    assert list(corpus.texts) == ["a b"]
    assert dict(zip(corpus.feature_names, corpus.features[0], strict=True)) == features


@pytest.mark.parametrize(
    ("contents", "value"),
    [
        ("0 ||| a ||| F0= -1.5 ||| -0.5\n", -0.5),
        ("0 ||| a ||| -0.5 ||| f=-1.5 g=2\n", -0.5),
        ("0 ||| a ||| 0-0 ||| WordScores= 1 ||| F0= -1.5 ||| -0.5 ||| u\n", -0.5),
    ],
)
def test_total_when_asked(reading, contents: str, value: float) -> None:
    assert "total" not in reading("moses", contents).feature_names
    assert reading("moses", contents, total=True).column("total").tolist() == [value]


def test_texts(reading) -> None:
    corpus = reading(
        "moses", "0 |||  ||| F= 1\n0 ||| ||| F= 1\n0 |||\ta  =|b| c: \t||| F= 1\n0 ||| a|||b x||| ||| F= 1\n"
    )
    assert list(corpus.texts) == ["", "", "a  =|b| c:", "a|||b x|||"]


def test_ids_out_of_order_are_grouped(reading) -> None:
    corpus = reading("moses", "2 ||| a ||| F= 1\n0 ||| b ||| F= 2\n2 ||| c ||| F= 3\nutt_9 ||| d ||| F= 4\n")
    assert corpus.ids == ("2", "0", "utt_9")
    assert list(corpus.texts) == ["a", "c", "b", "d"]
    assert corpus.column("F").tolist() == [1, 3, 2, 4]
    assert corpus.positions.tolist() == [0, 2, 1, 3]


def test_features_in_another_order(reading) -> None:
    corpus = reading("moses", "0 ||| a ||| F= 1 G= 2\n0 ||| b ||| G= 3 F= 4\n")
    assert corpus.features.tolist() == [[1, 2], [4, 3]]


TWO = "0 ||| a ||| F= 1 {} ||| 1\n0 ||| b ||| F= 2 ||| 1\n"


def test_names_with_an_underscore_may_be_sparse(reading) -> None:
    corpus = reading("moses", TWO.format("pp_x= 3"))
    assert corpus.feature_names == ("F",)
    assert corpus.sparse_names == ("pp_x",)
    assert corpus.sparse.toarray().tolist() == [[3], [0]]


def test_names_in_every_hypothesis_are_dense(reading) -> None:
    corpus = reading("moses", "0 ||| a ||| F_x= 1\n0 ||| b ||| F_x= 2\n")
    assert corpus.feature_names == ("F_x",)
    assert corpus.sparse is None


def test_sparse_option(reading, complaint) -> None:
    assert complaint("moses", TWO.format("px= 3")) == "input:2: feature 'px' is missing; every hypothesis needs F, px"
    assert complaint("moses", TWO.format("p_x= 3"), sparse=False).startswith("input:2: feature 'p_x' is missing")
    assert complaint("moses", TWO.format("px= 3"), sparse="q").startswith("input:2: feature 'px' is missing")
    assert reading("moses", TWO.format("px= 3"), sparse=True).sparse_names == ("px",)
    corpus = reading("moses", TWO.format("px= 3"), sparse="p")
    assert (corpus.feature_names, corpus.sparse_names) == (("F",), ("px",))
    corpus = reading("moses", "0 ||| a ||| F= 1 px=2\n", sparse="p")
    assert (corpus.feature_names, corpus.sparse_names) == (("F",), ("px",))
    with pytest.raises(ParameterError, match="'sparse' of read_moses must be True, False, a prefix or None, got 3"):
        reading("moses", "", sparse=3)


def test_names_with_several_values_are_never_sparse(complaint) -> None:
    assert complaint("moses", TWO.format("p_x= 3 4")).startswith("input:2: feature 'p_x_0' is missing")
    ragged = "0 ||| a ||| T= 1 2\n0 ||| b ||| T= 1\n"
    assert complaint("moses", ragged).startswith("input:2: feature 'T_0' is missing")
    assert complaint("moses", ragged, sparse=True).startswith("input:2: feature 'T_0' is missing")


GOOD = "0 ||| a ||| F= 1 ||| 1\n"
BAD = {
    "two fields": (GOOD + "0 ||| a\n", "2: expected at least 3 fields separated by ' ||| ', got 2"),
    "a blank line inside": (GOOD + "\n" + GOOD, "2: expected at least 3 fields separated by ' ||| ', got 1"),
    "no id": (GOOD + " ||| a ||| F= 1\n", "2: expected one segment id before the first bar, got ''"),
    "two ids": (GOOD + "0 1 ||| a ||| F= 1\n", "2: expected one segment id before the first bar, got '0 1'"),
    "no features": (GOOD + "0 ||| a ||| b c\n", "2: expected features such as 'Name= value' in field 3, got 'b c'"),
    "no number": (GOOD + "0 ||| a ||| F= x\n", "2: feature 'F' must be a finite number, got 'x'"),
    "no number, glued": (GOOD + "0 ||| a ||| F=x\n", "2: feature 'F' must be a finite number, got 'x'"),
    "no value": (GOOD + "0 ||| a ||| F= G= 1\n", "2: feature 'F' has no value"),
    "no name": (GOOD + "0 ||| a ||| =1 F= 1\n", "2: expected a feature name before '=', got '=1'"),
    "a value first": (GOOD + "0 ||| a ||| 1 F= 1\n", "2: expected a feature name such as 'Name=' first, got '1'"),
    "named twice": (GOOD + "0 ||| a ||| F= 1 F= 1\n", "2: feature 'F' is named twice in one hypothesis"),
    "named twice by columns": (
        GOOD + "0 ||| a ||| F_0= 1 F= 1 2\n",
        "2: feature 'F_0' is named twice in one hypothesis",
    ),
    "missing": (GOOD + "0 ||| a ||| \n", "2: feature 'F' is missing; every hypothesis needs F"),
    "new": (GOOD + "0 ||| a ||| F= 1 G= 1\n", "2: feature 'G' is not in the hypotheses before; they have F"),
    "only in some": (
        "0 ||| a ||| 1 2\n0 ||| a ||| 1\n",
        "2: feature 'f_0' is missing; every hypothesis needs f_0, f_1",
    ),
    "total that is none": ("0 ||| a ||| nan\n", "1: the total score must be a finite number, got 'nan'"),
    "broken UTF-8": (GOOD.encode() + b"0 ||| \xff ||| F= 1\n", "2: not valid UTF-8"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(complaint, name: str) -> None:
    contents, message = BAD[name]
    assert complaint("moses", contents).startswith("input:" + message)


@pytest.mark.parametrize(
    "value", ["nan", "-inf", "Infinity", "1e999", "1_000", "\u0661", "0x1", "1e", "--1", "1,5", "1\xa0"]
)
@pytest.mark.parametrize(
    "line", ["0 ||| a ||| F= {} ||| 1\n", "0 ||| a ||| F={}\n", "0||| a ||| F: {}\n", "0 ||| a ||| 0 ||| F={}\n"]
)
def test_strict_numbers(complaint, value: str, line: str) -> None:
    first = line.format("1")
    assert complaint("moses", first + line.format(value)).startswith(
        "input:2: feature 'F' must be a finite number, got "
    )


def test_total_is_only_checked_where_it_is_wanted(reading, complaint) -> None:
    assert reading("moses", "0 ||| a ||| F= 1 ||| nan\n").feature_names == ("F",)
    assert complaint("moses", "0 ||| a ||| F= 1 ||| nan\n", total=True).startswith("input:1: the total score must be")
    assert complaint("moses", GOOD + "0 ||| a ||| F= 1\n", total=True).startswith("input:2: no total score")
    twice = complaint("moses", "0 ||| a ||| total= 1 ||| 1\n", total=True)
    assert twice.startswith("input:1: feature 'total' is named twice")


# writing --------------------------------------------------------------------------------------------------------


def _written(corpus: NBest, path: Path, **options: object) -> str:
    write_moses(corpus, path, **options)
    return path.read_text()


def test_columns_of_one_name_are_written_together(reading, tmp_path: Path) -> None:
    line = "0 ||| a ||| LM0= 1.0 TM0= 1.0 -2.0 X_0= 3.0 Y_1= 4.0 ||| 0\n"
    assert _written(reading("moses", line), tmp_path / "x") == line
    apart = "0 ||| a ||| TM_0= 1.0 TM_1= 2.0 TM= 3.0 ||| 0\n"
    assert _written(reading("moses", apart), tmp_path / "x") == apart


def test_scores_and_numbers(reading, tmp_path: Path) -> None:
    corpus = reading("moses", "u ||| a ||| F= 1\nv ||| b ||| F= 2\n")
    got = _written(corpus, tmp_path / "x", scores=np.array([0.5, -0.25]), numbered=True)
    assert got == "0 ||| a ||| F= 1.0 ||| 0.5\n1 ||| b ||| F= 2.0 ||| -0.25\n"
    with pytest.raises(ParameterError, match="'scores' of write_moses must have 2 entries, got 1"):
        write_moses(corpus, tmp_path / "y", scores=np.zeros(1))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "a b", "hypotheses": [{"text": ""}]}', "cannot hold the segment id 'a b'"),
        ('{"hypotheses": [{"text": "", "features": {"a b": 1}}]}', "cannot hold the feature name 'a b'"),
        ('{"hypotheses": [{"text": "", "features": {"": 1}}]}', "cannot hold the feature name ''"),
        ('{"hypotheses": [{"text": "", "sparse": {"bi:of the": 1}}]}', "cannot hold the feature name 'bi:of the'"),
        ('{"hypotheses": [{"text": "", "features": {"WordScores": 1}}]}', "a feature called 'WordScores'"),
        ('{"hypotheses": [{"text": "a ||| b"}]}', "cannot hold a text with '\\|\\|\\|' in it"),
        ('{"hypotheses": [{"text": "a\\nb"}]}', "cannot hold a line break"),
        ('{"hypotheses": [{"features": {"f": 1}}]}', "moses needs the texts"),
    ],
)
def test_what_cannot_be_written(reading, tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(CapabilityError, match=message):
        write_moses(reading("jsonl", line), tmp_path / "x")


token = st.text(st.characters(exclude_categories=["Cs", "Zs", "Cc"]), min_size=1, max_size=6).filter(
    lambda s: "|||" not in s and not s.startswith("\ufeff")
)
number = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    count = sum(lengths)
    names = data.draw(st.lists(token.filter(lambda s: s != "WordScores"), max_size=3, unique=True))
    values = data.draw(st.lists(number, min_size=count * len(names), max_size=count * len(names)))
    ids = data.draw(st.lists(token, min_size=len(lengths), max_size=len(lengths), unique=True))
    if all(each.isascii() and each.isdigit() for each in ids):
        ids.sort(key=int)  # numbers are read in their order
    corpus = NBest(
        offsets=segments.offsets_of(np.array(lengths)),
        features=np.array(values).reshape(count, len(names)),
        feature_names=tuple(names),
        ids=tuple(ids),
        texts=Texts.of(data.draw(st.lists(st.lists(token, max_size=3).map(" ".join), min_size=count, max_size=count))),
    )
    path = tmp_path_factory.mktemp("moses") / "x.nbest"
    write_moses(corpus, path)
    assert _snapshot(read_moses(path)) == _snapshot(corpus)


# the fast way and the plain one ---------------------------------------------------------------------------------

REGULAR = (
    "0 ||| the small house ||| LM0= -1.75 TM0= -1.38 -2.19e-1 w= 3 ||| -4.42 ||| 0-0\n"
    "0 ||| größer ||| LM0= 1234567890123456789 TM0= .5 1e-300 w= -0 ||| 0.1 ||| 0=0\n"
    "2 |||  ||| LM0= +3. TM0= -1 -2 w= 0.30000000000000004\n"
    "1 ||| a|b || c ||| LM0= 0 TM0= 0 0 w= 5e-324 ||| x ||| y\n"
)


def _both(data: bytes) -> tuple[object, object]:
    """What the two ways make of it; of several errors they may name different ones."""
    path = Path("x.nbest")
    got: list[object] = []
    for way in (
        lambda: moses._parse(Piece(path, data), decode(path, data), False, None),
        lambda: read_moses(path, data=data),
    ):
        try:
            got.append(_snapshot(way()))
        except FormatError:
            got.append("an error")
    return got[0], got[1]


def test_the_fast_way_gives_what_the_plain_one_gives() -> None:
    source = random.Random(5)
    plain, fast = _both(REGULAR.encode())
    assert plain == fast != "an error"
    for _ in range(1500):
        data = mutant(REGULAR.encode(), source)
        plain, fast = _both(data)
        assert plain == fast, data


@pytest.mark.slow
def test_the_fast_way_gives_what_the_plain_one_gives_long() -> None:
    source = random.Random(6)
    for _ in range(100_000):
        data = mutant(REGULAR.encode(), source)
        plain, fast = _both(data)
        assert plain == fast, data
