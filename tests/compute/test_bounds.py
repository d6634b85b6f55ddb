"""Numbers of files that lead out of their arrays are refused by name, also where sums were made anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nbest.base.errors import FormatError
from nbest.compute.bounds import Bounds
from nbest.lm.file import load_lm
from nbest.systems.converter.converter import Converter
from nbest.systems.parser.parser import Parser
from nbest.systems.tagger.tagger import Tagger
from nbest.systems.translator.phrases.table import PhraseTable
from nbest.testing.flips import reseal
from nbest.testing.tiny_systems import TINY
from tests.systems import manifests

BOUNDS = Bounds("x", "make it again")
Change = Callable[[np.ndarray], object]


@pytest.mark.parametrize(
    ("values", "rows", "end"),
    [
        ([0, 2, 1], 2, 1),
        ([1, 2], 1, 2),
        ([0, 2], 1, 3),
        ([0, 1], 2, 1),
        ([0, 2**62, -(2**62), 3], 3, 3),  # differences wrap around
        ([-1, 3], 1, 3),
    ],
)
def test_offsets(values: list[int], rows: int, end: int) -> None:
    BOUNDS.offsets("o", np.array([0, 1, 1, 3]), 3, 3)
    with pytest.raises(FormatError, match=r"x: is damaged: o must .*; make it again"):
        BOUNDS.offsets("o", np.array(values), rows, end)


def test_offsets_that_must_rise() -> None:
    with pytest.raises(FormatError, match="rise"):
        BOUNDS.offsets("o", np.array([0, 1, 1, 3]), 3, 3, empty=False)
    with pytest.raises(FormatError, match="begin with 0"):
        BOUNDS.offsets("o", np.zeros(0, np.int64), -1, 0)


def test_numbers() -> None:
    BOUNDS.numbers("n", np.array([0, 4]), 5)
    BOUNDS.numbers("n", np.zeros(0, np.int64), 0)
    for bad in ([-1, 0], [5]):
        with pytest.raises(FormatError, match="between 0 and 4"):
            BOUNDS.numbers("n", np.array(bad), 5)
    with pytest.raises(FormatError, match="n must be between 1"):
        BOUNDS.counts("n", np.array([2**62]))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_floats(bad: float) -> None:
    good = np.array([0.5, 0.0, 1.0])
    for check in (BOUNDS.finite, BOUNDS.shares, BOUNDS.logarithms):
        check("f", good)
        with pytest.raises(FormatError, match="f must"):
            check("f", np.append(good, bad))
    BOUNDS.logarithms("f", np.array([-np.inf]))
    with pytest.raises(FormatError, match="finite"):
        BOUNDS.finite("f", np.array([-np.inf]))


# systems ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def converter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("converter") / "c"
    TINY["converter"].make(folder)
    return folder


def _changed(folder: Path, name: str, change: Change, goal: Path) -> Path:
    """A copy of a system with one array changed and all sums made anew."""
    shutil.copytree(folder, goal)
    array = np.load(goal / name)
    change(array)
    np.save(goal / name, array)
    reseal(goal)
    return goal


def _last(value: float) -> Change:
    return lambda array: np.put(array, -1, value)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("entry_offsets", lambda a: np.put(a, 1, 2**40)),
        ("entry_offsets", _last(0)),
        ("reading_offsets", lambda a: np.put(a, 1, -5)),
        ("surfaces", _last(10**6)),
        ("surfaces", _last(-1)),
        ("numbers", _last(10**6)),
        ("numbers", _last(-7)),
        ("spellings", _last(np.nan)),
        ("reading_codes", _last(2**30)),
    ],
)
def test_a_converter_that_would_read_elsewhere(converter: Path, tmp_path: Path, name: str, change: Change) -> None:
    folder = _changed(converter, f"{name}.npy", change, tmp_path / "c")
    with pytest.raises(FormatError, match=r"train (the converter|it) again"):
        Converter.load(folder)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("option_offsets", lambda a: np.put(a, 1, 2**40)),
        ("source_offsets", lambda a: np.put(a, 1, 0)),
        ("target_offsets", lambda a: np.put(a, 1, -3)),
        ("targets", _last(10**6)),
        ("source_ids", _last(10**6)),
        ("target_ids", _last(-1)),
        ("features", _last(np.inf)),
    ],
)
def test_a_phrase_table_that_would_read_elsewhere(tmp_path: Path, name: str, change: Change) -> None:
    words = ["a", "b"]
    PhraseTable(
        np.array([0, 1, 2]), np.array([0, 1], np.int32), np.array([0, 1, 2]), np.array([0, 1], np.int32),
        np.zeros((2, 5), np.float32), np.array([0, 1, 2]), np.array([0, 1], np.int32), words, words,
    ).save(tmp_path / "t")  # fmt: skip
    assert PhraseTable.load(tmp_path / "t").look_up(["a"])[0][0] == "a"
    with pytest.raises(FormatError, match=f"{name} must .*; train the table again"):
        PhraseTable.load(_changed(tmp_path / "t", f"{name}.npy", change, tmp_path / "u"))


def test_a_parser_whose_tables_are_not_finite(tmp_path: Path) -> None:
    TINY["parser"].make(tmp_path / "p")
    with pytest.raises(FormatError, match=r"tables\.npy must be finite"):
        Parser.load(_changed(tmp_path / "p", "tables.npy", _last(np.nan), tmp_path / "q"))


def test_a_language_model_whose_children_are_of_another_order(tmp_path: Path) -> None:
    """They rise, begin and end as they should: yet a walk would leave the tree."""
    TINY["lm"].make(tmp_path / "m")
    path = tmp_path / "m" / "model.nlm"
    model, data = load_lm(path), bytearray(path.read_bytes())
    at = bytes(data).index(model.children.tobytes())
    children = np.array(model.children)
    children[1 : int(model.levels[1]) + 1] = model.levels[-1]
    children[int(model.levels[1]) + 1 :] = model.levels[-1]
    data[at : at + children.nbytes] = children.tobytes()
    path.write_bytes(data)
    reseal(tmp_path / "m")
    with pytest.raises(FormatError, match="children must be the n-grams of the next order"):
        load_lm(path)


# manifests and lists of words ---------------------------------------------------------------------------------------


@pytest.fixture
def tagger(tmp_path: Path) -> Path:
    TINY["tagger"].make(tmp_path / "t")
    return tmp_path / "t"


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": None},
        {"settings": [1]},
        {"settings": {"longest": "x"}},
        {"settings": {"weight": None}},
        {"column": ["xpos"]},
        {"files": []},
        {"files": {"tags.txt": 3}},
        {"format": 3},
    ],
)
def test_manifests_of_wrong_types(tagger: Path, changes: dict) -> None:
    manifests.change(tagger, changes)
    with pytest.raises(FormatError) as error:
        Tagger.load(tagger)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("line", ["3", "[", '["a"]', "", "null", "[" * 5000, "9" * 5000])
def test_endings_that_are_no_texts(tagger: Path, line: str) -> None:
    path = tagger / "endings.txt"
    _, *rest = path.read_text().splitlines()
    path.write_text("\n".join([line, *rest, ""]))
    reseal(tagger)
    with pytest.raises(FormatError, match=r"endings\.txt:1: expected an ending as a JSON string"):
        Tagger.load(tagger)


def test_links_do_not_lead_out_of_a_system(tagger: Path, tmp_path: Path) -> None:
    (tagger / "words.txt").rename(tmp_path / "words.txt")
    (tagger / "words.txt").symlink_to(tmp_path / "words.txt")
    with pytest.raises(FormatError, match=r"words\.txt: is a link that leads out of the folder"):
        Tagger.load(tagger)
    (tagger / "words.txt").unlink()
    (tmp_path / "words.txt").rename(tagger / "kept.txt")
    (tagger / "words.txt").symlink_to("kept.txt")
    assert Tagger.load(tagger).tags == ("D", "N", "V", ".")
