"""Counts that somebody gives: those for which room is made are checked before it is."""

from __future__ import annotations

from nbest.base.errors import ParameterError, shown

LONGEST = 100
"""The most tokens or characters of an n-gram or a piece of a word."""
MOST = 2**31 - 1
"""The most of anything that is counted."""


def check_count(what: str, value: int, least: int = 1, most: int = MOST) -> None:
    """Complain of a count that is too small, or so large that no memory (or patience) would do."""
    if not least <= value:
        raise ParameterError(f"{what} must be >= {least}, got {shown(value)}")
    if value > most:
        raise ParameterError(f"{what} must be <= {most}, got {shown(value)}")
