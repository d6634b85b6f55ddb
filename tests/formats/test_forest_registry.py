"""Finding the format of forests, reading and writing by name, directories, standard input."""

from __future__ import annotations

import gzip
import io
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nbest.base.errors import CapabilityError, FormatError, ParameterError
from nbest.corpus import Forests, NBest
from nbest.forests.derivations import forests_of
from nbest.formats import (
    FOREST_FORMATS,
    FORMATS,
    format_of_target,
    read,
    read_any,
    read_forests,
    sniff_forests,
    write_forests,
)
from nbest.testing.forests import toy_forests

LISTS = "0 ||| a ||| F= 1 ||| 1\n"
SINGLE = [name for name, format in FOREST_FORMATS.items() if format.single]


def example(name: str) -> str:
    return next(iter(FOREST_FORMATS[name].example.values()))


@pytest.mark.parametrize("name", FOREST_FORMATS)
def test_found_by_contents_whatever_the_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.nbest.xz.gz"
    path.write_bytes(gzip.compress(example(name).encode()))
    forests = read_forests(path)
    assert isinstance(read_any(path), Forests)
    assert forests.edges == FOREST_FORMATS[name].read(path).edges
    with pytest.raises(FormatError, match=rf"holds forests \(format {name}\), not lists; use read_forests"):
        read(path)


