"""Readers and writers of n-best lists. `FORMATS` names them all; adding one is one file and one line here."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from nbest.corpus import NBest
from nbest.errors import CapabilityError, FormatError, ParameterError, _known, look_up
from nbest.files import read_bytes
from nbest.formats import espnet, fairseq, flat, hyporadise, jsonl, kaldi, mlm_scoring, moses, nemo, wenet
from nbest.formats.base import HEAD, Format
from nbest.formats.references import read_references

_MODULES = (jsonl, fairseq, espnet, kaldi, hyporadise, mlm_scoring, wenet, flat, moses, nemo)
"""In the order they are tried: the surest first."""

FORMATS: dict[str, Format] = {module.FORMAT.name: module.FORMAT for module in _MODULES}

__all__ = ["FORMATS", "Format", "read", "read_references", "sniff", "write"]


def read(path: str | Path, format: str | None = None, **options: Any) -> NBest:
    """Read n-best lists from a file, a directory or standard input (`-`), in any of `FORMATS`.

    Without `format` it is found by the contents, then by the suffix. `options` are those of the format's reader.
    """
    if format is None and not _several_files(path):
        options["data"] = read_bytes(path)  # once: standard input cannot be read again
    chosen = look_up(FORMATS, sniff(path, options.get("data", b"")[:HEAD]) if format is None else format, "format")
    _check_options(chosen.read, chosen.name, options)
    return chosen.read(path, **options)


def write(corpus: NBest, path: str | Path, format: str | None = None, **options: Any) -> None:
    """Write n-best lists; without `format` it is the one of the suffix, or jsonl. `-` is standard output."""
    chosen = look_up(FORMATS, (_by_suffix(path) or "jsonl") if format is None else format, "format")
    if chosen.write is None:
        writable = ", ".join(name for name, each in FORMATS.items() if each.write is not None)
        raise CapabilityError(f"format {chosen.name} can only be read; formats that can be written: {writable}")
    _check_options(chosen.write, chosen.name, options)
    chosen.write(corpus, path, **options)


def sniff(path: str | Path, head: bytes) -> str:
    """The name of the format that a file with these first (unpacked) bytes is in; `b""` for a directory."""
    for name, format in FORMATS.items():
        if format.sniff(Path(path), head):
            return name
    guess = _by_suffix(path)
    if guess is not None:
        return guess
    if not head and not Path(path).is_dir():
        raise FormatError(path, None, "the file is empty; expected n-best lists")
    raise FormatError(path, None, f"not in a known format; say which with format=, one of {', '.join(FORMATS)}")


def _several_files(path: str | Path) -> bool:
    """Whether the path is a directory, or the beginning of the names of several files."""
    if str(path) == "-" or Path(path).is_file():
        return False
    return Path(path).is_dir() or any(f.directory and f.sniff(Path(path), b"") for f in FORMATS.values())


def _by_suffix(path: str | Path) -> str | None:
    name = Path(path).name.lower()
    for packed in (".gz", ".xz"):
        name = name.removesuffix(packed)
    for format in FORMATS.values():
        if format.suffixes and name.endswith(format.suffixes):
            return format.name
    return None


def _check_options(function: Any, name: str, given: dict[str, Any]) -> None:
    """Complain of an option that the format does not have."""
    parameters = inspect.signature(function).parameters.values()
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "data"]
    for option in given.keys() - {"data"}:
        if option not in known:
            hint = _known(known, option) if known else "it has none"
            raise ParameterError(f"format {name} has no option {option!r}; {hint}")
