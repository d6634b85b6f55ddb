"""Names that go work and warn, at the line that uses them."""

from __future__ import annotations

import warnings

import pytest

from nbest.base.deprecation import deprecated, renamed
from nbest.base.errors import ParameterError


@deprecated("use new_way", since="0.2")
def old_way(x: int) -> int:
    """Doubles."""
    return 2 * x


@renamed(since="0.2", count="times")
def repeated(text: str, *, times: int = 1) -> str:
    """Repeats."""
    return text * times


def test_a_function_that_goes_works_and_warns_where_it_is_called() -> None:
    """The result is the old one; the warning names this file."""
    with pytest.warns(DeprecationWarning, match=r"old_way is deprecated since nbest 0\.2: use new_way") as seen:
        assert old_way(3) == 6
    assert seen[0].filename == __file__
    assert old_way.__doc__ == "Doubles."


def test_an_old_keyword_is_taken_for_the_new_one() -> None:
    """And warns; the new one does not, and both at once are an error."""
    with pytest.warns(DeprecationWarning, match="'count' of repeated is deprecated since nbest 0.2: use 'times'"):
        assert repeated("ab", count=2) == "abab"  # type: ignore[call-arg]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert repeated("ab", times=2) == "abab"
    with pytest.raises(ParameterError, match="'count' and 'times'"):
        repeated("ab", count=1, times=2)  # type: ignore[call-arg]
