"""A tagger on disk: a directory that is written beside its place and renamed.

manifest.json   {"format": "nbest-tagger/1", "column": "xpos", "settings": {...}, "files": {name: {"bytes": n,
                "sha256": h}}, ...}
tags.txt        one a line, in the order of their numbers
words.txt       words seen in training
endings.txt     endings of rare words; a JSON string a line
arrays.npz      counts and probabilities, never unpickled
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from nbest import __version__
from nbest.errors import FormatError, ParameterError
from nbest.files import decode, split_lines
from nbest.systems.directory import (
    MANIFEST,
    check_file,
    read_manifest,
    replacing_directory,
    sizes_and_sums,
    write_manifest,
)
from nbest.systems.tagger import Settings, Tagger
from nbest.systems.tagger_lexicon import Lexicon
from nbest.systems.tagger_suffixes import Suffixes
from nbest.systems.tagger_transitions import Transitions

FORMAT = "nbest-tagger/1"
_FILES = ("tags.txt", "words.txt", "endings.txt", "arrays.npz")
_TRANSITIONS = Transitions._fields
_LEXICON = tuple(f.name for f in fields(Lexicon) if f.name != "words")
_SUFFIXES = ("offsets", "tags", "counts", "prior")


def save(tagger: Tagger, path: str | Path) -> None:
    """Write the directory beside `path`, then rename it into place; a tagger that was there is replaced."""
    check_place(path)
    with replacing_directory(path) as folder:
        _write(tagger, folder)


def check_place(path: str | Path) -> None:
    """Refuse to replace what is no tagger."""
    goal = Path(path)
    if not goal.exists() or (goal.is_dir() and not any(goal.iterdir())):
        return
    if not goal.is_dir():
        raise FormatError(path, None, "is a file; a tagger is a directory")
    if not (goal / "manifest.json").is_file() or not (goal / "endings.txt").is_file():
        raise FormatError(path, None, "is there and is no tagger; name another directory")


def _write(tagger: Tagger, folder: Path) -> None:
    arrays: dict[str, np.ndarray] = {f"transitions.{name}": getattr(tagger.transitions, name) for name in _TRANSITIONS}
    arrays |= {f"lexicon.{name}": getattr(tagger.lexicon, name) for name in _LEXICON}
    arrays |= {f"suffixes.{name}": getattr(tagger.suffixes, name) for name in _SUFFIXES}
    packed = io.BytesIO()
    np.savez(packed, **arrays)  # type: ignore[arg-type]
    texts = {"tags.txt": tagger.tags, "words.txt": tagger.lexicon.words}
    contents = {name: "".join(f"{row}\n" for row in rows).encode("utf-8") for name, rows in texts.items()}
    keys = (json.dumps(key, ensure_ascii=False) for key in tagger.suffixes.keys)
    contents["endings.txt"] = "".join(f"{key}\n" for key in keys).encode("utf-8")
    contents["arrays.npz"] = packed.getvalue()
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    own = {"column": tagger.column, "settings": asdict(tagger.settings), "nbest": __version__}
    write_manifest(folder, {"format": FORMAT, **own, "files": sizes_and_sums(folder)})


def load(path: str | Path) -> Tagger:
    """The tagger of a directory; files are checked against the manifest."""
    folder = Path(path)
    manifest = _manifest(folder)
    data = {name: check_file(folder, name, manifest.get("files"), verify=True).read_bytes() for name in _FILES}
    lines = {name: split_lines(decode(folder / name, data[name])) for name in _FILES if name.endswith(".txt")}
    arrays = _arrays(folder / "arrays.npz", data["arrays.npz"])
    settings = Settings(**manifest["settings"])
    tagger = Tagger(
        tuple(lines["tags.txt"]),
        Transitions(**{name: arrays[f"transitions.{name}"] for name in _TRANSITIONS}),
        Lexicon(words=tuple(lines["words.txt"]), **{name: arrays[f"lexicon.{name}"] for name in _LEXICON}),
        Suffixes(
            keys=tuple(json.loads(line) for line in lines["endings.txt"]),
            **{name: arrays[f"suffixes.{name}"] for name in _SUFFIXES},
            longest=settings.longest,
            weight=settings.weight,
        ),
        settings,
        manifest["column"],
    )
    _check_sizes(folder, tagger)
    return tagger


def _manifest(folder: Path) -> dict[str, Any]:
    manifest = read_manifest(folder, FORMAT, "tagger", "make one with nbest train tagger")
    path = folder / MANIFEST
    try:
        Settings(**manifest["settings"])
    except (KeyError, TypeError, ParameterError) as error:
        raise FormatError(path, None, f"its settings are not those of a tagger: {error}") from None
    if manifest.get("column") not in ("upos", "xpos"):
        raise FormatError(path, None, f"'column' must be upos or xpos, got {manifest.get('column')!r}")
    return manifest


def _arrays(path: Path, data: bytes) -> dict[str, np.ndarray]:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as packed:
            arrays = {name: packed[name] for name in packed.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise FormatError(path, None, f"is no file of plain arrays: {error}") from None
    wanted = [f"{part}.{name}" for part, names in _PARTS.items() for name in names]
    missing = next((name for name in wanted if name not in arrays), None)
    if missing is not None:
        raise FormatError(path, None, f"has no array {missing!r}; train the tagger again")
    return arrays


_PARTS = {"transitions": _TRANSITIONS, "lexicon": _LEXICON, "suffixes": _SUFFIXES}


def _check_sizes(folder: Path, tagger: Tagger) -> None:
    """Arrays that a kernel would read past the end of."""
    t, words, endings = tagger.transitions, tagger.lexicon, tagger.suffixes
    size = len(tagger.tags)
    fits = (
        len(t.single) == size + 1
        and len(t.first) == size + 2
        and t.first[-1] == len(t.second) == len(t.pair) == len(t.pair_counts) == len(t.rows) - 1
        and t.rows[-1] == len(t.third) == len(t.triple)
        and len(words.offsets) == len(words.words) + 1
        and words.offsets[-1] == len(words.tags) == len(words.counts) == len(words.context_offsets) - 1
        and words.context_offsets[-1] == len(words.context_tags) == len(words.context_counts)
        and len(words.tag_counts) == len(endings.prior) == size
        and len(endings.offsets) == len(endings.keys) + 1
        and endings.offsets[-1] == len(endings.tags) == len(endings.counts)
    )
    if not fits:
        raise FormatError(folder, None, "its files do not fit together; train the tagger again")
