"""A parser on disk: a directory that is written beside its place and renamed.

manifest.json      {"format": "nbest-parser/1", "names": [...], "labels": [...], "tags": [...], "arc_size": n,
                   "weights": {name: w}, "files": {name: {"bytes": n, "sha256": h}}, ...}
frequent.txt       frequent forms, one a line
templates.npy      features of the experts
options.npy        labels of arcs by tags, with
option-offsets.npy
tables.npy         weights of the features, float32, memory-mapped
weights.json       a model of nbest tune, put here to replace the weights of the experts; may be missing
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nbest import __version__
from nbest.errors import FormatError
from nbest.files import decode, split_lines
from nbest.model import LogLinear
from nbest.model import load as load_model
from nbest.systems.directory import (
    MANIFEST,
    check_file,
    mapped,
    read_manifest,
    replacing_directory,
    sizes_and_sums,
    write_manifest,
)
from nbest.systems.parser import Parser
from nbest.systems.parser_labels import Options
from nbest.systems.parser_views import COLUMNS, KIND_COUNT, Vocabulary

FORMAT = "nbest-parser/1"
WEIGHTS = "weights.json"
_ARRAYS: dict[str, tuple[type, int]] = {
    "templates.npy": (np.int64, 2),
    "options.npy": (np.int32, 1),
    "option-offsets.npy": (np.int64, 1),
    "tables.npy": (np.float32, 2),
}
_WORDS = "frequent.txt"


def save(parser: Parser, path: str | Path) -> None:
    """Write the directory beside `path`, then rename it into place; a parser that was there is replaced."""
    check_place(path)
    with replacing_directory(path) as folder:
        (folder / _WORDS).write_bytes("".join(f"{form}\n" for form in parser.vocabulary.frequent).encode("utf-8"))
        arrays = (parser.templates, parser.options.labels, parser.options.offsets, parser.tables)
        for name, array in zip(_ARRAYS, arrays, strict=True):
            np.save(folder / name, array, allow_pickle=False)
        own = {
            "names": parser.names,
            "labels": parser.labels,
            "tags": parser.vocabulary.tags,
            "arc_size": parser.arc_size,
            "weights": dict(parser.weights),
            "nbest": __version__,
        }
        write_manifest(folder, {"format": FORMAT, **own, "files": sizes_and_sums(folder)})


def check_place(path: str | Path) -> None:
    """Refuse to replace what is no parser."""
    goal = Path(path)
    if not goal.exists() or (goal.is_dir() and not any(goal.iterdir())):
        return
    if not goal.is_dir():
        raise FormatError(path, None, "is a file; a parser is a directory")
    if not (goal / MANIFEST).is_file() or not (goal / "templates.npy").is_file():
        raise FormatError(path, None, "is there and is no parser; name another directory")


def load(path: str | Path) -> Parser:
    """The parser of a directory; small files are checked against their sums, the tables by their size."""
    folder = Path(path)
    manifest = read_manifest(folder, FORMAT, "parser", "make one with nbest train parser")
    names, labels, tags = (_strings(folder, manifest, key) for key in ("names", "labels", "tags"))
    files = manifest.get("files")
    words = check_file(folder, _WORDS, files, verify=True)
    arrays = {
        name: mapped(check_file(folder, name, files, verify=name != "tables.npy"), *kind)
        for name, kind in _ARRAYS.items()
    }
    parser = Parser(
        names,
        labels,
        Vocabulary(tags, tuple(split_lines(decode(words, words.read_bytes())))),
        Options(_plain(arrays["option-offsets.npy"]), _plain(arrays["options.npy"])),
        _plain(arrays["templates.npy"]),
        arrays["tables.npy"].view(np.ndarray),
        _arc_size(folder, manifest),
        _weights(folder, manifest, names),
    )
    _check_sizes(folder, parser)
    return parser


def _plain(array: Any) -> Any:
    """A small array in memory."""
    return np.array(array)


def _strings(folder: Path, manifest: dict[str, Any], key: str) -> tuple[str, ...]:
    value = manifest.get(key)
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise FormatError(folder / MANIFEST, None, f"expected a list of names as {key!r}; train the parser again")
    return tuple(value)


def _arc_size(folder: Path, manifest: dict[str, Any]) -> int:
    size = manifest.get("arc_size")
    if not isinstance(size, int) or size < 1 or size & (size - 1):
        raise FormatError(folder / MANIFEST, None, f"'arc_size' must be a power of 2, got {size!r}")
    return size


def _weights(folder: Path, manifest: dict[str, Any], names: tuple[str, ...]) -> dict[str, float]:
    """Those of weights.json, or else of the manifest."""
    path = folder / WEIGHTS
    if not path.is_file():
        own = manifest.get("weights")
        if not isinstance(own, dict) or not all(name in names and _is_number(own[name]) for name in own):
            raise FormatError(folder / MANIFEST, None, "'weights' must be a number for each expert")
        return own
    model: LogLinear = load_model(path)
    strange = next((name for name in model.weights if name not in names), None)
    if strange is not None:
        raise FormatError(path, None, f"has a weight for {strange!r}, which is no expert of the parser")
    return dict(model.weights)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and bool(np.isfinite(value))


def _check_sizes(folder: Path, parser: Parser) -> None:
    """Arrays that a kernel would read past the end of."""
    offsets, labels, templates = parser.options.offsets, parser.options.labels, parser.templates
    rows, size = parser.rows, len(parser.labels)
    tags = parser.vocabulary.tag_count
    fits = (
        len(offsets) == tags * tags * 2 + 1
        and offsets[0] == 0
        and bool((np.diff(offsets) > 0).all())
        and offsets[-1] == len(labels)
        and bool(((labels >= 0) & (labels < size)).all())
        and len(parser.tables) == len(parser.names)
        and rows >= 1
        and rows & (rows - 1) == 0
        and parser.arc_size + rows * size == parser.tables.shape[1]
        and templates.shape[1] == 5
        and bool((np.diff(templates[:, 0]) >= 0).all())
        and bool(((templates >= 0) & (templates < [len(parser.names), 2, *2 * [1 << len(COLUMNS)], KIND_COUNT])).all())
    )
    if not fits:
        raise FormatError(folder, None, "its files do not fit together; train the parser again")
