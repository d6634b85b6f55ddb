"""The checker of what steps need sees what it should."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nbest.papers import PAPERS, paper
from nbest.papers.report import Report
from nbest.papers.run import Paper, Run
from nbest.runs import Step
from nbest.runs.steps import all_needs
from tests.papers.needs import any_order, check_needs, done_in_any_order


def toy(needs: tuple[str, ...], reads: str) -> Paper:
    """Three steps; the last reads what one of the others left."""

    def steps(run: Run) -> list[Step]:
        def leave(name: str) -> dict[str, Any]:
            (run.work / f"{name}.txt").write_text(name)
            return {"length": len(name)}

        def read() -> dict[str, Any]:
            if reads == "result":
                return dict(run.result("one") or {})
            return {"text": (run.work / reads).read_text() if (run.work / reads).exists() else ""}

        first = [Step(name, lambda name=name: leave(name), 0.1, needs=()) for name in ("one", "two")]
        return [*first, Step("three", read, 0.1, needs=needs)]

    return Paper("toy", "Nobody (2000): Nothing", "nothing", steps, lambda run: Report())


@pytest.mark.parametrize(
    ("needs", "reads", "wrong"),
    [
        (("one",), "one.txt", None),
        (("one",), "result", None),
        (("t*",), "two.txt", None),
        (("one",), "two.txt", "three reads two.txt of two"),
        (("two",), "result", "three reads one.json of one"),
        ((), "one.txt", "three reads one.txt of one"),
    ],
)
def test_reads_without_need_are_seen(
    needs: tuple[str, ...], reads: str, wrong: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = toy(needs, reads)
    monkeypatch.setattr("nbest.papers.run.find_paper", lambda name: chosen)
    found = [done_in_any_order(Run(tmp_path / str(seed), tmp_path), chosen, seed) for seed in range(8)]
    assert {line for each in found for line in each} == ({wrong} if wrong else set())


def test_results_that_depend_on_the_order_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it runs too early it finds nothing to read, which only the result tells."""
    good, bad = toy(("two",), "two.txt"), toy((), "two.txt")
    monkeypatch.setattr("nbest.papers.run.find_paper", lambda name: good)
    done = Run(tmp_path / "done", tmp_path)
    done.reproduce(good)
    check_needs(done, good, tmp_path / "good")
    monkeypatch.setattr("nbest.papers.run.find_paper", lambda name: bad)
    early = next(seed for seed in range(100) if next(any_order(all_needs(bad.steps(done)), seed)) == "three")
    with pytest.raises(AssertionError):
        check_needs(replace(done), bad, tmp_path / "bad", early)


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", sorted(PAPERS))
def test_every_step_says_what_it_needs(name: str, quick: bool, tmp_path: Path) -> None:
    steps = paper(name).steps(Run(tmp_path, tmp_path, quick=quick))
    assert all(step.needs is not None for step in steps)
    needs = all_needs(steps)
    assert sum(not each for each in needs.values()) < len(needs) / 2  # most need something
    assert max(map(len, needs.values())) < len(needs) - 1  # and none needs all
