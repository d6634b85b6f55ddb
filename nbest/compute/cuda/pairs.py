"""Hypotheses of a list measured against each other on a device: n-gram matches as products of matrices of 0 and 1.

An n-gram that a text has for the t-th time is a column of its own, so the product of two rows counts how many n-grams
two texts share, each as often as both have it: clipped matches, exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.cuda.device import Device

_CELLS = 1 << 28  # of a matrix of n-grams; larger ones go by columns


def expected_sentence_losses(
    device: Device, ids: Ints, offsets: Ints, references: Ints, weights: Floats, order: int
) -> Floats:
    """[K, G] 100 - sentence BLEU of each text of a list, expected over its references.

    Words of text k are `ids[offsets[k] : offsets[k + 1]]`; `references` [R] are places of texts, `weights` [R, G] what
    they count. Sentence BLEU is that of `BLEU.losses`: exp smoothing, effective order.
    """
    torch = device.torch
    lengths = np.diff(offsets)
    count, chosen = len(lengths), device.put(np.asarray(references, np.int64))
    texts = device.put(np.repeat(np.arange(count), lengths))
    words = device.put(np.asarray(ids, np.int64))
    left = device.put(np.repeat(offsets[1:], lengths)) - torch.arange(len(ids), device=device.device)
    own = device.put(np.asarray(lengths, np.float64))
    brevity = torch.clamp(1.0 - own[chosen][:, None] / torch.clamp(own, min=1.0)[None, :], max=0.0)
    logs, halvings, effective = (device.zeros(len(references), count) for _ in range(3))
    some = torch.zeros_like(logs, dtype=torch.bool)
    grams = words
    for n in range(order):
        if n:  # the n-gram that begins at a word, numbered by the one that is shorter by a word and its last word
            following = torch.roll(words, -n)
            grams = torch.unique(grams * (words.max() + 1) + following, return_inverse=True)[1]
        keep = left > n
        matches = _shared(device, texts[keep], grams[keep], count, chosen)
        total = torch.clamp(own - n, min=0.0)[None, :]
        going = (total > 0).expand_as(matches)
        halvings += going & (matches == 0)
        log = torch.where(matches > 0, torch.log(torch.clamp(matches, min=0.5)), -halvings * np.log(2.0))
        logs += torch.where(going, log - torch.log(torch.clamp(total, min=1.0)), 0.0)
        effective += going
        some |= matches > 0
    scores = 100.0 * torch.exp(logs / torch.clamp(effective, min=1.0) + brevity)
    losses = torch.clamp(100.0 - torch.where(some & (own > 0)[None, :], scores, 0.0), min=0.0)
    return device.get(losses.T @ device.put(np.asarray(weights, np.float64)))


def _shared(device: Device, texts: Any, grams: Any, count: int, chosen: Any) -> Any:
    """[R, count] how many n-grams texts share with those chosen."""
    torch = device.torch
    found = device.zeros(len(chosen), count)
    if not len(grams):
        return found
    base = int(grams.max()) + 1
    order = torch.sort(texts * base + grams, stable=True)
    new = torch.ones_like(order.values, dtype=torch.bool)
    new[1:] = order.values[1:] != order.values[:-1]
    place = torch.arange(len(grams), device=device.device)
    since = torch.cummax(torch.where(new, place, 0), 0).values
    times = torch.empty_like(place)
    times[order.indices] = place - since  # how often the text had it before
    _, columns = torch.unique(times * base + grams, return_inverse=True)
    width = int(columns.max()) + 1
    kind = torch.float16 if device.real else torch.float32
    step = max(1, _CELLS // max(1, count))
    for low in range(0, width, step):
        here = (columns >= low) & (columns < low + step)
        matrix = torch.zeros(count, min(step, width - low), dtype=kind, device=device.device)
        matrix[texts[here], columns[here] - low] = 1
        found += (matrix[chosen] @ matrix.T).to(found.dtype)
    return found
