"""JSON files that hold a sum of their own contents, so that one changed bit is found.

The key "sha256" beside the others is the sum of all of them, written in one way: keys in order, no blanks. A file
without it (written by an earlier version, or by hand) is read as it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.base.files import decode, read_bytes

SEAL = "sha256"


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with its sum."""
    own = json.loads(json.dumps(content))  # as it will be read: lists for tuples, texts as keys
    return {**content, SEAL: _sum(own)}


def read_object(path: str | Path, remedy: str) -> dict[str, Any]:
    """The object of a JSON file, without its sum, which must be right where there is one; `remedy` is for errors."""
    try:
        content = json.loads(decode(path, read_bytes(path)))
        if not isinstance(content, dict):
            raise ValueError(f"expected an object, got {type(content).__name__}")
        seal = content.pop(SEAL, None)
        if seal is not None and seal != _sum(content):
            raise ValueError("its contents are not those that its sha256 was made of")
    except (ValueError, RecursionError) as error:
        why = getattr(error, "reason", None) or str(error).partition("\n")[0]
        raise FormatError(path, getattr(error, "line", None), f"is damaged or cut short: {why}; {remedy}") from None
    return content


def _sum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
