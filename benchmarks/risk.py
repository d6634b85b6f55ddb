"""Risk and its gradient against plain NumPy (and torch, where it is installed), minimum-risk training, and a case of
10,000 x 1,000 x 14 against the memory bandwidth of the machine.

The large case needs 6 GB of free memory; NBEST_BENCH_BIG=0 leaves it out, NBEST_BENCH_BIG=1 runs it whatever is free.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numba
import numpy as np

import nbest
from benchmarks.lists import best_of, files
from nbest.base.types import Floats, Ints
from nbest.compute import parallel, segments
from nbest.compute.executors import Threads, using
from nbest.compute.jets import expand
from nbest.compute.parallel import over_ranges
from nbest.corpus import NBest
from nbest.objectives import Risk, Shard, value_and_gradient
from nbest.objectives.backends import NUMBA
from nbest.objectives.moments import Blocked
from nbest.trainers.problem import prepare

_BIG = (10_000, 1_000, 14)  # segments, hypotheses of each, features
_NEEDED = 6  # GB

_wide = numba.njit(cache=True, nogil=True, fastmath=True)


def main() -> None:
    """Print seconds and ratios."""
    lists, refs = files()
    corpus = nbest.read(lists)
    corpus = corpus.with_metric(nbest.BLEU(tokenize="none"), nbest.read_references(refs, corpus.ids))
    _value_and_gradient(corpus)
    _training(corpus)
    wanted = os.environ.get("NBEST_BENCH_BIG", "")
    if wanted == "0" or (not wanted and _free() < _NEEDED):
        print(f"large case left out: it takes {_NEEDED} GB, {_free():.1f} GB are free (NBEST_BENCH_BIG=1 runs it)")
        return
    _large()


def _value_and_gradient(corpus: NBest) -> None:
    problem = prepare(corpus, "benchmark")
    weights = np.random.default_rng(1).normal(0, 0.5, len(problem.names))
    lengths = f"{len(corpus)} x {corpus.hypotheses // len(corpus)} x {len(weights)}"
    plain, expected = best_of(lambda: _plain(corpus, problem.scale, weights), 3)
    torch = _torch(corpus, problem.scale, weights)
    for single in (False, True):
        kind, near = ("float32", 2e-5) if single else ("float64", 1e-9)
        for threads in (1, 2):
            shard = Shard(corpus, problem.scale, problem.metric.losses(problem.stats), single=single)
            risk = Risk(problem.metric)
            with using(Threads(threads)):
                ours, found = best_of(lambda risk=risk, shard=shard: value_and_gradient(risk, weights, [shard]), 30)  # type: ignore[misc]
            _assert_equal(found, expected, near)
            said = f"{plain / ours:.1f} times slower: NumPy ({plain * 1e3:.1f} ms)"
            if torch is not None:
                _assert_equal(torch[1], expected, 1e-9)
                said += f", {torch[0] / ours:.1f} times: torch autograd ({torch[0] * 1e3:.1f} ms)"
            print(
                f"BLEU, order 2, value and gradient, {lengths}, {kind}, {threads} threads: {ours * 1e3:.2f} ms; {said}"
            )
    if torch is None:
        print("  torch is not installed: no ratio to autograd")


def _assert_equal(found: tuple[float, Floats], expected: tuple[float, Floats], near: float) -> None:
    assert abs(found[0] - expected[0]) <= near * abs(expected[0]), (found[0], expected[0])
    gap = np.abs(found[1] - expected[1]).max() / np.abs(expected[1]).max()
    assert gap <= 10 * near, f"gradients differ by {gap}"


def _plain(corpus: NBest, scale: Floats, weights: Floats) -> tuple[float, Floats]:
    """The formulas of `Risk` in plain NumPy, features given in rows."""
    stats, metric = corpus.need_stats()
    features, offsets, lengths = corpus.features, corpus.offsets, corpus.lengths
    p = segments.softmax(features @ (weights / scale), offsets)
    means = segments.sums(p[:, None] * stats, offsets)
    centred = stats - np.repeat(means, lengths, axis=0)
    covariance = (p[:, None] * centred).T @ centred
    found = expand(metric.smooth, means.sum(axis=0), covariance)  # type: ignore[attr-defined]
    linear, curve = -(found.gradient + 0.5 * found.third), -0.5 * found.hessian
    credit = stats @ linear + ((stats - 2.0 * np.repeat(means, lengths, axis=0)) @ curve * stats).sum(axis=1)
    share = p * (credit - np.repeat(segments.sums(p * credit, offsets), lengths))
    return -found.value - 0.5 * float((found.hessian * covariance).sum()), (share @ features) / scale


def _torch(corpus: NBest, scale: Floats, weights: Floats) -> tuple[float, tuple[float, Floats]] | None:
    """Seconds, value and gradient by autograd through lists of equal length, or None."""
    try:
        import torch  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return None
    if len(set(corpus.lengths.tolist())) != 1:
        return None
    size = int(corpus.lengths[0])
    stats, _ = corpus.need_stats()
    f = torch.tensor(corpus.features / scale).reshape(len(corpus), size, -1)
    s = torch.tensor(np.array(stats)).reshape(len(corpus), size, -1)

    def function() -> tuple[float, Floats]:
        w = torch.tensor(weights, requires_grad=True)
        p = torch.softmax(f @ w, dim=1)
        means = (p[:, :, None] * s).sum(dim=1)
        centred = s - means[:, None]
        covariance = torch.einsum("ik,ika,ikb->ab", p, centred, centred)
        value = -_torch_bleu(torch, means.sum(dim=0), covariance)
        value.backward()
        return float(value.detach()), w.grad.numpy()

    return best_of(function, 5)


def _torch_bleu(torch: Any, mean: Any, covariance: Any) -> Any:
    """log BLEU to second order, its derivatives written out."""
    from nbest.metrics.rates import FLOOR

    level = mean + FLOOR
    logs = torch.log(level) - torch.diagonal(covariance) / (2 * level**2)
    h, r = level[0], level[1]
    brevity = 1 - r / h - r / h**3 * covariance[0, 0] + covariance[0, 1] / h**2
    return (logs[2:6] - logs[6:10]).sum() / 4 + torch.where(r > h, brevity, torch.zeros(()))


def _training(corpus: NBest) -> None:
    for threads in (1, 2):
        trainer = nbest.MinRisk(threads=threads, polish=False)
        seconds, model = best_of(lambda trainer=trainer: trainer.fit(corpus), 2)  # type: ignore[misc]
        result = trainer.result_
        assert result is not None
        print(
            f"MinRisk, {threads} threads: {seconds:.2f} s, {len(result.history)} steps, "
            f"{result.evaluations} evaluations, BLEU {model.scores_['dev']:.3f}"
        )


# the large case ----------------------------------------------------------------------------------------------------


def _free() -> float:
    """GB of memory that can be had, or infinity where that is not known."""
    try:
        with open("/proc/meminfo") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("MemAvailable")) / 1e6
    except (OSError, StopIteration):
        return float("inf")


def _large() -> None:
    corpus = _synthetic(*_BIG)
    weights = np.random.default_rng(2).normal(0, 0.3, _BIG[2])
    shard = Shard(corpus, np.ones(_BIG[2]), np.zeros(corpus.hypotheses))
    begin = time.perf_counter()
    blocked = NUMBA._laid_out(shard)
    assert isinstance(blocked, Blocked)
    laid = time.perf_counter() - begin
    # both passes read features and statistics; the first writes p and log p, the second reads p and writes shares
    moved = 2 * (blocked.columns.nbytes + blocked.stats.nbytes) + 2 * 8 * corpus.hypotheses + 2 * 8 * corpus.hypotheses
    size = " x ".join(f"{n:,}" for n in _BIG)
    held = f"features {blocked.columns.nbytes / 1e6:.0f} MB {blocked.columns.dtype}"
    held += f", statistics {blocked.stats.nbytes / 1e6:.0f} MB {blocked.stats.dtype}"
    print(f"{size}: {held}, laid out in {laid:.1f} s; {moved / 1e9:.2f} GB moved by a value and gradient")
    found, risk = [], Risk(nbest.BLEU(tokenize="none"))
    for threads in (1, 2):
        rates = _bandwidth(threads)
        with using(Threads(threads)):
            seconds, result = best_of(lambda: value_and_gradient(risk, weights, [shard]), 5)
        found.append(result)
        rate = moved / seconds / 1e9
        shares = ", ".join(f"{rate / peer:.0%} of {name} ({peer:.1f} GB/s)" for name, peer in rates.items())
        print(f"  {threads} threads: {seconds:.3f} s, {rate:.1f} GB/s: {shares}")
    assert found[0][0] == found[1][0], "values depend on the number of threads"
    assert np.array_equal(found[0][1], found[1][1]), "gradients depend on the number of threads"
    _check_part(corpus, weights)


def _synthetic(count: int, size: int, width: int) -> NBest:
    """Random features and BLEU statistics that a hypothesis could have."""
    rng = np.random.default_rng(1)
    total = count * size
    features = rng.standard_normal((total, width), np.float32)
    length = rng.integers(8, 30, total)
    stats = np.empty((total, 10))
    stats[:, 0] = length
    stats[:, 1] = np.repeat(rng.integers(8, 30, count), size)
    share = rng.random(total)
    for n in range(4):
        stats[:, 6 + n] = np.maximum(length - n, 0)
        stats[:, 2 + n] = np.floor(stats[:, 6 + n] * share ** (n + 1))
    return NBest(
        offsets=np.arange(count + 1) * size,
        features=features,
        feature_names=tuple(f"f{d}" for d in range(width)),
        ids=tuple(map(str, range(count))),
        stats=stats,
        metric=nbest.BLEU(tokenize="none"),
    )


def _check_part(corpus: NBest, weights: Floats) -> None:
    """The first hundred lists by plain NumPy."""
    part = corpus.select(range(100))
    shard = Shard(part, np.ones(len(weights)), np.zeros(part.hypotheses))
    found = value_and_gradient(Risk(nbest.BLEU(tokenize="none")), weights, [shard])
    wide = replace(part, features=np.asarray(part.features, np.float64))
    _assert_equal(found, _plain(wide, np.ones(len(weights)), weights), 2e-5)


@_wide
def _triad(a, b, c):
    for k in range(len(a)):
        a[k] = b[k] + 3.0 * c[k]


@_wide
def _copy(a, b):
    for k in range(len(a)):
        a[k] = b[k]


@_wide
def _read(a):
    total = 0.0
    for k in range(len(a)):
        total += a[k]
    return total


def _bandwidth(threads: int, size: int = 40_000_000) -> dict[str, float]:
    """GB/s of a[k] = b[k] + 3 c[k], a[k] = b[k] and a sum, over arrays of 320 MB, counted as STREAM does.

    Our passes mostly read, and a store costs a read as well, so a share of triad or copy may exceed 100 %.
    """
    a, b, c = (np.ones(size) for _ in range(3))
    cuts: Ints = np.linspace(0, size, 65).astype(np.int64)

    def run(function: Callable[..., Any], *arrays: Floats) -> float:
        def part(first: int, last: int) -> None:
            function(*(array[cuts[first] : cuts[last]] for array in arrays))

        seconds, _ = best_of(lambda: over_ranges(part, cuts, threads), 5)
        return len(arrays) * a.nbytes / seconds / 1e9

    return {"triad": run(_triad, a, b, c), "copy": run(_copy, a, b), "read": run(_read, a)}


if __name__ == "__main__":
    print(f"{parallel.thread_count(None)} cores")
    main()
