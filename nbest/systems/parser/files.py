"""A parser on disk: a directory that is written beside its place and renamed.

manifest.json      {"format": "nbest-parser/1", "names": [...], "labels": [...], "tags": [...], "arc_size": n,
                   "weights": {name: w}, "files": {name: {"bytes": n, "sha256": h}}, ..., "sha256": of all this}
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

from nbest.base.errors import FormatError
from nbest.base.files import decode, split_lines
from nbest.base.folders import MANIFEST, check_files, mapped, numbers_by_name, read_manifest, strings
from nbest.compute.bounds import Bounds
from nbest.formats.lists.base import shown
from nbest.systems.folders import save_folder, weights_of, write_lines
from nbest.systems.parser.labels import LabelOptions
from nbest.systems.parser.parser import Parser
from nbest.systems.parser.system import ParserTraining
from nbest.systems.parser.views import COLUMNS, KIND_COUNT, Vocabulary

_ARRAYS: dict[str, tuple[type, int]] = {
    "templates.npy": (np.int64, 2),
    "options.npy": (np.int32, 1),
    "option-offsets.npy": (np.int64, 1),
    "tables.npy": (np.float32, 2),
}
_WORDS, _TABLES = "frequent.txt", "tables.npy"


def save(parser: Parser, path: str | Path) -> None:
    """Write the folder of a parser; one that was there is replaced."""
    save_folder(path, ParserTraining, lambda folder: _write(parser, folder))


def _write(parser: Parser, folder: Path) -> dict[str, Any]:
    write_lines(folder / _WORDS, parser.vocabulary.frequent)
    arrays = (parser.templates, parser.options.labels, parser.options.offsets, parser.tables)
    for name, array in zip(_ARRAYS, arrays, strict=True):
        np.save(folder / name, array, allow_pickle=False)
    return {
        "names": parser.names,
        "labels": parser.labels,
        "tags": parser.vocabulary.tags,
        "arc_size": parser.arc_size,
        "weights": dict(parser.weights),
    }


def load(path: str | Path) -> Parser:
    """The parser of a directory; all files are checked against the manifest."""
    folder = Path(path)
    manifest = read_manifest(folder, ParserTraining.form, "parser", "make one with nbest train parser")
    names, labels, tags = (strings(folder / MANIFEST, manifest.get(key), key) for key in ("names", "labels", "tags"))
    places = check_files(folder, (_WORDS, *_ARRAYS), manifest.get("files"))
    arrays = {name: mapped(places[name], *kind) for name, kind in _ARRAYS.items()}
    words = decode(places[_WORDS], places[_WORDS].read_bytes())
    small = {name: np.array(array) for name, array in arrays.items() if name != _TABLES}
    parser = Parser(
        names,
        labels,
        Vocabulary(tags, tuple(split_lines(words))),
        LabelOptions(small["option-offsets.npy"], small["options.npy"]),
        small["templates.npy"],
        tables=arrays[_TABLES],
        arc_size=_arc_size(folder, manifest),
        weights=weights_of(
            folder, numbers_by_name(folder / MANIFEST, manifest.get("weights"), names), names, "expert of the parser"
        ),
    )
    _check(folder, parser)
    return parser


def _arc_size(folder: Path, manifest: dict[str, Any]) -> int:
    size = manifest.get("arc_size")
    if not isinstance(size, int) or isinstance(size, bool) or size < 1 or size & (size - 1):
        raise FormatError(folder / MANIFEST, None, f"'arc_size' must be a power of 2, got {shown(size)}")
    return size


def _check(folder: Path, parser: Parser) -> None:
    """No kernel reads past the end of an array."""
    bounds = Bounds(folder, "train the parser again")
    options, templates, experts = parser.options, parser.templates, len(parser.names)
    labels, tags, rows = len(parser.labels), parser.vocabulary.tag_count, parser.rows
    bounds.offsets("option-offsets.npy", options.offsets, tags * tags * 2, len(options.labels), empty=False)
    bounds.numbers("options.npy", options.labels, labels)
    bounds.sizes(_TABLES, parser.tables, experts, parser.arc_size + rows * labels)
    if rows < 1 or rows & (rows - 1):
        raise bounds.fail(_TABLES, f"have a power of 2 of rows of {labels} labels")
    bounds.finite(_TABLES, parser.tables)
    bounds.sizes("templates.npy", templates, len(templates), 5)
    for column, below in zip(templates.T, (experts, 2, *2 * [1 << len(COLUMNS)], KIND_COUNT), strict=True):
        bounds.numbers("templates.npy", column, below)
    if not (templates[1:, 0] >= templates[:-1, 0]).all():
        raise bounds.fail("templates.npy", "be in the order of the experts")
