"""Runs of steps: results on disk, resuming, choosing steps, reports of what is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nbest.errors import FormatError, ParameterError
from nbest.reproduce import PAPERS, paper
from nbest.reproduce.data import find
from nbest.reproduce.report import Figure, Report, Table
from nbest.reproduce.run import Paper, Run, Step
from nbest.studies.charts import LineChart, Series
from nbest.studies.picture import Picture


def made_up(calls: list[str], fail: str = "") -> Paper:
    """Three steps, the last of which needs the first."""

    def steps(run: Run) -> list[Step]:
        def one(name: str) -> dict[str, float]:
            calls.append(name)
            if name == fail:
                raise RuntimeError("stopped")
            return {"value": float(len(name)) + (run.need("a")["value"] if name == "ccc" else 0.0)}

        return [Step(name, lambda name=name: one(name), 0.1) for name in ("a", "bb", "ccc")]

    def report(run: Run) -> Report:
        rows = [(name, None if (found := run.result(name)) is None else found["value"]) for name in ("a", "bb", "ccc")]
        chart = LineChart([Series("values", [0, 1, 2], [value or 0.0 for _, value in rows])])
        table = Table("Values | of steps", ("step", "value"), rows, paper=[("a", 1.5)], notes=["A note."])
        return Report(
            [table], [Figure("values", "All values", Picture("values", "", [chart]), [{"x": 1.0}])], ["Data."]
        )

    return Paper("made-up", "Nobody (2000): Nothing", "nothing", steps, report)


def cells(folder: Path) -> list[list[object]]:
    content = json.loads((folder / "report.json").read_text())
    return content["tables"][0]["rows"]


def test_all_steps_are_run_once_and_reported(tmp_path: Path) -> None:
    calls: list[str] = []
    said: list[str] = []
    Run(tmp_path / "run", tmp_path, say=said.append).reproduce(made_up(calls))
    assert calls == ["a", "bb", "ccc"]
    assert cells(tmp_path / "run") == [["a", 1.0], ["bb", 2.0], ["ccc", 4.0]]
    text = (tmp_path / "run" / "report.md").read_text()
    for part in ("all steps done", "| a | 1.50 |", "![All values](values.svg)"):
        assert part in text
    assert "## What differs from the paper\n\n- Data." in text
    assert (tmp_path / "run" / "values.svg").read_text().startswith("<?xml")
    assert any("step 2 of 3: bb" in line for line in said)


def test_a_stopped_run_goes_on_after_the_last_step_that_was_done(tmp_path: Path) -> None:
    calls: list[str] = []
    with pytest.raises(RuntimeError):
        Run(tmp_path / "run", tmp_path).reproduce(made_up(calls, fail="bb"))
    assert cells(tmp_path / "run") == [["a", 1.0], ["bb", None], ["ccc", None]]
    assert "1 of 3 steps done" in (tmp_path / "run" / "report.md").read_text()
    calls.clear()
    Run(tmp_path / "run", tmp_path).reproduce(made_up(calls), resume=True)
    assert calls == ["bb", "ccc"]
    calls.clear()
    Run(tmp_path / "run", tmp_path).reproduce(made_up(calls), resume=True)
    assert calls == []


def test_only_some_steps(tmp_path: Path) -> None:
    calls: list[str] = []
    run = Run(tmp_path / "run", tmp_path)
    run.reproduce(made_up(calls), only=["b*"])
    assert calls == ["bb"]
    with pytest.raises(ParameterError, match="'a' has to be run first"):
        run.reproduce(made_up(calls), resume=True, only=["ccc"])
    with pytest.raises(ParameterError, match=r"no step is called 'x'.*a, bb, ccc"):
        run.reproduce(made_up(calls), resume=True, only=["x"])


def test_directories_of_other_runs_are_refused(tmp_path: Path) -> None:
    calls: list[str] = []
    Run(tmp_path / "run", tmp_path).reproduce(made_up(calls), only=["a"])
    with pytest.raises(ParameterError, match="--resume"):
        Run(tmp_path / "run", tmp_path).reproduce(made_up(calls))
    with pytest.raises(ParameterError, match="quick False"):
        Run(tmp_path / "run", tmp_path, quick=True).reproduce(made_up(calls), resume=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(ParameterError, match="holds no run"):
        Run(tmp_path / "other", tmp_path).reproduce(made_up(calls))
    assert [each.name for each in (tmp_path / "other").iterdir()] == ["thesis.txt"]


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", tmp_path)
    run.reproduce(made_up([]))
    (tmp_path / "run" / "steps" / "bb.json").write_text('{"result": {"va')
    with pytest.raises(FormatError, match=r"bb\.json"):
        run.reproduce(made_up([]), resume=True)


def test_all_papers_are_there() -> None:
    for name in PAPERS:
        found = paper(name)
        assert found.name == name
        assert all((found.citation, found.needs))
    with pytest.raises(ParameterError, match="did you mean 'yuan-2007'"):
        paper("yuan-2008")


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", sorted(PAPERS))
def test_steps_and_reports_before_anything_is_run(tmp_path: Path, name: str, quick: bool) -> None:
    run = Run(tmp_path / "run", tmp_path, quick=quick)
    names = [step.name for step in paper(name).steps(run)]
    assert len(set(names)) == len(names) > 0
    assert all(step.minutes > 0 for step in paper(name).steps(run))
    paper(name).report(run).markdown({"citation": "", "quick": quick, "seed": 1, "steps": [], "versions": {}})


def test_missing_data_are_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", tmp_path)
    with pytest.raises(ParameterError, match=r"treebanks/x/dev.conllu"):
        find(run, "treebanks", "x", "dev.conllu")
