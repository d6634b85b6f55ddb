"""Single flipped bits in the files of a folder, and what its reader makes of them.

    python -m nbest.testing.flips --flips 2000            every system, trained tiny; --resealed: sums made anew

Each flip is tried on a copy of the folder in a child process, because a kernel that follows a damaged number can end
the process. With `resealed` all sums are made anew after the flip, so that only the checks of numbers are left.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbest.base.errors import NbestError
from nbest.base.randomness import generator
from nbest.base.sealed import SEAL, sealed
from nbest.testing.trials import run_trials

Use = Callable[[Path], Any]
"""Reads a folder and uses what was read; answers are compared by ==."""
REFUSED, SAME, CHANGED, FOREIGN = "refused", "same", "changed", "foreign"


@dataclass(frozen=True)
class Flips:
    """How often each outcome was met, and each flip that was neither refused nor without effect."""

    counts: Counter[str] = field(default_factory=Counter)
    odd: list[str] = field(default_factory=list)  # outcome, file, bit, what was said

    def only(self, *outcomes: str) -> bool:
        """Whether nothing else was met."""
        return set(self.counts) <= set(outcomes)


def check_flips(
    folder: Path, load_and_use: Use, flips: int = 2000, seed: int = 1, *, resealed: bool = False, seconds: float = 60.0
) -> Flips:
    """Flip so many bits, each alone: a file by chance, then one of its bits. A flip that takes `seconds` has hung.

    The answer of a flip is: refused (an `NbestError` of one line), same (the same answer as without it), changed,
    foreign (another exception), crashed, hung, memory.
    """
    places = _places(folder, flips, seed, resealed)
    with tempfile.TemporaryDirectory() as place:
        whole = _copy(folder, Path(place) / "whole")
        if resealed:
            reseal(whole)  # as after a flip
        wanted = load_and_use(whole)

        def trial(case: int) -> tuple[str, str]:
            name, bit = places[case]
            copy = _copy(folder, Path(place) / f"flipped{case}")
            _flip(copy / name, bit, resealed)
            if resealed:
                reseal(copy)
            outcome = _outcome(load_and_use, copy, wanted)
            shutil.rmtree(copy)
            return outcome

        tally = run_trials(trial, range(flips), seconds=seconds)
    odd = [f"{outcome}: {places[case][0]}, bit {places[case][1]}: {said}" for case, outcome, said in sorted(tally.odd)]
    return Flips(tally.counts, odd)


Place = tuple[str, int]


def _places(folder: Path, flips: int, seed: int, resealed: bool) -> list[Place]:
    rng = generator(seed)
    bits = {
        path.relative_to(folder).as_posix(): 8 * len(_contents(path, resealed))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.stat().st_size
    }
    names = list(bits)
    chosen = [names[at] for at in rng.integers(len(names), size=flips)]
    return [(name, int(rng.integers(bits[name]))) for name in chosen]


def _copy(folder: Path, goal: Path) -> Path:
    return Path(shutil.copytree(folder, goal))


def _outcome(use: Use, folder: Path, wanted: Any) -> tuple[str, str]:
    try:
        return (SAME, "") if use(folder) == wanted else (CHANGED, "another answer")
    except NbestError as error:
        return (REFUSED, "") if "\n" not in str(error) else (FOREIGN, f"lines {error!r}")
    except MemoryError:
        raise
    except BaseException as error:  # whatever comes out is an outcome
        return FOREIGN, f"{type(error).__name__}: {error}"[:300]


# flipping and making sums anew ----------------------------------------------------------------------------------


def _contents(path: Path, resealed: bool) -> bytes:
    """The bytes that may be flipped: of an .npz whose sums are made anew, those of its arrays one after the other."""
    if path.suffix != ".npz" or not resealed:
        return path.read_bytes()
    with zipfile.ZipFile(path) as packed:
        return b"".join(packed.read(name) for name in packed.namelist())


def _flip(path: Path, bit: int, resealed: bool) -> None:
    data = bytearray(_contents(path, resealed))
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(bytes(data) if path.suffix != ".npz" or not resealed else _repacked(path, bytes(data)))


def _repacked(path: Path, data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(path) as packed, zipfile.ZipFile(out, "w") as again:
        at = 0
        for member in packed.infolist():
            again.writestr(member.filename, data[at : at + member.file_size])
            at += member.file_size
    return out.getvalue()


def reseal(folder: Path) -> None:
    """Make the sums of all files of a folder anew, as someone would who wants a changed file to be taken."""
    for path in folder.rglob("*.nlm"):
        _reseal_lm(path)
    contents = {path: _object(path) for path in folder.rglob("*.json")}
    for path in sorted(contents, key=lambda path: (-len(path.parts), "files" in contents[path])):  # lists come last
        content = contents[path]
        if SEAL in content:
            del content[SEAL]
            _relist(path.parent, content.get("files"))
            path.write_text(json.dumps(sealed(content)), encoding="utf-8")


def _object(path: Path) -> dict[str, Any]:
    """The object of a JSON file; empty where it is none."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _relist(folder: Path, files: Any) -> None:
    for name, entry in files.items() if isinstance(files, dict) else ():
        if isinstance(entry, dict) and "bytes" in entry and (folder / name).is_file():
            data = (folder / name).read_bytes()
            entry.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def _reseal_lm(path: Path) -> None:
    first, second, body = (*path.read_bytes().split(b"\n", 2), b"", b"")[:3]
    try:
        old = json.loads(second)["sha256"].encode()
    except (ValueError, KeyError, TypeError, AttributeError):
        return
    path.write_bytes(b"\n".join([first, second.replace(old, hashlib.sha256(body).hexdigest().encode()), body]))


def main() -> int:
    """Flips in every system; the exit code is 1 where one was neither refused nor without effect."""
    import argparse

    from nbest.testing.tiny_systems import TINY

    parser = argparse.ArgumentParser(prog="python -m nbest.testing.flips", description=__doc__.split("\n")[0])
    parser.add_argument("--flips", type=int, default=2000, help="bits flipped in each system")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resealed", action="store_true", help="make sums anew: nothing may crash")
    parser.add_argument("systems", nargs="*", help=f"some of {', '.join(TINY)}; all if none is named")
    given = parser.parse_args()
    allowed = (REFUSED, SAME, CHANGED) if given.resealed else (REFUSED, SAME)
    fine = True
    for name in given.systems or TINY:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / name
            TINY[name].make(folder)
            TINY[name].use(_copy(folder, Path(place) / "copy"))  # compiles
            found = check_flips(folder, TINY[name].use, given.flips, given.seed, resealed=given.resealed)
        print(f"{name}: {', '.join(f'{count} {what}' for what, count in sorted(found.counts.items()))}", flush=True)
        wrong = [line for line in found.odd if line.partition(":")[0] not in allowed]
        print("".join(f"  {line}\n" for line in wrong[:10]), end="")
        fine = fine and not wrong
    return 0 if fine else 1


if __name__ == "__main__":
    raise SystemExit(main())
