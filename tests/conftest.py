"""Shared fixtures."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell has it for what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Thousands of tests stay as they are: the garbage collector need not look at them again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data, or a skip that says why."""
    place = os.environ.get("NBEST_DATA")
    if not place or not Path(place).is_dir():
        pytest.skip("NBEST_DATA does not point to a folder with real data")
    return Path(place)
