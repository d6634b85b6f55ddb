"""Microseconds of `model.choose` for one list, against a plain loop over dictionaries; and how long loading takes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nbest

_SIZES = (8, 64, 1000)
_NAMES = tuple(f"feature{d}" for d in range(10))
_ROUNDS = 7


def main() -> None:
    """Print microseconds and ratios; the plain loop must choose the same."""
    rng = np.random.default_rng(1)
    weights = {name: float(weight) for name, weight in zip(_NAMES, rng.normal(size=len(_NAMES)), strict=True)}
    best = nbest.LogLinear(weights)
    vote = nbest.LogLinear(weights, decision={"kind": "vote", "pool": "scores"})
    rule = nbest.LogLinear(weights, decision={"kind": "vote", "pool": "scores"}, answer="last-number")
    for size in _SIZES:
        one = _candidates(size, rng)
        plain = _microseconds(lambda one=one: _plain(weights, one))
        assert best.choose(one).index == _plain(weights, one)
        print(f"{size} hypotheses, {len(_NAMES)} features: a plain loop {plain:.0f} us")
        ways: dict[str, Callable[[], Any]] = {
            "1best": lambda one=one: best.choose(one),
            "1best with its confidence": lambda one=one: best.choose(one).confidence,
            "vote": lambda one=one: vote.choose(one),
            "vote by the last number": lambda one=one: rule.choose(one),
        }
        for name, way in ways.items():
            ours = _microseconds(way)
            print(f"  {name}: {ours:.0f} us, {ours / plain:.1f} times the loop")
    _loading(best)


def _candidates(size: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    return [
        {"text": f"so number {k} says {rng.integers(5)}", "features": dict(zip(_NAMES, row.tolist(), strict=True))}
        for k, row in enumerate(rng.normal(size=(size, len(_NAMES))))
    ]


def _plain(weights: dict[str, float], candidates: list[dict[str, Any]]) -> int:
    scores = []
    for candidate in candidates:
        features, score = candidate["features"], 0.0
        for name, weight in weights.items():
            score += weight * features[name]
        scores.append(score)
    return scores.index(max(scores))


def _microseconds(function: Callable[[], Any]) -> float:
    """Of one call, the best of many short rounds: others may use the machine, too."""
    function()
    begin = time.perf_counter()
    function()
    calls = max(1, int(0.001 / (time.perf_counter() - begin)))
    rounds = []
    for _ in range(100 * _ROUNDS):
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        rounds.append((time.perf_counter() - begin) / calls)
    return min(rounds) * 1e6


def _loading(model: nbest.LogLinear) -> None:
    """Seconds from the start of Python to the first choice, beside those of NumPy alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        model.save(path)
        features = dict.fromkeys(_NAMES, 1.0)
        choice = f"import nbest; nbest.load({str(path)!r}).choose([{{'text': 'x', 'features': {features}}}])"
        for what, code in (("import numpy", "import numpy"), ("import nbest, load, choose", choice)):
            took = []
            for _ in range(_ROUNDS):
                begin = time.perf_counter()
                subprocess.run([sys.executable, "-c", code], check=True)
                took.append(time.perf_counter() - begin)
            print(f"{what}: {min(took):.2f} s with the start of Python")


if __name__ == "__main__":
    main()
