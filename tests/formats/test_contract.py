"""The contract of all formats, and of the contract itself: known-bad formats must be found out."""

from __future__ import annotations

import gzip
import json
import random
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nbest.base.errors import FormatError
from nbest.base.files import decode, read_bytes
from nbest.corpus import NBest
from nbest.formats import FORMATS, Format, sniff
from nbest.formats.lists.jsonl import read_jsonl, write_jsonl
from nbest.formats.lists.moses import read_moses
from nbest.testing.formats import check_format, example_files, mutant, put

pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.filterwarnings("ignore::nbest.FormatWarning")]


@pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS)
def test_contract(format: Format) -> None:
    check_format(format, cases=300, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS)
def test_contract_long(format: Format, seed: int) -> None:
    check_format(format, cases=3000, seed=100 + seed)


@pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS)
def test_example_is_sniffed_as_itself_among_all(format: Format, tmp_path: Path) -> None:
    path = put(format, tmp_path, example_files(format))
    assert sniff(path, b"" if format.directory else path.read_bytes()) == format.name
    if not format.directory:  # by its contents alone
        assert sniff("-", path.read_bytes()) == format.name


@pytest.mark.parametrize("format", [f for f in FORMATS.values() if not f.directory], ids=lambda f: f.name)
def test_noise_gives_only_format_errors(format: Format, tmp_path: Path) -> None:
    source = random.Random(11)
    files = example_files(format)
    put(format, tmp_path, files)
    first = next(iter(files.items()))
    path = tmp_path / first[0]
    options = {"n": 2} if format.name == "flat" else {}
    for case in range(300):
        if case % 3 == 0:
            data = source.randbytes(source.randrange(200))
        elif case % 3 == 1:
            data = "".join(
                source.choices('|= \n\t0123456789.-eE{}[]":,abHSPD\r\\uNC', k=source.randrange(300))
            ).encode()
        else:
            data = mutant(gzip.compress(mutant(first[1], source)), source)
        path.write_bytes(data)
        for given in ({}, options):
            with suppress(FormatError):
                format.read(path, **given)


# known-bad formats ----------------------------------------------------------------------------------------------

GOOD = FORMATS["jsonl"]


def _lossy_write(corpus: NBest, path: Path) -> None:
    write_jsonl(replace(corpus, features=np.round(corpus.features, 6)), path)


def _forgetful_write(corpus: NBest, path: Path) -> None:
    mask = np.ones(corpus.hypotheses, bool)
    mask[-1:] = False
    write_jsonl(corpus.keep(mask), path)


def _meddling_write(corpus: NBest, path: Path) -> None:
    write_jsonl(corpus, path)
    object.__setattr__(corpus, "ids", tuple(name.upper() for name in corpus.ids))


def _crashing_read(path: Path, *, data: bytes | None = None) -> NBest:
    try:
        return read_jsonl(path, data=data)
    except FormatError as error:
        raise IndexError("list index out of range") from error


def _lenient_read(path: Path, *, data: bytes | None = None) -> NBest:
    return read_jsonl(path, data=read_bytes(path).decode("utf-8", "ignore").encode())


def _no_crlf_read(path: Path, *, data: bytes | None = None) -> NBest:
    if b"\r" in path.read_bytes():
        raise FormatError(path, 1, "carriage return")
    return read_jsonl(path)


def _padding_read(path: Path, *, data: bytes | None = None) -> NBest:
    """Cut short, it makes up what is missing."""
    data = read_bytes(path)
    for end in range(len(data), 0, -1):
        try:
            read = read_moses(path, data=data[:end])
        except FormatError:
            continue
        return replace(read, ids=tuple(f"{name}!" if end < len(data) else name for name in read.ids))
    raise FormatError(path, None, "the file is empty")


def _as_it_comes_read(path: Path, *, data: bytes | None = None) -> NBest:
    """Segments in the order of the file."""
    read = read_jsonl(path, data=data)
    lines = decode(path, read_bytes(path) if data is None else data).split("\n")
    ids = [str(json.loads(line).get("id", at)) for at, line in enumerate(lines) if line.strip()]
    return read.select([read.ids.index(name) for name in ids])


BAD = {
    "as it comes": (replace(GOOD, read=_as_it_comes_read), "in the order"),
    "lossy": (replace(GOOD, write=_lossy_write), "features differ"),
    "forgetful": (replace(GOOD, write=_forgetful_write), "texts differ"),
    "meddling": (replace(GOOD, write=_meddling_write), "changed the corpus"),
    "crashing": (replace(GOOD, read=_crashing_read), "IndexError and not FormatError"),
    "lenient": (replace(GOOD, read=_lenient_read), "passes"),
    "no CRLF": (replace(GOOD, read=_no_crlf_read), "CRLF is not accepted"),
    "blind": (replace(GOOD, sniff=lambda path, head: False), "does not know its own"),
    "greedy": (replace(GOOD, sniff=lambda path, head: True), "takes an empty file"),
    "prose": (replace(GOOD, sniff=lambda path, head: head != b""), "takes prose"),
    "padding": (replace(FORMATS["moses"], read=_padding_read), "got other lists"),
    "boastful": (replace(FORMATS["moses"], keeps=FORMATS["moses"].keeps | {"references"}), "references differ"),
    "no example": (replace(GOOD, example={}), "no example"),
}


@pytest.mark.parametrize("name", BAD)
def test_known_bad_formats_are_rejected(name: str) -> None:
    format, message = BAD[name]
    with pytest.raises(AssertionError, match=message):
        check_format(format, cases=50)
