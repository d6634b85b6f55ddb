"""What a file that is in no known format is most like, and why it is not that after all."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, NbestError, shortened
from nbest.formats.json_text import top_keys
from nbest.formats.lists.base import HEAD

_MARK = re.compile(rb"\|\|\||[\t,;=]|^[A-Z]-[0-9]|^wav |^candidate |^NC=|^J=", re.MULTILINE)
_LONGEST = 200  # characters of a reason


@dataclass(frozen=True)
class _Trial:
    """A format that was tried on the beginning of a file."""

    name: str
    written: bool  # also by us: such formats come first among equals
    shared: int  # keys of JSON, or marks between fields, that its example has too
    line: int  # how far it came
    reason: str

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})"


def nearest(path: str | Path, head: bytes, family: Mapping[str, Any], count: int = 2) -> str:
    """The formats that a file with these first bytes is most like, with what is wrong: "; it is most like jsonl
    (line 1: ...) or rows (...)". Nothing where it is no text.

    Formats count whose example is JSON if the file is, and no JSON if it is not. They are in the order of what they
    share with the file, and then of how many lines of it they can read."""
    if b"\0" in head:
        return ""
    json, here, cut = _is_json(head), _signs(head), _whole_lines(head)
    trials = list[_Trial]()
    for name, format in family.items():
        example = next(iter(format.example.values()), "").encode()
        if _can_be_tried(format) and example and _is_json(example) == json:
            trials.append(_try(path, cut, name, format, len(here & _signs(example))))
    trials.sort(key=lambda each: (-each.shared, -each.line, not each.written))
    return f"; it is most like {' or '.join(map(str, trials[:count]))}" if trials else ""


@contextmanager
def explaining(path: str | Path, head: bytes, family: Mapping[str, Any], name: str) -> Iterator[None]:
    """Where a file is read as what its suffix says and its contents do not look so: a complaint says, too, what they
    are most like."""
    try:
        yield
    except FormatError as error:
        others = {key: value for key, value in family.items() if key != name}
        if not head or error.path != str(path) or any(f.sniff(Path(path), head) for f in family.values()):
            raise
        near = nearest(path, head, others, 1).replace("it is", "otherwise it is", 1)
        raise FormatError(path, error.line, f"{error.reason} (format {name}, by the suffix{near})") from None


def _try(path: str | Path, head: bytes, name: str, format: Any, shared: int) -> _Trial:
    """Read the beginning of a file."""
    written = format.write is not None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            format.read(path, data=head)
    except NbestError as error:
        line, reason = getattr(error, "line", None), getattr(error, "reason", str(error))
        place = "" if line is None else f"line {line}: "
        return _Trial(name, written, shared, line or 1, shortened(place + reason, _LONGEST))
    return _Trial(name, written, shared, head.count(b"\n") + 1, "its beginning can be read so")


def _can_be_tried(format: Any) -> bool:
    plain = not getattr(format, "directory", False) and not getattr(format, "binary", False)
    return plain and (not getattr(format, "needs", "") or find_spec(format.needs) is not None)


def _is_json(text: bytes) -> bool:
    return text.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def _signs(text: bytes) -> frozenset[str]:
    """What a file is known by at first sight: keys and the first bracket of JSON, marks between fields of others."""
    if _is_json(text):
        return top_keys(text) | {"[" if text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") else "{"}
    return frozenset(str(mark) for mark in _MARK.findall(text))


def _whole_lines(head: bytes) -> bytes:
    """The first bytes up to the last end of a line, where they are not the whole file."""
    return head[: head.rfind(b"\n") + 1] or head if len(head) >= HEAD else head
