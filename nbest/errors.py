"""Exceptions and warnings of nbest, and how an unknown name is reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

T = TypeVar("T")


class NbestError(Exception):
    """Base of every error that nbest raises on purpose."""


class ParameterError(NbestError, ValueError):
    """A parameter breaks a rule: which one, whose, the rule, the value got."""


class FormatError(NbestError, ValueError):
    """A file is not what its format asks for; carries the path and, where known, the line."""

    def __init__(self, path: object, line: int | None, message: str) -> None:
        self.path = str(path)
        self.line = line
        self.reason = message
        place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{place}: {message}")


class CapabilityError(NbestError):
    """Something asked for needs what this corpus, metric or model does not have."""


class DecoderError(NbestError):
    """A decoder failed: how, and what it said."""


class NotFittedError(NbestError):
    """A result was asked for before `fit`."""


class ConvergenceWarning(UserWarning):
    """An optimiser stopped for another reason than having converged."""


def look_up(family: Mapping[str, T], name: str, kind: str) -> T:
    """`family[name]`, or a `ParameterError` that lists the known names and the nearest."""
    if name in family:
        return family[name]
    raise ParameterError(f"unknown {kind} {name!r}; {_known(family, name)}")


def _known(names: Iterable[str], name: str) -> str:
    known = sorted(names)
    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"known: {', '.join(known)}{hint}"
