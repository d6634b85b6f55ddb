"""The first commands after installing, from a cold kernel cache and warm, on the bundled lists in the format of Moses.

Beside each other in one run: as it is (kernels compiled by other processes while files are read, small files read
without one), alone (all by the process itself, every reader compiled), and warm. `python -m benchmarks.first_minutes
--metric bleu --against FOLDER` also runs the commands of another checkout, cold and warm, with the same Python.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from nbest import formats
from nbest.formats import bundled

_ROOT = Path(__file__).parent.parent
_RUN = "import sys; from nbest.cli.main import main; sys.exit(main(sys.argv[1:]))"
_ALONE = (
    "from nbest.compute import forks; forks.can_fork = lambda: False; "
    "from nbest.formats.lists import plainly; plainly.thrifty = False; "
)
_COMMANDS = (
    "inspect dev.nbest --refs dev.ref --metric {metric}",
    "tune dev.nbest --refs dev.ref --metric {metric} -o model.json",
    "rerank dev.nbest --model model.json -o out.txt",
    "score out.txt --refs dev.ref --metric {metric}",
    "compare dev.nbest --refs dev.ref --metric {metric} --test dev.nbest --test-refs dev.ref",
    "report dev.nbest --refs dev.ref --metric {metric} --model model.json -o report.html",
)
_JOB = 3  # of these are what everybody runs first
_Seconds = tuple[float, float]  # of the wall clock and of processors


def main(arguments: list[str] | None = None) -> None:
    """Print a table of wall and processor seconds."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.first_minutes", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--metric", default="wer")
    parser.add_argument("--against", type=Path, help="another checkout, whose commands are run, too")
    options = parser.parse_args([] if arguments is None else arguments)
    with tempfile.TemporaryDirectory() as folder:
        _write_lists(Path(folder))
        ways = {"as it is": (_ROOT, ""), "alone": (_ROOT, _ALONE)}
        if options.against is not None:
            ways["other checkout"] = (options.against, "")
        found: dict[str, list[_Seconds]] = {}
        for way, (root, before) in ways.items():
            with tempfile.TemporaryDirectory() as cache:
                for state in ("cold", "warm"):
                    each = [_run(Path(folder), root, Path(cache), before, line, options.metric) for line in _COMMANDS]
                    found[f"{way}, {state}"] = each
    _show(found)


def _write_lists(folder: Path) -> None:
    lists = bundled.lists("tune")
    lists = lists.select(np.arange(len(lists)), ids=[str(number) for number in range(len(lists))])
    assert lists.references is not None
    (folder / "dev.ref").write_text("".join(f"{each[0]}\n" for each in lists.references), encoding="utf-8")
    formats.write(lists, folder / "dev.nbest", "moses")


def _run(folder: Path, root: Path, cache: Path, before: str, line: str, metric: str) -> _Seconds:
    place = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", before + _RUN, *line.format(metric=metric).split(), "--quiet"]
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=place, capture_output=True, check=False, text=True)
    if done.returncode:
        sys.exit(f"nbest {line}: exit code {done.returncode}\n{done.stderr}")
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - began, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime


def _show(found: dict[str, list[_Seconds]]) -> None:
    names = [line.split()[0] for line in _COMMANDS]
    print(f"{'seconds, wall / processor':28s}" + "".join(f"{name:>15s}" for name in (*names, "first three", "ratio")))
    base = sum(wall for wall, _ in found["as it is, cold"][:_JOB])
    for way, each in found.items():
        job = tuple(map(sum, zip(*each[:_JOB], strict=True)))
        cells = [f"{wall:.1f} / {cpu:.1f}" for wall, cpu in (*each, job)]
        print(f"{way:28s}" + "".join(f"{cell:>15s}" for cell in (*cells, f"{job[0] / base:.2f}")))


if __name__ == "__main__":
    main(sys.argv[1:])
