"""The bundled lists."""

from __future__ import annotations

from importlib import resources

from nbest import formats
from nbest.base.errors import look_up
from nbest.corpus import NBest

SETS = ("tune", "heldout", "test")


def lists(name: str) -> NBest:
    """Bundled lists, with references: "tune", "heldout" or "test". A real recogniser's, on synthesised speech."""
    look_up({key: key for key in SETS}, name, "bundled set")
    with resources.as_file(resources.files("nbest") / "data" / f"asr-{name}.jsonl.xz") as path:
        return formats.read(path, "jsonl")
