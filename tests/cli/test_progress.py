"""Commands tell how far they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbest.cli import console
from tests.cli.conftest import Run


def test_of_measuring(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "_BETWEEN", 0.0)
    tune = ("tune", "dev.nbest", "--refs", "dev.ref", "--metric", "ter", "--method", "grid")
    assert " of 480\n" in next(line for line in run(*tune).err.splitlines(True) if line.startswith("measuring TER: "))
    assert "measuring" not in run(*tune, "--quiet").err
    said = run("score", "test.first", "dev.first", "--refs", "test.ref", "--metric", "ter")
    assert said.code == 0
    assert "measuring TER: 60 of 120\n" in said.err
