"""The JSON files of a run: each holds a sum of its own contents, and those of steps the sums of what was written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, shown
from nbest.base.files import write_text
from nbest.base.folders import check_files, sizes_and_sums
from nbest.base.json_values import json_value
from nbest.base.sealed import read_object, sealed

Rule = Callable[[Any], bool]
Rules = Mapping[str, Rule]
"""What must be true of the values of some keys."""
FILES, MADE_FROM, SECONDS, ENDED = "files", "made from", "seconds", "ended"
"""Keys of a step's record beside those of its result."""


def is_object(value: Any) -> bool:
    """A rule: an object."""
    return isinstance(value, dict)


def is_table(value: Any) -> bool:
    """A rule: an object of objects."""
    return is_object(value) and all(is_object(each) for each in value.values())


def write_record(path: Path, content: Mapping[str, Any]) -> None:
    """JSON with a sum of its own, written beside its place and renamed."""
    whole = sealed(json_value(content))
    write_text(path, json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def read_record(path: Path, needed: Rules, optional: Rules, remedy: str) -> dict[str, Any]:
    """The content of a record, which has the keys that are needed and follows all rules; `remedy` is for errors."""
    content = read_object(path, remedy)
    for key, rule in {**optional, **needed}.items():
        if key in needed and key not in content:
            raise FormatError(path, None, f"is damaged: it has no {key!r}; {remedy}")
        if key in content and not rule(content[key]):
            raise FormatError(path, None, f"is damaged: its {key!r} is {shown(content[key])}; {remedy}")
    return content


def sums_of(place: Path, patterns: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Sizes and sums of the files of these names, and of all in folders of these names; none of hidden ones."""
    found = [path for pattern in patterns for path in place.glob(pattern)]
    files = {file for path in found for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()}
    names = sorted(file.relative_to(place).as_posix() for file in files if _is_made(file))
    return sizes_and_sums(place, names)


def _is_made(file: Path) -> bool:
    return not file.name.startswith(".") and file.name != "lock"


def check_sums(place: Path, content: Mapping[str, Any], remedy: str) -> None:
    """The files that a record lists are as they were written, or an error names one; some records list none."""
    files = content.get(FILES, {})
    check_files(place, list(files), files, remedy=remedy)


def mark_of(made_from: Any) -> str:
    """A short mark of what a result depends on."""
    return hashlib.sha256(json.dumps(made_from).encode()).hexdigest()
