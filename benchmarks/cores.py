"""What cores are worth: MERT, risk, risk with folds and Gaussian kernels on 1, 2, 4, 8 and 16 threads.

`python -m benchmarks.cores --busy 6` measures them again with six busy processes beside. Everything is generated or
bundled: it needs no files. Each case is run as often as fits into a few seconds, and the fastest run counts; models of
all runs have to be equal.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

import nbest
from nbest.compute.executors import Threads, using
from nbest.compute.parallel import thread_count
from nbest.corpus import NBest
from nbest.features.kernels.em import fit_gaussians
from nbest.formats.bundled import lists as bundled

_SECONDS = 1.0  # for the runs of a case on some threads
_SHARE = 0.05  # a run counts as slower than another from this share on


def main(arguments: list[str] | None = None) -> None:
    """Print a table of wall and processor seconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cores", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--busy", type=int, default=0, help="measure again with this many busy processes beside")
    parser.add_argument("--threads", type=int, nargs="*", help="numbers of threads (default: 1, 2, 4, ... all cores)")
    parser.add_argument("--only", default="", help="only cases whose name has this in it")
    options = parser.parse_args([] if arguments is None else arguments)
    threads = options.threads or sorted({2**k for k in range(5) if 2**k <= thread_count(None)} | {1})
    cases = {name: case for name, case in _cases().items() if options.only in name}
    print(f"{thread_count(None)} cores; seconds of wall clock (of processors), the ratio to one thread")
    for busy in (0, options.busy) if options.busy else (0,):
        with _busy(busy):
            print(f"{busy} busy processes beside" if busy else "nothing beside")
            for name, case in cases.items():
                _row(name, case, threads)


def _row(name: str, case: Callable[[], Any], threads: list[int]) -> None:
    cells, walls = [], []
    with using(Threads(threads[-1])):
        expected = case()  # compiles, and wakes all threads
    for number in threads:
        with using(Threads(number)):
            wall, spent, same = _measured(case, expected)
        assert same, f"{name}: results depend on the number of threads"
        walls.append(wall)
        cells.append(f"{number}: {wall:.2f} ({spent:.2f})" + (f" x{walls[0] / wall:.1f}" if number > 1 else ""))
    slower = [str(n) for n, wall in zip(threads, walls, strict=True) if wall > (1 + _SHARE) * walls[0]]
    print(f"  {name:<40} {'   '.join(cells)}{'   SLOWER on ' + ', '.join(slower) if slower else ''}", flush=True)


def _measured(case: Callable[[], Any], expected: Any) -> tuple[float, float, bool]:
    """Wall and processor seconds of the fastest run, and whether all have found what is expected."""
    runs, same, end = [], True, time.perf_counter() + _SECONDS
    while not runs or time.perf_counter() < end:
        wall, spent = time.perf_counter(), _processors()
        same &= case() == expected
        runs.append((time.perf_counter() - wall, _processors() - spent))
    return *min(runs), same


def _processors() -> float:
    """Processor seconds of this process and of those that it has started and seen end."""
    import resource

    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """So many processes that do nothing but keep a core busy."""
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in beside:
            process.kill()
        for process in beside:
            process.wait()


def _cases() -> dict[str, Callable[[], Any]]:
    speech = bundled("tune")
    speech = speech.with_metric(nbest.WER(), speech.references)
    large, small = generated(1000, 200, 14), generated(300, 50, 14)
    rows = (large.features - large.features.mean(axis=0)) / large.features.std(axis=0)
    return {
        "MERT, 20 starts, 1,000 x 200 x 14": _training(nbest.MERT(restarts=20), large),
        "risk, bundled": _training(nbest.MinRisk(), speech),
        "risk, 1,000 x 200 x 14": _training(nbest.MinRisk(), large),
        "risk, 5 folds, bundled": _training(nbest.MinRisk(folds=5), speech),
        "risk, 5 folds, 300 x 50 x 14": _training(nbest.MinRisk(folds=5), small),
        "risk, 5 folds, 1,000 x 200 x 14": _training(nbest.MinRisk(folds=5), large),
        "EM, 64 Gaussians, 40,000 x 14": lambda: _mixture(rows[::5], 64),
        "EM, 256 Gaussians, 200,000 x 14": lambda: _mixture(rows, 256),
    }


def _training(trainer: Any, corpus: NBest) -> Callable[[], Any]:
    return lambda: trainer.fit(corpus).weights


def _mixture(rows: Any, kernels: int) -> list[Any]:
    found, _ = fit_gaussians(rows, kernels, iterations=3, fraction=0.2, floor=1e-3, seed=1)
    return [found.means.tobytes(), found.variances.tobytes(), found.log_priors.tobytes()]


def generated(segments: int, size: int, width: int) -> NBest:
    """Lists with statistics of BLEU and features that tell, each a little, how many words are wrong."""
    rng = np.random.default_rng(1)
    total = segments * size
    length = np.repeat(rng.integers(8, 30, segments), size)
    wrong = rng.integers(1, length)
    stats = np.empty((total, 10))
    stats[:, 1] = length
    stats[:, 0] = np.maximum(length + rng.integers(-2, 3, total), 4)
    for n in range(4):
        stats[:, 6 + n] = np.maximum(stats[:, 0] - n, 0)
        stats[:, 2 + n] = np.floor(stats[:, 6 + n] * np.maximum(1 - wrong / length, 0) ** (n + 1))
    features = -wrong[:, None] * np.linspace(0, 0.5, width) + rng.normal(size=(total, width)) * np.linspace(1, 3, width)
    lists = NBest(
        offsets=np.arange(segments + 1) * size,
        features=features,
        feature_names=tuple(f"f{d}" for d in range(width)),
        ids=tuple(map(str, range(segments))),
    )
    return replace(lists, stats=stats, metric=nbest.BLEU(tokenize="none"))


if __name__ == "__main__":
    main(sys.argv[1:])
