"""`nbest tune --method mert --restarts 20` stage by stage, each against the plain way of doing it; and as a whole.

`python -m benchmarks.command --threads 2 --against FOLDER` also runs the command of another checkout in turn with ours.
Lists are those of `benchmarks.lists`; everything is run warm, in new processes, and the least of several counts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.lists import files

_SETUP = """
import json, sys, time
lists, refs, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
told, begun = [], [time.perf_counter(), time.process_time()]
def stage(name):
    told.append((name, time.perf_counter() - begun[0], time.process_time() - begun[1]))
    begun[:] = time.perf_counter(), time.process_time()
"""

_OURS = """
from nbest.cli import tune, tuning
stage("imports")
import nbest
from nbest.compute.blas import ONE_BLAS_THREAD
from nbest.compute.executors import Threads, using
with using(Threads(threads)), ONE_BLAS_THREAD:
    corpus = nbest.read(lists)
    stage("reading")
    corpus = corpus.with_metric(nbest.BLEU(tokenize="none"), nbest.read_references(refs, corpus.ids))
    stage("statistics")
    from nbest.trainers.dense.mert import MERT, _Search
    from nbest.trainers.finishing import calibrated
    from nbest.trainers.problem import prepare
    from nbest.trainers.sharpness import decision_gamma
    problem = prepare(corpus, "MERT")
    stage("scales")
    result = _Search(MERT(restarts=20), problem).run()
    stage("search")
    model = calibrated(problem, result.weights)
    stage("calibration")
    gamma = decision_gamma(model, corpus)
    stage("sharpness")
print(json.dumps([told, result.weights.tolist(), gamma]))
"""

_PLAIN = """
import scipy.optimize
from numba.core.registry import cpu_target
cpu_target.target_context.refresh()  # what Numba does before it loads a kept kernel
from nbest.lines.search import Lines
Lines.compiled = None  # one search after the other, through arrays of totals
from nbest.trainers import sharpness
from nbest.decisions import consensus
sharpness.consensus_of_each = lambda model, lists, gammas, gain, forests: [
    consensus(model, lists, forests=forests, gain=gain, gamma=gamma) for gamma in gammas]
"""


def main(arguments: list[str] | None = None) -> None:
    """Print a table of wall and processor seconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.command", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--against", help="another checkout, whose whole command is run in turn with ours")
    options = parser.parse_args([] if arguments is None else arguments)
    lists, refs = files()
    ways = {"ours": _SETUP + _OURS, "plain": _SETUP + _PLAIN + _OURS}
    runs = [{way: _stages(code, lists, refs, options.threads) for way, code in ways.items()}]  # compiles
    runs = [
        {way: _stages(code, lists, refs, options.threads) for way, code in ways.items()} for _ in range(options.repeats)
    ]
    ends = {json.dumps(run[way][1:]) for run in runs for way in ways}
    assert len(ends) == 1, "the same weights and the same gamma, whatever the way"
    print(
        f"{'threads ' + str(options.threads):<14}{'wall':>8}{'processor':>12}{'plain':>8}{'processor':>12}{'ratio':>8}"
    )
    for at, (name, *_) in enumerate(runs[0]["ours"][0]):
        least = {way: [min(run[way][0][at][k] for run in runs) for k in (1, 2)] for way in ways}
        ours, plain = least["ours"], least["plain"]
        print(f"{name:<14}{ours[0]:8.2f}{ours[1]:12.2f}{plain[0]:8.2f}{plain[1]:12.2f}{plain[1] / ours[1]:8.2f}")
    _whole(options.against, options.threads, options.repeats)


def _stages(code: str, lists: Path, refs: Path, threads: int) -> list:
    words = [sys.executable, "-c", code, str(lists), str(refs), str(threads)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def _whole(against: str | None, threads: int, repeats: int) -> None:
    """The whole command, from the shell to the model file."""
    ours = str(Path(__file__).parents[1])
    folders = [ours, *([against] if against else [])]
    with tempfile.TemporaryDirectory() as out:
        models = [Path(out, f"{k}.json") for k in range(len(folders))]
        times = [[_seconds(folder, model, threads) for folder, model in zip(folders, models, strict=True)]
                 for _ in range(repeats + 1)][1:]  # fmt: skip
        same = len({model.read_bytes() for model in models}) == 1
    least = [[min(run[k][of] for run in times) for of in (0, 1)] for k in range(len(folders))]
    print(f"whole command: {least[0][0]:.2f} s, {least[0][1]:.2f} s of processors")
    if against:
        wall, processor = least[1][0] / least[0][0], least[1][1] / least[0][1]
        told = "the same model bytes" if same else "ANOTHER MODEL"
        print(f"{against}: {least[1][0]:.2f} s, {least[1][1]:.2f} s: {wall:.2f} and {processor:.2f} times; {told}")


def _seconds(folder: str, model: Path, threads: int) -> tuple[float, float]:
    lists, refs = files()
    words = (
        f"tune {lists} --refs {refs} --metric bleu --tokenize none --method mert --restarts 20 --threads {threads} -q"
    )
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "nbest", *words.split(), "-o", str(model)],
        check=True,
        env=os.environ | {"PYTHONPATH": folder},
        cwd=folder,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begin, used


if __name__ == "__main__":
    main(sys.argv[1:])
