"""Runs of steps: results on disk, resuming, choosing steps, reports of what is there."""

from __future__ import annotations

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nbest.base.errors import CapabilityError, FormatError, ParameterError
from nbest.corpus import NBest
from nbest.metrics import WER
from nbest.papers import PAPERS, paper
from nbest.papers.data import chosen_stats, find, has, parallel, short, to_train
from nbest.papers.report import PaperTable, Report
from nbest.papers.run import Paper, Run
from nbest.report import Figure
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.runs import Step


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
        table = PaperTable("Values | of steps", ("step", "value"), rows, paper=[("a", 1.5)], notes=["A note."])
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
    with pytest.raises(ParameterError, match="quick false, now it is true"):
        Run(tmp_path / "run", tmp_path, quick=True).reproduce(made_up(calls), resume=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(ParameterError, match="holds no run"):
        Run(tmp_path / "other", tmp_path).reproduce(made_up(calls))
    assert [each.name for each in (tmp_path / "other").iterdir()] == ["thesis.txt"]


def test_a_run_killed_at_its_very_beginning_can_be_resumed(tmp_path: Path) -> None:
    """What is there then: nothing, half of run.json, or run.json and some of the folders."""
    for name, content in {"a": [], "b": [".run.json.x1.part"], "c": ["run.json"]}.items():
        folder = tmp_path / name
        folder.mkdir()
        if content == ["run.json"]:
            Run(tmp_path / "whole", tmp_path).reproduce(made_up([]), only=["a"])
            (folder / "run.json").write_text((tmp_path / "whole" / "run.json").read_text())
        elif content:
            (folder / content[0]).write_text('{"pap')
        calls: list[str] = []
        Run(folder, tmp_path).reproduce(made_up(calls), resume=True)
        assert calls == ["a", "bb", "ccc"]


def test_places_that_are_files_are_refused_and_leave_nothing_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ParameterError, match="holds no run"):
        Run(tmp_path / "file", tmp_path).reproduce(made_up([]))
    with pytest.raises(ParameterError, match=r"--output.*a file is in its place"):
        Run(tmp_path / "file" / "run", tmp_path).reproduce(made_up([]))
    with pytest.raises(ParameterError, match=r"--systems.*file.*a file is in its place"):
        Run(tmp_path / "run", tmp_path, systems=tmp_path / "file").reproduce(made_up([]))
    Run(tmp_path / "run", tmp_path).reproduce(made_up([]), resume=True)


def test_names_are_checked_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no step is called 'x'"):
        Run(tmp_path / "run", tmp_path).reproduce(made_up([]), only=["x"])
    assert not (tmp_path / "run").exists()


def test_other_data_are_said_when_a_run_is_resumed(tmp_path: Path) -> None:
    said: list[str] = []
    Run(tmp_path / "run", tmp_path).reproduce(made_up([]), only=["a"])
    Run(tmp_path / "run", tmp_path, say=said.append).reproduce(made_up([]), resume=True, only=["bb"])
    assert not [line for line in said if line.startswith("warning")]
    other = Run(tmp_path / "run", tmp_path / "other", systems=tmp_path / "systems", say=said.append)
    other.reproduce(made_up([]), resume=True)
    warned = [line for line in said if line.startswith("warning")]
    assert [line.split()[6] for line in warned] == ["data", "systems"]


def test_one_short_step_does_not_decide_what_is_left(tmp_path: Path) -> None:
    """Costs are said to be 6 s a step; the first step takes a moment: the others are still expected to cost most."""
    said: list[str] = []
    Run(tmp_path / "run", tmp_path, say=said.append).reproduce(made_up([]))
    left = [int(line.split("about ")[1].split()[0]) for line in said if "left" in line]
    assert left[:2] == [18, 18]
    assert 1 <= left[3] < left[2] < 12


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", tmp_path)
    run.reproduce(made_up([]))
    (tmp_path / "run" / "steps" / "bb.json").write_text('{"result": {"va')
    with pytest.raises(FormatError, match=r"bb\.json"):
        run.reproduce(made_up([]), resume=True)


def test_files_that_a_step_left_are_compared_before_they_are_used(tmp_path: Path) -> None:
    def steps(run: Run) -> list[Step]:
        def write() -> dict[str, float]:
            (run.work / "a.npy").write_text("lists")
            return {"value": 1.0}

        return [Step("a", write, 0.1), Step("b", lambda: run.need("a"), 0.1)]

    leaving = replace(made_up([]), steps=steps, report=lambda run: Report())
    run = Run(tmp_path / "run", tmp_path)
    run.reproduce(leaving, only=["a"])
    (run.work / "a.npy").write_text("lusts")
    with pytest.raises(FormatError, match=r"a\.npy: is damaged.*remove steps/a\.json to have it made again"):
        run.reproduce(leaving, resume=True)
    (run.folder / "steps" / "a.json").unlink()
    run.reproduce(leaving, resume=True)
    assert run.need("b") == {"value": 1.0}


