"""Hypotheses of a list measured against each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus.metric import Metric
from nbest.corpus.texts import Texts

_PAIRS = 1 << 18  # how many pairs are measured at once


def expected_losses(
    metric: Metric,
    texts: Texts,
    offsets: Ints,
    posterior: Floats,
    *,
    evidence: int | None = None,
    device: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Floats:
    """[H] expected loss of each hypothesis, the others (and itself) taken as references with these probabilities.

        loss_k = sum_r p_r L(k | r) / sum_r p_r,        L = metric.losses

    Of probabilities [H, G], as of several sharpnesses, losses are [H, G]: pairs are measured once for all of them.
    Equal texts are measured once. `evidence` keeps only that many references a segment, those that are most probable
    (by the first of G). With a `device` BLEU is measured there; other metrics are not.
    Cost: K * min(K', evidence) measurements for K hypotheses with K' distinct texts; `progress` is told how many
    segments each step finished.
    """
    numbers = texts.numbers()
    columns = posterior if posterior.ndim == 2 else posterior[:, None]
    out = np.zeros(columns.shape)
    batch: list[int] = []
    pairs = 0
    measure: Callable[..., None] = _measure
    if device is not None:
        from nbest.metrics.bleu import BLEU

        measure = partial(_measure_on, device) if isinstance(metric, BLEU) else _measure
    plans = [_plan(numbers, columns, offsets[i], offsets[i + 1], evidence) for i in range(len(offsets) - 1)]
    for i, (rows, _, _, references) in enumerate(plans):
        batch.append(i)
        pairs += len(rows) * len(references)
        if pairs >= _PAIRS or i == len(plans) - 1:
            measure(metric, texts, [plans[j] for j in batch], out)
            if progress is not None:
                progress(len(batch))
            batch, pairs = [], 0
    return out if posterior.ndim == 2 else out[:, 0]


Plan = tuple[Ints, Ints, Floats, Ints]
"""First row of each distinct text of a list, the distinct text of each row, probabilities of texts, and references."""


def _plan(numbers: Ints, posterior: Floats, low: int, high: int, evidence: int | None) -> Plan:
    _, first, inverse = np.unique(numbers[low:high], return_index=True, return_inverse=True)
    order = np.argsort(first)  # as in the list, whatever other lists hold
    first, inverse = first[order], np.argsort(order)[inverse]
    mass: Floats = np.zeros((len(first), posterior.shape[1]))
    np.add.at(mass, inverse, posterior[low:high])
    order = np.argsort(-mass[:, 0], kind="stable")[:evidence]
    return low + first, inverse, mass, np.sort(order)


def _measure(metric: Metric, texts: Texts, plans: list[Plan], out: Floats) -> None:
    """Fill `out` for the lists of these plans by one call of the metric."""
    sizes = np.array([len(rows) for rows, _, _, references in plans for _ in references], np.int64)
    if len(sizes) == 0:
        return
    rows = np.concatenate([rows for rows, _, _, references in plans for _ in references])
    wanted = [(texts[rows[r]],) for rows, _, _, references in plans for r in references]
    losses = metric.losses(metric.stats(texts.take(rows), segments.offsets_of(sizes), wanted))
    at = 0
    for rows, inverse, mass, references in plans:
        if len(rows) == 0:
            continue
        block = losses[at : at + len(rows) * len(references)].reshape(len(references), len(rows))
        at += block.size
        low = rows.min()
        found = [_weights(each) @ block for each in mass[references].T]
        out[low : low + len(inverse)] = np.stack(found, axis=1)[inverse]


def _measure_on(device: str, metric: Any, texts: Texts, plans: list[Plan], out: Floats) -> None:
    """The same for BLEU on a device, list by list."""
    from nbest.compute.cuda.device import open_device
    from nbest.compute.cuda.pairs import expected_sentence_losses
    from nbest.metrics.normalise import normalised
    from nbest.metrics.tokenise import tokens

    on, every = open_device(device), np.concatenate([rows for rows, _, _, _ in plans])
    (own,) = normalised(metric.normalize, texts.take(every))
    (words,), _ = tokens(metric.tokenize, own, lowercase=metric.lowercase)
    at = 0
    for rows, inverse, mass, references in plans:
        if len(rows) == 0:
            continue
        offsets = words.offsets[at : at + len(rows) + 1]
        ids = words.ids[offsets[0] : offsets[-1]]
        at += len(rows)
        weights = np.stack([_weights(each) for each in mass[references].T], axis=1)
        with on.working():
            found = expected_sentence_losses(
                on, ids, offsets - offsets[0], references, weights=weights, order=metric.max_ngram_order
            )
        low = rows.min()
        out[low : low + len(inverse)] = found[inverse]


def _weights(mass: Floats) -> Floats:
    """Probabilities of references, which sum to 1."""
    mass = np.ascontiguousarray(mass)
    return mass / mass.sum() if mass.sum() > 0 else np.full(len(mass), 1.0 / len(mass))
