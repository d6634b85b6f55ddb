"""Where commands write to and in which format: checked before any work is done."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from nbest.base.errors import FormatError, ParameterError
from nbest.base.folders import MANIFEST
from nbest.formats import FOREST_FORMATS, FORMATS, format_of_target
from nbest.formats.conllu import CONLLU
from nbest.formats.lists.nemo import manifest_of

Paths = str | None | Sequence[str]
"""A path, none, or several."""


def refuse_overwriting(outputs: Sequence[Paths], inputs: Sequence[Paths]) -> None:
    """Refuse, before any work, to write over what is read: the same file by whatever name or link, a file of a
    directory that is read, or a directory that holds what is read."""
    read = _flat(inputs)
    for output in _flat(outputs):
        if os.path.exists(output) and not os.path.isfile(output) and not os.path.isdir(output):
            continue  # a pipe or /dev/null
        for given in read:
            clash = _clash(output, given)
            if clash:
                raise ParameterError(f"the output {output} {clash} {given}, which is read; name another output")


def need_columns(output: str, wanted: str | None) -> None:
    """Refuse, before any work, to write lists with added features in a format that keeps none of them."""
    if wanted in FOREST_FORMATS:
        raise ParameterError(f"{output}: {wanted} holds forests, and this command writes lists")
    format = None if wanted is None else FORMATS[wanted]
    if format is not None and format.write is not None and "features" not in format.keeps:
        tabs = "; for a table with tabs say --to csv" if output.endswith(".tsv") else ""
        raise ParameterError(f"{output}: format {wanted} does not keep all features; write .jsonl or .csv{tabs}")


def _flat(paths: Sequence[Paths]) -> list[str]:
    several = [[path] if isinstance(path, str) else list(path or ()) for path in paths]
    return [path for part in several for path in part if path != "-" and "\0" not in path]


def _clash(output: str, given: str) -> str:
    """What the output would do to an input, "" for nothing."""
    goal, source = os.path.realpath(output), os.path.realpath(given)
    there = os.path.exists(goal) and os.path.exists(source)
    if goal == source or (there and os.path.samefile(goal, source)):
        return "is the same file as" if not os.path.isdir(source) else "is the same directory as"
    if goal.startswith(os.path.join(source, "")) and os.path.isfile(goal) and _is_read(goal, source):
        return "is a file of the directory"
    if source.startswith(os.path.join(goal, "")):
        return "is a directory that holds"
    if os.path.isfile(goal) and goal.startswith(f"{source}.") and _is_prefix(source):
        return "is a file of the lists"
    return ""


def _is_read(file: str, folder: str) -> bool:
    """Whether a file is one that is read with its folder: any of a system or run; of lists and forests one without a
    suffix, as in archives, or with a known one."""
    name = os.path.basename(file)
    known = format_of_target(name) is not None
    return known or "." not in name or os.path.exists(os.path.join(folder, MANIFEST))


def _is_prefix(path: str) -> bool:
    """Whether several files whose names begin so are lists together."""
    return not os.path.exists(path) and any(f.directory and f.sniff(Path(path), b"") for f in FORMATS.values())


def written(path: str, format: str | None) -> list[str]:
    """The files that lists go to: NeMo's manifest is beside its lists."""
    return [path, *([str(manifest_of(path))] if format == "nemo" and path != "-" else [])]


def check_folder(path: str) -> None:
    """Refuse a file or directory that could not be made at the end because the folder it goes to is missing."""
    if path != "-" and not Path(os.path.realpath(path)).parent.is_dir():
        raise FormatError(path, None, f"cannot be written: there is no folder {Path(path).parent}; make it first")


def check_target(path: str, format: str) -> None:
    """Refuse what could not be written at the end: a format that is only read, a file that is a directory or whose
    folder is missing. Formats of one forest a file make their own directory."""
    if format in FORMATS and FORMATS[format].write is None:
        raise ParameterError(f"format {format} can only be read; name another one")
    if format in FOREST_FORMATS and FOREST_FORMATS[format].single:
        return
    check_folder(path)
    if Path(path).is_dir() and not (format in FORMATS and FORMATS[format].directory):
        raise FormatError(path, None, "cannot be written: it is a directory")


def format_of_lists(path: str) -> str:
    """The format of training lists, by their suffix; JSON lines where it says nothing."""
    wanted = format_of_target(path) or "jsonl"
    if wanted in FOREST_FORMATS:
        raise ParameterError(f"{path}: {wanted} holds forests, and --lists writes lists")
    return wanted


def format_of_output(output: str, to: str | None, own: Sequence[str]) -> str:
    """A form of its own, such as text or conllu, or a format of lists or forests: by --to or the suffix, else the
    first of its own."""
    if to in own:
        return str(to)
    if to is None and output.endswith(CONLLU) and "conllu" in own:
        return "conllu"
    if to is None and output == "-":
        return own[0]
    return format_of_target(output, to) or own[0]
