"""A tagger on disk: a directory that is written beside its place and renamed.

manifest.json   {"format": "nbest-tagger/1", "column": "xpos", "settings": {...}, "files": {name: {"bytes": n,
                "sha256": h}}, ..., "sha256": of all this}
tags.txt        one a line, in the order of their numbers
words.txt       words seen in training
endings.txt     endings of rare words; a JSON string a line
arrays.npz      counts and probabilities, never unpickled
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.arrays_file import read_npz
from nbest.base.errors import FormatError, ParameterError
from nbest.base.files import read_lines
from nbest.base.folders import MANIFEST, check_files, read_manifest
from nbest.compute.bounds import Bounds
from nbest.formats.lists.base import shown
from nbest.systems.folders import save_folder, write_lines
from nbest.systems.tagger.lexicon import Lexicon
from nbest.systems.tagger.suffixes import Suffixes
from nbest.systems.tagger.system import TaggerTraining
from nbest.systems.tagger.tagger import Tagger
from nbest.systems.tagger.transitions import Transitions

_FILES = TaggerTraining.files
_TRANSITIONS = Transitions._fields
_LEXICON = tuple(f.name for f in fields(Lexicon) if f.name != "words")
_SUFFIXES = ("offsets", "tags", "counts", "prior")
_SMALL, _REAL = ("tags", "context_tags", "second", "third"), ("shares", "single", "pair", "triple", "prior")
_KINDS: dict[str, type] = {
    f"{part}.{name}": np.int32 if name in _SMALL else np.float64 if name in _REAL else np.int64
    for part, names in (("transitions", _TRANSITIONS), ("lexicon", _LEXICON), ("suffixes", _SUFFIXES))
    for name in names
}
"""Arrays and their types; each has one axis."""


def save(tagger: Tagger, path: str | Path) -> None:
    """Write the folder of a tagger; one that was there is replaced."""
    save_folder(path, TaggerTraining, lambda folder: _write(tagger, folder))


def _write(tagger: Tagger, folder: Path) -> dict[str, Any]:
    arrays: dict[str, np.ndarray] = {f"transitions.{name}": getattr(tagger.transitions, name) for name in _TRANSITIONS}
    arrays |= {f"lexicon.{name}": getattr(tagger.lexicon, name) for name in _LEXICON}
    arrays |= {f"suffixes.{name}": getattr(tagger.suffixes, name) for name in _SUFFIXES}
    packed = io.BytesIO()
    np.savez(packed, **arrays)  # type: ignore[arg-type]
    write_lines(folder / "tags.txt", tagger.tags)
    write_lines(folder / "words.txt", tagger.lexicon.words)
    write_lines(folder / "endings.txt", (json.dumps(key, ensure_ascii=False) for key in tagger.suffixes.keys))
    (folder / "arrays.npz").write_bytes(packed.getvalue())
    settings = asdict(tagger.settings)
    return {"column": settings.pop("tags"), "settings": settings}


def load(path: str | Path) -> Tagger:
    """The tagger of a directory; files are checked against the manifest."""
    folder = Path(path)
    manifest = _manifest(folder)
    places = check_files(folder, _FILES, manifest.get("files"))
    lines = {name: read_lines(places[name]) for name in _FILES if name.endswith(".txt")}
    arrays = _arrays(places["arrays.npz"])
    settings: TaggerTraining = manifest["settings"]
    tagger = Tagger(
        tuple(lines["tags.txt"]),
        Transitions(**{name: arrays[f"transitions.{name}"] for name in _TRANSITIONS}),
        Lexicon(words=tuple(lines["words.txt"]), **{name: arrays[f"lexicon.{name}"] for name in _LEXICON}),
        Suffixes(
            keys=_endings(places["endings.txt"], lines["endings.txt"]),
            **{name: arrays[f"suffixes.{name}"] for name in _SUFFIXES},
            longest=settings.longest,
            weight=settings.weight,
        ),
        settings,
    )
    _check(folder, tagger)
    return tagger


def _manifest(folder: Path) -> dict[str, Any]:
    """The manifest, with its settings as such."""
    manifest = read_manifest(folder, TaggerTraining.form, "tagger", "make one with nbest train tagger")
    path, settings, column = folder / MANIFEST, manifest.get("settings"), manifest.get("column")
    if column not in ("upos", "xpos"):
        raise FormatError(path, None, f"'column' must be upos or xpos, got {shown(column)}")
    try:
        if not isinstance(settings, dict) or not all(isinstance(value, int | float) for value in settings.values()):
            raise ParameterError(f"expected numbers, got {shown(settings)}")
        for name, usual in asdict(TaggerTraining()).items():  # as kernels take them
            if name in settings:
                settings[name] = type(usual)(settings[name])
        manifest["settings"] = TaggerTraining(**settings, tags=column)
    except (TypeError, ValueError, OverflowError) as error:
        raise FormatError(path, None, f"its settings are not those of a tagger: {error}") from None
    return manifest


def _endings(path: Path, lines: Sequence[str]) -> tuple[str, ...]:
    keys = []
    for number, line in enumerate(lines, 1):
        try:
            key = json.loads(line)
        except (ValueError, RecursionError):
            key = None
        if not isinstance(key, str):
            raise FormatError(path, number, f"expected an ending as a JSON string, got {shown(line)}")
        keys.append(key)
    return tuple(keys)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    data = path.read_bytes()
    arrays = read_npz(path, data, most=len(data))  # they are not packed
    for name, kind in _KINDS.items():
        if name not in arrays:
            raise FormatError(path, None, f"has no array {name!r}; train the tagger again")
        if arrays[name].dtype != kind or arrays[name].ndim != 1:
            got = f"{arrays[name].dtype} with {arrays[name].ndim} axes"
            raise FormatError(path, None, f"{name} must be {np.dtype(kind)} with 1 axis, got {got}")
    return arrays


def _check(folder: Path, tagger: Tagger) -> None:
    """No kernel reads past the end of an array, or divides by 0."""
    bounds, size = Bounds(folder / "arrays.npz", "train the tagger again"), len(tagger.tags)
    if not size:
        raise FormatError(folder / "tags.txt", None, "has no tags; train the tagger again")
    _check_transitions(bounds, tagger.transitions, size + 1)
    words, endings = tagger.lexicon, tagger.suffixes
    bounds.offsets("lexicon.offsets", words.offsets, len(words.words), len(words.tags))
    bounds.numbers("lexicon.tags", words.tags, size)
    bounds.offsets("lexicon.context_offsets", words.context_offsets, len(words.tags), len(words.context_tags))
    bounds.numbers("lexicon.context_tags", words.context_tags, size + 1)
    bounds.sizes("lexicon.counts", words.counts, len(words.tags))
    bounds.sizes("lexicon.context_counts", words.context_counts, len(words.context_tags))
    bounds.sizes("lexicon.tag_counts", words.tag_counts, size)
    for name in ("counts", "context_counts", "tag_counts"):
        bounds.counts(f"lexicon.{name}", getattr(words, name))
    bounds.sizes("lexicon.shares", words.shares, 2)
    bounds.shares("lexicon.shares", words.shares)
    bounds.offsets("suffixes.offsets", endings.offsets, len(endings.keys), len(endings.tags))
    bounds.numbers("suffixes.tags", endings.tags, size)
    bounds.sizes("suffixes.counts", endings.counts, len(endings.tags))
    bounds.counts("suffixes.counts", endings.counts)
    bounds.sizes("suffixes.prior", endings.prior, size)
    bounds.shares("suffixes.prior", endings.prior)


def _check_transitions(bounds: Bounds, t: Transitions, size: int) -> None:
    pairs, triples = len(t.second), len(t.third)
    bounds.offsets("transitions.first", t.first, size, pairs)
    bounds.offsets("transitions.rows", t.rows, pairs, triples)
    bounds.numbers("transitions.second", t.second, size)
    bounds.numbers("transitions.third", t.third, size)
    bounds.sizes("transitions.pair_counts", t.pair_counts, pairs)
    bounds.counts("transitions.pair_counts", t.pair_counts, least=0)
    for name, rows in (("shares", 3), ("single", size), ("pair", pairs), ("triple", triples)):
        bounds.sizes(f"transitions.{name}", getattr(t, name), rows)
        bounds.shares(f"transitions.{name}", getattr(t, name))
