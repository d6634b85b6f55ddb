"""IBM model 1: every made word is translated from any given word of the sentence, all places alike.

    p(made | given) = prod_j 1 / (I + 1) (t(made_j | null) + sum_i t(made_j | given_i))

Brown, Della Pietra, Della Pietra & Mercer (1993), Computational Linguistics 19(2) 263-311, section 4.1; their e is
given, f is made, without their length probability. EM never lowers the likelihood, which has one maximum up to ties.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.systems.translator.alignment.counts import Direction, Table, emissions, expected_counts, uniform


def ibm1_expectations(direction: Direction, table: Table, threads: int | None = None) -> tuple[Floats, Floats, float]:
    """Expected counts by slot and of the null word, and the log-likelihood. Cost: O(sum of I J)."""
    logs = np.zeros(len(direction.given.offsets) - 1)

    def expect(low: int, high: int, starts: Ints, posteriors: Floats, nulls: Floats) -> None:
        pairs, given, made = direction.pairs, direction.given, direction.made
        _expect(pairs.slots, pairs.starts, starts, given.offsets, made.offsets, made.ids, direction.flipped,
                table.pairs, table.nulls, direction.trained, low, high, posteriors, nulls, logs)  # fmt: skip

    counts, nulls = expected_counts(direction, expect, threads)
    return counts, nulls, float(logs.sum())


def train_ibm1(
    direction: Direction,
    iterations: int,
    threads: int | None = None,
    step: Callable[[], None] = lambda: None,
) -> tuple[Table, list[float]]:
    """The table after EM from the uniform one, and the log-likelihood before each iteration; `step()` after each."""
    table, history = uniform(direction), []
    for _ in range(iterations):
        counts, nulls, value = ibm1_expectations(direction, table, threads)
        table = direction.normalised(counts, nulls)
        history.append(value)
        step()
    return table, history


@kernel
def _expect(slots, places, starts, given_offsets, made_offsets, made_ids, flipped, table, nulls, trained, low, high,
            posteriors, empties, logs):  # fmt: skip
    for n in range(low, high):
        given = given_offsets[n + 1] - given_offsets[n]
        made = made_offsets[n + 1] - made_offsets[n]
        start = made_offsets[n]
        if not trained[n]:
            posteriors[starts[n] : starts[n + 1]] = 0.0
            empties[start : start + made] = 0.0
            continue
        out, empty = np.empty((made, given)), np.empty(made)
        emissions(slots, places[n], given, made, flipped, table, nulls, made_ids, start, out, empty)
        for j in range(made):
            total = empty[j]
            for i in range(given):
                total += out[j, i]
            logs[n] += np.log(total / (given + 1))
            empties[start + j] = empty[j] / total
            for i in range(given):
                posteriors[starts[n] + (j * given + i if flipped else i * made + j)] = out[j, i] / total
