"""Reading lists and computing statistics, against sacrebleu and the plain reader."""

from __future__ import annotations

import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import nbest
from benchmarks.lists import best_of, files
from nbest.base.files import decode, read_bytes
from nbest.formats import write
from nbest.formats.lists.lines import Piece
from nbest.formats.lists.moses import _parse

_PART = 20000  # hypotheses for the slow peers


def main() -> None:
    """Print seconds and ratios."""
    lists, refs = files()
    reading, corpus = best_of(lambda: nbest.read(lists))
    megabytes = lists.stat().st_size / 1e6
    print(f"read {megabytes:.0f} MB, {corpus.hypotheses} hypotheses: {reading:.2f} s")
    lines = decode(lists, read_bytes(lists)).split("\n")[:_PART]
    begin = time.perf_counter()
    _parse(Piece(lists, b""), "\n".join(lines), False, None)
    plain = (time.perf_counter() - begin) * corpus.hypotheses / _PART
    print(f"  plain reader {plain:.1f} s (from {_PART}): {plain / reading:.0f} times slower")
    _tables(corpus.between(0, min(200, len(corpus))))
    references = nbest.read_references(refs, corpus.ids)
    for name, options in (("bleu", {"tokenize": "none"}), ("bleu", {"tokenize": "13a"}), ("chrf", {}), ("wer", {})):
        metric = nbest.make_metric(name, **options)
        ours, measured = best_of(lambda metric=metric: corpus.with_metric(metric, references))
        label = " ".join([name, *options.values()])
        print(f"{label} statistics: {ours:.2f} s" + _peer(name, options, corpus, references, ours, measured.stats))


def _peer(name: str, options: dict, corpus, references, ours: float, stats) -> str:  # type: ignore[no-untyped-def,type-arg]
    """sacrebleu on the first hypotheses, scaled to all; the statistics must be equal."""
    if name not in ("bleu", "chrf"):
        return ""
    from sacrebleu.metrics import BLEU, CHRF

    peer = BLEU(**options, force=True) if name == "bleu" else CHRF()
    texts = [corpus.texts[h] for h in range(_PART)]
    owner = np.repeat(np.arange(len(corpus)), corpus.lengths)[:_PART]
    begin = time.perf_counter()
    theirs = peer._extract_corpus_statistics(texts, [[references[i][0] for i in owner]])
    seconds = (time.perf_counter() - begin) * corpus.hypotheses / _PART
    assert (np.array(theirs) == stats[:_PART]).all()
    return f"; sacrebleu {seconds:.1f} s (from {_PART}), equal statistics: {seconds / ours:.0f} times slower"


def _tables(corpus: nbest.NBest) -> None:
    """Tables of Arrow against JSON lines, in turn, processor time."""
    if find_spec("pyarrow") is None:
        print("pyarrow is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"lists.{suffix}" for suffix in ("jsonl", "parquet", "arrow")]
        for path in paths:
            write(corpus, path)
        busy = dict.fromkeys(paths, float("inf"))
        for _ in range(4):
            for path in paths:
                begin = time.process_time()
                found = nbest.read(path)
                busy[path] = min(busy[path], time.process_time() - begin)
                assert found.features.tobytes() == corpus.features.tobytes(), "other lists were read"
        slow = busy[paths[0]]
        for path in paths[1:]:
            size = path.stat().st_size / paths[0].stat().st_size
            print(f"  {path.suffix[1:]}: {slow / busy[path]:.0f} times as fast as jsonl, {size:.2f} of its size")
