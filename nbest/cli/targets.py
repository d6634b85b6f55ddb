"""Where commands write to and in which format: checked before any work is done."""

from __future__ import annotations

from pathlib import Path

from nbest.errors import FormatError, ParameterError
from nbest.formats import FOREST_FORMATS, FORMATS, format_of_target

CONLLU = (".conllu", ".conllu.gz", ".conllu.xz")
"""Suffixes of treebanks."""
_OWN = ("text", "conllu")  # what --to may name besides formats of lists and forests


def check_folder(path: str) -> None:
    """Refuse a file or directory that could not be made at the end because the folder it goes to is missing."""
    if path != "-" and not Path(path).resolve().parent.is_dir():
        raise FormatError(path, None, f"cannot be written: there is no folder {Path(path).parent}; make it first")


def check_target(path: str, format: str) -> None:
    """Refuse what could not be written at the end: a format that is only read, a file that is a directory or whose
    folder is missing. Formats of one forest a file make their own directory."""
    if format in FORMATS and FORMATS[format].write is None:
        raise ParameterError(f"format {format} can only be read; name another one")
    if format in FOREST_FORMATS and FOREST_FORMATS[format].single:
        return
    check_folder(path)
    if Path(path).is_dir():
        raise FormatError(path, None, "cannot be written: it is a directory")


def format_of_lists(path: str) -> str:
    """The format of training lists, by their suffix; JSON lines where it says nothing."""
    wanted = format_of_target(path) or "jsonl"
    if wanted in FOREST_FORMATS:
        raise ParameterError(f"{path}: {wanted} holds forests, and --lists writes lists")
    return wanted


def format_of_output(output: str, to: str | None, otherwise: str) -> str:
    """text, conllu, or a format of lists or forests, by --to or the suffix; `otherwise` where nothing tells."""
    if to in _OWN:
        return to
    if to is None and output.endswith(CONLLU):
        return "conllu"
    if to is None and output == "-":
        return otherwise
    return format_of_target(output, to) or otherwise
