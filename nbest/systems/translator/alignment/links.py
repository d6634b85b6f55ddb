"""Links between the words of sentence pairs, and how two directions become one alignment.

Sentence pair n has the links `offsets[n]:offsets[n + 1]`, sorted by source place, then target place, each once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nbest.base.errors import FormatError, ParameterError, look_up
from nbest.base.files import read_lines, write_text
from nbest.base.types import Ints
from nbest.compute.compilation import kernel
from nbest.compute.parallel import over_ranges
from nbest.compute.segments import offsets_of, owners
from nbest.corpus.words import Words

METHODS = {"intersection": 0, "union": 1, "grow-diag": 2, "grow-diag-final": 3, "grow-diag-final-and": 4}
"""How two directions become one; the numbers are the kernel's."""


@dataclass(frozen=True)
class Links:
    """Word links of N sentence pairs, see the top of this file."""

    offsets: Ints  # int64 [N+1]
    source: Ints  # int32 [L] place in the source sentence
    target: Ints  # int32 [L] place in the target sentence

    def __len__(self) -> int:
        """The number of sentence pairs."""
        return len(self.offsets) - 1

    def of(self, index: int) -> list[tuple[int, int]]:
        """Links (source place, target place) of one sentence pair."""
        part = slice(self.offsets[index], self.offsets[index + 1])
        return list(zip(self.source[part].tolist(), self.target[part].tolist(), strict=True))


def links_of(sentences: list[list[tuple[int, int]]]) -> Links:
    """Links from (source place, target place) of each sentence pair, in any order."""
    ordered = [sorted(set(links)) for links in sentences]
    flat = np.array([link for links in ordered for link in links], np.int32).reshape(-1, 2)
    offsets = offsets_of(np.array([len(links) for links in ordered], np.int64))
    return Links(offsets, flat[:, 0].copy(), flat[:, 1].copy())


def read_links(path: str | Path, source: Words | None = None, target: Words | None = None) -> Links:
    """Links of a file with one sentence pair a line, `0-0 1-2 ...` (source-target, from 0), checked against both sides.

    Errors: a line that is not of this form, or a place that the sentence does not have.
    """
    sentences = []
    lines = read_lines(path)
    for side in (source, target):
        if side is not None and len(lines) != len(side.offsets) - 1:
            raise FormatError(
                path, None, f"expected {len(side.offsets) - 1} lines, one a sentence pair, got {len(lines)}"
            )
    sizes = [side.lengths().tolist() if side is not None else None for side in (source, target)]
    for at, line in enumerate(lines):
        pairs = [piece.partition("-")[::2] for piece in line.split()]
        if not all(side.isdecimal() and len(side) < 10 for pair in pairs for side in pair):
            raise FormatError(path, at + 1, f"expected links like '0-0 1-2', got {line[:60]!r}")
        links = [(int(a), int(b)) for a, b in pairs]
        for link in links:
            if any(size is not None and place >= size[at] for place, size in zip(link, sizes, strict=True)):
                raise FormatError(path, at + 1, f"link {link[0]}-{link[1]} points past the end of its sentence")
        sentences.append(links)
    return links_of(sentences)


def write_links(path: str | Path, links: Links) -> None:
    """Write one sentence pair a line, `0-0 1-2 ...`."""
    pieces = [f"{a}-{b}" for a, b in zip(links.source.tolist(), links.target.tolist(), strict=True)]
    cuts = links.offsets.tolist()
    write_text(path, "".join(" ".join(pieces[a:b]) + "\n" for a, b in zip(cuts[:-1], cuts[1:], strict=True)))


