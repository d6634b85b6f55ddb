"""Damaged files of every kind: only nbest's own errors may come out, and what is accepted obeys the rules.

    python -m nbest.testing.fuzz --cases 1000000 [KIND ...]

A case is given by the seed and its number: `--only NUMBER` tries one again, outside of any child process.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from nbest.base.errors import FormatWarning, NbestError
from nbest.compute.parallel import thread_count
from nbest.testing.fuzz_kinds import KINDS, Kind, Targets
from nbest.testing.mutations import mutate
from nbest.testing.trials import Tally, run_trials

REFUSED, ACCEPTED, FOREIGN, BROKEN = "refused", "accepted", "other exception", "rule broken"
FINE = (REFUSED, ACCEPTED)
"""Outcomes that are right; the others (those of `trials` too) are defects."""
_LONGEST = 2000  # characters of a message


class Bench:
    """Valid files of one kind in a folder, damaged one at a time."""

    def __init__(self, name: str, kind: Kind, folder: Path, seed: int) -> None:
        self.name, self.kind, self.folder, self.seed = name, kind, folder, seed
        self.targets: Targets = kind.make(folder)
        self.files = sorted(self.targets)
        self.contents = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for target in sorted(set(self.targets.values())):
            kind.read(target)  # valid as it is; also compiles

    def damaged(self, case: int) -> tuple[Path, bytes]:
        """The file of a case and its bytes."""
        rng = random.Random(f"{self.seed}/{self.name}/{case}")
        path = rng.choice(self.files)
        return path, mutate(self.contents[path], rng, [self.contents[rng.choice(self.files)]])

    def attempt(self, case: int, folder: Path) -> tuple[str, str]:
        """Damage, read, restore: the outcome, and for one that is not fine what was said."""
        path, data = self.damaged(case)
        place = folder / path.relative_to(self.folder)
        place.write_bytes(data)
        anew = self.kind.reseal is not None and case % 2 == 1
        try:
            if anew and self.kind.reseal is not None:
                with suppress(OSError, ValueError, TypeError, RecursionError):  # too damaged for sums
                    self.kind.reseal(folder)
            return self._read(folder / self.targets[path].relative_to(self.folder))
        finally:
            self._restore(folder, place if not anew else None)

    def _read(self, target: Path) -> tuple[str, str]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FormatWarning)  # of what damage leaves out
                self.kind.read(target)
        except NbestError as error:
            text = str(error)
            return (BROKEN, f"a message of {len(text)} characters") if len(text) > _LONGEST else (REFUSED, "")
        except AssertionError as error:
            return BROKEN, f"{error}"[:200] or "accepted"
        except MemoryError:
            raise
        except Exception as error:
            return FOREIGN, f"{type(error).__name__}: {error}"[:200]
        return ACCEPTED, ""

    def _restore(self, folder: Path, only: Path | None) -> None:
        """The files as they were: one, or all and no others."""
        if only is not None and self.kind.reseal is None:
            only.write_bytes(self.contents[self.folder / only.relative_to(folder)])
            return
        wanted = {folder / path.relative_to(self.folder): data for path, data in self.contents.items()}
        for path in folder.rglob("*"):
            if path.is_file() and path not in wanted:
                path.unlink()
        for path, data in wanted.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


@contextmanager
def bench_of(name: str, seed: int, kinds: Mapping[str, Kind] = KINDS) -> Iterator[Bench]:
    """The valid files of a kind."""
    with tempfile.TemporaryDirectory(prefix="nbest-fuzz-") as place:
        yield Bench(name, kinds[name], Path(place, "valid"), seed)


def fuzz(
    name: str,
    cases: int,
    seed: int = 1,
    *,
    processes: int = 1,
    seconds: float = 20.0,
    memory: int = 2 << 30,
    kinds: Mapping[str, Kind] = KINDS,
    told: Callable[[int], None] | None = None,
) -> Tally:
    """Outcomes of so many damaged files of one kind, each with a limit of time and memory."""
    with bench_of(name, seed, kinds) as bench, tempfile.TemporaryDirectory(prefix="nbest-fuzz-") as place:
        folders: dict[int, Path] = {}

        def trial(case: int) -> tuple[str, str]:
            if os.getpid() not in folders:
                folders[os.getpid()] = Path(shutil.copytree(bench.folder, Path(place, str(os.getpid()))))
            return bench.attempt(case, folders[os.getpid()])

        return run_trials(trial, range(cases), processes=processes, seconds=seconds, memory=memory, told=told)


def shares(cases: int, names: Sequence[str], kinds: Mapping[str, Kind] = KINDS) -> dict[str, int]:
    """Cases of each kind, by their weights."""
    total = sum(kinds[name].weight for name in names)
    return {name: cases * kinds[name].weight // total for name in names}


def main(argv: Sequence[str] | None = None) -> int:
    """A line a kind with its outcomes; the exit code is 1 where one is a defect."""
    parser = argparse.ArgumentParser(prog="python -m nbest.testing.fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=10_000, help="damaged files in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=None, help="default: one a core")
    parser.add_argument("--seconds", type=float, default=20.0, help="a case that takes longer has hung")
    parser.add_argument("--only", type=int, default=None, help="try one case of one kind again, here")
    parser.add_argument("kinds", nargs="*", help=f"some of {', '.join(KINDS)}; all if none is named")
    given = parser.parse_args(argv)
    names = given.kinds or list(KINDS)
    if given.only is not None:
        return _again(names[0], given.only, given.seed)
    processes, fine = thread_count(given.processes), True
    for name, cases in shares(given.cases, names).items():
        tally = fuzz(name, cases, given.seed, processes=processes, seconds=given.seconds, told=_shown(name, cases))
        print(f"{name}: {', '.join(f'{count:,} {what}' for what, count in sorted(tally.counts.items()))}", flush=True)
        wrong = [odd for odd in tally.odd if odd[1] not in FINE]
        for case, outcome, said in sorted(wrong, key=lambda odd: (odd[1], odd[2], odd[0]))[:50]:
            print(f"  case {case}: {outcome}: {said}")
        fine = fine and not wrong
    return 0 if fine else 1


def _shown(name: str, cases: int) -> Callable[[int], None] | None:
    if not sys.stderr.isatty():
        return None
    return lambda done: print(f"\r{name}: {done} of {cases}", end="\r", file=sys.stderr)


def _again(name: str, case: int, seed: int) -> int:
    """One case with its traceback."""
    with bench_of(name, seed) as bench, tempfile.TemporaryDirectory() as place:
        path, data = bench.damaged(case)
        print(f"{path.relative_to(bench.folder)}: {data[:2000]!r}")
        folder = Path(shutil.copytree(bench.folder, Path(place, "copy")))
        (folder / path.relative_to(bench.folder)).write_bytes(data)
        if bench.kind.reseal is not None and case % 2 == 1:
            bench.kind.reseal(folder)
        bench.kind.read(folder / bench.targets[path].relative_to(bench.folder))
    print("accepted")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
