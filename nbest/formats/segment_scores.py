"""Segment scores of mt-metrics-eval: lines `system score`, those of a system together in the order of the segments."""

from __future__ import annotations

import math
from pathlib import Path

from nbest.base.errors import FormatError, shown
from nbest.formats.lists.base import lines_of, number

SUFFIX = ".seg.score"


def read_segment_scores(path: str | Path, data: bytes | None = None) -> dict[str, list[tuple[int, float]]]:
    """Line and score of each segment by system; NaN where the file says None. All systems have as many segments."""
    found: dict[str, list[tuple[int, float]]] = {}
    for at, line in enumerate(lines_of(path, data, "lines of 'system score'"), 1):
        words = line.split()
        if len(words) != 2:
            raise FormatError(path, at, f"expected 'system score', got {shown(line)}")
        value = math.nan if words[1] == "None" else number(path, at, "a score", words[1])
        found.setdefault(words[0], []).append((at, value))
    first, rows = next(iter(found.items()))
    for name, other in found.items():
        if len(other) != len(rows):
            what = f"{len(other)} scores of {name!r}, and {len(rows)} of {first!r}"
            raise FormatError(path, other[-1][0], f"{what}; every system needs one for each segment")
    return found
