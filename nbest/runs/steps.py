"""Steps: what they need, which of them are wanted, and how long those that are left may take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from typing import Any

from nbest.base.errors import CapabilityError, ParameterError

Say = Callable[[str], None]
_EXTRAS = {"sacremoses": "mt"}  # of pyproject.toml


@dataclass(frozen=True)
class Step:
    """One piece of work: a name of its own, what does it, what it costs about, and what it leaves.

    `work()` returns what JSON can hold; it may read what earlier steps left, what it writes is complete when it
    returns, and it must be possible to do it again.

    minutes     about how long it takes; steps of which nobody says so are not timed
    packages    those that it imports beyond what nbest always needs; a run does not begin without them
    place       folder in the run's directory where it writes
    makes       patterns of the files and folders that it writes there, whose sums are noted
    whole       the place itself is made by this step: `work(folder)` fills a folder beside it, which is renamed
    made_from   what the result depends on. A step that says so is done anew where that, or a file that it made, is not
                what it was; what was changed of others is an error that names it
    needs       names of the steps whose results it reads, * and ? allowed: all before it that are called so, and those
                that they need; None: all before it
    """

    name: str
    work: Callable[..., dict[str, Any]]
    minutes: float = 0.0
    packages: tuple[str, ...] = ()
    place: str = ""
    makes: tuple[str, ...] = ()
    whole: bool = False
    made_from: Any = None
    needs: tuple[str, ...] | None = None


def select(steps: Sequence[Step], only: Sequence[str]) -> list[Step]:
    """The steps with these names, in which * and ? stand for any characters and for one; all without names."""
    all_needs(steps)
    for pattern in only:
        if not any(fnmatch(step.name, pattern) for step in steps):
            known = ", ".join(step.name for step in steps)
            raise ParameterError(f"no step is called {pattern!r}; steps: {known}")
    return [step for step in steps if not only or any(fnmatch(step.name, pattern) for pattern in only)]


def all_needs(steps: Sequence[Step]) -> dict[str, frozenset[str]]:
    """For each step the names of all that have to be done before it, those that its needs need too."""
    found: dict[str, frozenset[str]] = {}
    for step in steps:
        own = set(found) if step.needs is None else set()
        for pattern in step.needs or ():
            matching = {name for name in found if fnmatch(name, pattern)}
            if not matching:
                raise ParameterError(f"the step {step.name!r} needs {pattern!r}, but no step before it is called so")
            own |= matching
        found[step.name] = frozenset(own.union(*(found[name] for name in own)))
    return found


def chains(todo: Sequence[Step], needs: Mapping[str, frozenset[str]]) -> dict[str, float]:
    """For each step the minutes of the longest chain that begins with it, of steps that each need the one before."""
    found: dict[str, float] = {}
    for step in reversed(todo):
        after = (minutes for name, minutes in found.items() if step.name in needs[name])
        found[step.name] = step.minutes + max(after, default=0.0)
    return found


def check_packages(steps: Sequence[Step]) -> None:
    """An error that says what to install, where steps need packages that are not there."""
    for package in dict.fromkeys(package for step in steps for package in step.packages):
        if not _is_there(package):
            needing = [step.name for step in steps if package in step.packages]
            extra = f"pip install 'nbest[{_EXTRAS[package]}]'" if package in _EXTRAS else f"pip install {package}"
            raise CapabilityError(
                f"{len(needing)} of {len(steps)} steps need the package {package}, the first of them {needing[0]}; "
                f"install it ({extra}), or choose other steps with --only"
            )


def _is_there(package: str) -> bool:
    try:
        import_module(package)
    except ImportError:
        return False
    return True


def time_left(steps: Sequence[Step], todo: Sequence[Step], took: Mapping[str, float], at_once: int = 1) -> str:
    """The time that steps will take: their costs, scaled by how long those that were done took.

    A tenth of all costs counts as if it had taken as long as was said, so that a first short step tells little.
    Steps that are done several `at_once` take as long as the longest chain of them at least.
    """
    prior = 6 * sum(step.minutes for step in steps)
    spent = prior + sum(took.get(step.name, 0.0) for step in steps)
    expected = prior + 60 * sum(step.minutes for step in steps if step.name in took)
    minutes = sum(step.minutes for step in todo)
    if at_once > 1:
        minutes = max(minutes / at_once, *chains(todo, all_needs(steps)).values(), 0.0)
    return duration(60 * minutes * spent / expected)


def duration(seconds: float) -> str:
    """Seconds for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
