"""What the tests of all formats share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nbest.base.errors import FormatError
from nbest.corpus import NBest
from nbest.formats import FORMATS


@pytest.fixture
def reading(tmp_path: Path) -> Callable[..., NBest]:
    """Reads text or bytes as a file of a format."""

    def read(format: str, contents: str | bytes, **options: object) -> NBest:
        path = tmp_path / "input"
        path.write_bytes(contents.encode() if isinstance(contents, str) else contents)
        return FORMATS[format].read(path, **options)

    return read


@pytest.fixture
def complaint(tmp_path: Path, reading: Callable[..., NBest]) -> Callable[..., str]:
    """The error that a file gives, with `input` for its path."""

    def read(format: str, contents: str | bytes, **options: object) -> str:
        with pytest.raises(FormatError) as caught:
            reading(format, contents, **options)
        return str(caught.value).replace(str(tmp_path) + "/", "")

    return read


@pytest.fixture(autouse=True)
def _installed(request: pytest.FixtureRequest) -> None:
    """Formats that need a module which is not there are skipped, and the reason says so."""
    call = getattr(request.node, "callspec", None)
    for value in call.params.values() if call else ():
        format = FORMATS.get(value) if isinstance(value, str) else value
        if needs := getattr(format, "needs", ""):
            pytest.importorskip(needs, reason=f"{needs} is not installed")
