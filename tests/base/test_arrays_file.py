"""Array files: what NumPy writes comes back, and what is damaged or claims too much is our own error."""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from nbest.base.arrays_file import map_array, read_array, read_npz
from nbest.base.errors import FormatError

ARRAYS = (
    np.zeros(()),
    np.zeros(0),
    np.zeros((0, 5), np.float32),
    np.arange(5),
    np.arange(6, dtype=">i4").reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.array(["a", "bcd"]),
    np.array([True, False]),
)


def npy(array: np.ndarray, version: tuple[int, int] = (1, 0)) -> bytes:
    """The bytes of an .npy file."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version, allow_pickle=True)
    return file.getvalue()


def with_header(header: str, body: bytes = b"") -> bytes:
    """An .npy file with a header of our own."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_what_numpy_writes_comes_back(array, version, tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(npy(array, version))
    for got in (read_array(path, path.read_bytes()), map_array(path)):
        assert got.dtype == array.dtype
        assert got.shape == array.shape
        assert np.array_equal(got, array)


def test_a_mapped_array_is_read_only(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(3))
    with pytest.raises(ValueError, match="read-only"):
        map_array(tmp_path / "a.npy")[0] = 1


HOSTILE = {
    "objects": npy(np.array([{}, []], object)),
    "records": npy(np.zeros(2, [("a", "<i4"), ("b", "<f8")])),
    "many": with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000,), }", b"\0" * 80),
    "overflow": with_header(
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387905, 4), }", b"\0" * 32
    ),
    "empty": with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 100000000000), }"),
    "negative": with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", b"\0" * 8),
    "unclosed": with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), ", b"\0" * 8),
    "code": with_header("{'descr': ().__class__, 'fortran_order': False, 'shape': (1,), }", b"\0" * 8),
    "nested": with_header("(" * 5000, b""),
    "digits": with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",), }", b"\0" * 8),
    "axes": with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (" + "1, " * 70 + "), }", b"\0" * 8),
    "no size": with_header("{'descr': '<U0', 'fortran_order': False, 'shape': (5,), }"),
    "short": npy(np.arange(5))[:-1],
    "long": npy(np.arange(5)) + b"\0",
    "header cut": npy(np.arange(5))[:40],
    "nothing": b"",
    "version": b"\x93NUMPY\x09\x00" + npy(np.arange(5))[8:],
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_are_refused_in_one_line(data, tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(data)
    for read in (lambda: read_array(path, data), lambda: map_array(path)):
        with pytest.raises(FormatError) as error:
            read()
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 400


@pytest.mark.parametrize("read", [lambda path: map_array(path / "none"), map_array])
def test_what_is_no_file_is_refused(read, tmp_path):
    with pytest.raises(FormatError, match=r"is (missing|no file)"):
        read(tmp_path)


def test_every_bit_of_a_header():
    good = npy(np.arange(3))
    for bit in range(8 * 128):
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        try:
            got = read_array("a", bytes(data))
        except FormatError:
            continue
        assert got.nbytes == 24  # another type of the same size, or a space that says nothing


def packed(**arrays: np.ndarray) -> bytes:
    """The bytes of an .npz file."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def test_npz_comes_back():
    got = read_npz("a", packed(x=np.arange(3), y=np.zeros((2, 2))), most=1000)
    assert list(got) == ["x", "y"]
    assert np.array_equal(got["x"], np.arange(3))
    assert got["y"].shape == (2, 2)


def test_npz_that_unpacks_to_too_much_is_refused():
    with pytest.raises(FormatError, match="would unpack to 8000128 bytes, more than 1000"):
        read_npz("a", packed(x=np.zeros(10**6)), most=1000)


def test_npz_packed_otherwise_or_with_a_name_twice_is_refused():
    for method, names in (
        (zipfile.ZIP_LZMA, ("x",)),
        (zipfile.ZIP_BZIP2, ("x",)),
        (zipfile.ZIP_STORED, ("x", "x.npy")),
    ):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as out:
            for name in names:
                out.writestr(name, npy(np.arange(3)))
        with pytest.raises(FormatError, match=r"two arrays of one name|packed in a way"):
            read_npz("a", file.getvalue(), most=10**6)


def test_npz_with_any_byte_changed_is_refused_or_read():
    good = packed(x=np.arange(3))
    for at in range(len(good)):
        for value in (0x00, 0xFF, good[at] ^ 1):
            data = good[:at] + bytes([value]) + good[at + 1 :]
            with suppress(FormatError):
                read_npz("a", data, most=10**6)
