"""Models and choices depend on input and seed only: kernels compiled now or loaded, in any order, on any threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.every_method import EVERY


def results(folder: Path, cache: Path, threads: int, tasks: list[str]) -> dict[str, bytes]:
    """The files of a new process, by name."""
    folder.mkdir()
    subprocess.run(
        [sys.executable, "-m", "tests.every_method", str(folder), str(threads), *tasks],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        check=True,
    )
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("tasks", [["lists risk"], pytest.param(EVERY, marks=pytest.mark.slow)], ids=["risk", "every"])
def test_the_same_bytes_compiled_now_or_loaded_on_any_threads(tmp_path: Path, tasks: list[str]) -> None:
    cache = tmp_path / "cache"
    cold = results(tmp_path / "cold", cache, 2, tasks)
    assert any(cache.rglob("*.nbc"))
    assert len(cold) >= len(tasks)
    for threads in (1, 4):
        warm = results(tmp_path / f"warm{threads}", cache, threads, tasks[::-1])
        assert [name for name in cold if warm[name] != cold[name]] == []
        assert warm.keys() == cold.keys()
