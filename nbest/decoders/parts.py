"""Parts of the inputs of a decoder, and what was found for them put together."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import DecoderError, ParameterError
from nbest.base.unpacking import GZIP, XZ
from nbest.corpus import Forests, NBest
from nbest.corpus.joining import join_forests
from nbest.corpus.operations import join
from nbest.corpus.order import in_order


@dataclass(frozen=True)
class InputPart:
    """Lines of an input, or a whole one as it was given.

    number   among all parts, from 1; 0 for a whole input
    low      lines before it
    lines    how many it has; None: not known
    suffix   of the file that they come from
    """

    inputs: str | Path | bytes | tuple[str, ...]
    number: int = 0
    low: int = 0
    lines: int | None = None
    suffix: str = ""

    def __str__(self) -> str:
        return f" on lines {self.low + 1} to {self.low + (self.lines or 0)}" if self.number else ""

    def file(self, folder: Path) -> Path:
        """The file that has it; written into the folder where there is none."""
        if isinstance(self.inputs, str | Path):
            return Path(self.inputs)
        path = folder / f"input{self.suffix}"
        lines = self.inputs
        path.write_bytes(lines if isinstance(lines, bytes) else "".join(f"{x}\n" for x in lines).encode("utf-8"))
        return path


def cut(inputs: str | Path | Sequence[str], lines: int | None) -> list[InputPart]:
    """The inputs cut after every so many lines; None, and few lines: as they are."""
    whole = Path(inputs).absolute() if isinstance(inputs, str | Path) else tuple(inputs)
    if lines is None:
        return [InputPart(whole)]
    rows = _lines(whole) if isinstance(whole, Path) else [f"{text}\n".encode() for text in whole]
    if len(rows) <= lines:
        return [InputPart(whole)]
    suffix = whole.suffix if isinstance(whole, Path) else ""
    lows = range(0, len(rows), lines)
    pieces = [rows[low : low + lines] for low in lows]
    return [
        InputPart(b"".join(piece), number, low, len(piece), suffix)
        for number, (low, piece) in enumerate(zip(lows, pieces, strict=True), 1)
    ]


def _lines(path: Path) -> list[bytes]:
    """The lines of a file, with their ends."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ParameterError(f"{path} cannot be cut into parts of lines: {error.strerror}") from None
    if data.startswith((GZIP, XZ)):
        raise ParameterError(f"{path} is packed and cannot be cut into parts of lines; unpack it")
    return io.BytesIO(data).readlines()


def numbered(found: NBest | Forests, path: Path, part: InputPart) -> NBest | Forests:
    """What a file has of a part. Formats that name a single segment by its file do not name it by its line."""
    alone = part.number > 0 and part.lines == 1 and found.ids in ((path.name,), (path.stem,))
    return replace(found, ids=("0",)) if alone else found


# what was found -----------------------------------------------------------------------------------------------------


def joined(found: Sequence[NBest | Forests], parts: Sequence[InputPart]) -> NBest | Forests:
    """Lists or forests of all parts, as those of the whole input would be.

    Where the ids of every part count its lines from 0, they go on over the parts; others must differ over the parts.
    """
    if len(found) == 1:
        return found[0]
    named = _numbered(found, parts)
    _check_ids(named, parts)
    if len({each.whole for each in named}) > 1:
        raise DecoderError("the decoder wrote lists for some parts of the input and forests for others")
    parts_of: Any = named  # of one kind
    whole: NBest | Forests = join(_same_features(parts_of)) if named[0].whole else join_forests(parts_of)
    place = {name: i for i, name in enumerate(whole.ids)}
    order = [place[name] for name in in_order(whole.ids)]
    return whole if order == list(range(len(order))) else whole.select(order)


def _numbered(found: Sequence[NBest | Forests], parts: Sequence[InputPart]) -> list[NBest | Forests]:
    counted = all(
        name.isascii() and name.isdigit() and int(name) < (part.lines or 0)
        for each, part in zip(found, parts, strict=True)
        for name in each.ids
    )
    if not counted:
        return list(found)
    return [
        replace(each, ids=tuple(str(int(name) + part.low).zfill(len(name)) for name in each.ids))
        for each, part in zip(found, parts, strict=True)
    ]


def _check_ids(found: Sequence[NBest | Forests], parts: Sequence[InputPart]) -> None:
    seen: dict[str, InputPart] = {}
    for each, part in zip(found, parts, strict=True):
        for name in each.ids:
            if name in seen:
                raise DecoderError(
                    f"the decoder gave the id {name!r}{seen[name]} and again{part}; ids of parts must count their "
                    "lines from 0, or differ over the parts (put them into the lines), or the input must not be cut"
                )
            seen[name] = part


def _same_features(parts: Sequence[NBest]) -> list[NBest]:
    """Parts with the same dense features. One that all hypotheses of some parts have, and some of others lack, is
    sparse in the whole; where nothing is sparse, it is an error."""
    names = list(dict.fromkeys(name for part in parts for name in part.feature_names))
    odd = [name for name in names if any(name not in part.feature_names for part in parts if part.hypotheses)]
    if odd and all(part.sparse is None for part in parts):
        number = next(n for n, part in enumerate(parts, 1) if odd[0] not in part.feature_names)
        raise DecoderError(f"the decoder must give the same features to all parts; {odd[0]!r} is not in part {number}")
    common = [name for name in names if name not in odd]
    texts = {part.texts is None for part in parts if part.hypotheses}
    if len(texts) > 1:
        raise DecoderError("the decoder wrote texts for some parts of the input and none for others")
    return [_sparser(part, [name for name in odd if name in part.feature_names], common) for part in parts]


def _sparser(part: NBest, names: Sequence[str], dense: Sequence[str]) -> NBest:
    """The same with some dense features moved to the sparse ones, and the dense ones in this order."""
    if names:
        from scipy.sparse import csr_array, hstack

        own = csr_array(np.stack([part.column(name) for name in names], axis=1))
        sparse: Any = own if part.sparse is None else hstack([part.sparse, own], format="csr")
        part = replace(
            part.without_features(names), sparse=csr_array(sparse), sparse_names=(*part.sparse_names, *names)
        )
    return part if part.feature_names == tuple(dense) else part.only_features(dense)
