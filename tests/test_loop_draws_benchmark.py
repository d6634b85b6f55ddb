"""The loop on several draws: who is drawn, what is decoded, and what the table says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import loop_draws
from benchmarks.loop_draws import LoopBench, table
from nbest.papers.run import Run
from nbest.testing.forests import toy_forests


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoopBench:
    """Twelve sentences, of which draws have four."""
    monkeypatch.setattr(loop_draws, "DRAWN", 4)
    made = LoopBench(Run(tmp_path, tmp_path), "fr-en", 0)
    sentences = [f"s{i}" for i in range(12)], [f"r{i}" for i in range(12)]
    made.texts = dict.fromkeys(("dev", "devtest", "test"), sentences)
    made.forests = {part: toy_forests(3, forests=12) for part in ("dev", "test")}
    return made


def test_draws_do_not_overlap(bench: LoopBench) -> None:
    drawn = [bench.drawn("dev", draw) for draw in range(3)]
    assert sorted(number for each in drawn for _, number in each.segments) == list(range(12))
    assert all(each.references == [(f"r{number}",) for _, number in each.segments] for each in drawn)
    with pytest.raises(SystemExit, match="too few for draw 4"):
        bench.drawn("dev", 3)


def test_the_best_of_forests_is_found_whatever_the_weights(bench: LoopBench) -> None:
    forests, rows = bench.forests["dev"], [2, 5, 7]
    for weights in (dict.fromkeys(forests.feature_names, 1.0), dict.fromkeys(forests.feature_names, -1.0)):
        lists = bench.decode(weights, [("dev", row) for row in rows])
        assert lists.ids == tuple(forests.ids[row] for row in rows)
        scores = lists.features.sum(axis=1) * next(iter(weights.values()))
        for begin, end in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
            assert (np.diff(scores[begin:end]) <= 1e-9).all()  # the best first
        answers = bench.decode(weights, [("test", row) for row in rows])
        firsts = lists.offsets[:-1][lists.lengths > 0]
        np.testing.assert_allclose(answers.features, lists.features[firsts])


def test_differences_are_of_the_same_draws() -> None:
    tests = {"mert": (20.0, 22.0), "risk": (21.0, 22.5), "auto": (25.0,)}
    lines = [
        {"pair": "fr-en", "beam": 0, "step": 0.5, "method": name, "draw": draw, "test": score, "last": score - 1}
        | {"missed": 0.25}
        for name, scores in tests.items()
        for draw, score in enumerate(scores)
    ]
    rows = {row[3]: row for row in table(lines, "mert").rows}
    assert rows["risk"][4:] == [2, 21.75, pytest.approx(np.sqrt(1.125)), "+0.75 (0.25)", 20.75, 0.25]
    assert rows["mert"][7] is None
    assert rows["auto"][4:8] == [1, 25.0, None, None]
