"""What the best of k is worth on average, for lists of n: exactly, without drawing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute import segments

_ALL = 100  # sizes up to which every one is taken


def sizes_up_to(most: int) -> list[int]:
    """Every size up to 100, then some that grow evenly by ratio."""
    later = np.geomspace(_ALL, most, 50).round().astype(int).tolist() if most > _ALL else []
    return sorted({*range(1, min(most, _ALL) + 1), *later})


def doubling(most: int) -> list[int]:
    """1, 2, 4, ... and the largest size; without the one before where it is too near to that."""
    found = [2**power for power in range(most.bit_length())]
    return [k for k in found if k == 1 or 1.4 * k <= most] + ([most] if most > 1 else [])


def rank_shares(count: int, sizes: Sequence[int]) -> Floats:
    """[K, count] probability that rank i (0 is best) of `count` hypotheses is the best of k drawn without replacement.

        C(n - 1 - i, k - 1) / C(n, k) = k / n * prod_{j < i} (n - k - j) / (n - 1 - j)

    The product has factors from 0 to 1 only, so that nothing is too large or cancels. More than n are n.
    """
    k = np.minimum(np.asarray(sizes, np.float64), count)[:, None]
    j = np.arange(count - 1)
    shares = np.empty((len(k), count))
    shares[:, :1] = k / count
    shares[:, 1:] = np.maximum(count - k - j, 0.0) / (count - 1 - j)
    return np.asarray(np.cumprod(shares, axis=1, out=shares))


def best_of(scores: Floats, values: Floats, offsets: Ints, sizes: Sequence[int]) -> Floats:
    """[N, K, M] expected values [H, M] of the hypothesis with the best of the scores [H] among k drawn from its list.

    Exact: a sum over ranks (`rank_shares`); of equal scores each is as likely to be taken. Of a list with fewer than k
    hypotheses all are drawn; of an empty one nothing. With the value for score and right or wrong for value, it is the
    unbiased pass@k of Chen et al. (2021). Cost: O(H (K M + log H)).
    """
    if not len(sizes) or min(sizes) < 1:
        raise ParameterError(f"'sizes' of best_of must be at least one number >= 1, got {list(sizes)}")
    ranked, lengths = _ranked(scores, values, offsets), segments.lengths(offsets)
    found = np.zeros((len(lengths), len(sizes), values.shape[1]))
    for count in np.unique(lengths[lengths > 0]).tolist():
        which = np.flatnonzero(lengths == count)
        rows, _ = segments.rows_of(offsets, which)
        found[which] = rank_shares(count, sizes) @ ranked[rows].reshape(len(which), count, -1)
    return found


def _ranked(scores: Floats, values: Floats, offsets: Ints) -> Floats:
    """[H, M] values by falling score within each list, those of equal scores averaged."""
    owners = segments.owners(offsets)
    order = np.lexsort((-scores, owners))
    ordered = scores[order]
    begins = np.flatnonzero(np.append(True, (ordered[1:] != ordered[:-1]) | (owners[1:] != owners[:-1]))[: len(order)])
    runs = np.append(begins, len(order))
    sizes = segments.lengths(runs)
    return np.asarray(np.repeat(segments.sums(values[order], runs) / sizes[:, None], sizes, axis=0))
