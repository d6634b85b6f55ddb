"""What a Ray cluster costs: seconds and bytes of a pass on workers against threads, also while workers are killed.

`python -m benchmarks.clusters` needs the extra `ray` and no files: lists are generated (10,000 x 1,000 x 14 take 12 GB;
see --lists and --size). Passes of both kinds are made in turn and the fastest count; all have to give the same bits.
With `--system DIR --text FILE` the decoding of a system of `nbest train` is measured as well.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from nbest.base.types import Floats
from nbest.compute.executors import Executor, Serial, Threads, using
from nbest.compute.parallel import thread_count
from nbest.compute.ray_executor import Ray
from nbest.corpus import NBest
from nbest.features.standardise import within_scale
from nbest.lines.forests import lines_of
from nbest.metrics import BLEU
from nbest.objectives import Likelihood, Quadratic, Risk, value_and_gradient
from nbest.objectives.forest_shard import shards_of
from nbest.systems.decoder import SystemDecoder

_FEATURES = 14


def main(arguments: list[str] | None = None) -> None:
    """Print a table of passes, then what kills cost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clusters", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lists", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=1000, help="hypotheses of a list")
    parser.add_argument("--passes", type=int, default=100, help="passes while workers are killed")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, nargs="*", help="numbers of workers (default: 1, 2, ... all cores)")
    parser.add_argument("--system", help="directory of a system whose decoding is measured, too")
    parser.add_argument("--text", help="what it decodes")
    options = parser.parse_args([] if arguments is None else arguments)
    if find_spec("ray") is None:
        print("needs the extra ray: pip install 'nbest[ray]'")
        return
    lists = _lists(options.lists, options.size)
    numbers = options.workers or sorted({2**k for k in range(7) if 2**k <= thread_count(None)})
    cases = _cases(lists)
    for workers in numbers:
        _compare(cases, workers)
    if options.kills:
        _killed(cases["risk"], numbers[-1], options.passes, options.kills)
    if options.system:
        _decode(options.system, options.text, numbers)


def _lists(count: int, size: int) -> NBest:
    """Lists whose losses the features tell something of."""
    random = np.random.default_rng(1)
    rows = count * size
    features = random.normal(size=(rows, _FEATURES))
    right = random.integers(0, 20, (rows, 4)).cumsum(axis=1)[:, ::-1]
    stats = np.empty((rows, 10))
    stats[:, 0], stats[:, 1] = right[:, 0] + 5, 40
    stats[:, 2::2], stats[:, 3::2] = right, right[:, :1] + 5
    features[:, 0] += right[:, 0] / 20
    offsets = np.arange(0, rows + 1, size)
    names = tuple(f"f{d}" for d in range(_FEATURES))
    return NBest(offsets, features, names, tuple(map(str, range(count))), stats=stats, metric=BLEU())


Case = tuple[Callable[[Floats], Any], str]


def _cases(lists: NBest) -> dict[str, Case]:
    """What is done at some weights, with all that it has prepared."""
    stats, metric = lists.need_stats()
    scale = within_scale(lists)
    shards = shards_of(lists, scale, stats, metric)
    lines = lines_of(lists, np.asarray(lists.features))
    risk, likelihood = Risk(metric, temperature=0.1), Likelihood(Quadratic(np.ones(_FEATURES)))
    axis = np.eye(_FEATURES)[3]
    return {
        "risk": (lambda weights: value_and_gradient(risk, weights, shards), "value and gradient"),
        "likelihood": (lambda weights: value_and_gradient(likelihood, weights, shards), "value and gradient"),
        "line search": (lambda weights: lines.search(lines.scores(weights), axis), "scores and a search"),
        "scales": (lambda weights: within_scale(lists), "two passes"),
    }


