"""Stores for the fuzzer: small ones, how they are used, and sums made anew after a file was changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.arrays_file import read_array
from nbest.base.folders import MANIFEST
from nbest.base.sealed import SEAL, sealed
from nbest.corpus import NBest
from nbest.features import apply_recipes, fit_recipes
from nbest.formats import FORMATS, read
from nbest.formats.lists.store_layout import ARRAYS, part
from nbest.model.loglinear import LogLinear
from nbest.testing.corpora import toy_lists


def make_stores(folder: Path) -> Mapping[Path, Path]:
    """A store of dense features, one with sparse ones, and one with added columns; every file with its store."""
    dense, sparse = (toy_lists(2, segments_=6, longest=4, sparse=each) for each in (False, True))
    added = apply_recipes(dense, fit_recipes(dense, [{"kind": "bins", "bins": 2}]))
    folder.mkdir(parents=True)
    for name, corpus in (("dense", dense), ("sparse", sparse), ("added", added)):
        FORMATS["store"].write(replace(corpus, stats=None, metric=None), folder / f"{name}.store")  # type: ignore[misc]
    return {file: file.parent for file in sorted(folder.rglob("*")) if file.is_file()}


def use_store(path: Path) -> list[Any]:
    """Map a store, stream it, and look at everything; what was seen."""
    whole = read(path)
    blocks = list(FORMATS["store"].stream(path))  # type: ignore[misc]
    assert [name for block in blocks for name in block.ids] == list(whole.ids)
    return [_seen(lists) for lists in (whole, *blocks)]


def _seen(lists: NBest) -> Any:
    model = LogLinear(dict.fromkeys(lists.names, 0.5), dense=lists.feature_names)
    scores = model.scores(lists)
    assert np.isfinite(scores).all()
    assert replace(lists) == lists
    parts = [each.ids for each in lists.shards(2)]
    return (
        scores.tolist(),
        model.predict(lists).tolist(),
        [*(lists.texts or ())],
        parts,
        lists.references,
        lists.sources,
    )


def reseal_stores(folder: Path) -> None:
    """Make all sums below a folder anew, as someone would who wants a changed file to be taken."""
    for path in folder.rglob(MANIFEST):
        try:
            content = json.loads(path.read_bytes())
            content.pop(SEAL, None)
            arrays = {
                name: read_array(file, file.read_bytes())
                for name in ARRAYS
                if (file := path.parent / f"{name}.npy").is_file()
            }
            for shard in content["shards"]:
                found = part(lambda name, low, high: arrays[name][low:high], arrays, *shard["segments"])  # noqa: B023
                shard["sha256"] = {name: hashlib.sha256(values.tobytes()).hexdigest() for name, values in found.items()}
                shard["rows"] = arrays["offsets"][shard["segments"]].tolist()
            for name, entry in content["files"].items():
                data = (path.parent / Path(name).name).read_bytes()
                entry["bytes"] = len(data)
                if "sha256" in entry:
                    entry["sha256"] = hashlib.sha256(data).hexdigest()
            path.write_text(json.dumps(sealed(content)), encoding="utf-8")
        except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            continue  # too damaged for sums
