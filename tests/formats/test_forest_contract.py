"""The contract of all formats of forests, and of the contract itself: known-bad formats must be found out."""

from __future__ import annotations

import gzip
import random
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from nbest.base.errors import FormatError
from nbest.base.files import read_bytes
from nbest.corpus import Forests
from nbest.formats import FOREST_FORMATS, FORMATS, ForestFormat, sniff_forests
from nbest.formats.forests.jsonl import read_forest_jsonl, write_forest_jsonl
from nbest.formats.forests.slf import read_slf
from nbest.testing import check_forest_format
from nbest.testing.formats import example_files, mutant

ALL = pytest.mark.parametrize("format", FOREST_FORMATS.values(), ids=FOREST_FORMATS)
PIECES = (
    '{ } [ ] " , : = ||| 1e999 NaN null true -1 99999999999999999999 N= L= J=0 I=0 [1] [X,1] base=0 start=1 \\u0000'
)


@ALL
@pytest.mark.parametrize("seed", range(3))
def test_contract(format: ForestFormat, seed: int) -> None:
    check_forest_format(format, cases=400, seed=10 * seed)


@pytest.mark.slow
@ALL
def test_contract_long(format: ForestFormat) -> None:
    check_forest_format(format, cases=20000, seed=1000)


@ALL
def test_noise_gives_only_format_errors(format: ForestFormat) -> None:
    source = random.Random(11)
    example = next(iter(format.example.values())).encode()
    for case in range(600):
        if case % 3 == 0:
            data = source.randbytes(source.randrange(200))
        elif case % 3 == 1:
            data = " ".join(source.choices(PIECES.split(), k=source.randrange(30))).encode()
        else:
            changed = bytearray(mutant(example, source))
            at = source.randrange(len(changed) + 1)
            changed[at : at + source.randrange(5)] = source.choice(PIECES.split()).encode()
            data = bytes(changed)
        with suppress(FormatError):
            format.read("x", data=data)


@ALL
def test_damaged_gzip(format: ForestFormat, tmp_path: Path) -> None:
    path = tmp_path / "x"
    source = random.Random(5)
    packed = gzip.compress(next(iter(format.example.values())).encode())
    for _ in range(100):
        path.write_bytes(mutant(packed, source))
        with suppress(FormatError):
            format.read(path)


@ALL
def test_nested_too_deeply(format: ForestFormat) -> None:
    for text in ("[" * 100000, '{"nodes": ' + "[" * 100000, '{"edges":' * 100000):
        with pytest.raises(FormatError):
            format.read("x", data=text.encode())


@ALL
def test_example_is_sniffed_as_itself_among_all(format: ForestFormat) -> None:
    example = next(iter(format.example.values())).encode()
    assert sniff_forests("-", example) == format.name
    for other in FORMATS.values():
        if not other.directory and (not other.needs or find_spec(other.needs)):
            first = next(iter(example_files(other).values()))
            assert not format.sniff(Path("-"), first), other.name


def test_names_differ() -> None:
    assert not FORMATS.keys() & FOREST_FORMATS.keys()
    assert all(name == format.name for name, format in FOREST_FORMATS.items())


# known-bad formats ----------------------------------------------------------------------------------------------

GOOD = FOREST_FORMATS["forests"]


def _lossy_write(forests: Forests, path: Path) -> None:
    write_forest_jsonl(replace(forests, features=np.round(forests.features, 6)), path)


def _forgetful_write(forests: Forests, path: Path) -> None:
    write_forest_jsonl(forests.select(range(max(1, len(forests) - 1))), path)


def _meddling_write(forests: Forests, path: Path) -> None:
    write_forest_jsonl(forests, path)
    object.__setattr__(forests, "ids", tuple(name.upper() for name in forests.ids))


def _swapping_write(forests: Forests, path: Path) -> None:
    """Target sides read backwards."""
    if forests.symbols is not None and forests.symbol_offsets is not None:
        bounds = zip(forests.symbol_offsets[:-1], forests.symbol_offsets[1:], strict=True)
        rows = [forests.symbols[low:high][::-1] for low, high in bounds]
        forests = replace(forests, symbols=np.concatenate([*rows, np.zeros(0, np.int32)]))
    write_forest_jsonl(forests, path)


def _crashing_read(path: Path, *, data: bytes | None = None) -> Forests:
    try:
        return read_forest_jsonl(path, data=data)
    except FormatError as error:
        raise KeyError("nodes") from error


def _lenient_read(path: Path, *, data: bytes | None = None) -> Forests:
    data = read_bytes(path) if data is None else data
    return read_forest_jsonl(path, data=data.decode("utf-8", "ignore").encode())


def _padding_read(path: Path, *, data: bytes | None = None) -> Forests:
    """Cut short, it takes the links that are there."""
    if path.is_dir():
        return read_slf(path)
    data = read_bytes(path) if data is None else data
    links = sum(line.startswith(b"J=") for line in data.splitlines())
    return read_slf(path, data=data.replace(b"L=6", b"L=%d" % links))


BAD = {
    "lossy": (replace(GOOD, write=_lossy_write), "edges 0 differ|edges 1 differ"),
    "forgetful": (replace(GOOD, write=_forgetful_write), "6 and 5 forests"),
    "meddling": (replace(GOOD, write=_meddling_write), "changed the forests"),
    "swapping": (replace(GOOD, write=_swapping_write), "differ"),
    "crashing": (replace(GOOD, read=_crashing_read), "KeyError and not FormatError"),
    "lenient": (replace(GOOD, read=_lenient_read), "passes"),
    "blind": (replace(GOOD, sniff=lambda path, head: False), "does not know its own"),
    "greedy": (replace(GOOD, sniff=lambda path, head: True), "takes an empty file"),
    "padding": (replace(FOREST_FORMATS["slf"], read=_padding_read), "got other forests"),
    "boastful": (replace(FOREST_FORMATS["cdec"], keeps=FOREST_FORMATS["cdec"].keeps | {"sources"}), "sources differ"),
    "careless": (
        replace(FOREST_FORMATS["moses-hypergraph"], keeps=FOREST_FORMATS["moses-hypergraph"].keeps | {"tails"}),
        "differ",
    ),
    "no example": (replace(GOOD, example={}), "no example"),
}


@pytest.mark.parametrize("name", BAD)
def test_known_bad_formats_are_rejected(name: str) -> None:
    format, message = BAD[name]
    with pytest.raises(AssertionError, match=message):
        check_forest_format(format, cases=50)