def _compare(cases: dict[str, Case], workers: int) -> None:
    threads = Threads(workers)
    print(f"{workers} workers of one core, {workers} threads: seconds, their ratio; bytes to workers and back")
    with Ray(workers=workers, cores=1) as cluster:
        for name, (case, what) in cases.items():
            first, loading = _timed(cluster, case, 0)
            same, spent = True, {threads: float("inf"), cluster: float("inf")}
            for number in range(5):
                found = []
                for executor in spent:
                    before = cluster.traffic
                    result, seconds = _timed(executor, case, number)
                    spent[executor] = min(spent[executor], seconds)
                    found.append(_bits(result))
                same = same and found[0] == found[1]
            sent, back = (after - then for after, then in zip(cluster.traffic[1:], before[1:], strict=True))
            assert same, f"{name}: results depend on who computes them"
            here, there = spent.values()
            print(
                f"  {name:<12} {what:<20} {here:.3f} {there:.3f}  {there / here:.2f}   {sent:,} {back:,}   "
                f"(first, with loading: {loading:.1f} s)",
                flush=True,
            )
            assert _bits(first) == _bits(_timed(threads, case, 0)[0])


def _decode(system: str, text: str, numbers: list[int]) -> None:
    """Seconds of decoding with workers and with threads, after the system is loaded."""
    decoder = SystemDecoder(system, 100)
    inputs = decoder.read(text)
    for number in numbers:
        with Ray(workers=number, cores=1) as cluster:
            spent, found, threads = {}, [], Threads(number)
            for executor in (threads, cluster) * 2:  # the first of each loads
                before = cluster.traffic
                with using(executor):
                    begin = time.perf_counter()
                    found.append(decoder.decode(decoder.start, inputs))
                    spent[executor] = time.perf_counter() - begin
            sent, back = (after - then for after, then in zip(cluster.traffic[1:], before[1:], strict=True))
        assert all(each == found[0] for each in found), "lists depend on who decodes"
        here, there = spent.values()
        print(
            f"{len(inputs)} segments, {decoder.k} best: {number} threads {here:.2f} s, {number} workers {there:.2f} s, "
            f"bytes {sent:,} {back:,}",
            flush=True,
        )


def _timed(executor: Executor, case: Callable[[Floats], Any], number: int) -> tuple[Any, float]:
    weights = np.random.default_rng(number).normal(size=_FEATURES)
    with using(executor):
        begin = time.perf_counter()
        found = case(weights)
        return found, time.perf_counter() - begin


def _bits(found: Any) -> bytes:
    parts = found if isinstance(found, tuple) else (found,)
    if hasattr(found, "value"):
        parts = found.x, found.value
    return b"".join(np.asarray(part).tobytes() for part in parts)


def _killed(case: Case, workers: int, passes: int, kills: int) -> None:
    """Passes with and without workers that are killed at random moments."""
    function = case[0]
    expected = [_bits(_timed(Serial(), function, number)[0]) for number in range(passes)]
    with Ray(workers=workers, cores=1) as cluster:
        seconds = []
        for killing in (False, True):
            ended = threading.Event()
            _timed(cluster, function, 0)
            killer = threading.Thread(target=_kill, args=(cluster, kills, ended))
            if killing:
                killer.start()
            begin, number, found = time.perf_counter(), 0, []
            while number < passes or (killing and killer.is_alive()):
                found.append(_bits(_timed(cluster, function, number % passes)[0]))
                number += 1
            seconds.append((time.perf_counter() - begin) / number)
            ended.set()
            assert all(bits == expected[at % passes] for at, bits in enumerate(found)), "a kill has changed results"
        print(
            f"{number} passes of risk with {cluster.crew.lost_count} workers killed: the same bits as undisturbed; "
            f"{seconds[1]:.2f} s a pass, {seconds[0]:.2f} s undisturbed"
        )


def _kill(cluster: Ray, kills: int, ended: threading.Event) -> None:
    draw, passes = random.Random(1), 0
    for _ in range(kills):
        if ended.wait(draw.uniform(0.0, 2.0)):
            return
        while not cluster.crew.there or cluster.traffic.passes <= passes + 1:
            time.sleep(0.01)
        passes = cluster.traffic.passes
        os.kill(draw.choice(cluster.crew.there).process, signal.SIGKILL)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
