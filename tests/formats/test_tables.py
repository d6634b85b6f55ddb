"""Tables of Parquet and Arrow, one hypothesis a row: against jsonl, as others write them, and what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from nbest.base.errors import CapabilityError, FormatError
from nbest.cli.main import main
from nbest.corpus import NBest, Texts
from nbest.corpus.operations import join
from nbest.formats import read, write, write_blocks
from nbest.formats.lists.known import KnownNames
from nbest.formats.streams import in_blocks
from nbest.testing import toy_lists

NAMES = {"parquet": ".parquet", "arrow": ".feather"}
BOTH = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Path]:
    """Writes a table with pyarrow alone."""

    def make(name: str, columns: Any, **options: Any) -> Path:
        pa = pytest.importorskip("pyarrow")
        path = tmp_path / f"other{NAMES[name]}"
        made = columns if isinstance(columns, pa.Table) else pa.table(columns)
        if name == "parquet":
            from pyarrow import parquet

            parquet.write_table(made, path, **options)
        else:
            from pyarrow import feather

            feather.write_feather(made, str(path), **options)
        return path

    return make


def complaint(path: Path) -> str:
    with pytest.raises(FormatError) as caught:
        read(path)
    with pytest.raises(FormatError) as streamed:
        in_blocks(path, list)
    assert str(streamed.value) == str(caught.value)
    return str(caught.value).removeprefix(f"{path}: ")


@BOTH
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("single", [False, True])
def test_the_same_as_by_jsonl(name: str, sparse: bool, single: bool, tmp_path: Path) -> None:
    corpus = toy_lists(3, sparse=sparse)
    corpus = replace(corpus, features=corpus.features.astype(np.float32)) if single else corpus
    write(corpus, tmp_path / "lists.jsonl")
    write(corpus, tmp_path / f"lists{NAMES[name]}")
    found, expected = read(tmp_path / f"lists{NAMES[name]}"), read(tmp_path / "lists.jsonl")
    assert found.features.dtype == corpus.features.dtype
    assert replace(found, features=found.features.astype(np.float64)) == expected


@BOTH
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 1000])
def test_segments_go_over_the_ends_of_batches(
    name: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbest.formats.lists.table_files.BATCH", rows)
    corpus = toy_lists(4, sparse=True)
    path = tmp_path / f"lists{NAMES[name]}"
    write_blocks([corpus.between(0, 3), corpus.between(3, 4), corpus.between(4, len(corpus))], path)
    told: list[tuple[int, int]] = []
    streamed = in_blocks(path, list, progress=lambda *call: told.append(call))
    assert told[-1][0] == told[-1][1]
    assert (len(streamed) > 2) == (rows < 1000 or name == "arrow")
    assert join(streamed) == read(path)
    write(corpus, tmp_path / "lists.jsonl")
    assert read(path) == read(tmp_path / "lists.jsonl")


@BOTH
def test_a_table_as_others_write_it(name: str, table: Callable[..., Path]) -> None:
    pa = pytest.importorskip("pyarrow")
    columns = {
        "rank": pa.array([1, 2, 1], pa.int8()),
        "id": pa.array(["b", "b", "a"]).dictionary_encode(),
        "references": pa.array(["x y", "x y", "z"], pa.large_string()),
        "text": pa.array(["x y", "x", ""], pa.large_string()),
        "lm": pa.array([-1.5, -2.25, 0.0], pa.float32()),
        "when": pa.array(["now", None, "then"]),
        "kept": pa.array([True, False, True]),
        "gain": pa.array([1, 0, -2], pa.int8()),
        "answer": pa.array(["x", None, "y"]),
        "doc": pa.array([3, 3, 4]),
        "system": pa.array(["s", "t", None]),
    }
    corpus = read(table(name, columns))
    assert corpus.ids == ("b", "a")
    assert corpus.feature_names == ("rank", "lm", "kept")
    assert corpus.features.tolist() == [[1, -1.5, 1], [2, -2.25, 0], [1, 0, 1]]
    assert corpus.gains is not None
    assert corpus.gains.tolist() == [1, 0, -2]
    assert list(corpus.answers or ()) == ["x", "", "y"]
    assert corpus.groups == ("3", "4")
    assert list(corpus.systems or ()) == ["s", "t", ""]
    assert list(corpus.texts or ()) == ["x y", "x", ""]
    assert corpus.references == (("x y",), ("z",))


@BOTH
def test_numbered_segments_stand_in_order_and_empty_lists_stay(name: str, table: Callable[..., Path]) -> None:
    columns = {"id": [10, 2, 2, 7], "text": ["a", "b", "c", None], "f": [1.0, 2.0, 3.0, None]}
    corpus = read(table(name, columns))
    assert corpus.ids == ("2", "7", "10")
    assert corpus.lengths.tolist() == [2, 0, 1]
    assert corpus.features.ravel().tolist() == [2.0, 3.0, 1.0]
    assert corpus.positions is not None
    assert corpus.positions.tolist() == [1, 2, 0]


REFS = "'references' differs from that of the row before, of the same segment"
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "twice": (
        {"id": ["a", "a", "b", "a"], "text": list("wxyz")},
        "row 4: segment 'a' was there before; the rows of a segment must stand together",
    ),
    "no id": ({"sentence": ["a"], "text": ["x"]}, "the column 'id' is missing; it says which segment a row belongs to"),
    "null id": ({"id": ["a", None]}, "row 2: 'id' is null"),
    "odd id": ({"id": [1.5]}, "the column 'id' must hold strings or whole numbers, got double"),
    "null feature": ({"id": ["a", "b"], "text": ["x", "y"], "f": [1.0, None]}, "row 2: 'f' is null"),
    "null text": ({"id": ["a", "b"], "text": ["x", None], "f": [1.0, 2.0]}, "row 2: 'text' is null"),
    "nan": ({"id": ["a", "b"], "f": [1.0, float("nan")]}, "row 2: feature 'f' must be a finite number, got nan"),
    "source": (
        {"id": ["a", "a"], "text": ["x", "y"], "source": ["u", "v"]},
        "row 2: 'source' differs from that of the row before, of the same segment",
    ),
    "more references": ({"id": ["a", "a"], "f": [1, 2], "references": [["u"], ["u", "v"]]}, f"row 2: {REFS}"),
    "references": (
        {"id": ["b", "a", "a"], "f": [0, 1, 2], "references": [["q"], ["u", "w"], ["u", "v"]]},
        f"row 3: {REFS}",
    ),
    "no references": ({"id": ["a", "b"], "f": [1, 2], "references": [["u"], []]}, "row 2: no 'references'"),
    "null within": ({"id": ["a", "b"], "f": [1, 2], "references": [["u"], [None]]}, "row 2: 'references' is null"),
    "misspelt": (
        {"id": ["a"], "text": ["x"], "refrences": ["y"]},
        "unknown key 'refrences'; did you mean 'references'?",
    ),
    "nested": (
        {"id": ["a"], "text": [["x", "y"]]},
        "the column 'text' holds lists, one segment a row; expected one hypothesis a row: unnest it first",
    ),
    "segments": (
        {"id": ["a"], "hypotheses": [[{"text": "x"}]]},
        "the column 'hypotheses' holds lists, one segment a row; expected one hypothesis a row: unnest it first",
    ),
    "numbers": ({"id": ["a"], "text": [1]}, "the column 'text' must hold strings, got int64"),
    "empty and not": (
        {"id": ["a", "a"], "text": ["x", None]},
        "row 2: all is null, as for a segment without hypotheses, which has other rows",
    ),
    "nothing": ({"id": [], "text": []}, "no hypotheses in it; expected at least one segment"),
}


@BOTH
@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_with_its_row(name: str, what: str, table: Callable[..., Path]) -> None:
    pa = pytest.importorskip("pyarrow")
    columns, message = WRONG[what]
    columns = {key: values or pa.array(values, pa.string()) for key, values in columns.items()}
    path = table(name, columns)
    assert complaint(path) == message


@BOTH
@pytest.mark.parametrize("again", [3, 69_990])
def test_a_segment_that_returns_is_found_among_many(
    name: str, again: int, table: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbest.formats.lists.table_files.BATCH", 10_000)
    ids = [f"s{number}" for number in range(70_000)]
    path = table(name, {"id": [*ids, "new", f"s{again}", "new"]})
    assert complaint(path).startswith(f"row 70002: segment 's{again}' was there before")


def test_known_names_are_those_of_a_set_in_a_fraction_of_its_memory() -> None:
    known, plain = KnownNames(), set[str]()
    draws = np.random.default_rng(0).permutation(400_000)
    for low in range(0, 300_000, 1000):
        names = tuple(map(str, draws[low : low + 1000]))
        assert known.add(names)
        plain.update(names)
    assert not any(known.add((str(each),)) for each in draws[:300_000:170])
    assert known.add(tuple(map(str, draws[300_000:])))
    taken = known.older.nbytes + sys.getsizeof(known.newer) + 32 * len(known.newer)
    assert taken < (sys.getsizeof(plain) + sum(map(sys.getsizeof, plain))) / 2


@BOTH
def test_sparse_features_must_be_finite_and_others_than_the_dense_ones(name: str, table: Callable[..., Path]) -> None:
    pa = pytest.importorskip("pyarrow")
    kind = pa.map_(pa.string(), pa.float64())

    def made(*rows: dict[str, float] | None) -> Path:
        maps = pa.array([None if row is None else list(row.items()) for row in rows], kind)
        return table(name, {"id": ["a"] * len(rows), "f": [0.5] * len(rows), "sparse": maps})

    corpus = read(made({}, {"x": 1.0, "y": 2.0}, None, {"y": -1.0}))
    assert corpus.sparse_names == ("x", "y")
    assert corpus.sparse is not None
    assert corpus.sparse.toarray().tolist() == [[0, 0], [1, 2], [0, 0], [0, -1]]
    assert complaint(made({"x": 1.0}, {"y": np.inf})) == "row 2: feature 'y' must be a finite number, got inf"
    assert complaint(made({"f": 1.0})) == "feature 'f' is both dense and sparse"


@BOTH
def test_a_feature_cannot_have_the_name_of_a_column(name: str, tmp_path: Path) -> None:
    corpus = NBest(np.array([0, 1]), np.ones((1, 1)), ("text",), ("a",))
    with pytest.raises(CapabilityError, match="has a column 'text' of its own; rename the feature"):
        write(corpus, tmp_path / f"lists{NAMES[name]}")
    assert not list(tmp_path.iterdir())


@BOTH
def test_blocks_with_other_columns_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(CapabilityError, match=r"the same columns in all rows, and those of segment .* write jsonl"):
        write_blocks([toy_lists(1), toy_lists(2).only_features([])], tmp_path / f"lists{NAMES[name]}")
    with pytest.raises(CapabilityError, match="holds at least one segment, and there is none to write"):
        write_blocks([], tmp_path / f"lists{NAMES[name]}")
    assert not list(tmp_path.iterdir())


@BOTH
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0), (1, 1, 1), (1, 1, 2, 0)])
def test_it_does_not_matter_which_block_is_the_first(name: str, order: tuple[int, ...], tmp_path: Path) -> None:
    none = Texts(np.zeros(0, np.uint8), np.zeros(0, int), np.zeros(0, int))
    empty = NBest(np.zeros(3, int), np.zeros((0, 0)), (), ("u", "v"), texts=none, references=(("r",), ("s",)))
    plain, sparse = _without_sources(toy_lists(1)), _without_sources(toy_lists(2, sparse=True))
    blocks = []
    for number, kind in enumerate(order):
        block = (plain, empty, sparse)[kind]
        blocks.append(replace(block, ids=tuple(f"{number}{each}" for each in block.ids)))
    path = tmp_path / f"lists{NAMES[name]}"
    write_blocks(blocks, path)
    write_blocks(blocks, tmp_path / "lists.jsonl")
    assert read(path) == read(tmp_path / "lists.jsonl")
    found = join(in_blocks(path, list))
    assert found.ids == tuple(each for block in blocks for each in block.ids)
    assert found.lengths.tolist() == [length for block in blocks for length in block.lengths.tolist()]


def _without_sources(corpus: NBest) -> NBest:
    return replace(corpus, sources=None)


@BOTH
def test_hypotheses_without_anything_stay_beside_sparse_ones(name: str, tmp_path: Path) -> None:
    bare = NBest(np.array([0, 1, 3]), np.zeros((3, 0)), (), ("a", "b"))
    entries = csr_array(np.array([[2.0]]))
    blocks = [bare, NBest(np.array([0, 1]), np.zeros((1, 0)), (), ("c",), sparse=entries, sparse_names=("x",))]
    write_blocks(blocks, tmp_path / f"lists{NAMES[name]}")
    assert read(tmp_path / f"lists{NAMES[name]}").lengths.tolist() == [1, 2, 1]


@BOTH
def test_one_block_without_sparse_features_has_no_column_for_them(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from nbest.formats.lists.table_writer import table_of

    assert "sparse" not in table_of(toy_lists(1), name).column_names
    assert "sparse" in table_of(toy_lists(1), name, sparse=True).column_names


def test_without_pyarrow_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    for work in (lambda: read(tmp_path / "a.parquet"), lambda: write(toy_lists(), tmp_path / "b.feather")):
        with pytest.raises(
            CapabilityError, match=r"needs pyarrow, which is not installed: pip install 'nbest\[arrow\]'"
        ):
            work()


@BOTH
def test_commands_take_and_write_them(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(toy_lists(1), "dev.jsonl")
    dev = f"dev{NAMES[name]}"
    assert main(["convert", "dev.jsonl", dev, "-q"]) == 0
    assert main(["convert", dev, "again.jsonl", "-q"]) == 0
    assert Path("again.jsonl").read_bytes() == Path("dev.jsonl").read_bytes()
    for lists in ("dev.jsonl", dev):
        assert main(["tune", lists, "--metric", "wer", "--method", "mert", "-o", f"{lists}.model", "-q"]) == 0
        assert main(["rerank", lists, "--model", f"{lists}.model", "-o", f"{lists}.out", "-q"]) == 0
    assert Path(f"{dev}.out").read_bytes() == Path("dev.jsonl.out").read_bytes()


@BOTH
@pytest.mark.parametrize("group", [2000, 40000])
def test_of_a_file_one_batch_is_in_memory(
    name: str, group: int, table: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pa = pytest.importorskip("pyarrow")
    rows = 40000
    texts = [f"{number:0300d}" for number in range(rows)]
    columns = {"id": np.arange(rows) // 10, "text": texts}
    plain = {"compression": "none", "use_dictionary": False, "row_group_size": group}
    plain = plain if name == "parquet" else {"compression": "uncompressed", "chunksize": group}
    path = table(name, columns, **plain)
    monkeypatch.setattr("nbest.formats.lists.table_files.BATCH", 1000)
    monkeypatch.setattr("nbest.formats.lists.parquet.BUFFER", 1 << 16)
    usual = pa.default_memory_pool()
    counted = pa.proxy_memory_pool(usual)  # knows its peak, and only what is taken from now on
    pa.set_memory_pool(counted)
    try:
        found = in_blocks(path, lambda blocks: sum(block.hypotheses for block in blocks))
        peak = counted.max_memory()
    finally:
        pa.set_memory_pool(usual)
    assert found == rows
    assert peak < path.stat().st_size / 3


@BOTH
def test_numbers_in_dictionaries_are_features(name: str, table: Callable[..., Path]) -> None:
    pa = pytest.importorskip("pyarrow")
    columns = {"id": ["a", "a", "b"], "tm": pa.array([7, 7, -2], pa.int32()), "lm": pa.array([0.5, 1.5, 0.5])}
    plain = read(table(name, columns))
    encoded = {key: values if key == "id" else values.dictionary_encode() for key, values in columns.items()}
    assert read(table(name, encoded)) == plain
    assert plain.features.tolist() == [[7, 0.5], [7, 1.5], [-2, 0.5]]
    if name == "arrow":  # pyarrow does not write this as Parquet
        missing = pa.DictionaryArray.from_arrays([0, 1, 0], pa.array([0.5, None]))
        path = table(name, {"id": ["a", "a", "b"], "text": list("xyz"), "tm": missing})
        assert complaint(path) == "row 2: 'tm' is null"


@BOTH
def test_of_a_table_without_rows_nothing_is_made(name: str, table: Callable[..., Path], capsys: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    path = table(name, {"id": pa.array([], pa.string()), "f": pa.array([], pa.float64())})
    for goal in ("out.store", "out.parquet", "out.jsonl"):
        assert main(["convert", str(path), str(path.parent / goal), "-q"]) == 2
        assert "no hypotheses in it; expected at least one segment" in capsys.readouterr().err
    assert main(["inspect", str(path), "-q"]) == 2
    assert list(path.parent.iterdir()) == [path]


@BOTH
def test_an_index_of_labels_is_left_alone_and_nulls_are_refused(name: str, table: Callable[..., Path]) -> None:
    pa = pytest.importorskip("pyarrow")
    columns = {"id": ["a", "a"], "text": ["x", "y"], "index": ["r1", "r0"]}
    assert list(read(table(name, columns)).texts or ()) == ["x", "y"]
    assert complaint(table(name, columns | {"index": pa.array([1, None])})) == "row 2: 'index' is null"


@BOTH
def test_samples_are_places_as_in_other_tables(name: str, table: Callable[..., Path]) -> None:
    columns = {"id": ["u", "u"], "sample": [1, 0], "text": ["B", "A"], "lm": [1.0, 2.0]}
    lists = read(table(name, columns))
    assert list(lists.texts or ()) == ["A", "B"]
    assert lists.feature_names == ("lm",)
    same = read(table(name, columns | {"sample": [8, 8]}))  # no places
    assert same.feature_names == ("sample", "lm")
