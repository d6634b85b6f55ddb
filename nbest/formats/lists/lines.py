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

_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Piece:
    """Bytes of a file that hold whole segments, how many lines stand before them, and the dense features of the parts
    before, where there are any."""

    path: str | Path
    data: bytes
    before: int = 0
    names: tuple[str, ...] | None = None


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
    parts = _parts(source or Input(path), cut, progress)
    names: tuple[str, ...] | None = None
    for part in parts:  # until the dense features are known
        block = parse(part)
        yield block
        if block.hypotheses:
            names = block.feature_names
            break
    yield from ahead(parse, (replace(part, names=names) for part in parts))


def _parts(source: Input, cut: Callable[[bytes], int], progress: Progress | None) -> Iterator[Piece]:
    """The file cut where segments end; blank lines go to the next part, whose reader says what is wrong with them."""
    rest, before = [b""], 0
    for piece in chain(source.pieces(PIECE, progress), [None]):
        if piece is not None:
            rest.append(piece)
            if b"\n" not in piece:
                continue
        data = b"".join(rest)
        if before == 0:
            data = data.removeprefix(_MARK)
        end = len(data) if piece is None else _without_blank_end(data, cut(data))
        rest = [data[end:]]
        if end and (before == 0 or data[:end].strip()):
            yield Piece(source.path, data[:end], before)
            before += data.count(b"\n", 0, end)
        elif piece is None and before == 0:
            yield Piece(source.path, data)


def whole_lines(data: bytes) -> int:
    """Up to which byte lines are whole."""
    return data.rfind(b"\n") + 1


def _without_blank_end(data: bytes, end: int) -> int:
    """The end of the last line of data[:end] that is not blank; 0 where there is none."""
    kept = len(data[:end].rstrip())
    return data.find(b"\n", kept) + 1 if kept else 0
