"""A million scores joined to lists, against a plain join by dictionaries, and pandas where it is installed."""

from __future__ import annotations

import csv
import json
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from nbest.compute import segments
from nbest.corpus import NBest, Texts
from nbest.formats.joining import join_scores

_SEGMENTS, _LENGTH = 10_000, 100


def main() -> None:
    """Print seconds and ratios; the joined columns must be equal."""
    corpus, values = _lists()
    with tempfile.TemporaryDirectory() as folder:
        files = _files(Path(folder), corpus, values)
        for key in ("index", "text"):
            plain, known = _seconds(lambda key=key: _plain(files[f"{key}.csv"], corpus, key))
            print(f"{len(values)} rows of CSV by id and {key}: plain Python {plain:.2f} s")
            assert np.array_equal(known, values)
            for name in (f"{key}.csv", f"{key}.jsonl", f"{key}.parquet"):
                if name in files:
                    ours, joined = _seconds(lambda name=name: join_scores(corpus, files[name]))
                    assert np.array_equal(joined.column("qe"), values)
                    print(f"  {name}: {ours:.2f} s, {plain / ours:.1f} times as fast")
            if find_spec("pandas") is not None:
                theirs, known = _seconds(lambda key=key: _pandas(files[f"{key}.csv"], corpus, key))
                assert np.array_equal(known, values)
                print(f"  pandas: {theirs:.2f} s, {plain / theirs:.1f} times as fast")
        ours, joined = _seconds(lambda: join_scores(corpus, files["qe.txt"], name="qe"))
        assert np.array_equal(joined.column("qe"), values)
        print(f"one number a line: {ours:.2f} s")


def _lists() -> tuple[NBest, Any]:
    rng = np.random.default_rng(1)
    count = _SEGMENTS * _LENGTH
    corpus = NBest(
        offsets=np.arange(0, count + 1, _LENGTH),
        features=rng.normal(size=(count, 2)),
        feature_names=("am", "lm"),
        ids=tuple(f"utt-{i}" for i in range(_SEGMENTS)),
        texts=Texts.of(f"some words of hypothesis {h % _LENGTH} here" for h in range(count)),
    )
    return corpus, rng.normal(size=count)


def _files(folder: Path, corpus: NBest, values: Any) -> dict[str, Path]:
    """The same table by index and by text in several forms, rows in another order."""
    owners = segments.owners(corpus.offsets).tolist()
    texts, names = list(corpus.texts or ()), corpus.ids
    order = np.random.default_rng(2).permutation(len(values)).tolist()
    found = {}
    for key in ("index", "text"):
        cells = texts if key == "text" else [h % _LENGTH for h in range(len(values))]
        rows = [{"id": names[owners[h]], key: cells[h], "qe": float(values[h])} for h in order]
        found[f"{key}.csv"] = folder / f"{key}.csv"
        with found[f"{key}.csv"].open("w") as file:
            file.write(f"id,{key},qe\n")
            file.writelines(f"{row['id']},{row[key]},{row['qe']!r}\n" for row in rows)
        found[f"{key}.jsonl"] = folder / f"{key}.jsonl"
        with found[f"{key}.jsonl"].open("w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        if find_spec("pyarrow") is not None:
            import pyarrow as pa
            from pyarrow import parquet

            found[f"{key}.parquet"] = folder / f"{key}.parquet"
            parquet.write_table(pa.Table.from_pylist(rows), found[f"{key}.parquet"])
    found["qe.txt"] = folder / "qe.txt"
    found["qe.txt"].write_text("".join(f"{value!r}\n" for value in values.tolist()))
    return found


def _plain(path: Path, corpus: NBest, key: str) -> Any:
    """As one writes it by hand: a dictionary of the table, looked up for every hypothesis."""
    with path.open(newline="") as file:
        known = {(row["id"], row[key]): float(row["qe"]) for row in csv.DictReader(file)}
    texts = corpus.texts or ()
    rows = ((name, k) for name, size in zip(corpus.ids, corpus.lengths.tolist(), strict=True) for k in range(size))
    if key == "index":
        return np.array([known[name, str(k)] for name, k in rows])
    return np.array([known[name, text] for (name, _), text in zip(rows, texts, strict=True)])


def _pandas(path: Path, corpus: NBest, key: str) -> Any:
    import pandas as pd

    own = {"id": np.repeat(corpus.ids, corpus.lengths)}
    own[key] = np.array(list(corpus.texts or ())) if key == "text" else np.tile(np.arange(_LENGTH), _SEGMENTS)
    return pd.DataFrame(own).merge(pd.read_csv(path), on=["id", key], how="left")["qe"].to_numpy()


def _seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = function()
    return time.perf_counter() - begin, found


if __name__ == "__main__":
    main()
