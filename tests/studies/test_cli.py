"""`nbest study` through its own app."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from xml.etree import ElementTree

import pytest
from click.testing import Result
from typer.testing import CliRunner

import nbest
from nbest.base.errors import NbestError
from nbest.cli.study import app
from nbest.model.loglinear import LogLinear
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.studies import STUDIES
from nbest.studies.base import Progress, Study, about
from nbest.studies.keywords import Given
from nbest.studies.ladder import Ladder
from tests.cli.conftest import write_lists
from tests.doc_blocks import run_page

LISTS = ("dev.nbest", "--refs", "dev.ref", "--metric", "wer")
ARGUMENTS = {
    "alpha": ("--add", "ngrams", "--alphas", "0.8,1", "--limit", "5"),
    "annealing": ("--t0", "1", "--methods", "likelihood", "--cooling", "0.25"),
    "bins": ("--bins", "4", "--split", "0.25", "--variance", "0.5"),
    "budget": ("--model", "model.json", "--at", "0.8,0.9", "--orders", "2", "--samples", "50"),
    "calibration": ("--method", "likelihood", "--right", "30", "--folds", "2", "--bins", "3", "--samples", "50"),
    "consensus": ("--feature", "lm", "--model", "model.json", "--points", "5", "--range", "-1,2"),
    "coverage": ("--model", "model.json", "--right", "30", "--risk", "0.3,0.9", "--draws", "3", "--samples", "50"),
    "curve": ("--feature", "lm,am", "--model", "model.json", "--sizes", "1,2,5", "--orders", "2", "--samples", "50"),
    "ladder": ("--methods", "likelihood,likelihood/mbr", "--folds", "2", "--samples", "50", "--variance", "0.5"),
    "learning": ("--methods", "likelihood,mert", "--sizes", "15,30", "--repeats", "2", "--restarts", "2"),
    "path": ("--metric", "bleu", "--k", "5", "--rounds", "3"),
    "settings": ("--method", "likelihood", "--setting", "variance=0.1,1", "--setting", "iterations=50,99"),
    "sharpness": ("--feature", "lm", "--model", "model.json", "--gamma", "1,10", "--range", "-2,3", "--points", "5"),
    "starts": ("--count", "2", "--feature", "lm", "--methods", "mert"),
    "weights": ("--draws", "2", "--folds", "2", "--samples", "50", "--top", "2"),
    "surface": ("--x", "lm", "--y", "am", "--model", "model.json", "--points", "3"),
}
WITH_RESULTS = ("budget", "calibration", "coverage", "curve", "ladder", "weights")
"""Studies that print a table or lines beside their picture."""
pytestmark = pytest.mark.filterwarnings("ignore::nbest.base.errors.ConvergenceWarning")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_lists(tmp_path, "dev", 40, seed=1)
    LogLinear({"am": 1.0, "lm": 0.5, "noise": 0.0}).save(tmp_path / "model.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def refusal(*arguments: str) -> str:
    ran = run(*arguments)
    assert isinstance(ran.exception, NbestError), ran.output
    return str(ran.exception)


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_every_study_has_a_command_that_writes_both_files(name: str, folder: Path) -> None:
    ran = run(name, *LISTS, *ARGUMENTS[name], "-o", "out")
    assert ran.exit_code == 0, ran.output
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert rows[0]["study"] == name
    ElementTree.parse(folder / "out.svg")
    assert "wrote out.jsonl" in ran.stderr
    assert (ran.stdout != "") == (name in WITH_RESULTS)
    quiet = run(name, *LISTS, *ARGUMENTS[name], "-q")
    assert (quiet.stdout, quiet.stderr) == (ran.stdout, "")
    assert (folder / f"{name}.jsonl").read_bytes() == (folder / "out.jsonl").read_bytes()


def test_the_result_of_a_study_is_on_stdout(folder: Path) -> None:
    ran = run("ladder", *LISTS, *ARGUMENTS["ladder"], "-o", "out")
    header, *rows = (json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines())
    found = Ladder.of({"metric": header["metric"], "settings": header["settings"], "rows": rows})
    table = found.said.splitlines()
    assert ran.stdout.splitlines()[2:] == table[2:]  # the head says which way is better, which the file does not
    assert ran.stderr.splitlines()[-1].startswith("wrote out.jsonl")


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_every_command_has_help_with_an_example(name: str) -> None:
    ran = run(name, "--help")
    assert ran.exit_code == 0
    assert f"nbest study {name}" in " ".join(ran.output.split())


@dataclass(frozen=True)
class Tiny(Study):
    name = "tiny"

    def picture(self) -> Picture:
        return Picture("tiny", "", [LineChart([Series("", [0, 1], [0.0, 1.0])])])


def tiny(
    corpus: nbest.NBest,
    *,
    words: Annotated[Sequence[str], Given("Some words.", ("--word",))] = ("a", "b"),
    limits: Annotated[tuple[float, float] | None, Given("Limits: LOW,HIGH.")] = None,
    times: Annotated[int, Given("How often.", least=1)] = 2,
    hidden: float = 0.5,
    threads: int | None = None,
    progress: Progress = None,
) -> Tiny:
    """A study that only says what it was given.

        nbest study tiny dev.nbest --word c,d

    More for readers of the code.
    """
    settings = {"words": list(words), "limits": limits, "times": times, "hidden": hidden}
    return Tiny(**about(corpus), settings=settings, rows=({"segments": len(corpus)},))


def test_a_study_is_one_file_and_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STUDIES, "tiny", tiny)
    said = " ".join(run("tiny", "--help").output.split())
    for part in ("A study that only says", "nbest study tiny dev.nbest", "--word", "[default: a,b]", "LOW,HIGH"):
        assert part in said
    assert "hidden" not in said
    assert "readers of the code" not in said
    ran = run("tiny", *LISTS, "--word", "c,d", "--limits", "-1,2.5", "--times", "3")
    assert ran.exit_code == 0, ran.output
    header, row = (json.loads(line) for line in (folder / "tiny.jsonl").read_text().splitlines())
    assert header["settings"] == {"words": ["c", "d"], "limits": [-1.0, 2.5], "times": 3, "hidden": 0.5}
    assert row == {"segments": 40}
    assert run("tiny", *LISTS, "--times", "0").exit_code == 2
    assert "--limits must be 2 numbers" in refusal("tiny", *LISTS, "--limits", "1")


def test_values_are_those_of_the_lists(folder: Path) -> None:
    run("surface", *LISTS, *ARGUMENTS["surface"], "--x-range", "0,1", "--y-range", "-1,1", "-o", "s.svg")
    rows = [json.loads(line) for line in (folder / "s.jsonl").read_text().splitlines()][1:]
    corpus = nbest.read("dev.nbest").with_metric(nbest.WER(), nbest.read_references("dev.ref", 40))
    for row in rows:
        model = LogLinear({"am": row["y"], "lm": row["x"], "noise": 0.0})
        assert row["metric"] == corpus.score(model.predict(corpus))
    assert {row["y"] for row in rows} == {-1.0, 0.0, 1.0}


def test_options_reach_trainers_and_metrics(folder: Path) -> None:
    ran = run("annealing", "dev.nbest", "--refs", "dev.ref", "--metric", "bleu", "--smooth-method", "floor",
              "--t0", "1", "--methods", "likelihood", "--cooling", "0.25", "--seed", "7", "-o", "out")  # fmt: skip
    assert ran.exit_code == 0, ran.output
    header = json.loads((folder / "out.jsonl").read_text().splitlines()[0])
    assert header["settings"]["cooling"] == 0.25
    assert header["settings"]["seed"] == 7
    assert "smooth:floor" in header["metric"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("surface", *LISTS, "--x", "lm", "--y", "nois"), "did you mean 'noise'"),
        (("surface", *LISTS, "--x", "lm", "--y", "am", "--x-range", "1"), "--x-range must be 2 numbers"),
        (("surface", *LISTS, "--x", "lm", "--y", "am", "--restarts", "3"), "unknown option --restarts"),
        (("surface", *LISTS, "--x", "lm", "--y", "am", "-o", "none/out"), "no folder"),
        (("surface", *LISTS, "--x", "lm", "--y", "am", "--model", "gone.json"), "gone.json: cannot be read"),
        (("sharpness", *LISTS, "--feature", "lm", "--gamma", "1,x"), "--gamma must be numbers"),
        (("learning", *LISTS, "--sizes", "1.5"), "--sizes must be whole"),
        (("learning", *LISTS, "--split", "0"), "needs --heldout"),
        (("settings", *LISTS, "--setting", "variance=1,2", "--split", "0"), "needs --heldout"),
        (("settings", *LISTS, "--setting", "varience=1,2", "-M", "likelihood"), "did you mean 'variance'"),
        (("settings", *LISTS, "--setting", "variance", "-M", "likelihood"), "--setting must be NAME=VALUE"),
        (("learning", *LISTS, "--methods", "mart"), "unknown method"),
        (("starts", *LISTS, "--hopps", "3"), "did you mean 'hops'"),
        (("bins", "dev.nbest", "--refs", "dev.ref"), "--metric"),
    ],
)
def test_bad_arguments_are_one_message_and_write_nothing(
    arguments: tuple[str, ...], message: str, folder: Path
) -> None:
    before = sorted(folder.iterdir())
    assert message in refusal(*arguments)
    assert sorted(folder.iterdir()) == before


def test_a_study_does_not_write_over_its_lists(folder: Path) -> None:
    corpus = nbest.read("dev.nbest").with_references(nbest.read_references("dev.ref", 40))
    nbest.write(corpus, "starts.jsonl")
    assert "which is read; name another output" in refusal("starts", "starts.jsonl", "--metric", "wer")


def test_the_command_imports_nothing_heavy() -> None:
    import subprocess
    import sys

    code = "import sys, nbest.cli.study; print([m for m in ('numpy', 'numba', 'scipy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"[]\n"


def test_the_examples_of_the_document_run(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run_page("docs/studies.md", capfd)
    for name in STUDIES:  # each has its example
        assert (folder / f"{name}.svg").exists(), name


def test_a_setting_is_not_given_twice(folder: Path) -> None:
    said = refusal("settings", *LISTS, "--method", "likelihood", "--setting", "variance=1,2", "--variance", "3")
    assert "--variance is given and also in --setting" in said
