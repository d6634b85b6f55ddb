"""Moses weight files: lines `Name= value value`, alone (`run1.dense`) or in the `[weight]` section of a moses.ini; and
lines `name_of value` of sparse weights (`run1.sparse-weights`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nbest.base.errors import CapabilityError, FormatError
from nbest.base.files import read_lines, split_lines, write_text
from nbest.formats.lists.base import is_number, number

_DENSE, _SPARSE = ".dense", ".sparse-weights"  # files of a run of mert-moses.pl


def parse_moses_weights(path: str | Path, text: str) -> dict[str, float]:
    """Weights by column name: `Name_0`, `Name_1`, ... for several values, `Name` for one.

    Several values stand on one line, or, in `*.dense`, on lines of the same name one after the other. Sparse weights
    are those of the file beside that `[weight-file]` names, and of `run1.sparse-weights` beside `run1.dense`.
    """
    weights: dict[str, float] = {}
    for at, name, values in _grouped(path, split_lines(text)):
        _add(path, at, weights, name, values)
    for each in _sparse_files(path, text):
        for at, line in enumerate(read_lines(each), 1):
            pair = _pair(each, line)
            if pair is not None:
                _add(each, at, weights, pair[0], [pair[1]])
            elif line.strip():
                raise FormatError(each, at, f"expected 'name value', got {line!r}")
    if not weights:
        raise FormatError(path, None, "no weights in it; expected a model (JSON) or lines 'Name= value value'")
    return weights


def _pair(path: str | Path, line: str) -> tuple[str, str] | None:
    """`name_of value`, as sparse weights are written: Moses knows them by `_`. `Name= value` is none."""
    words = line.split()
    if len(words) != 2 or not is_number(words[1]) or words[0].endswith("=") or words[0].startswith("#"):
        return None
    return (words[0], words[1]) if "_" in words[0] or str(path).endswith(_SPARSE) else None


def _grouped(path: str | Path, lines: list[str]) -> list[tuple[int, str, list[str]]]:
    """Line, name and values of each weight; in `*.dense`, single values on lines of the same name are together."""
    sections = any(line.strip().startswith("[") for line in lines)
    inside = not sections
    found: list[tuple[int, str, list[str]]] = []
    for at, whole in enumerate(lines, 1):
        pair = None if sections else _pair(path, whole)
        line = whole.split("#", 1)[0].strip()
        if pair is not None:
            found.append((at, pair[0], [pair[1]]))
        elif line.startswith("["):
            inside = line == "[weight]"
        elif line and inside:
            name, equals, values = line.partition("=")
            if not equals or not name.strip() or not values.split():
                raise FormatError(path, at, f"expected 'Name= value value', got {line!r}")
            again = bool(found) and found[-1][1] == name.strip() and found[-1][0] == at - len(found[-1][2])
            if again and str(path).endswith(_DENSE) and len(values.split()) == 1:
                found[-1][2].extend(values.split())
            else:
                found.append((at, name.strip(), values.split()))
    return found


def _sparse_files(path: str | Path, text: str) -> list[Path]:
    """Files of sparse weights that belong to one of dense weights, in its folder."""
    place, own = Path(path), []
    if place.name.endswith(_DENSE):
        beside = place.with_name(f"{place.name.removesuffix(_DENSE)}{_SPARSE}")
        return [beside] if beside.is_file() else []
    section = ""
    for line in split_lines(text):
        line = line.split("#", 1)[0].strip()
        section = line if line.startswith("[") else section
        if line and section == "[weight-file]" and line != section:
            beside = place.with_name(Path(line).name)
            if not beside.is_file():
                raise FormatError(
                    path, None, f"names the sparse weights {line}, and there is no {beside}; put them there"
                )
            own.append(beside)
    return own


def _add(path: str | Path, line: int, weights: dict[str, float], name: str, values: list[str]) -> None:
    for i, value in enumerate(values):
        column = name if len(values) == 1 else f"{name}_{i}"
        if column in weights:
            raise FormatError(path, line, f"the weight of {column!r} is given twice")
        weights[column] = number(path, line, f"the weight of {column!r}", value)


def _columns_of(name: str, weights: Mapping[str, float]) -> list[str]:
    """`Name_0`, `Name_1`, ... as far as there are weights; none if there are fewer than two, or one for `Name`."""
    columns: list[str] = []
    while name and name not in weights and f"{name}_{len(columns)}" in weights:
        columns.append(f"{name}_{len(columns)}")
    return columns if len(columns) > 1 else []


def write_moses_weights(path: str | Path, weights: Mapping[str, float]) -> None:
    """A `[weight]` section, with `Name_0`, `Name_1`, ... joined on one line."""
    for name in weights:
        if not name or name.startswith("[") or any(mark in name for mark in "=#") or name.split() != [name]:
            raise CapabilityError(f"a Moses weight file cannot hold a weight of the name {name!r}; save a model (JSON)")
    grouped: dict[str, list[float]] = {}
    joined = {column for name in weights for column in _columns_of(name.rpartition("_")[0], weights)}
    for column, weight in weights.items():
        name = column.rpartition("_")[0]
        if column not in joined:
            grouped[column] = [weight]
        elif name not in grouped:
            grouped[name] = [weights[part] for part in _columns_of(name, weights)]
    lines = [f"{name}= {' '.join(repr(float(value)) for value in values)}\n" for name, values in grouped.items()]
    write_text(path, "[weight]\n" + "".join(lines))
