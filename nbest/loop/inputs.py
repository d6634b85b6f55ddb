"""What a loop decodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nbest.base.errors import ParameterError
from nbest.base.types import References
from nbest.corpus.order import in_order


@dataclass(frozen=True)
class Inputs:
    """What is decoded: passed to the decoder as it is, with the references of its segments.

    `references` has one sequence of texts a segment, in the order of the ids where these are whole numbers, else in the
    decoder's order in the first round; or is a function of the ids of the segments. Later rounds may have another
    order, or fewer segments. None where the decoder's lists carry their own. `each`: how many references a segment has,
    where `references` does not tell; None: not known.
    """

    segments: Any
    references: References | Callable[[Sequence[str]], References] | None = None
    each: int | None = None

    def __post_init__(self) -> None:
        if self.references is None or callable(self.references):
            return
        bare = next((each for each in self.references if isinstance(each, str)), None)
        if bare is not None:
            raise ParameterError(
                f"'references' of Inputs must be a sequence of texts a segment, got {bare!r}; [{bare!r}]?"
            )

    @property
    def references_each(self) -> int:
        """References of each segment, as signatures of metrics tell; -1 where they differ or are not known."""
        if self.references is None or callable(self.references):
            return -1 if self.each is None else self.each
        counts = {len(each) for each in self.references}
        return counts.pop() if len(counts) == 1 else -1

    def references_of(self, ids: Sequence[str], known: Sequence[str]) -> References:
        """References of the ids of one round; those `known` of the first say whose they are, not the order of now."""
        assert self.references is not None
        every = in_order(dict.fromkeys((*known, *ids)))
        given = self.references(every) if callable(self.references) else self.references
        if len(given) != len(every):
            what = f"{len(given)} references are given and the decoder has {len(every)} segments"
            odd = next((name for name in ids if known and name not in set(known)), None)
            raise ParameterError(what if odd is None else f"{what}: {odd!r} is there now, not in round 1")
        texts = dict(zip(every, given, strict=True))
        return [texts[name] for name in ids]
