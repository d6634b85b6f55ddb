"""Runs of `nbest loop` that are killed again and again, and what is compared with an undisturbed one."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any


def start(arguments: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """The loop as a process in a session of its own."""
    command = [sys.executable, "-m", "nbest", "loop", *arguments, "-o", str(folder), "--quiet", "--resume"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)


def finish(arguments: list[str], folder: Path) -> None:
    """A run to its end."""
    process = start(arguments, folder)
    said = process.communicate()[1]
    assert process.returncode == 0, said.decode()


def stage(folder: Path) -> str:
    """Where a killed run was, by what it left."""
    rounds = folder / "rounds"
    if not (folder / "loop.json").exists():
        return "before the first round"
    if (folder / "result.json").exists():
        return "after the end"
    if any(rounds.glob(".*.part")):
        return "decoding"
    done = sorted(path for path in rounds.iterdir() if path.name.isdigit())
    if not done:
        return "before the first round"
    if not (done[-1] / "trained.json").exists():
        return "writing a model" if any(done[-1].glob("*model*")) else "training"
    return "between rounds"


def kill_until(
    arguments: list[str], folder: Path, kills: int, rng: random.Random, longest: float
) -> tuple[Counter[str], bool]:
    """Kill up to `kills` times, at random moments, and resume each time; how many at which stage, and if it ended.

    A fifth of the moments are within a second of the start, while Python is still importing; a fifth are up to
    `longest` seconds after the process first changes anything in its directory; the others are just after it changed
    something there for the n-th time, so that every stage is hit however fast the machine is.
    """
    hits: Counter[str] = Counter()
    while hits.total() < kills:
        seen = _listing(folder)
        process = start(arguments, folder)
        kind = rng.random()
        changes = 0 if kind < 0.2 else 1 if kind < 0.4 else rng.randint(1, 30)
        delay = rng.uniform(0, 1.0 if kind < 0.2 else longest if kind < 0.4 else 0.02)
        before = seen
        while changes and process.poll() is None:
            now = _listing(folder)
            changes -= now != before
            before = now
            time.sleep(0.001)
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            changed = _listing(folder) != seen
            hits[stage(folder) if changed else "before it did anything"] += 1
        assert process.stderr is not None
        said = process.stderr.read().decode()
        process.stderr.close()
        assert process.returncode in (0, -signal.SIGKILL), said
        if process.returncode == 0:
            return hits, True
    return hits, False


def _listing(folder: Path) -> list[tuple[str, int]]:
    """Names and times of what is in the directory and in its rounds, the lock apart, whatever vanishes meanwhile."""
    found = []
    for place in (folder, folder / "rounds"):
        for parent, folders, names in os.walk(place):  # which passes over folders that are gone
            for name in [*folders, *names]:
                with suppress(FileNotFoundError):
                    found.append((os.path.join(parent, name), os.stat(os.path.join(parent, name)).st_mtime_ns))
            if place == folder:
                break
    return sorted(each for each in found if not each[0].endswith("lock"))


def outcome(folder: Path) -> dict[str, Any]:
    """Bytes of all models and of the result, and what was decoded in each round without the seconds."""
    found: dict[str, Any] = {}
    for path in sorted([*folder.glob("rounds/*/model.json"), folder / "model.json", folder / "result.json"]):
        found[str(path.relative_to(folder))] = path.read_bytes()
    for path in sorted(folder.glob("rounds/*/decoded.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        content.pop("sha256")  # of the seconds, too
        for name in ("dev", "heldout"):
            content.get(name, {}).pop("seconds", None)
        found[str(path.relative_to(folder))] = content
    return found