def symmetrised(
    source: Words,
    target: Words,
    forward: Ints,
    backward: Ints,
    method: str = "grow-diag-final-and",
    threads: int | None = None,
) -> Links:
    """One alignment from two: `forward` is the source place of each target word, `backward` the target place of each
    source word, -1 for none.

    grow-diag starts from the links of both and adds neighbours (diagonal ones too) of links that only one direction
    has where a word of theirs has no link yet, until none is left; final adds what is left of each direction where one
    of the words (final-and: both words) has no link, `forward` first.
    Koehn, Och & Marcu (2003), HLT-NAACL 48-54, section 2.2; scanned as in the pseudo-code of the Moses manual: target
    words outside, source words inside, neighbours left, down, right, up, then the four diagonal ones.
    """
    kind = look_up(METHODS, method, "symmetrisation")
    _check(source, target, forward, backward)
    sizes = np.zeros(len(source.offsets) - 1, np.int64)
    most = offsets_of(source.lengths() + target.lengths())
    places = np.empty((2, most[-1]), np.int32)

    def work(low: int, high: int) -> None:
        texts, ways = (source.offsets, target.offsets), (forward, backward)
        _symmetrise(low, high, texts, ways, kind, out=(most, sizes, places))

    over_ranges(work, most, threads)
    offsets = offsets_of(sizes)
    rows = np.arange(offsets[-1]) + np.repeat(most[:-1] - offsets[:-1], sizes)
    return Links(offsets, places[0, rows], places[1, rows])


def _check(source: Words, target: Words, forward: Ints, backward: Ints) -> None:
    if len(source.offsets) != len(target.offsets):
        got = f"{len(source.offsets) - 1} and {len(target.offsets) - 1} sentences"
        raise ParameterError(f"'source' and 'target' of symmetrised must have the same length, got {got}")
    if len(forward) != len(target.ids) or len(backward) != len(source.ids):
        raise ParameterError("'forward' must have one place a target word and 'backward' one a source word")


def link_agreement(ours: Links, theirs: Links) -> tuple[float, float, float]:
    """Precision, recall and F of our links against theirs."""
    if len(ours) != len(theirs):
        raise ParameterError(
            f"'ours' and 'theirs' must have the same sentence pairs, got {len(ours)} and {len(theirs)}"
        )
    keys = [(owners(x.offsets) << 32) + (x.source.astype(np.int64) << 16) + x.target for x in (ours, theirs)]
    common = len(np.intersect1d(keys[0], keys[1], assume_unique=True))
    precision, recall = common / max(len(keys[0]), 1), common / max(len(keys[1]), 1)
    return precision, recall, 2 * common / max(len(keys[0]) + len(keys[1]), 1)


@kernel
def _symmetrise(low, high, texts, ways, kind, out):
    source_offsets, target_offsets = texts
    forward, backward = ways
    most, sizes, places = out
    for n in range(low, high):
        sources, targets = source_offsets[n + 1] - source_offsets[n], target_offsets[n + 1] - target_offsets[n]
        votes = np.zeros((sources, targets), np.uint8)  # bit 0: forward, bit 1: backward
        for j in range(targets):
            if forward[target_offsets[n] + j] >= 0:
                votes[forward[target_offsets[n] + j], j] |= 1
        for i in range(sources):
            if backward[source_offsets[n] + i] >= 0:
                votes[i, backward[source_offsets[n] + i]] |= 2
        chosen = votes == 3 if kind != 1 else votes > 0
        if kind >= 2:
            has_source, has_target = np.zeros(sources, np.bool_), np.zeros(targets, np.bool_)
            for i in range(sources):
                for j in range(targets):
                    if chosen[i, j]:
                        has_source[i] = has_target[j] = True
            _grow(votes, chosen, has_source, has_target)
            if kind >= 3:
                _finish(votes & 1, chosen, has_source, has_target, kind == 4)
                _finish(votes & 2, chosen, has_source, has_target, kind == 4)
        for i in range(sources):
            for j in range(targets):
                if chosen[i, j]:
                    places[0, most[n] + sizes[n]] = i
                    places[1, most[n] + sizes[n]] = j
                    sizes[n] += 1


@kernel
def _grow(votes, chosen, has_source, has_target):
    sources, targets = votes.shape
    moves = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))  # (target, source)
    added = True
    while added:
        added = False
        for j in range(targets):
            for i in range(sources):
                if not chosen[i, j]:
                    continue
                for dj, di in moves:
                    a, b = i + di, j + dj
                    if 0 <= a < sources and 0 <= b < targets and votes[a, b] and not (has_source[a] and has_target[b]):
                        chosen[a, b] = has_source[a] = has_target[b] = added = True


@kernel
def _finish(votes, chosen, has_source, has_target, both):
    sources, targets = votes.shape
    for j in range(targets):
        for i in range(sources):
            if votes[i, j] == 0:
                continue
            free = (not has_source[i]) + (not has_target[j])
            if free == 2 or (free == 1 and not both):
                chosen[i, j] = has_source[i] = has_target[j] = True
