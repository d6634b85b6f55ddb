"""A converter on disk: a directory that is written beside its place and renamed.

manifest.json     {"format": "nbest-converter/1", "tokens": "pair", "weight": 1.0, "weights": {name: w}, "settings":
                  {...}, "files": {name: {"bytes": n, "sha256": h}}, "sha256": of all this}
lm.nlm            language model; lm2.nlm: that of the text to adapt to, where "weight" of the first is not 1
spelling.nlm      language model of characters, for words that the others do not know
words.txt         surfaces; the other arrays of the dictionary are raw .npy, memory-mapped
weights.json      a model of nbest tune, put here to replace the weights of the manifest; may be missing
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError, ParameterError
from nbest.base.files import read_lines
from nbest.base.folders import (
    MANIFEST,
    check_files,
    is_number,
    mapped,
    numbers_by_name,
    read_manifest,
    replacing_directory,
    sizes_and_sums,
    write_manifest,
)
from nbest.base.version import VERSION
from nbest.compute.bounds import Bounds
from nbest.lm.file import load_lm, save_lm
from nbest.lm.mixture import Mixture
from nbest.lm.model import LanguageModel
from nbest.model.loglinear import load as load_model
from nbest.systems.converter.converter import Converter
from nbest.systems.converter.dictionary import ARRAYS, Dictionary
from nbest.systems.converter.search import FEATURES

FORMAT = "nbest-converter/1"


def save(converter: Converter, path: str | Path, settings: Mapping[str, Any] | None = None) -> None:
    """Write the directory beside `path`, then rename it into place; a converter that was there is replaced."""
    check_target(path)
    with replacing_directory(path) as folder:
        _write(converter, folder, settings or {})


def check_target(path: str | Path) -> None:
    """An error where a converter must not be written: a file, or a directory of something else."""
    goal = Path(path)
    if goal.is_dir() and any(goal.iterdir()):
        own = {
            MANIFEST,
            "weights.json",
            "lm.nlm",
            "lm2.nlm",
            "spelling.nlm",
            "words.txt",
            *(f"{n}.npy" for n in ARRAYS),
        }
        if not {MANIFEST} <= {file.name for file in goal.iterdir()} <= own:
            raise FormatError(path, None, "is there and is no converter; name another directory")
    elif goal.exists() and not goal.is_dir():
        raise FormatError(path, None, "is a file; a converter is a directory")


def _write(converter: Converter, folder: Path, settings: Mapping[str, Any]) -> None:
    lm, weight = converter.lm, 1.0
    if isinstance(lm, Mixture):
        save_lm(lm.second, folder / "lm2.nlm")
        weight, lm = lm.weight, lm.first
    save_lm(lm, folder / "lm.nlm")
    save_lm(converter.spelling, folder / "spelling.nlm")
    for name, (kind, _) in ARRAYS.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(getattr(converter.dictionary, name), kind))
    (folder / "words.txt").write_bytes("".join(f"{word}\n" for word in converter.dictionary.words).encode())
    own = {
        "tokens": converter.tokens,
        "weight": weight,
        "weights": dict(converter.weights),
        "settings": dict(settings),
        "nbest": VERSION,
    }
    write_manifest(folder, {"format": FORMAT, **own, "files": sizes_and_sums(folder)})


def load(path: str | Path) -> Converter:
    """The converter of a directory, memory-mapped; all files are checked against the manifest."""
    folder = Path(path)
    manifest = _manifest(folder)
    places = check_files(folder, list(manifest["files"]), manifest["files"])
    models = [load_lm(places[name], verify=False) for name in ("lm.nlm", "lm2.nlm") if name in places]
    mixed = Mixture(models[0], models[1], manifest["weight"]) if len(models) == 2 else models[0]
    arrays: dict[str, Any] = {name: mapped(places[f"{name}.npy"], *shape) for name, shape in ARRAYS.items()}
    try:
        dictionary = Dictionary(words=tuple(read_lines(places["words.txt"])), **arrays)
    except ParameterError as error:
        raise FormatError(folder, None, f"{error}; train it again") from None
    _check(folder, dictionary, models)
    spelling = load_lm(places["spelling.nlm"], verify=False)
    return Converter(mixed, spelling, dictionary, manifest["tokens"], _weights(folder, manifest))


def _check(folder: Path, dictionary: Dictionary, models: Sequence[LanguageModel]) -> None:
    """Nothing in the dictionary leads out of it, or out of the vocabularies of its language models."""
    bounds = Bounds(folder, "train the converter again")
    entries, readings = len(dictionary), dictionary.readings
    bounds.offsets("reading_offsets", dictionary.reading_offsets, readings, len(dictionary.reading_codes))
    bounds.offsets("entry_offsets", dictionary.entry_offsets, readings, entries)
    bounds.numbers("reading_codes", dictionary.reading_codes, 0x110000)
    bounds.numbers("surfaces", dictionary.surfaces, len(dictionary.words))
    for column, model in zip(dictionary.numbers.T, (models[0], models[-1]), strict=True):
        bounds.numbers("numbers", column, len(model.vocabulary))
    bounds.finite("spellings", dictionary.spellings)


def _weights(folder: Path, manifest: Mapping[str, Any]) -> Mapping[str, float]:
    """Those of weights.json, or else of the manifest."""
    path = folder / "weights.json"
    if not path.is_file():
        return numbers_by_name(folder / MANIFEST, manifest.get("weights"), FEATURES)
    model = load_model(path)
    strange = next((name for name in model.weights if name not in FEATURES), None)
    if strange is not None or model.features:
        what = f"has a weight for {strange!r}" if strange is not None else "adds features to lists"
        raise FormatError(path, None, f"{what}; weights of a converter are for {', '.join(FEATURES)} only")
    return dict(model.weights)


def _manifest(folder: Path) -> dict[str, Any]:
    manifest = read_manifest(folder, FORMAT, "converter", "make one with nbest train converter")
    path = folder / MANIFEST
    weight, files = manifest.get("weight", -1), manifest.get("files")
    needed = {"lm.nlm", "spelling.nlm", "words.txt", *(f"{name}.npy" for name in ARRAYS)}
    if manifest.get("tokens") not in ("pair", "surface") or not is_number(weight) or not 0 <= weight <= 1:
        raise FormatError(path, None, "its 'tokens' or 'weight' is damaged; train the converter again")
    if not isinstance(files, dict) or not needed <= set(files) or not set(files) <= needed | {"lm2.nlm"}:
        raise FormatError(path, None, "does not list the files of a converter in 'files'; train the converter again")
    return manifest
