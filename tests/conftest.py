"""Shared fixtures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data, or a skip that says why."""
    place = os.environ.get("NBEST_DATA")
    if not place or not Path(place).is_dir():
        pytest.skip("NBEST_DATA does not point to a folder with real data")
    return Path(place)
