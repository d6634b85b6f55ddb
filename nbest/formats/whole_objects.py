"""JSON lines that were taken for texts: whole objects, where what is within them was meant."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.base.types import References
from nbest.formats.lists.base import shown


def refuse_objects(
    systems: Mapping[str, Sequence[str]], references: References, refs: Sequence[str | Path], *, within: bool = False
) -> None:
    """Complain of references, from the files `refs`, and of outputs by their files, that are records and no texts.

    These are JSON objects, all of one side, which are compared with what is none, or with objects that have no key but
    "id" in common with them. With `within` a rule looks for answers within texts, which may be objects then: records
    have an id each.
    """
    wanted = [_object(text) for group in references for text in group if text.strip()]
    found = {path: [_object(text) for text in texts if text.strip()] for path, texts in systems.items()}
    if _are_records(wanted, [each for mine in found.values() for each in mine], within):
        lists = 'or JSON lines with "id" and "references"'
        raise FormatError(", ".join(map(str, refs)), None, _complaint(wanted, lists))
    for path, mine in found.items():
        if wanted and _are_records(mine, wanted, within):
            lists = 'or JSON lines with "id" and "text" as of nbest rerank --json'
            raise FormatError(path, None, _complaint(mine, lists))


Object = dict[str, Any] | None


def _are_records(own: Sequence[Object], others: Sequence[Object], within: bool) -> bool:
    objects = [each for each in own if each is not None]
    if not objects or len(objects) < len(own):
        return False
    if within and len({str(each.get("id")) for each in objects if "id" in each}) < len(objects):
        return False
    keys = set().union(*objects) - {"id"}
    return not any(each is not None and (not keys or keys & each.keys()) for each in others)


def _object(text: str) -> Object:
    """The object that a text is; None of other texts."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _complaint(objects: Sequence[Object], lists: str) -> str:
    first = shown(json.dumps(objects[0], ensure_ascii=False))
    return (
        f"lines are whole JSON objects ({first}), not texts; expected texts, one a line or by id, {lists}; "
        "--answer json:PATH compares what is within objects"
    )
