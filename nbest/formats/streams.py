"""Lists block by block, so that a file of any size needs memory for a few blocks.

The blocks together are what `read` gives. A file in which the segments are not in order, or one is in two places, has
to be read as a whole for that, and so have formats without a `stream`: `in_blocks` sees to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.inputs import Input, Progress
from nbest.corpus import NBest
from nbest.corpus.container import OF_SEGMENTS
from nbest.corpus.order import whole_numbers
from nbest.formats import FOREST_FORMATS, FORMATS, check_options, format_of_source, read_with, several_files
from nbest.formats.likeness import explaining
from nbest.formats.lists.base import HEAD
from nbest.formats.lists.known import KnownNames
from nbest.formats.lists.lines import PIECE, OutOfStepError

R = TypeVar("R")


def in_blocks(
    path: str | Path | Input,
    consume: Callable[[Iterable[NBest]], R],
    format: str | None = None,
    *,
    progress: Progress | None = None,
    whole: Callable[[Any], R] | None = None,
    **options: Any,
) -> R:
    """`consume` with the blocks of lists, as they are read; its result.

    Where blocks turn out to be out of step all lists are read at once and `consume` is called anew, with one block: it
    must begin again from nothing. `whole` is called instead with what is no lists: forests. `progress` is told how many
    bytes of the file are read. An `Input` may be read more than once, standard input too.
    """
    source = path if isinstance(path, Input) else Input(path)
    head = b"" if several_files(source.path) else source.head(HEAD)
    name = format_of_source(source.path, head, format)
    family = {**FORMATS, **FOREST_FORMATS}
    with explaining(source.path, head, family, name) if format is None else nullcontext():
        return _read_as(name, source, consume, progress=progress, whole=whole, options=options)


def _read_as(
    name: str,
    source: Input,
    consume: Callable[[Iterable[NBest]], R],
    progress: Progress | None,
    whole: Callable[[Any], R] | None,
    options: dict[str, Any],
) -> R:
    """`in_blocks` in the format of this name."""
    path, several = source.path, several_files(source.path)
    chosen = None if name in FOREST_FORMATS else FORMATS[name]
    if chosen is not None and chosen.stream is not None:
        check_options(chosen.read, chosen.name, options)
        more = {} if several else {"source": source}
        try:
            return consume(_in_step(path, chosen.stream(path, **options, **more, progress=progress)))
        except OutOfStepError:
            pass
    data = {} if several else {"data": b"".join(source.pieces(PIECE))}
    corpus = read_with(path, name, **options, **data)
    if isinstance(corpus, NBest):
        return consume([corpus])
    if whole is None:
        raise FormatError(path, None, f"holds forests (format {name}), not lists")
    return whole(corpus)


def _in_step(path: str | Path, blocks: Iterable[NBest]) -> Iterator[NBest]:
    """The blocks, as long as they are one after the other what the whole would be."""
    steps, held = _Steps(path), list[NBest]()
    for block in blocks:
        held.append(steps.checked(block))
        if steps.names is not None:
            yield from map(steps.named, held)
            held = []
    yield from held


class _Steps:
    """What the blocks so far have in common, and the ids that were there."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.names: tuple[str, ...] | None = None
        self.has: dict[str, bool] = {}
        self.last: int | None = -1  # number of the last segment; None where segments have names
        self.known = KnownNames()

    def checked(self, block: NBest) -> NBest:
        """The block with its features in the order of the first."""
        if block.positions is not None:
            raise OutOfStepError
        self._check_ids(block.ids)
        for what in OF_SEGMENTS[1:]:
            self._check_all(what, getattr(block, what) is not None, block)
        if not block.hypotheses:
            return block
        for what in ("texts", "gains"):
            self._check_all(what, getattr(block, what) is not None, block)
        for what in ("answers", "systems"):
            if self.has.setdefault(what, getattr(block, what) is not None) != (getattr(block, what) is not None):
                raise OutOfStepError  # absent is "" where others have one
        if self.names is None:
            self.names = block.feature_names
        if set(block.feature_names) != set(self.names):
            raise OutOfStepError
        return block if block.feature_names == self.names else block.only_features(self.names)

    def named(self, block: NBest) -> NBest:
        """The block; without hypotheses it has the features of the others."""
        if block.hypotheses or self.names is None:
            return block
        return replace(block, features=np.empty((0, len(self.names))), feature_names=self.names)

    def _check_all(self, what: str, there: bool, block: NBest) -> None:
        if self.has.setdefault(what, there) != there:
            which = "has none, while others have" if not there else "has some, while others have none"
            raise FormatError(self.path, None, f"{what}: the segment {block.ids[0]!r} {which}")

    def _check_ids(self, ids: tuple[str, ...]) -> None:
        numbers = whole_numbers(ids) if self.last is not None else None
        if numbers is None:
            if (self.last is not None and self.last >= 0) or not self.known.add(ids):  # names after numbers, or again
                raise OutOfStepError
            self.last = None
        elif numbers:
            if self.last is not None and numbers[0] <= self.last:
                raise OutOfStepError
            self.last = numbers[-1]
