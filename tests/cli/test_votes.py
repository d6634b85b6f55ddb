"""`nbest rerank` by votes and the best of the majority, with and without a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nbest.cli.main import main

ROWS = [
    {"id": "a", "hypotheses": [
        {"text": "it is 3", "features": {"v": 5.0}},
        {"text": "so 4", "features": {"v": 1.0}},
        {"text": "4.0", "features": {"v": 2.0}},
        {"text": "no idea", "features": {"v": 9.0}},
    ]},
    {"id": "b", "hypotheses": [{"text": "1", "features": {"v": 0.0}}, {"text": "2", "features": {"v": 0.5}}]},
]  # fmt: skip


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def texts(capfd: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["rerank", "test.jsonl", "--answer", "last-number", "--json", *words]) == 0
    return [json.loads(line)["text"] for line in capfd.readouterr().out.splitlines()]


def test_votes(capfd: pytest.CaptureFixture[str]) -> None:
    assert texts(capfd, "--decision", "vote") == ["so 4", "1"]
    assert texts(capfd, "--decision", "vote", "--weights", "v=0.001") == ["4.0", "2"]
    assert texts(capfd, "--decision", "vote", "--weights", "v=1") == ["it is 3", "2"]
    assert texts(capfd, "--decision", "vote", "--weights", "v=1", "--pool", "scores") == ["it is 3", "2"]
    assert texts(capfd, "--decision", "vote", "--weights", "v=1", "--gamma", "0") == ["4.0", "1"]
    assert texts(capfd, "--decision", "best-of-majority", "--weights", "v=1", "--share", "1") == ["4.0", "2"]
    assert texts(capfd, "--decision", "best-of-majority", "--weights", "v=1", "--share", "0.5") == ["it is 3", "2"]
    assert texts(capfd, "--decision", "mbr", "--gain", "exact") == ["so 4", "1"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--decision", "best-of-majority"), "nbest rerank --decision best-of-majority needs --model FILE"),
        (("--decision", "vote", "--share", "0.5"), "--share is for --decision best-of-majority, not for vote"),
        (("--decision", "mbr", "--pool", "scores"), "--pool is for --decision vote, not for mbr"),
        (("--decision", "vote", "--weights", "v=1", "--pool", "sum"), "posteriors"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["rerank", "test.jsonl", *words]) == 2
    said = capfd.readouterr()
    assert message in said.err
    assert said.out == ""
