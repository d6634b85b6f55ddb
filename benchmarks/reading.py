"""Reading lists and computing statistics, against sacrebleu and the plain reader."""

from __future__ import annotations

import time

import numpy as np

import nbest
from benchmarks.lists import best_of, files
from nbest.base.files import decode, read_bytes
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
    _parse(lists, "\n".join(lines), False, None)
    plain = (time.perf_counter() - begin) * corpus.hypotheses / _PART
    print(f"  plain reader {plain:.1f} s (from {_PART}): {plain / reading:.0f} times slower")
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
