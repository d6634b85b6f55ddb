"""`nbest reproduce` from the command line: lists of steps, what is missing, and runs that are killed."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nbest.base.errors import ParameterError
from nbest.cli.main import main
from nbest.papers import PAPERS, paper
from nbest.papers.run import Run
from nbest.runs.steps import duration
from tests.papers.test_yuan import make_data


def call(*words: str | Path) -> int:
    return main(["reproduce", *map(str, words)])


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_steps_are_listed_without_data(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert call(name, "--list", "-o", tmp_path / "run") == 0
    told = capfd.readouterr()
    assert told.err.count("needs ") == 1
    *rows, last = told.out.splitlines()[1:]
    assert len(rows) > 10
    assert last.split()[0] == "left"
    assert all(row.split()[-1] in ("s", "min", "h") for row in [*rows, last])
    assert not (tmp_path / "run").exists()


def test_all_papers_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("--list") == 0
    told = capfd.readouterr()
    words = told.out.split()
    for name in PAPERS:
        found = paper(name)
        assert name in words
        assert found.citation.split()[-1] in words
        assert f"{name} needs {found.needs}\n" in told.out
        for quick in (True, False):
            minutes = sum(step.minutes for step in found.steps(Run(tmp_path, None, quick=quick)))
            assert duration(60 * minutes) in told.out
    assert "nbest reproduce PAPER --list" in told.out
    assert not list(tmp_path.iterdir())


def test_a_paper_has_to_be_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert call("--quick") == 2
    said = capfd.readouterr().err
    assert all(name in said for name in PAPERS)
    assert "nbest reproduce --list" in said


def test_data_are_needed_only_by_steps_that_read_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("pauls-2009", "--quick", "--only", "example", "-o", "run") == 0
    assert (tmp_path / "run" / "report.md").is_file()
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert "data" not in about
    assert call("pauls-2009", "--quick", "--only", "ex*", "--data", "nowhere", "-o", "other") == 2
    assert "got 'nowhere'" in capfd.readouterr().err
    more = ("pauls-2009", "--quick", "-o", "run", "--resume")
    assert call(*more) == 2
    assert "--data must name a folder with mt/europarl" in capfd.readouterr().err
    assert call(*more, "--only", "example", "--quiet") == 0  # done already
    assert call(*more, "--only", "example", "--data", ".", "--quiet") == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_papers_say_which_steps_need_no_data(name: str, tmp_path: Path) -> None:
    """Those that need no other step, in a folder where there are none."""
    found = paper(name)
    run = Run(tmp_path / "run", None, quick=True)
    steps = {step.name: step for step in found.steps(run)}
    assert set(found.without_data) <= {name for name, step in steps.items() if step.needs == ()}
    for each in found.without_data:
        run.reproduce(found, only=[each])
    for step in steps.values():
        if step.needs == () and step.name not in found.without_data:
            with pytest.raises(ParameterError, match="--data"):
                run.reproduce(found, only=[step.name], resume=True)
            break


def test_the_list_says_what_is_done(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    common: tuple[str | Path, ...] = ("pauls-2009", "--quick", "-o", tmp_path / "run", "--only", "ex*")
    assert call(*common, "--data", tmp_path) == 0
    told = capfd.readouterr()
    assert "step 1 of 1: example" in told.err
    assert call(*common, "--list") == 0
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "done in" in lines[1]
    assert lines[2].split() == ["left", "0", "s"]
    assert call(*common, "--data", tmp_path, "--resume", "--quiet") == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nguyen-2008", "--data", "."), "did you mean 'nguyen-2007'"),
        (("nguyen-2007",), "--data must name a folder with mt/europarl"),
        (("nguyen-2007", "--data", "nowhere"), "got 'nowhere'"),
        (("pauls-2009", "--data", ".", "--only", "fr"), "no step is called 'fr'"),
        (("jagarlamudi-2012", "--data", ".", "--quick"), "the data have no treebanks/fr_sequoia"),
    ],
)
def test_errors_say_what_to_do(
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(*words, "-o", "run") == 2
    assert said in capfd.readouterr().err


def without_times(value: Any) -> Any:
    """A result without what was measured by the clock."""
    if isinstance(value, dict):
        return {key: without_times(each) for key, each in value.items() if key not in ("seconds", "ended")}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def results(folder: Path) -> dict[str, Any]:
    """Of all steps, with the sums of the files they left, without those of the records, which hold times."""
    found = {path.name: json.loads(path.read_text()) for path in (folder / "steps").glob("*.json")}
    return {name: without_times({**content, "sha256": None}) for name, content in found.items()}


@pytest.mark.slow
def test_a_run_killed_at_any_moment_ends_with_the_same_results(tmp_path: Path) -> None:
    data, rng = make_data(tmp_path / "data"), random.Random()
    common = [sys.executable, "-m", "nbest", "reproduce", "yuan-2007", "--data", str(data), "--quick", "--resume", "-q"]
    subprocess.run([*common, "-o", str(tmp_path / "whole"), "-j", "2"], check=True)
    killed = [*common, "-o", str(tmp_path / "killed"), "-j", "1"]
    for _ in range(8):
        process = subprocess.Popen(killed)
        try:
            process.wait(rng.uniform(0.5, 5))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
    subprocess.run(killed, check=True)
    assert results(tmp_path / "killed") == results(tmp_path / "whole")
