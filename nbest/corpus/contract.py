"""What every corpus answers, whatever container it is."""

from __future__ import annotations

from nbest.corpus.forests import Forests
from nbest.corpus.nbest import NBest


def signature_of(corpus: NBest | Forests) -> str:
    """Name and signature of the metric of a corpus."""
    metric = corpus.need_metric()
    counts = {len(refs) for refs in corpus.references or ((),)}
    return f"{metric.name}|{metric.signature(counts.pop() if len(counts) == 1 else -1)}"
