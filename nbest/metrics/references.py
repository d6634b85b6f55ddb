"""References of a corpus as flat texts: what every metric checks and unpacks first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Bools, Ints, References
from nbest.compute import segments
from nbest.corpus.texts import Texts


def flatten(texts: Texts, offsets: Ints, references: References) -> tuple[Texts, Ints]:
    """All references one after the other, and [N+1] where those of each segment begin; sizes are checked."""
    if len(texts) != offsets[-1]:
        raise ParameterError(f"'texts' must have one entry for each of the {offsets[-1]} hypotheses, got {len(texts)}")
    if len(references) != len(offsets) - 1:
        raise ParameterError(
            f"'references' must have one entry for each of the {len(offsets) - 1} segments, got {len(references)}"
        )
    for segment, group in enumerate(references):
        if isinstance(group, str):
            raise ParameterError(f"'references' must be a sequence of texts for each segment, got {group!r}")
        if len(group) == 0:
            raise ParameterError(f"every segment needs at least one reference; segment number {segment} has none")
    sizes = np.array([len(group) for group in references], np.int64)
    return Texts.of(text for group in references for text in group), segments.offsets_of(sizes)


def ranks(owners: Ints, groups: Ints) -> Iterator[tuple[Bools, Ints]]:
    """For k = 0, 1, ...: which hypotheses have a k-th reference [H], and its flat number (the first where not).

    `owners` [H] is the segment of each hypothesis, `groups` [N+1] where the references of a segment begin.
    """
    sizes = segments.lengths(groups)
    for rank in range(int(sizes.max(initial=0))):
        has = (sizes > rank)[owners]
        yield has, groups[:-1][owners] + np.where(has, rank, 0)
