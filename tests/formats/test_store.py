"""Stores: what is written comes back exactly, in whatever blocks it came, and what is damaged is refused."""

from __future__ import annotations

import json
import pickle
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array

from nbest.base.errors import CapabilityError, FormatError
from nbest.base.mapped import root_of
from nbest.base.sealed import sealed
from nbest.compute.executors import Serial, using
from nbest.corpus import NBest, Texts
from nbest.corpus.nbest import Origin
from nbest.corpus.operations import merge
from nbest.features import apply_recipes, fit_recipes
from nbest.formats import read, write
from nbest.formats.lists import store_files, store_writer
from nbest.formats.lists.store import read_store, stream_store, write_store, write_store_blocks
from nbest.formats.lists.store_layout import ARRAYS, NAMES
from nbest.metrics import BLEU
from nbest.model.loglinear import LogLinear
from nbest.testing import toy_lists
from nbest.testing.flips import CHANGED, REFUSED, SAME, check_flips
from nbest.testing.stores import make_stores, reseal_stores, use_store


def plain(**options: Any) -> NBest:
    return replace(toy_lists(**options), stats=None, metric=None)


def rich() -> NBest:
    """Everything that lists of a file can have."""
    corpus = plain(seed=3, segments_=25, sparse=True)
    added = apply_recipes(corpus, fit_recipes(corpus, [{"kind": "bins", "bins": 2}]))
    origins = {"first": Origin(-1, 10.0, "length"), "second": Origin(1, None, "")}
    words = Texts.of(f"größer 日本 {h}\u2028\n" if h % 3 else "" for h in range(corpus.hypotheses))
    return replace(
        added,
        origins=origins,
        texts=words,
        answers=Texts.of(f"{h % 5}" * (h % 3) for h in range(corpus.hypotheses)),
        systems=Texts.of("ab"[h % 2] * (h % 4) for h in range(corpus.hypotheses)),
        gains=np.arange(corpus.hypotheses) / 7.0,
        groups=tuple(f"größe {i // 4}" for i in range(len(corpus))),
        positions=np.arange(corpus.hypotheses)[::-1],
    )


def bare() -> NBest:
    return NBest(offsets=np.array([0, 0, 2]), features=np.zeros((2, 0)), feature_names=(), ids=("a", "b"))


CASES = {
    "dense": plain(segments_=40),
    "sparse": plain(segments_=40, sparse=True),
    "rich": rich(),
    "float32": replace(plain(), features=plain().features.astype(np.float32)),
    "without features and texts": bare(),
    "empty lists": bare().keep(np.zeros(2, bool)),
}


