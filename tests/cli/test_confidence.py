"""Confidence on the command line: `calibrate`, `tune --calibrate`, and `rerank` that abstains."""

from __future__ import annotations

import json
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.cli.main import main
from nbest.model.abstention import by_risk
from tests.doc_blocks import run_page
from tests.trainers.test_calibrate import voters


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Held-out and test lists, and a model that was calibrated on the former."""
    monkeypatch.chdir(tmp_path)
    heldout = voters(300, 1)
    nbest.write(heldout, "heldout.jsonl")
    nbest.write(voters(100, 2, empty=True), "test.jsonl")
    model = nbest.LogLinear({"good": 3.0}, metric="external")
    model.save("model.json")
    nbest.calibrate(model, heldout, decision="vote").save("calibrated.json")
    return tmp_path


def rows(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[list[dict], str]:
    assert main(["rerank", "test.jsonl", "--json", *args]) == 0
    out, err = capsys.readouterr()
    return [json.loads(line) for line in out.splitlines()], err


def fails(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(list(args)) == 2
    return capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_json_tells_confidence_and_whether_it_is_calibrated(capsys: pytest.CaptureFixture[str]) -> None:
    found, err = rows(capsys, "--model", "calibrated.json")
    assert "not calibrated" not in err
    wanted = nbest.choose(nbest.load("calibrated.json"), nbest.read("test.jsonl"))
    assert [row["confidence"] for row in found] == wanted.confidence.tolist()
    assert all(row["calibrated"] for row in found)
    assert "abstained" not in found[0]
    found, err = rows(capsys, "--model", "calibrated.json", "--decision", "1best")
    assert "not calibrated" in err
    assert not any(row["calibrated"] for row in found)


@pytest.mark.usefixtures("folder")
def test_what_calibrates_a_vote_without_a_model_is_told_as_it_can_be_run(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = rows(capsys, "--decision", "vote", "--answer", "last-number")
    hint = "nbest calibrate HELDOUT --metric METRIC --answer last-number -o OUT learns it"
    assert hint in err
    command = hint.removesuffix(" learns it").replace("HELDOUT", "heldout.jsonl").replace("METRIC", "external")
    assert main(command.replace("OUT", "votes.json").split()[1:]) == 0
    capsys.readouterr()
    _, err = rows(capsys, "--model", "votes.json", "--answer", "last-number")
    assert "no weight for" not in err  # a vote needs none


@pytest.mark.usefixtures("folder")
def test_abstaining_by_coverage_and_risk(capsys: pytest.CaptureFixture[str]) -> None:
    found, err = rows(capsys, "--model", "calibrated.json", "--coverage", "0.5")
    assert "50.0 % of the 300 held-out segments" in err
    without = [row for row in found if row["abstained"]]
    assert 30 < len(without) < 70
    assert f"no answer to {len(without)} of 100 segments" in err
    assert all(row["index"] is None and row["gain"] is None and row["text"] == "" for row in without)
    made = [row for row in found if row["index"] is not None]
    assert min(row["confidence"] for row in made) >= max(row["confidence"] for row in without)
    assert not found[0]["abstained"]  # of an empty list there is nothing to keep back
    found, err = rows(capsys, "--model", "calibrated.json", "--risk", "0.2", "--delta", "0.2")
    least = by_risk(nbest.load("calibrated.json").calibration, 0.2, 0.2).least_raw
    raw = nbest.choose(nbest.load("calibrated.json"), nbest.read("test.jsonl")).probability
    assert [row["abstained"] for row in found[1:]] == (raw[1:] < least).tolist()
    assert "at most 20 % wrong with probability 80 %" in err


@pytest.mark.usefixtures("folder")
def test_lines_without_an_answer_are_empty_and_score_leaves_json_out(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["rerank", "test.jsonl", "--model", "calibrated.json", "--abstain-below", "0.7", "-o"]
    assert main([*args, "out.txt"]) == 0
    assert "their lines are empty" in capsys.readouterr().err
    assert main([*args, "out.jsonl", "--json"]) == 0
    lines = Path("out.txt").read_text().splitlines()
    found = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [line == "" for line in lines] == [row["index"] is None for row in found]
    assert all((row["confidence"] < 0.7) == (row["index"] is None) for row in found)
    capsys.readouterr()
    assert main(["score", "out.jsonl", "--metric", "external", "--json"]) == 0
    (score,) = json.loads(capsys.readouterr().out)
    assert score["score"] == pytest.approx(np.mean([row["gain"] for row in found if row["index"] is not None]))


@pytest.mark.usefixtures("folder")
def test_errors_of_abstaining(capsys: pytest.CaptureFixture[str]) -> None:
    rerank = ["rerank", "test.jsonl", "--model"]
    assert "nbest calibrate" in fails(capsys, *rerank, "model.json", "--risk", "0.1")
    assert "not of --decision 1best" in fails(capsys, *rerank, "calibrated.json", "-d", "1best", "--coverage", "0.5")
    assert "give one of them" in fails(capsys, *rerank, "calibrated.json", "--risk", "0.1", "--coverage", "0.5")
    assert "the lowest that can be promised is" in fails(capsys, *rerank, "calibrated.json", "--risk", "0.001")
    lists = voters(60, 4)
    lists = replace(lists, gains=1.0 - lists.gains).with_metric(nbest.External())
    nbest.calibrate(None, lists).save("against.json")
    assert main([*rerank, "against.json", "--coverage", "0.5", "-q", "-o", "out.txt"]) == 0
    assert "tells nothing" in capsys.readouterr().err
    assert "give --risk" in fails(capsys, *rerank, "calibrated.json", "--delta", "0.1")


@pytest.mark.usefixtures("folder")
def test_calibrate_a_model_and_votes(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["calibrate", "heldout.jsonl", "--metric", "external"]
    assert main([*args, "--model", "model.json", "--decision", "vote", "-o", "again.json"]) == 0
    said = capsys.readouterr().err.strip()
    assert "calibration error" in said
    assert main(["inspect", "again.json"]) == 0
    assert said in capsys.readouterr().out
    assert nbest.load("again.json").confidence == nbest.load("calibrated.json").confidence
    assert main([*args, "-o", "votes.json", "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["segments"] == 300
    assert told["errors"]["after"]["log_loss"] < np.log(2)
    assert nbest.load("votes.json").decision == {"kind": "vote"}
    found, _ = rows(capsys, "--model", "votes.json", "--risk", "0.3")
    assert all(row["calibrated"] for row in found)
    assert main([*args, "--model", "model.json", "-d", "vote", "--gamma", "0.5", "-o", "soft.json", "-q"]) == 0
    assert nbest.load("soft.json").decision == {"kind": "vote", "gamma": 0.5}


@pytest.mark.usefixtures("folder")
def test_errors_of_calibrate(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["calibrate", "heldout.jsonl", "--metric", "external"]
    assert "which is read" in fails(capsys, *args, "--model", "model.json", "-o", "model.json")
    assert "needs --model FILE" in fails(capsys, *args, "-d", "1best")
    assert "unknown option --pol" in fails(capsys, *args, "--pol", "scores")
    graded = ["calibrate", "heldout.jsonl", "--metric", "external", "--column", "good"]
    assert "--right VALUE" in fails(capsys, *graded)
    assert main([*graded, "--right", "0.5", "-o", "graded.json", "-q"]) == 0
    assert nbest.load("graded.json").confidence["right"] == 0.5


@pytest.mark.usefixtures("folder")
def test_tune_calibrates_in_folds_and_on_held_out_lists(capsys: pytest.CaptureFixture[str]) -> None:
    tune = ["tune", "heldout.jsonl", "--metric", "external", "--method", "likelihood", "-o", "tuned.json"]
    assert main(tune) == 0
    assert nbest.load("tuned.json").calibration is None
    assert main([*tune, "--calibrate", "--json"]) == 0
    assert nbest.load("tuned.json").calibration.how == "5 folds"
    out, err = capsys.readouterr()
    assert json.loads(out)["confidence"]["segments"] == 300
    assert "confidence by 5 folds (300 segments" in err
    assert main([*tune, "--split", "0.5"]) == 0
    assert nbest.load("tuned.json").calibration.how == "held-out lists"
    assert nbest.load("tuned.json").calibration.segments == 150
    assert "cannot hold a calibration" in fails(capsys, *tune[:-1], "x.ini", "--calibrate")
    assert "needs held-out lists" in fails(capsys, *tune, "--calibrate", "--grid", "variance=1,2")
    assert main([*tune, "--decision", "vote"]) == 0
    assert nbest.load("tuned.json").calibration.decision == {"kind": "vote"}


@pytest.mark.usefixtures("folder")
def test_the_examples_of_the_page(capfd: pytest.CaptureFixture[str]) -> None:
    Path("heldout.jsonl").replace("dev.jsonl")
    nbest.write(voters(300, 3), "heldout.jsonl")
    Path("model.json").unlink()
    assert run_page("docs/confidence.md", capfd) == 3
    assert 0 < runpy.run_path("example.py")["sure"].mean() < 1
