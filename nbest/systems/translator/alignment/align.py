"""Word alignment of a parallel corpus: IBM model 1, then the HMM model, in both directions.

Sentence pairs with an empty side or with more than `longest` words on a side are not trained on, but are aligned all
the same. The result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Bools, Floats, Ints
from nbest.corpus.words import Words
from nbest.systems.translator.alignment.counts import Direction
from nbest.systems.translator.alignment.hmm import train_hmm
from nbest.systems.translator.alignment.ibm1 import train_ibm1
from nbest.systems.translator.alignment.links import Links, symmetrised
from nbest.systems.translator.alignment.pairs import word_pairs
from nbest.systems.translator.alignment.viterbi import aligned_places

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Alignment:
    """What `train_alignment` found: the most probable alignment of each direction, and how training went."""

    source: Words
    target: Words
    forward: Ints  # int32 [target words] source place of each target word, -1 for the null word
    backward: Ints  # int32 [source words] target place of each source word, -1 for the null word
    history: dict[str, list[float]]  # log-likelihood before each iteration, by model and direction
    jumps: tuple[Floats, Floats]  # jump weights of each direction
    skipped: dict[str, int]  # sentence pairs not trained on, by reason

    def links(self, method: str = "grow-diag-final-and", threads: int | None = None) -> Links:
        """The symmetrised links; see `symmetrised`."""
        return symmetrised(self.source, self.target, self.forward, self.backward, method, threads=threads)


def train_alignment(
    source: Words,
    target: Words,
    *,
    ibm1_iterations: int = 5,
    hmm_iterations: int = 5,
    null: float = 0.2,
    longest: int = 100,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Alignment:
    """Learn word alignment from sentence pairs and align them.

    `null` is p0 of the HMM. Cost: O(sum of I J) memory (4 bytes a position pair, and the distinct word pairs),
    O(sum of I J (I + J)) time an HMM iteration. `progress(done, total)` counts the steps: pairs,
    iterations, best alignments.
    """
    _check(source, target, ibm1=ibm1_iterations, hmm=hmm_iterations, null=null, longest=longest)
    trained, skipped = _trainable(source, target, longest)
    steps = _Progress(progress, 1 + 2 * (ibm1_iterations + hmm_iterations + 1))
    pairs = word_pairs(source, target, trained, threads)
    steps.step()
    places, jumps, history = [], [], {}
    for flipped, given, made in ((False, source, target), (True, target, source)):
        direction = Direction(pairs, given, made, flipped, trained)
        way = "backward" if flipped else "forward"
        table, history[f"ibm1 {way}"] = train_ibm1(direction, ibm1_iterations, threads, steps.step)
        table, weights, history[f"hmm {way}"] = train_hmm(
            direction, table, iterations=hmm_iterations, null=null, threads=threads, step=steps.step
        )
        places.append(aligned_places(direction, table, weights, null, threads))
        jumps.append(weights)
        steps.step()
    return Alignment(
        source=source,
        target=target,
        forward=places[0],
        backward=places[1],
        history=history,
        jumps=(jumps[0], jumps[1]),
        skipped=skipped,
    )


class _Progress:
    """Counts iterations for a progress callback."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def step(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total)


def _check(source: Words, target: Words, ibm1: int, hmm: int, null: float, longest: int) -> None:
    if len(source.offsets) != len(target.offsets):
        got = f"{len(source.offsets) - 1} and {len(target.offsets) - 1}"
        raise ParameterError(f"'source' and 'target' of train_alignment must have as many sentences, got {got}")
    if any(len(side.ids) and side.ids.min() < 0 for side in (source, target)):
        raise ParameterError("'source' and 'target' of train_alignment must not have unknown words (numbers below 0)")
    if min(ibm1, hmm) < 0 or ibm1 + hmm < 1:
        raise ParameterError(f"iterations of train_alignment must be >= 0 and not all 0, got {ibm1} and {hmm}")
    if not 0 < null < 1:
        raise ParameterError(f"'null' of train_alignment must be above 0 and below 1, got {null}")
    if longest < 1:
        raise ParameterError(f"'longest' of train_alignment must be >= 1, got {longest}")


def _trainable(source: Words, target: Words, longest: int) -> tuple[Bools, dict[str, int]]:
    low = np.minimum(source.lengths(), target.lengths())
    high = np.maximum(source.lengths(), target.lengths())
    skipped = {
        "an empty side": int((low == 0).sum()),
        f"over {longest} words": int(((low > 0) & (high > longest)).sum()),
    }
    trained = (low > 0) & (high <= longest)
    if not trained.any():
        raise ParameterError(f"train_alignment needs a sentence pair of 1 to {longest} words on each side, got none")
    return trained, skipped