def test_lists_are_not_forests(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(LISTS)
    with pytest.raises(FormatError, match=r"holds lists \(format moses\), not forests; use read, and forests_of"):
        read_forests(path)
    corpus = read_any(path)
    assert isinstance(corpus, NBest)
    assert forests_of(corpus).edges == 1
    assert isinstance(read_any(path, "moses", total=True), NBest)


def test_names_of_the_other_family(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(LISTS)
    with pytest.raises(ParameterError, match="format moses is one of lists, not of forests; use read"):
        read_forests(path, "moses")
    with pytest.raises(ParameterError, match="format cdec is one of forests, not of lists; use read_forests"):
        read(path, "cdec")
    with pytest.raises(ParameterError, match=r"unknown format 'cdecs'; known: .*; did you mean 'cdec'\?"):
        read_forests(path, "cdecs")
    with pytest.raises(ParameterError, match=r"format slf has no option 'filler'; known: fillers, floor; did you"):
        read_forests(path, "slf", filler=True)
    with pytest.raises(ParameterError, match=r"format cdec has no option 'n'; it has none"):
        write_forests(toy_forests(), tmp_path / "y", "cdec", n=3)


def test_unknown_contents_list_the_formats(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Some words.\n")
    with pytest.raises(FormatError, match=f"not in a known format; .* one of {', '.join(FOREST_FORMATS)}$"):
        read_forests(path)
    with pytest.raises(FormatError, match=f"one of {', '.join([*FORMATS, *FOREST_FORMATS])}$"):
        read_any(path)
    (tmp_path / "empty").touch()
    with pytest.raises(FormatError, match=r"empty: the file is empty; expected forests"):
        read_forests(tmp_path / "empty")
    with pytest.raises(FormatError, match=r"none: cannot be read"):
        read_forests(tmp_path / "none")
    with pytest.raises(FormatError, match=r"a directory without any file of a known format"):
        read_any(tmp_path)


def test_found_by_suffix_when_the_contents_do_not_tell(tmp_path: Path) -> None:
    path = tmp_path / "a.lat.gz"
    path.write_text("VERSION=1.0\n")
    with pytest.raises(FormatError, match=r"a.lat.gz: N= \(the number of nodes\) is missing"):
        read_forests(path)
    with pytest.raises(FormatError, match=r"N= \(the number of nodes\) is missing"):
        read_any(path)


@pytest.mark.parametrize(
    ("name", "format"),
    [("a", "forests"), ("a.jsonl", "forests"), ("a.json", "cdec"), ("a.travatar", "travatar"), ("1", "forests")],
)
def test_written_by_suffix(tmp_path: Path, name: str, format: str) -> None:
    write_forests(toy_forests(forests=1), tmp_path / name)
    assert sniff_forests(name, (tmp_path / name).read_bytes()) == format


def test_format_of_target() -> None:
    assert format_of_target("a.jsonl.gz") == "jsonl"
    assert format_of_target("a.forests.jsonl") == "forests"
    assert format_of_target("a.slf") == "slf"
    assert format_of_target("a.txt") is None
    assert format_of_target("a.txt", "cdec") == "cdec"
    with pytest.raises(ParameterError, match="unknown format 'x'"):
        format_of_target("a", "x")


def test_standard_input_and_output(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    for name in FOREST_FORMATS:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(example(name).encode())))
        forests = read_forests("-").select([0])
        write_forests(forests, "-", name)
        assert sniff_forests("-", capfdbinary.readouterr().out) == name
    with pytest.raises(CapabilityError, match="cdec holds one forest a file, and these are 2; give a directory"):
        write_forests(toy_forests(forests=2), "-", "cdec")


# one forest a file ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("packed", [False, True])
def test_directories_in_natural_order(tmp_path: Path, name: str, packed: bool) -> None:
    suffix = FOREST_FORMATS[name].suffixes[0] + (".gz" if packed else "")
    for stem in ("u10", "u2", "u1.b", "ü"):
        data = example(name).encode()
        (tmp_path / (stem + suffix)).write_bytes(gzip.compress(data) if packed else data)
    (tmp_path / "README").write_text("no forest")
    (tmp_path / f".hidden{suffix}").write_text("no forest")
    forests = read_any(tmp_path)
    assert forests.ids == ("u1.b", "u2", "u10", "ü")
    assert isinstance(forests, Forests)
    with pytest.raises(FormatError, match=f"holds forests \\(format {name}\\)"):
        read(tmp_path)
    single = read_forests(tmp_path / f"u1.b{suffix}")
    assert single.ids == ("u1.b",)
    assert np.array_equal(forests.select([2]).features, single.features)


def test_files_named_by_numbers(tmp_path: Path) -> None:
    for number in (10, 9):
        (tmp_path / f"{number}.gz").write_bytes(gzip.compress(example("moses-hypergraph").encode()))
    assert read_forests(tmp_path).ids == ("9", "10")
    write_forests(read_forests(tmp_path), tmp_path / "out", "moses-hypergraph")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["10", "9"]


def test_same_segment_in_two_files(tmp_path: Path) -> None:
    for name in ("a.slf", "a.lat"):
        (tmp_path / name).write_text(example("slf"))
    with pytest.raises(FormatError, match=r"a.slf: segment 'a' is already in .*a.lat"):
        read_forests(tmp_path)


def test_bad_file_of_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "1.slf").write_text(example("slf"))
    (tmp_path / "2.slf").write_text(example("slf").replace("E=4", "E=5"))
    with pytest.raises(FormatError, match=r"2.slf:16: an edge leads to node 5, and there are only nodes 0 to 4"):
        read_forests(tmp_path)


@pytest.mark.parametrize("name", SINGLE)
def test_directory_without_such_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match="in this directory; expected one forest a file"):
        read_forests(tmp_path, name)


def test_where_one_forest_goes(tmp_path: Path) -> None:
    one, two = toy_forests(forests=1), toy_forests(forests=2)
    write_forests(one, tmp_path / "file", "cdec")
    assert (tmp_path / "file").is_file()
    write_forests(one, f"{tmp_path}/folder/", "cdec")
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["s0.json"]
    write_forests(two, tmp_path / "deep" / "er", "cdec")
    assert read_forests(tmp_path / "deep" / "er").ids == ("s0", "s1")
    with pytest.raises(CapabilityError, match="cdec holds one forest a file, and these are 2; give a directory"):
        write_forests(two, tmp_path / "file", "cdec")
    with pytest.raises(FormatError, match="cannot be written"):
        write_forests(two, tmp_path / "file" / "below", "cdec")


@pytest.mark.parametrize("bad", ["a/b", "", ".x", "a\nb", "x" * 300])
def test_ids_that_are_no_file_names(tmp_path: Path, bad: str) -> None:
    with pytest.raises(CapabilityError, match="needs ids that can be names of files"):
        write_forests(replace(toy_forests(forests=2), ids=("good", bad)), tmp_path / "x", "cdec")
    assert not (tmp_path / "x").exists()
