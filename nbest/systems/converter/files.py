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

from nbest.base.errors import FormatError, ParameterError
from nbest.base.files import read_lines
from nbest.base.folders import MANIFEST, check_files, is_number, numbers_by_name, read_manifest
from nbest.compute.bounds import Bounds
from nbest.lm.file import load_lm, save_lm
from nbest.lm.mixture import Mixture
from nbest.lm.model import LanguageModel
from nbest.systems.converter.converter import Converter
from nbest.systems.converter.dictionary import ARRAYS, Dictionary
from nbest.systems.converter.search import FEATURES
from nbest.systems.converter.system import ConverterTraining
from nbest.systems.folders import map_arrays, save_arrays, save_folder, weights_of, write_lines


def save(converter: Converter, path: str | Path, settings: Mapping[str, Any] | None = None) -> None:
    """Write the folder of a converter; one that was there is replaced."""
    save_folder(path, ConverterTraining, lambda at: _write(converter, at, settings or {}))


def _write(converter: Converter, folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    lm, weight = converter.lm, 1.0
    if isinstance(lm, Mixture):
        save_lm(lm.second, folder / "lm2.nlm")
        weight, lm = lm.weight, lm.first
    save_lm(lm, folder / "lm.nlm")
    save_lm(converter.spelling, folder / "spelling.nlm")
    save_arrays(folder, converter.dictionary, ARRAYS)
    write_lines(folder / "words.txt", converter.dictionary.words)
    own = {"tokens": converter.tokens, "weight": weight, "weights": dict(converter.weights)}
    return {**own, "settings": dict(settings)}


def load(path: str | Path) -> Converter:
    """The converter of a directory, memory-mapped; all files are checked against the manifest."""
    folder = Path(path)
    manifest = _manifest(folder)
    places = check_files(folder, list(manifest["files"]), manifest["files"])
    models = [load_lm(places[name], verify=False) for name in ("lm.nlm", "lm2.nlm") if name in places]
    mixed = Mixture(models[0], models[1], manifest["weight"]) if len(models) == 2 else models[0]
    arrays = map_arrays(places, ARRAYS)
    try:
        dictionary = Dictionary(words=tuple(read_lines(places["words.txt"])), **arrays)
    except ParameterError as error:
        raise FormatError(folder, None, f"{error}; train it again") from None
    _check(folder, dictionary, models)
    spelling = load_lm(places["spelling.nlm"], verify=False)
    own = numbers_by_name(folder / MANIFEST, manifest.get("weights"), FEATURES)
    weights = weights_of(folder, own, FEATURES, "feature of a converter")
    return Converter(mixed, spelling, dictionary, manifest["tokens"], weights)


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


def _manifest(folder: Path) -> dict[str, Any]:
    manifest = read_manifest(folder, ConverterTraining.form, "converter", "make one with nbest train converter")
    path = folder / MANIFEST
    weight, files = manifest.get("weight", -1), manifest.get("files")
    known = set(ConverterTraining.files)
    if manifest.get("tokens") not in ("pair", "surface") or not is_number(weight) or not 0 <= weight <= 1:
        raise FormatError(path, None, "its 'tokens' or 'weight' is damaged; train the converter again")
    if not isinstance(files, dict) or not known - {"lm2.nlm"} <= set(files) <= known:
        raise FormatError(path, None, "does not list the files of a converter in 'files'; train the converter again")
    return manifest
