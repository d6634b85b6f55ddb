"""Exceptions and warnings of nbest, and how an unknown name is reported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar

T = TypeVar("T")


_LONGEST = 1500  # characters of a message
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]")
_NAMED = 30  # names that a message lists


def visible(text: str) -> str:
    """Text for a terminal: control characters, which could move the cursor or hide words, as escapes."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def shortened(text: str, longest: int = _LONGEST) -> str:
    """A message without its middle where it is too long: what is wrong comes first, what to do last."""
    if len(text) <= longest:
        return text
    head, tail = longest * 2 // 3, longest // 4
    return f"{text[:head]} ... ({len(text) - head - tail} characters left out) ... {text[-tail:]}"


def shown(value: object) -> str:
    """A piece of input for an error message, cut when it is long."""
    try:
        piece = repr(value[:60] if isinstance(value, str | bytes) else value)
    except RecursionError:  # lists in lists in lists
        piece = "something nested very deeply"
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        piece = "a very long number"
    cut = len(piece) > 60 or (isinstance(value, str | bytes) and len(value) > 60)
    return f"{piece[:57]}..." if cut else piece


class NbestError(Exception):
    """Base of every error that nbest raises on purpose; its message is never longer than a screen."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(shortened(each) if isinstance(each, str) else each for each in args))


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

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.path, self.line, self.reason), self.__dict__


class CapabilityError(NbestError):
    """Something asked for needs what this corpus, metric or model does not have."""


class DecoderError(NbestError):
    """A decoder failed: how, and what it said."""


class WorkerError(NbestError):
    """Workers of an executor cannot be had, or end whenever they are given something."""


class ConvergenceWarning(UserWarning):
    """An optimiser stopped for another reason than having converged."""


class KeptWarning(ConvergenceWarning):
    """A training did not get above its base model, which is kept."""


class FormatWarning(UserWarning):
    """A file was read, and some of it was left out: how much, and why."""


def need_kind(owner: str, argument: str, value: object, *kinds: type) -> None:
    """A `ParameterError` where an argument is of another kind, as when two of them are swapped."""
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise ParameterError(f"{argument!r} of {owner} must be {wanted}, got {type(value).__name__}")


def need_metric(owner: str, value: object) -> None:
    """A `ParameterError` where something else stands in the place of a metric."""
    if not callable(getattr(value, "stats", None)):
        hint = f"; nbest.make_metric({value!r}) makes one" if isinstance(value, str) and len(value) < 20 else ""
        raise ParameterError(
            f"'metric' of {owner} must be a metric, such as nbest.BLEU(), got {type(value).__name__}{hint}"
        )


def look_up(family: Mapping[str, T], name: str, kind: str) -> T:
    """`family[name]`, or a `ParameterError` that lists the known names and the nearest."""
    if name in family:
        return family[name]
    raise ParameterError(f"unknown {kind} {name!r}; {_known(family, name)}")


def listed(names: Iterable[str], otherwise: str = "none") -> str:
    """Names with commas between them, of many only the first; `otherwise` where there are none."""
    names = list(names)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (", ".join(names[:_NAMED]) or otherwise) + more


def _known(names: Iterable[str], name: str) -> str:
    known = sorted(names)
    return f"known: {listed(known)}{nearest(known, name)}"


def nearest(known: Sequence[str], name: str) -> str:
    """The end of a message that asks whether the nearest of the known names was meant; "" where none is near."""
    if len(known) >= 10_000 or len(name) >= 1000:
        return ""
    plain = {each.lower(): each for each in reversed(known)}
    near = get_close_matches(name.lower(), plain, n=1)
    return f"; did you mean {plain[near[0]]!r}?" if near else ""
