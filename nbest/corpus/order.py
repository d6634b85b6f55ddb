"""The order of segments: ids that are whole numbers stand in the order of the numbers, others as they first appeared.

A line of a text file (an output, a reference) belongs to a segment by its place, so that all who write or read lines
must agree on the order; readers, `merge` and the union of forests keep to this one.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence

import numpy as np

_WHOLE = re.compile(r"0|[1-9][0-9]{0,17}").fullmatch


def whole_numbers(ids: Sequence[str]) -> list[int] | None:
    """The ids as numbers where every one is a whole number as one writes it (7, not 007); None where one is not."""
    return [int(name) for name in ids] if all(map(_WHOLE, ids)) else None


def in_order(ids: Iterable[str]) -> list[str]:
    """Ids in the order of segments: by number where all are numbers, else as given."""
    names = list(ids)
    numbers = whole_numbers(names)
    return names if numbers is None else [names[i] for i in sorted(range(len(names)), key=numbers.__getitem__)]


def first_number(numbers: Sequence[int]) -> int:
    """What numbered segments count from: 1 where they are exactly 1 to N, else 0, and some are missing."""
    found = np.sort(np.asarray(numbers, np.int64))
    return int(len(found) > 0 and found[0] == 1 and bool((np.diff(found) == 1).all()))


def gaps(numbers: Sequence[int]) -> tuple[int, int]:
    """How many numbers of segments are missing, up to the largest, and the first of them."""
    if not numbers:
        return 0, 0
    known = np.unique(np.asarray(numbers, np.int64))
    begin = first_number(numbers)
    places = np.arange(begin, begin + len(known))
    first = int(places[(known != places).argmax()]) if (known != places).any() else int(known[-1]) + 1
    return int(known[-1]) + 1 - begin - len(known), first


class SegmentNumbers:
    """The numbers of segments that come in blocks, 8 bytes each; none as soon as one has a name."""

    def __init__(self) -> None:
        self.numbers = array("q")
        self.named = False

    def add(self, ids: Sequence[str]) -> None:
        """The ids of further segments."""
        found = None if self.named else whole_numbers(ids)
        if found is None:
            self.named, self.numbers = True, array("q")
        else:
            self.numbers.extend(found)
