"""The protocol of decoders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from nbest.corpus import Forests, NBest


class Decoder(Protocol):
    """Anything that finds candidates under given weights.

    The lists or forests of one set of segments have the same ids and features in every call; the first hypothesis of a
    list is the decoder's answer. The same weights must give the same candidates, or a resumed loop may end elsewhere.
    Optional: `start`, the weights to begin with; `folder`, set before each call, where logs may be kept; `describe()`,
    what a run's record says of the decoder and a resumed run compares.
    """

    def decode(self, weights: Mapping[str, float], inputs: Any) -> NBest | Forests:
        """One list or forest for each segment of the inputs."""
        ...


def describe_decoder(decoder: Decoder) -> dict[str, Any]:
    """What is recorded of a decoder."""
    own = getattr(decoder, "describe", None)
    return {"name": type(decoder).__name__, **(own() if own is not None else {})}


def in_folder(decoder: Decoder, folder: Path) -> None:
    """Tell a decoder that keeps logs where they belong."""
    if hasattr(decoder, "folder"):
        decoder.folder = folder
