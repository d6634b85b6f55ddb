"""Moses weight files: lines `Name= value value`, alone or in the `[weight]` section of a moses.ini."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nbest.base.errors import CapabilityError, FormatError
from nbest.base.files import split_lines, write_text
from nbest.formats.lists.base import number


def parse_moses_weights(path: str | Path, text: str) -> dict[str, float]:
    """Weights by column name: `Name_0`, `Name_1`, ... for several values, `Name` for one."""
    lines = split_lines(text)
    sections = any(line.strip().startswith("[") for line in lines)
    inside = not sections
    weights: dict[str, float] = {}
    for at, line in enumerate(lines, 1):
        line = line.split("#", 1)[0].strip()
        if line.startswith("["):
            inside = line == "[weight]"
        elif line and inside:
            name, equals, values = line.partition("=")
            if not equals or not name.strip() or not values.split():
                raise FormatError(path, at, f"expected 'Name= value value', got {line!r}")
            _add(path, at, weights, name.strip(), values.split())
    if not weights:
        raise FormatError(path, None, "no weights in it; expected a model (JSON) or lines 'Name= value value'")
    return weights


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
