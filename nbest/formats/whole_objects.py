"""JSON lines that were taken for texts: whole objects, where what is within them was meant."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.base.types import References
from nbest.formats.lists.base import shown


def refuse_objects(systems: Mapping[str, Sequence[str]], references: References, refs: Sequence[str | Path]) -> None:
    """Complain of references, from the files `refs`, and of outputs by their files, that are records and no texts.

    These are JSON objects, all of one side, which are compared with what is none, or of which each has an id of its
    own. Texts may be objects where those of the other side are some, too.
    """
    wanted = [text for group in references for text in group]
    for path, texts in systems.items():
        if _are_records(wanted, texts):
            lists = 'or JSON lines with "id" and "references"'
            raise FormatError(", ".join(map(str, refs)), None, _complaint(wanted, lists))
        if wanted and _are_records(texts, wanted):
            lists = 'or JSON lines with "id" and "text" as of nbest rerank --json'
            raise FormatError(path, None, _complaint(texts, lists))


def _are_records(texts: Sequence[str], others: Sequence[str]) -> bool:
    objects = [_object(text) for text in texts if text.strip()]
    if not objects or None in objects:
        return False
    ids = {str(each["id"]) for each in objects if each and "id" in each}
    return len(ids) == len(objects) or all(_object(text) is None for text in others)


def _object(text: str) -> dict[str, Any] | None:
    """The object that a text is; None of other texts."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _complaint(texts: Sequence[str], lists: str) -> str:
    first = next(text for text in texts if text.strip())
    return (
        f"lines are whole JSON objects ({shown(first)}), not texts; expected texts, one a line or by id, {lists}; "
        "--answer json:PATH compares what is within objects"
    )
