"""How names go: for a release at least the old one works and warns, saying what to use instead."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from nbest.base.errors import ParameterError

P = ParamSpec("P")
R = TypeVar("R")


def deprecated(instead: str, *, since: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator of a function that goes: calls warn, and tell what to use instead."""

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def warned(*args: P.args, **kwargs: P.kwargs) -> R:
            _warn(f"{function.__qualname__} is deprecated since nbest {since}: {instead}")
            return function(*args, **kwargs)

        return warned

    return mark


def renamed(*, since: str, **names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator of a function with renamed keywords, old="new": the old ones are taken for the new, and warn."""

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def warned(*args: P.args, **kwargs: P.kwargs) -> R:
            for old, new in names.items():
                if old in kwargs:
                    if new in kwargs:
                        raise ParameterError(f"{function.__qualname__} got {old!r} and {new!r}, which are the same")
                    _warn(f"{old!r} of {function.__qualname__} is deprecated since nbest {since}: use {new!r}")
                    kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return warned

    return mark


def _warn(message: str) -> None:
    warnings.warn(message, DeprecationWarning, stacklevel=3)