def test_two_commands_share_a_directory_but_no_step(tmp_path: Path) -> None:
    calls: list[str] = []

    def steps(run: Run) -> list[Step]:
        def first() -> dict[str, float]:
            other = Run(tmp_path / "run", tmp_path)
            other.reproduce(made_up(calls), resume=True, only=["bb"])
            with pytest.raises(ParameterError, match="another process is at the step 'a'"):
                other.reproduce(made_up(calls), resume=True)
            return {"value": 1.0}

        return [Step("a", first, 0.1), *made_up(calls).steps(run)[1:]]

    Run(tmp_path / "run", tmp_path).reproduce(replace(made_up(calls), steps=steps))
    assert calls == ["bb", "ccc"]
    assert cells(tmp_path / "run") == [["a", 1.0], ["bb", 2.0], ["ccc", 4.0]]


@pytest.mark.parametrize("fails", [0, 2])
def test_a_base_system_is_trained_by_one_while_others_wait(tmp_path: Path, fails: int) -> None:
    """Where training fails, the next one that waited tries."""
    folder, tried, together = tmp_path / "fr-en", list[int](), threading.Lock()

    def want(number: int) -> None:
        with to_train(folder) as is_missing:
            if not is_missing:
                return
            assert together.acquire(blocking=False)
            tried.append(number)
            time.sleep(0.05)
            together.release()
            if len(tried) <= fails:
                raise RuntimeError("stopped")
            folder.mkdir()
            (folder / "manifest.json").write_text("{}")

    with ThreadPoolExecutor(5) as pool:
        ended = [each.exception() for each in [pool.submit(want, number) for number in range(5)]]
    assert len(tried) == fails + 1
    assert sum(error is not None for error in ended) == fails
    assert [each.name for each in tmp_path.iterdir()] == ["fr-en"]  # no lock is left


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
    paper(name).report(run).page({"citation": "", "quick": quick, "seed": 1, "steps": [], "versions": {}}).render()


MT = {"pauls-2009", "nguyen-2007", "smith-eisner-2006"}
"""Papers with translators, which need a package of an extra."""


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_a_run_does_not_begin_without_its_packages(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a plain installation: the first step would be done, and hours later there would be an error."""
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    run = Run(tmp_path / "run", tmp_path, quick=True)
    if name in MT:
        with pytest.raises(CapabilityError, match=r"steps need the package sacremoses, .*pip install 'nbest\[mt\]'"):
            run.reproduce(paper(name))
        assert not (tmp_path / "run").exists()
    else:
        assert not any(step.packages for step in paper(name).steps(run))


def test_steps_that_need_no_package_are_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    run = Run(tmp_path / "run", tmp_path, quick=True)
    run.reproduce(paper("pauls-2009"), only=["example"])
    assert run.result("example") is not None


@pytest.mark.parametrize("content", ['{"result": 3, "seconds": 1}', '{"result": {}}', '{"result": {}, "seconds": "x"}'])
def test_a_result_of_wrong_types_is_named(tmp_path: Path, content: str) -> None:
    run = Run(tmp_path / "run", tmp_path)
    run.reproduce(made_up([]))
    (tmp_path / "run" / "steps" / "bb.json").write_text(content)
    with pytest.raises(FormatError, match=r"bb\.json: is damaged"):
        run.reproduce(made_up([]), resume=True)


def test_missing_data_are_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", tmp_path)
    with pytest.raises(ParameterError, match=r"treebanks/x/dev.conllu"):
        find(run, "treebanks", "x", "dev.conllu")
    with pytest.raises(ParameterError, match=r"no mt/europarl/dev\.fr .*no folder mt/fr-en"):
        parallel(run, "fr-en", "dev")
    assert not has(run, "mt", "fr-en", "dev.fr")


def test_a_folder_of_a_pair_is_taken_before_the_shared_one(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", tmp_path)
    for folder in ("mt/europarl", "mt/fr-en"):
        (tmp_path / folder).mkdir(parents=True)
        for language in ("fr", "en"):
            (tmp_path / folder / f"dev.{language}").write_text(f"{folder}\n")
    assert parallel(run, "fr-en", "dev") == (["mt/fr-en"], ["mt/fr-en"])
    (tmp_path / "mt/fr-en/dev.fr").unlink()  # parts of two folders are never mixed
    with pytest.raises(ParameterError, match=r"no mt/fr-en/dev\.fr"):
        parallel(run, "fr-en", "dev")


def test_long_and_empty_sentences_are_left_out() -> None:
    sides = ["a b", "", "a b c", "a"], ["x", "x", "x", "x y z"]
    assert short(sides, 3, None, "dev") == (["a b", "a b c", "a"], ["x", "x", "x y z"])
    assert short(sides, 2, 1, "dev") == (["a b"], ["x"])
    with pytest.raises(ParameterError, match="no sentence of dev"):
        short((["a b"], ["x"]), 1, 5, "dev")


def test_rows_of_empty_lists_stay_in_step() -> None:
    stats = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    lists = NBest(np.array([0, 2, 2, 3]), np.zeros((3, 1)), ("f",), ("a", "b", "c"), stats=stats, metric=WER())
    assert chosen_stats(lists, np.array([1, -1, 2])).tolist() == [[3.0, 4.0], [0.0, 0.0], [5.0, 6.0]]
