"""Cells of the comparison, one a set, method, size of dev and draw, and the file that keeps what each found."""

from __future__ import annotations

import base64
import json
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import nbest
from benchmarks.quality_sets import QualitySet
from benchmarks.quality_ways import WAYS
from nbest.base.types import Ints

SIZES = ("25", "50", "100", "200", "all")
"""Segments of dev that are tuned on."""


@dataclass(frozen=True, order=True)
class QualityCell:
    """A draw picks segments of dev, whole groups, and is the seed of the method."""

    set: str
    method: str
    size: str
    draw: int


def drawn(dev: nbest.NBest, size: str, draw: int) -> nbest.NBest:
    """So many segments, or as many as whole groups allow; those of a smaller size are among those of a larger one."""
    return dev if size == "all" else nbest.split(dev, int(size) / len(dev), seed=draw)[0]


def cells_of(found: QualitySet, methods: list[str], sizes: list[str], draws: int) -> Iterator[QualityCell]:
    """Those that there are; a method without a seed finds the same in all draws of all segments."""
    for size in sizes:
        if size != "all" and int(size) >= len(found.dev):
            continue
        for method in methods:
            for draw in range(1, draws + 1):
                if size != "all" or draw == 1 or WAYS[method].seeded:
                    yield QualityCell(found.name, method, size, draw)


def cost(found: QualitySet, cell: QualityCell) -> float:
    """A rough one, by which cheap cells come first: features of the hypotheses that are tuned on."""
    dev = found.dev
    count = len(dev) if cell.size == "all" else int(cell.size)
    return count / len(dev) * dev.hypotheses * len(dev.names) * WAYS[cell.method].cost


def measured(found: QualitySet, cell: QualityCell) -> dict[str, Any]:
    """Tune on what is drawn and choose of the test lists: score, choices, seconds; or why it cannot."""
    dev = drawn(found.dev, cell.size, cell.draw)
    begin = time.perf_counter()
    try:
        choose = WAYS[cell.method].fit(dev, cell.draw)
        seconds = time.perf_counter() - begin
        chosen = choose(found.test)
    except nbest.NbestError as error:
        return {**_named(found, cell), "left_out": str(error)}
    return {
        **_named(found, cell),
        "segments": len(dev),
        "score": found.test.score(chosen),
        "seconds": round(seconds, 3),
        "choices": packed(chosen, found.test),
    }


def _named(found: QualitySet, cell: QualityCell) -> dict[str, Any]:
    return {**asdict(cell), "lists": found.fingerprint, "when": now()}


def now() -> str:
    """The time in Greenwich, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def packed(chosen: Ints, test: nbest.NBest) -> str:
    """Flat choices as places within their lists, in a short text."""
    places = np.where(chosen >= 0, chosen - test.offsets[:-1], -1)
    return base64.b64encode(zlib.compress(places.astype("<i2").tobytes(), 9)).decode()


def unpacked(text: str, test: nbest.NBest) -> Ints:
    """Flat choices again."""
    places = np.frombuffer(zlib.decompress(base64.b64decode(text)), "<i2").astype(np.int64)
    return np.where(places >= 0, places + test.offsets[:-1], -1)


class Results:
    """A file of one line a finished cell; of several lines of a cell the last counts, and none before a time."""

    def __init__(self, path: Path, after: str = "") -> None:
        self.path, self.after = path, after
        self.lines: dict[QualityCell, Mapping[str, Any]] = {}
        self.draws: defaultdict[tuple[str, str, str], set[int]] = defaultdict(set)
        if path.exists():
            for text in path.read_text(encoding="utf-8").splitlines():
                self._take(text)

    def _take(self, text: str) -> None:
        try:
            line = json.loads(text)
        except ValueError:
            return  # a run was stopped while it wrote
        if line.get("when", "") < self.after:
            return
        cell = QualityCell(line["set"], line["method"], line["size"], line["draw"])
        self.lines[cell] = line
        self.draws[cell.set, cell.method, cell.size].add(cell.draw)

    def has(self, found: QualitySet, cell: QualityCell) -> bool:
        """Whether the cell was finished on these lists."""
        return self.lines.get(cell, {}).get("lists") == found.fingerprint

    def of(self, found: QualitySet, method: str, size: str) -> list[Mapping[str, Any]]:
        """The finished draws on these lists, in their order; those that could not be done are not among them."""
        draws = sorted(self.draws[found.name, method, size])
        cells = [QualityCell(found.name, method, size, draw) for draw in draws]
        return [self.lines[cell] for cell in cells if self.has(found, cell) and "score" in self.lines[cell]]

    def add(self, line: Mapping[str, Any]) -> None:
        """Keep a line, whole or not at all: a line that was cut off before it is ended first."""
        text = json.dumps(line)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 1))
            cut = size > 0 and file.read(1) != b"\n"
            file.write((b"\n" if cut else b"") + text.encode() + b"\n")
        self._take(text)
