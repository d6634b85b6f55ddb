"""A loop that is disturbed at any moment ends as one that is not."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbest.trainers.dense.mert import MERT
from tests.loop.killing import outcome
from tests.loop.toy import DEV, HELD, Toy, loop


class StopError(Exception):
    """A failure that nobody foresaw."""


def test_a_decoder_that_fails_at_any_call(tmp_path: Path) -> None:
    whole = Toy(k=2)
    loop(tmp_path / "whole", whole).run(DEV, HELD)
    for number in range(len(whole.calls)):
        decoder = _failing(Toy(k=2), number)
        with pytest.raises(StopError):
            loop(tmp_path / str(number), decoder).run(DEV, HELD)
        again = Toy(k=2)
        loop(tmp_path / str(number), again).run(DEV, HELD, resume=True)
        assert outcome(tmp_path / str(number)) == outcome(tmp_path / "whole")
        assert len(again.calls) == len(whole.calls) - number // 2 * 2  # only the round that failed is done again


def _failing(decoder: Toy, number: int) -> Toy:
    def before() -> None:
        if len(decoder.calls) == number:
            raise StopError

    decoder.before = before  # type: ignore[method-assign]
    return decoder


def test_a_trainer_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = MERT.fit
    fits = []

    def counted(trainer, *corpora):
        fits.append(trainer)
        if len(fits) == fail_at:
            raise StopError
        return fit(trainer, *corpora)

    fail_at = 0
    monkeypatch.setattr(MERT, "fit", counted)
    loop(tmp_path / "whole").run(DEV, HELD)
    count = len(fits)
    for fail_at in range(1, count + 1):
        fits.clear()
        with pytest.raises(StopError):
            loop(tmp_path / str(fail_at)).run(DEV, HELD)
        loop(tmp_path / str(fail_at)).run(DEV, HELD, resume=True)
        assert len(fits) == count + 1
        assert outcome(tmp_path / str(fail_at)) == outcome(tmp_path / "whole")


class Files:
    """Counts what changes files or their names, and stops just before the n-th of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, self.stop_at = 0, -1
        for owner, name in ((os, "replace"), (Path, "rename"), (Path, "mkdir"), (Path, "write_text"), (np, "save")):
            monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any, **options: Any) -> Any:
            self.count += 1
            if self.count == self.stop_at:
                raise KeyboardInterrupt
            return function(*arguments, **options)

        return changed


@pytest.mark.slow
def test_stopped_before_any_change_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = Files(monkeypatch)
    options: dict[str, Any] = {"rounds": 2, "decoder": Toy(k=2)}
    loop(tmp_path / "whole", **options).run(DEV, HELD)
    total = files.count
    assert total > 60
    for number in range(1, total + 1):
        files.count, files.stop_at = 0, number
        with monkeypatch.context() as hasty:
            hasty.setattr("shutil.rmtree", lambda path, ignore_errors=False: None)  # no time to tidy up
            with pytest.raises(KeyboardInterrupt):
                loop(tmp_path / str(number), **options).run(DEV, HELD)
        files.stop_at = -1
        loop(tmp_path / str(number), **options).run(DEV, HELD, resume=True)
        assert outcome(tmp_path / str(number)) == outcome(tmp_path / "whole"), number
        assert "ended" in (tmp_path / str(number) / "report.md").read_text()


def test_resuming_an_ended_run_does_nothing(tmp_path: Path) -> None:
    first = loop(tmp_path / "run").run(DEV)
    before = {
        path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*") if path.name not in ("lock", "run")
    }
    again = Toy(k=3)
    second = loop(tmp_path / "run", again).run(DEV, resume=True)
    assert replace(first, versions={}) == replace(second, versions={})
    assert not again.calls
    assert {path: path.stat().st_mtime_ns for path in before} == before
