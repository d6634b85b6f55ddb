"""The pool on disk against merge and plain Python."""

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import nbest
from nbest.base.errors import FormatError, ParameterError
from nbest.compute.segments import offsets_of, owners
from nbest.corpus import NBest, Texts
from nbest.loop.keys import keys_of
from nbest.loop.pool import aligned, assemble, new_ones, save_array, save_part
from nbest.metrics import WER
from tests.strategies import text_lists

METRIC = WER()


@st.composite
def rounds(draw, sparse=False):
    """Lists of one to four rounds: ids are missing in some, and candidates are there again."""
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        part = draw(text_lists(segments=4, longest=5))
        part = replace(part, references=tuple((f"a {name} b",) for name in part.ids), sources=part.ids)
        if sparse and draw(st.booleans()):
            names = draw(st.permutations(["x", "y", "日", "z"]))[: draw(st.integers(1, 4))]
            values = draw(st.lists(st.integers(-1, 1), min_size=1, max_size=9))
            rows = np.resize(np.array(values, np.float64), (part.hypotheses, len(names)))
            part = part.with_sparse(names, csr_array(rows))
        parts.append(part.with_metric(METRIC))
    return parts


def saved(folder, parts):
    """The new candidates of each round in a folder of its own, as the loop writes them."""
    folders = []
    for number, part in enumerate(parts):
        keys = keys_of(part)
        mask = new_ones(keys, folders)
        save_part(folder / str(number), part.keep(mask), keys[mask])
        folders.append(folder / str(number))
    return folders


def rows(corpus):
    """All that lists say, as plain Python, sparse features by name and without zeros."""
    found = []
    for h, i in enumerate(owners(corpus.offsets)):
        dense = tuple((corpus.features[h] + 0.0).tolist())
        more = (
            {}
            if corpus.sparse is None
            else dict(zip(corpus.sparse_names, corpus.sparse[[h]].toarray()[0], strict=True))
        )
        extra = tuple(sorted((name, value) for name, value in more.items() if value))
        found.append((corpus.ids[i], corpus.texts[h], dense, extra, tuple(corpus.stats[h].tolist())))
    return found


def check_pool(make, parts, tmp):
    """Whether `make(folders)` is what merging the rounds in memory gives."""
    found = make(saved(tmp, parts))
    expected = nbest.merge(*parts)
    assert found.ids == expected.ids
    assert found.offsets.tolist() == expected.offsets.tolist()
    assert rows(found) == rows(expected)
    assert found.references == expected.references
    assert found.sources == expected.sources


def whole(folders):
    return assemble(folders, METRIC, texts=True)


@given(st.one_of(rounds(), rounds(sparse=True)))
@settings(max_examples=60, deadline=None)
def test_the_pool_equals_merge(parts):
    with TemporaryDirectory() as folder:
        check_pool(whole, parts, Path(folder))