@pytest.fixture(params=[1, 3, 4096])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Shards of few segments."""
    monkeypatch.setattr(store_writer, "BLOCK", request.param)
    return request.param


def twin(path: Path) -> dict[str, Any]:
    """A store read in the plainest way, without any of its code."""
    a = {file.stem: np.load(file) for file in path.glob("*.npy")}

    def texts(name: str) -> list[str]:
        bounds = a[f"{name}_bounds"]
        return [a[name][low:high].tobytes().decode() for low, high in pairwise(bounds)]

    return {
        "arrays": a,
        **{name: texts(name) for name in ("id", "text", "source", "reference", "sparse_name") if name in a},
    }


@pytest.mark.parametrize("name", CASES)
def test_everything_comes_back(name: str, small: int, tmp_path: Path) -> None:
    corpus, path = CASES[name], tmp_path / "a.store"
    write_store(corpus, path)
    mapped = read_store(path)
    assert mapped == corpus
    assert type(mapped) is NBest
    assert mapped.features.dtype == corpus.features.dtype
    blocks = list(stream_store(path))
    assert all(len(block) <= small for block in blocks)
    ends = np.cumsum([0, *map(len, blocks)])
    for block, low, high in zip(blocks, ends[:-1], ends[1:], strict=True):
        assert block == corpus.between(low, high)
        assert root_of(block.features) is None
    assert read(path) == corpus


@pytest.mark.parametrize("name", CASES)
def test_the_files_are_those_that_numpy_reads(name: str, small: int, tmp_path: Path) -> None:
    corpus, path = CASES[name], tmp_path / "a.store"
    write_store(corpus, path)
    found = twin(path)
    assert found["id"] == list(corpus.ids)
    assert found["arrays"]["offsets"].tolist() == corpus.offsets.tolist()
    if corpus.texts is not None:
        assert found["text"] == list(corpus.texts)
    if corpus.feature_names:
        assert found["arrays"]["features"].tobytes() == corpus.features.tobytes()
    if corpus.references is not None:
        groups = found["arrays"]["reference_offsets"]
        assert [tuple(found["reference"][a:b]) for a, b in pairwise(groups)] == list(corpus.references)
    if corpus.sparse is not None:
        assert found["sparse_name"] == list(corpus.sparse_names)
        dense, bounds = np.zeros(corpus.sparse.shape), found["arrays"]["sparse_bounds"]
        for h, (low, high) in enumerate(pairwise(bounds)):
            for column, value in zip(
                *(found["arrays"][f"sparse_{x}"][low:high] for x in ("columns", "values")), strict=True
            ):
                dense[h, column] += value
        assert np.array_equal(dense, corpus.sparse.toarray())


def cut(corpus: NBest, *sizes: int) -> Iterator[NBest]:
    ends = np.cumsum([0, *sizes])
    for low, high in pairwise([*ends, len(corpus)]):
        yield pickle.loads(pickle.dumps(corpus.between(low, high)))  # as if each had been read by itself


@pytest.mark.parametrize("sizes", [(), (1,), (5, 1, 0, 7), (2,) * 12])
@pytest.mark.parametrize("name", ["dense", "sparse", "rich"])
def test_blocks_of_any_size_make_the_same_store(name: str, sizes: tuple[int, ...], small: int, tmp_path: Path) -> None:
    write_store(CASES[name], tmp_path / "whole.store")
    write_store_blocks(cut(CASES[name], *sizes), tmp_path / "blocks.store")
    first, second = (
        {file.name: file.read_bytes() for file in (tmp_path / f"{each}.store").iterdir()}
        for each in ("whole", "blocks")
    )
    assert first == second


def test_large_lists_make_small_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_writer, "SHARD", 2000)
    corpus = plain(segments_=200)
    write_store(corpus, tmp_path / "a.store")
    sizes = [block.hypotheses * 40 for block in stream_store(tmp_path / "a.store")]
    assert len(sizes) > 5
    assert max(sizes) < 2500
    assert read(tmp_path / "a.store") == corpus


def part(ids: str, sparse: dict[str, float] | None = None, **fields: Any) -> NBest:
    """One hypothesis for each id."""
    count, names = len(ids), tuple(sparse or ())
    rows = np.arange(count).repeat(len(names)), np.tile(np.arange(len(names)), count)
    matrix = coo_array((np.tile([*(sparse or {}).values()], count), rows), shape=(count, len(names))).tocsr()
    given = {"sparse": matrix, "sparse_names": names} if names else {}
    features = np.arange(count, dtype=np.float64)[:, None]
    values: dict[str, Any] = {"offsets": np.arange(count + 1), "features": features, "feature_names": ("f",)}
    return NBest(**(values | {"ids": tuple(ids), "texts": Texts.of(ids)} | given | fields))


def test_names_grow_and_may_come_late(small: int, tmp_path: Path) -> None:
    blocks = [part("abcd"), part("ef", {"x": 1.0, "y": 2.0}), part("g"), part("hi", {"z": 3.0, "x": 4.0})]
    write_store_blocks(iter(blocks), tmp_path / "a.store")
    found = read(tmp_path / "a.store")
    assert found.sparse_names == ("x", "y", "z")
    want = [[0, 0, 0]] * 4 + [[1, 2, 0]] * 2 + [[0, 0, 0]] + [[4, 0, 3]] * 2
    assert found.sparse is not None
    assert found.sparse.toarray().tolist() == want
    assert [block.sparse_names for block in stream_store(tmp_path / "a.store")][-1] == ("x", "y", "z")


def test_places_in_the_file_may_come_late(small: int, tmp_path: Path) -> None:
    write_store_blocks(iter([part("abc"), part("de", positions=np.array([4, 3])), part("f")]), tmp_path / "a.store")
    positions = read(tmp_path / "a.store").positions
    assert positions is not None
    assert positions.tolist() == [0, 1, 2, 4, 3, 5]


def test_numbered_segments_are_put_in_order(small: int, tmp_path: Path) -> None:
    write_store_blocks(iter([part("31"), part("20")]), tmp_path / "a.store")
    found = read(tmp_path / "a.store")
    assert (found.ids, found.texts) == (("0", "1", "2", "3"), Texts.of("0123"))
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([part("ab"), part("ca")], "segment 'a' comes twice"),
        ([part("ab"), part("c", feature_names=("g",))], "from segment 'c' on the lists have other features: 'f'"),
        ([part("ab"), part("c", references=(("r",),))], "segment 'c' has references, and segments before have not"),
        ([part("ab", sources=("s", "t")), part("c")], "segment 'c' has no a source"),
        ([part("ab"), part("c", texts=None)], "segment 'c' has no texts, and segments before have"),
        ([part("ab"), part("c", recipes=({"kind": "x"},))], "from segment 'c' on features were added by other recipes"),
    ],
)
def test_blocks_that_do_not_fit(blocks: list[NBest], message: str, tmp_path: Path) -> None:
    write(part("z"), tmp_path / "a.store")
    with pytest.raises(CapabilityError, match=message):
        write_store_blocks(iter(blocks), tmp_path / "a.store")
    assert read(tmp_path / "a.store").ids == ("z",)  # the old one stays
    assert [file.name for file in tmp_path.iterdir()] == ["a.store"]


def test_only_a_store_is_replaced(tmp_path: Path) -> None:
    write(part("a"), tmp_path / "a.store")
    write(part("b"), tmp_path / "a.store")
    assert read(tmp_path / "a.store").ids == ("b",)
    (tmp_path / "b.store").mkdir()
    (tmp_path / "b.store" / "precious.txt").write_text("x")
    with pytest.raises(FormatError, match="is there and is no store"):
        write(part("a"), tmp_path / "b.store")
    (tmp_path / "c.store").write_text("x")
    with pytest.raises(FormatError, match="is a file"):
        write(part("a"), tmp_path / "c.store")
    for place in ("-", tmp_path / "d.store.gz"):
        with pytest.raises(FormatError, match="a store is a directory, which is neither piped nor packed"):
            write(part("a"), place, "store")


# mapping --------------------------------------------------------------------------------------------------------


def test_lists_are_mapped_and_so_are_parts(tmp_path: Path) -> None:
    corpus = plain(segments_=50, sparse=True)
    write(corpus, tmp_path / "a.store")
    mapped = read(tmp_path / "a.store")
    for lists in (mapped, mapped.between(10, 30), mapped.shards(7)[3], replace(mapped)):
        assert lists.texts is not None
        assert lists.sparse is not None
        for array in (lists.features, lists.texts.buffer, lists.texts.starts, lists.sparse.data, lists.sparse.indices):
            assert root_of(array) is not None
    assert pickle.loads(pickle.dumps(mapped)) == corpus


def test_a_mapped_store_outlives_its_folder(tmp_path: Path) -> None:
    corpus = plain(segments_=50)
    write(corpus, tmp_path / "a.store")
    mapped, stream = read_store(tmp_path / "a.store", check=False), stream_store(tmp_path / "a.store")
    write(part("a"), tmp_path / "a.store")
    assert mapped == corpus
    assert next(stream) == corpus


# damage ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of several shards, of 16 segments."""
    monkeypatch.setattr(store_writer, "BLOCK", 16)
    lists = plain(segments_=50, sparse=True)
    write(replace(lists, positions=np.arange(lists.hypotheses)), tmp_path / "a.store")
    return tmp_path / "a.store"


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("text", lambda lists: lists.with_metric(BLEU())),
        ("features", lambda lists: lists.only_features(["first"])),
        ("features", lambda lists: lists.with_features(["more"], np.zeros(lists.hypotheses))),
        ("features", lambda lists: lists.select([49])),
        ("features", lambda lists: lists.column("first")),
        ("features", lambda lists: LogLinear({"first": 1.0, "second": 1.0}).scores(lists)),
        ("features", lambda lists: merge(lists, plain(segments_=50))),
        ("sparse_values", lambda lists: lists.sparse.sum()),
        ("positions", lambda lists: lists.positions.sum()),
    ],
)
def test_nothing_is_done_with_a_damaged_store(name: str, use: Callable[[NBest], object], large: Path) -> None:
    use(read(large))
    flip(large / f"{name}.npy", -1)
    message = rf"{name}.npy: is damaged: segments 48 to 49 have another sha256; convert"
    for check in (None, True):
        with pytest.raises(FormatError, match=message):
            use(read_store(large, check=check))
    read_store(large, check=False)
    blocks = stream_store(large)
    assert [len(next(blocks)) for _ in range(3)] == [16, 16, 16]
    with pytest.raises(FormatError, match="segments 48 to 49"):
        next(blocks)


