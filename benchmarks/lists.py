"""Lists to measure on: given ones, or synthetic ones of the same shape."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from nbest.base.files import replacing, write_text

FOLDER = Path(__file__).parents[1] / "build" / "bench"
"""Where synthetic lists are kept."""

T = TypeVar("T")


def files(folder: Path = FOLDER, segments: int = 1000, size: int = 200) -> tuple[Path, Path]:
    """A Moses list and its references: those in the folder NBEST_BENCH (dev.nbest, dev.ref), else synthetic ones.

    Synthetic: 1,000 segments x 200 hypotheses x 14 features, 58 MB or so, words drawn from a Zipf-like vocabulary;
    made once, each file in one step and the references last, so that those of a run that was stopped are made again.
    """
    given = os.environ.get("NBEST_BENCH")
    if given:
        return Path(given) / "dev.nbest", Path(given) / "dev.ref"
    lists, refs = folder / f"{segments}x{size}.nbest", folder / f"{segments}x{size}.ref"
    if not (lists.exists() and refs.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        _make(lists, refs, segments, size)
    return lists, refs


def _make(lists: Path, refs: Path, segments: int, size: int) -> None:
    rng = np.random.default_rng(1)
    vocabulary = [f"w{i}" for i in range(8000)]
    weights = 1.0 / np.arange(1, 8001)
    weights /= weights.sum()
    truth = []
    with replacing(lists) as out:
        for i in range(segments):
            sentence = rng.choice(vocabulary, size=rng.integers(8, 18), p=weights)
            truth.append(" ".join(sentence) + "\n")
            for _ in range(size):
                errors = rng.integers(1, len(sentence))
                words = sentence.copy()
                words[rng.choice(len(words), errors, replace=False)] = rng.choice(vocabulary, errors, p=weights)
                values = -errors * np.linspace(0, 0.5, 14) + rng.normal(size=14) * np.linspace(1, 3, 14)
                text = " ".join(f"{value:.6g}" for value in values)
                out.write(f"{i} ||| {' '.join(words)} ||| F0= {text} ||| 0\n".encode())
    write_text(refs, "".join(truth))


def best_of(function: Callable[[], T], repeats: int = 5) -> tuple[float, T]:
    """The shortest time of several calls after a first one (which compiles), and what the call returned."""
    result = function()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - begin)
    return min(times), result
