"""IBM model 1: every made word is translated from any given word of the sentence, all places alike.

    p(made | given) = prod_j 1 / (I + 1) (t(made_j | null) + sum_i t(made_j | given_i))

Brown, Della Pietra, Della Pietra & Mercer (1993), Computational Linguistics 19(2) 263-311, section 4.1; their e is
given, f is made, without their length probability. EM never lowers the likelihood, which has one maximum up to ties.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nbest.base.types import Floats
from nbest.compute.compilation import kernel
from nbest.systems.translator.alignment.counts import (
    Direction,
    LexicalTable,
    PosteriorRun,
    emissions,
    expected_links,
    passed_over,
    uniform,
)


def ibm1_expectations(
    direction: Direction, table: LexicalTable, threads: int | None = None
) -> tuple[Floats, Floats, float]:
    """Expected counts by slot and of the null word, and the log-likelihood. Cost: O(sum of I J)."""
    logs = np.zeros(len(direction.given.offsets) - 1)

    sentences = direction.sentences(table)

    def expect(low: int, high: int, run: PosteriorRun) -> None:
        _expect(low, high, sentences, run, logs)

    counts, nulls = expected_links(direction, expect, threads)
    return counts, nulls, float(logs.sum())


def train_ibm1(
    direction: Direction,
    iterations: int,
    threads: int | None = None,
    step: Callable[[], None] = lambda: None,
) -> tuple[LexicalTable, list[float]]:
    """The table after EM from the uniform one, and the log-likelihood before each iteration; `step()` after each."""
    table, history = uniform(direction), []
    for _ in range(iterations):
        counts, nulls, value = ibm1_expectations(direction, table, threads)
        table = direction.normalised(counts, nulls)
        history.append(value)
        step()
    return table, history


@kernel
def _expect(low, high, sentences, run, logs):
    starts, posteriors, empties = run
    for n in range(low, high):
        if passed_over(sentences, n, run):
            continue
        out, empty = emissions(sentences, n)
        made, given = out.shape
        start = sentences.made_offsets[n]
        for j in range(made):
            total = empty[j]
            for i in range(given):
                total += out[j, i]
            logs[n] += np.log(total / (given + 1))
            empties[start + j] = empty[j] / total
            for i in range(given):
                posteriors[starts[n] + (j * given + i if sentences.flipped else i * made + j)] = out[j, i] / total
