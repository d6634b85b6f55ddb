"""Maximum-likelihood mixtures: split every Gaussian in two, a few rounds of expectation maximisation, and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nbest.base.randomness import generator
from nbest.base.types import Floats
from nbest.compute.executors import HeldShard, executor_of
from nbest.features.kernels.expect import expect
from nbest.features.kernels.mixture import (
    LANES,
    ROWS,
    GaussianMixture,
    PackedMixture,
    padded_rows,
    padded_width,
    together,
)
from nbest.features.kernels.posteriors import on_device

if TYPE_CHECKING:
    from nbest.compute.cuda.mixtures import DeviceMixture

_CUTOFF = 20.0  # kernels less likely than the best one by this many nats (2e-9) are left out
_PARTS = 32  # parts of the hypotheses whose sums are added in order: the same bits for any number of threads
_LOST = 1e-3  # a kernel with less than this many hypotheses has lost its mass


@dataclass(frozen=True)
class Round:
    """One round of expectation maximisation."""

    kernels: int
    log_likelihood: float  # mean over hypotheses, of the parameters that the round began with
    reseeded: int  # kernels that had lost their mass


def fit_gaussians(
    x: Floats,
    kernels: int,
    *,
    iterations: int,
    fraction: float,
    floor: float,
    seed: int,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[GaussianMixture, list[Round]]:
    """A mixture of `kernels` Gaussians over x [H, D], by splitting, and its history.

    From one Gaussian: every Gaussian (the heaviest, where fewer are wanted) becomes two, its mean moved by +-
    `fraction` of its standard deviation with random signs, then `iterations` rounds. Variances are at least `floor`
    (the maximum of the likelihood under that bound, so it never falls).
    Cost: up to H x kernels x D x 4 multiply-adds a round of the last size, and as many rounds in all before it.
    """
    random = generator(seed)
    variance = np.maximum(x.var(axis=0, dtype=np.float64), floor)
    mixture = GaussianMixture(x.mean(axis=0, dtype=np.float64)[None], variance[None], np.zeros(1))
    sizes = [1]
    while sizes[-1] < kernels:
        sizes.append(min(2 * sizes[-1], kernels))
    done, total, history = 0, iterations * sum(sizes[1:]), []
    shards = row_shards(x[together(x, total)])
    for size in sizes[1:]:
        mixture = _split(mixture, size, fraction, random)
        for _ in range(iterations):
            mixture, past = em_round(mixture, shards, fraction, floor, random, threads=threads)
            history.append(past)
            done += size
            if progress is not None:
                progress(done, total)
    return mixture, history


@dataclass
class RowShard(HeldShard):
    """A shard of hypotheses."""

    rows: Floats  # padded
    count: int


def row_shards(x: Floats) -> list[RowShard]:
    """At most `_PARTS` shards of x [H, D], in its order."""
    rows = padded_rows(x)
    part = -(-len(rows) // (_PARTS * ROWS)) * ROWS
    return [RowShard(rows[low : low + part], min(part, len(x) - low)) for low in range(0, len(x), max(part, ROWS))]


def em_round(
    mixture: GaussianMixture,
    shards: list[RowShard],
    fraction: float,
    floor: float,
    random: np.random.Generator,
    *,
    threads: int | None = None,
) -> tuple[GaussianMixture, Round]:
    """One round: posteriors of all hypotheses, then priors, means and variances from them."""
    size, width = mixture.means.shape
    total, stats = _statistics(mixture, shards, threads)
    mass = stats[:, 0]
    lost = mass < _LOST
    safe = np.where(lost, 1.0, mass)[:, None]
    half = shards[0].rows.shape[1]
    means = np.where(lost[:, None], mixture.means, stats[:, 1 : 1 + width] / safe)
    squares = stats[:, 1 + half : 1 + half + width] / safe
    variances = np.where(lost[:, None], mixture.variances, np.maximum(squares - means**2, floor))
    priors = np.where(lost, 0.0, mass)
    for m in np.flatnonzero(lost):  # re-seeded from the heaviest, which it shares
        donor = int(priors.argmax())
        move = fraction * np.sqrt(variances[donor]) * random.choice([-1.0, 1.0], width)
        means[m], variances[m] = means[donor] + move, variances[donor]
        means[donor] -= move
        priors[m] = priors[donor] = priors[donor] / 2
    found = GaussianMixture(means, variances, np.log(priors / priors.sum()))
    return found, Round(size, total / sum(shard.count for shard in shards), int(lost.sum()))


def mean_log_likelihood(mixture: GaussianMixture, x: Floats, threads: int | None = None) -> float:
    """Mean log density of x [H, D], in nats."""
    return _statistics(mixture, row_shards(x), threads)[0] / len(x)


def _split(mixture: GaussianMixture, size: int, fraction: float, random: np.random.Generator) -> GaussianMixture:
    """`size` Gaussians, at most twice as many: the heaviest are split, children side by side."""
    chosen = np.argsort(-mixture.log_priors, kind="stable")[: size - len(mixture)]
    copies = np.ones(len(mixture), np.int64)
    copies[chosen] = 2
    parent = np.repeat(np.arange(len(mixture)), copies)
    second = np.append(False, parent[1:] == parent[:-1])
    moves = fraction * np.sqrt(mixture.variances) * random.choice([-1.0, 1.0], mixture.means.shape)
    sign = np.where(second, -1.0, 1.0) * (copies[parent] == 2)
    means = mixture.means[parent] + sign[:, None] * moves[parent]
    return GaussianMixture(means, mixture.variances[parent], mixture.log_priors[parent] - np.log(copies[parent]))


def _statistics(mixture: GaussianMixture, shards: list[RowShard], threads: int | None) -> tuple[float, Floats]:
    """Log-likelihood, and for each kernel sums of posterior, posterior * x, posterior * x^2: [M, 1 + 2 * padded D]."""
    if (device := on_device(mixture)) is not None:
        parts = executor_of(threads).map(partial(_sums_on, device), shards)
        return sum(part[0] for part in parts), np.sum([part[1] for part in parts], axis=0)
    packed = mixture.packed()
    found = executor_of(threads).map(partial(_sums, packed), shards)
    total, stats, tiles = found[0]
    for value, own_stats, own_tiles in found[1:]:
        total += value
        stats += own_stats
        tiles += own_tiles
    by_lane = tiles.transpose(0, 2, 1).reshape(-1, tiles.shape[1])
    stats[packed.order] += by_lane[: len(mixture), : stats.shape[1]]
    return total, stats


def _sums(packed: PackedMixture, shard: RowShard) -> tuple[float, Floats, Floats]:
    chunks, width = len(packed.pairs), 1 + 2 * shard.rows.shape[1]
    stats, tiles = np.zeros((len(packed.order), width)), np.zeros((chunks, padded_width(width), LANES))
    return expect(shard.rows, 0, shard.count, packed, _CUTOFF, stats=stats, tiles=tiles), stats, tiles


def _sums_on(device: DeviceMixture, shard: RowShard) -> tuple[float, Floats]:
    with device.device.working():
        width, half = device.means.shape[1], shard.rows.shape[1]
        if "rows" not in shard.room:
            shard.room["rows"] = device.device.put(shard.rows[: shard.count, :width])
        total, sums = device.expected(shard.room["rows"], _CUTOFF)
    stats = np.zeros((len(sums), 1 + 2 * half))
    stats[:, : 1 + width], stats[:, 1 + half : 1 + half + width] = sums[:, : 1 + width], sums[:, 1 + width :]
    return total, stats