def test_sums_are_compared_once(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[int] = []
    load = store_files.Store.load
    monkeypatch.setattr(store_files.Store, "load", lambda self, n: (loaded.append(n), load(self, n))[1])
    mapped = read(large)
    assert sorted(loaded) == [0, 1, 2, 3]
    mapped.with_metric(BLEU()).shards()
    assert len(loaded) == 4
    read_store(large, check=False)
    assert len(loaded) == 4


def test_no_shard_is_kept_when_sums_are_compared(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[weakref.ref[Any]] = []
    load = store_files.Store.load

    def watched(self: store_files.Store, number: int) -> dict[str, Any]:
        found = load(self, number)
        assert all(before() is None for before in alive)
        alive.append(weakref.ref(found["features"]))
        return found

    monkeypatch.setattr(store_files.Store, "load", watched)
    with using(Serial()):
        read(large)
    assert len(alive) == 4


@pytest.mark.parametrize("what", ["cut", "longer", "gone", "link", "other numbers"])
def test_files_of_another_size_are_refused_at_once(what: str, large: Path) -> None:
    path = large / "features.npy"
    data = path.read_bytes()
    if what in ("cut", "longer"):
        path.write_bytes(data[:-8] if what == "cut" else data + bytes(8))
    elif what == "other numbers":
        np.save(path, np.zeros(np.load(path).shape, np.int64))
    else:
        path.unlink()
    if what == "link":
        (large.parent / "elsewhere").write_bytes(data)
        path.symlink_to(large.parent / "elsewhere")
    for way in (read, stream_store):
        with pytest.raises(FormatError):
            way(large)


def test_a_manifest_that_lies_is_refused(large: Path) -> None:
    path = large / "manifest.json"
    whole = json.loads(path.read_text())
    for change in (
        {"segments": 49},
        {"segments": True},
        {"format": "nbest-store/2"},
        {"feature_names": ["a"]},
        {"shards": whole["shards"][1:]},
        {"shards": None},
        {"files": {}},
        {"origins": {"first": [2, 1, ""]}},
        {"origins": {"first": [1, 10**400, ""]}},
    ):
        path.write_text(json.dumps({key: value for key, value in (whole | change).items() if key != "sha256"}))
        with pytest.raises(FormatError):
            read(large)


def unlist(path: Path, *names: str) -> None:
    """Take arrays out of the manifest of a store, whose sums stay right."""
    content = json.loads((path / "manifest.json").read_text())
    for name in names:
        del content["files"][f"{name}.npy"]
        for shard in content["shards"]:
            shard["sha256"].pop(name, None)
    del content["sha256"]
    (path / "manifest.json").write_text(json.dumps(sealed(content)))


@pytest.mark.parametrize("name", [name for name in ARRAYS | NAMES if name not in ("positions", "gains")])
def test_arrays_that_belong_together_are_all_there(name: str, tmp_path: Path) -> None:
    write(replace(rich(), sources=tuple("abc" for _ in rich().ids)), tmp_path / "a.store")
    unlist(tmp_path / "a.store", name)
    for way in (read, lambda path: list(stream_store(path))):
        with pytest.raises(FormatError):
            way(tmp_path / "a.store")


def test_names_of_sparse_columns_are_there(tmp_path: Path) -> None:
    write(rich(), tmp_path / "a.store")
    unlist(tmp_path / "a.store", *NAMES)
    with pytest.raises(FormatError, match=r"does not list sparse_name_bounds.npy"):
        read(tmp_path / "a.store")
    write(rich(), tmp_path / "a.store")
    unlist(tmp_path / "a.store", *NAMES, "sparse_bounds", "sparse_columns", "sparse_values")
    assert read(tmp_path / "a.store").sparse is None


@pytest.mark.parametrize("name", [name for name, array in (ARRAYS | NAMES).items() if array.into])
def test_bounds_that_rise_only_where_differences_overflow(name: str, tmp_path: Path) -> None:
    """Going up by 2**63 - 1 twice and by 2 is where it began: every difference is positive."""
    path = tmp_path / "a.store"
    write(replace(rich(), sources=tuple("abc" for _ in rich().ids)), path)
    bounds = np.load(path / f"{name}.npy")
    bounds[1:4] = 2**63 - 1, -2, 0
    assert (np.diff(bounds) >= 0).all()
    np.save(path / f"{name}.npy", bounds)
    reseal_stores(tmp_path)
    for way in (read, partial(read_store, check=False), lambda path: list(stream_store(path))):
        with pytest.raises(FormatError, match="rise from 0"):
            way(path)


@pytest.mark.parametrize("resealed", [False, True])
def test_flipped_bits(resealed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_stores(tmp_path / "stores")

    def use(folder: Path) -> list[Any]:
        return [use_store(each) for each in sorted(folder.iterdir())]

    if resealed:
        monkeypatch.setattr("nbest.testing.flips.reseal", reseal_stores)
    found = check_flips(tmp_path / "stores", use, flips=150, resealed=resealed)
    assert found.only(*((REFUSED, SAME, CHANGED) if resealed else (REFUSED, SAME))), found.odd
    assert found.counts[REFUSED] > 50 or resealed