def test_the_check_fails_for_a_broken_pool(tmp_path):
    def part(ids, words, seed):
        values = np.random.default_rng(seed).normal(size=(len(words), 2))
        sizes = np.full(len(ids), len(words) // len(ids))
        lists = NBest(offsets_of(sizes), values, ("f0", "f1"), ids, texts=Texts.of(words))
        return replace(lists, references=tuple(("a b",) for _ in ids), sources=ids).with_metric(METRIC)

    parts = [part(("p", "q"), ["a", "b", "c d", "e"], 1), part(("q", "r"), ["a", "b", "c", "a b"], 2)]
    check_pool(whole, parts, tmp_path / "right")
    for name, broken in {
        "order": lambda folders: whole(folders[::-1]),
        "part": lambda folders: whole(folders[:-1]),
        "stats": lambda folders: replace(whole(folders), stats=whole(folders).stats[::-1]),
    }.items():
        with pytest.raises(AssertionError):
            check_pool(broken, parts, tmp_path / name)


@given(rounds(sparse=True))
@settings(max_examples=60, deadline=None)
def test_new_ones_equal_a_plain_twin(parts):
    with TemporaryDirectory() as name:
        folders = saved(Path(name), parts)
        seen = set()
        for number, part in enumerate(parts):
            expected = []
            for row in rows(part):
                expected.append(row[:4] not in seen)
                seen.add(row[:4])
            assert new_ones(keys_of(part), folders[:number]).tolist() == expected


def one(values, text="a b", name="s", width=1):
    lists = NBest(np.array([0, len(values) // width]), np.reshape(values, (-1, width)), ("f", "g")[:width], (name,))
    return replace(lists, texts=Texts.of([text] * (len(values) // width)))


def test_features_that_differ_by_rounding_count_as_the_same():
    values = np.random.default_rng(1).normal(scale=[[1e-3], [1.0], [1e4]], size=(3, 20_000)).ravel()
    same = keys_of(one(values)) == keys_of(one(values * (1 + 1e-9)))
    assert same.mean() > 0.999  # some lie where rounding turns
    assert keys_of(one([0.0])) == keys_of(one([-0.0]))
    assert (keys_of(one(values)) != keys_of(one(values * (1 + 1e-3)))).all()


def test_segment_text_and_places_of_features_all_count():
    keys = [
        keys_of(one([1.0, 2.0], width=2)),
        keys_of(one([2.0, 1.0], width=2)),
        keys_of(one([1.0, 2.0], "a  b", width=2)),
        keys_of(one([1.0, 2.0], name="t", width=2)),
        keys_of(one([1.0, 2.0], "", "sa b", width=2)),
    ]
    assert len({int(key[0]) for key in keys}) == len(keys)


def test_lists_without_texts_are_refused():
    with pytest.raises(ParameterError, match="no texts"):
        keys_of(replace(one([1.0]), texts=None))


def test_features_are_put_in_the_order_of_the_first_round(tmp_path):
    first = replace(one([1.0, 2.0], width=2), references=(("a",),)).with_metric(METRIC)
    save_part(tmp_path / "1", first, keys_of(first))
    swapped = first.only_features(("g", "f"))
    again = aligned(swapped, tmp_path / "1")
    assert again.feature_names == ("f", "g")
    assert not new_ones(keys_of(again), [tmp_path / "1"]).any()
    assert aligned(first, tmp_path / "1") is first
    with pytest.raises(ParameterError, match="'g' is there before, not now"):
        aligned(first.only_features(("f",)), tmp_path / "1")
    with pytest.raises(ParameterError, match="'h' is there now, not before"):
        aligned(first.with_features(["h"], np.zeros((1, 1))), tmp_path / "1")


def test_a_round_without_anything_new(tmp_path):
    part = replace(one([1.0, 2.0]), references=(("a",),)).with_metric(METRIC)
    folders = saved(tmp_path, [part, part, part])
    assert assemble(folders, METRIC).hypotheses == 2
    assert assemble(folders[1:], METRIC).hypotheses == 0


def damage(path, how):
    if how == "gone":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "cut":
        path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    elif how == "other":
        path.write_bytes(b"\x80something else\n")
    else:
        np.save(path, np.zeros(77))


@pytest.mark.parametrize("how", ["gone", "empty", "cut", "other", "longer"])
def test_damaged_files_are_clear_errors(tmp_path, how):
    lists = replace(one(np.arange(6.0), width=2), references=(("a",),))
    part = lists.with_sparse(["x", "y"], csr_array(np.eye(3, 2))).with_metric(METRIC)
    names = [path.name for path in saved(tmp_path / "whole", [part])[0].iterdir()]
    assert len(names) == 10
    for name in names:
        (folder,) = saved(tmp_path / name, [part])
        if how == "longer" and name == "segments.json":
            (folder / name).write_text(json.dumps({"ids": ["s"]}))
        else:
            damage(folder / name, how)
        if name == "hashes.npy" and how == "longer":
            continue  # any array of keys will do
        with pytest.raises(FormatError, match=name) as raised:
            _use(part, folder)
        assert "remove the folder of its round" in str(raised.value)


def _use(part, folder):
    new_ones(keys_of(part), [folder])
    assemble([folder], METRIC, texts=True)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device"), "No space left on device; make"),
        (OSError("8 requested and 3 written"), "disk full"),
    ],
)
def test_a_full_disk_is_said_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, said: str
) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(FormatError, match=rf"x\.npy: cannot be written: .*{said}"):
        save_array(tmp_path / "x.npy", np.zeros(3))
