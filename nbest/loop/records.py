"""What the JSON files of a run must hold, so that damaged ones are told by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.base.folders import is_number
from nbest.formats.lists.base import shown

Rule = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def _each(rule: Rule) -> Rule:
    return lambda value: isinstance(value, dict) and all(rule(item) for item in value.values())


def _row(value: Any) -> bool:
    """Of a set of segments that was decoded."""
    counts = ("new", "segments", "empty")
    if not isinstance(value, dict) or not all(_count(value.get(key)) for key in counts):
        return False
    optional = all(_count(value[key]) for key in ("missed", "hypotheses", "nodes", "edges") if key in value)
    return optional and is_number(value.get("score")) and is_number(value.get("seconds"))


_object: Rule = lambda value: isinstance(value, dict)  # noqa: E731
_files = _each(_object)
_RULES: Mapping[str, Mapping[str, Rule]] = {
    "loop.json": {"decoder": _object, "trainer": _object, "metric": _text, "versions": _object},
    "decoded.json": {"weights": _each(is_number), "dev": _row, "new": _count},
    "trained.json": {"scores": _each(is_number), "pool": _each(_count), "seconds": _each(is_number)},
    "result.json": {"reason": _text, "rounds": _count, "chosen": _count, "scores": _each(is_number)},
}
_OPTIONAL: Mapping[str, Rule] = {"heldout": _row, "files": _files}


def check_record(path: Path, content: Mapping[str, Any], remedy: str) -> None:
    """The keys that a file of this name needs, and what is under them."""
    optional = {} if path.name == "loop.json" else {key: _OPTIONAL[key] for key in _OPTIONAL if key in content}
    for key, rule in {**_RULES[path.name], **optional}.items():
        if key not in content:
            raise FormatError(path, None, f"is damaged: it has no {key!r}; {remedy}")
        if not rule(content[key]):
            raise FormatError(path, None, f"is damaged: its {key!r} is {shown(content[key])}; {remedy}")
