"""Lists in files of lines, read in blocks of whole segments: memory for one block a thread, whatever the size of the
file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from nbest.base.inputs import Input, Progress
from nbest.compute.parallel import ahead
from nbest.corpus import NBest

PIECE = 2**22
"""About how many bytes of a file a block is made of."""


class OutOfStepError(Exception):
    """Lists that can only be put in order as a whole."""


@dataclass(frozen=True)
class Piece:
    """Bytes of a file that hold whole segments, and how many lines stand before them; of later pieces also the dense
    features that the first ones have, and the first line of the file."""

    path: str | Path
    data: bytes
    before: int = 0
    names: tuple[str, ...] | None = None
    head: bytes = b""


def stream_lines(
    path: str | Path,
    *,
    parse: Callable[[Piece], NBest],
    cut: Callable[[bytes], int],
    source: Input | None = None,
    progress: Progress | None = None,
) -> Iterator[NBest]:
    """The lists of a file, block by block; several are parsed at once.

    `cut` says up to which byte segments are whole.
    """
    pieces = _pieces(source or Input(path), cut, progress)
    names: tuple[str, ...] | None = None
    head = b""
    for piece in pieces:  # until the dense features are known
        head = head or piece.data.partition(b"\n")[0]
        block = parse(piece)
        yield block
        if block.hypotheses:
            names = block.feature_names
            break
    yield from ahead(parse, (replace(piece, names=names, head=head) for piece in pieces))


def _pieces(source: Input, cut: Callable[[bytes], int], progress: Progress | None) -> Iterator[Piece]:
    """The file cut where segments end; blank lines go to the next piece, whose reader says what is wrong with them."""
    rest, size, wanted, before = list[bytes](), 0, 0, 0
    for piece in chain(source.pieces(PIECE, progress), [None]):
        if piece is not None:
            rest.append(piece)
            size += len(piece)
            if size < wanted:
                continue
        data = b"".join(rest)
        end = len(data) if piece is None else _without_blank_end(data, cut(data))
        if end and (before == 0 or data[:end].strip()):
            yield Piece(source.path, data[:end], before)
            before += data.count(b"\n", 0, end)
        elif piece is None and before == 0:
            yield Piece(source.path, data)
        rest, size = [data[end:]], len(data) - end
        wanted = 0 if end else 2 * size  # a long segment is not gone through again with every piece


def whole_lines(data: bytes) -> int:
    """Up to which byte lines are whole."""
    return data.rfind(b"\n") + 1


def _without_blank_end(data: bytes, end: int) -> int:
    """The end of the last line of data[:end] that is not blank; 0 where there is none."""
    kept = len(data[:end].rstrip())
    return data.find(b"\n", kept) + 1 if kept else 0
