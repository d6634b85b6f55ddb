"""The lists that benchmarks are run on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import nbest

_MAKE = "from pathlib import Path; from benchmarks.lists import files; files(Path({!r}), 20, 400)"


@pytest.mark.slow
@pytest.mark.parametrize("part", [".nbest", ".ref"])
def test_a_run_that_was_killed_leaves_no_half_lists(tmp_path: Path, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed as soon as a file of this kind, whole or not, is there."""
    monkeypatch.delenv("NBEST_BENCH", raising=False)
    root = Path(__file__).parents[1]
    with subprocess.Popen([sys.executable, "-c", _MAKE.format(str(tmp_path))], cwd=root) as process:
        while process.poll() is None and not any(part in file.name for file in tmp_path.iterdir()):
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    from benchmarks.lists import files

    lists, refs = files(tmp_path, 20, 400)
    corpus = nbest.read(lists)
    assert (len(corpus), corpus.hypotheses) == (20, 8000)
    assert len(nbest.read_references(refs, corpus.ids)) == 20
