"""The HMM alignment model: the given place of a made word depends on how far it jumps from the place before.

    p(made, a | given) = prod_j p(a_j | a_{j-1}) t(made_j | given_{a_j})
    p(i | i')          = (1 - p0) c(i - i') / sum_{i''} c(i'' - i'),   null: p0, and the place stays i'

Vogel, Ney & Tillmann (1996), COLING 836-841, with the null word of Och & Ney (2003), Computational Linguistics 29(1)
19-51, section 2.1.3 (their empty positions i + I). The first jump is from before the first word, with the same c.
Jumps of `WIDEST` and more share one c a side. Differs: c is not set to the relative frequency of its jumps, which the
sum over the places of a sentence makes only nearly right, but by the step of Hunter (2004), Annals of Statistics
32(1) 384-406, c_d = N_d / sum over departures of 1 / sum c, so that the likelihood never falls.
Cost: O(sum of J I^2) a pass; scaled, in probabilities.
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
)

WIDEST = 40


def first_jumps() -> Floats:
    """[2 WIDEST + 1] jump weights c before training, largest at 1: c_d = 1 / (1 + |d - 1|)."""
    return 1.0 / (1.0 + np.abs(np.arange(-WIDEST, WIDEST + 1) - 1.0))


def widened(jumps: Floats, longest: int) -> Floats:
    """[2 longest + 1] weight of every jump in sentences up to this length: the shared ends are repeated."""
    return np.asarray(jumps[np.clip(np.arange(-longest, longest + 1), -WIDEST, WIDEST) + WIDEST])


def hmm_expectations(
    direction: Direction, table: LexicalTable, jumps: Floats, null: float, threads: int | None = None
) -> tuple[Floats, Floats, Floats, float]:
    """Expected counts by slot and of the null word, the next jump weights, and the log-likelihood."""
    sentences, given = direction.sentences(table), direction.given
    longest = int(given.lengths()[direction.trained].max(initial=0)) + 1
    wide = widened(jumps, longest)
    logs = np.zeros(len(given.offsets) - 1)
    moves = np.zeros((len(logs), 2, 2 * WIDEST + 1), np.float32)  # of each sentence: N_d, and what c_d is divided by

    def expect(low: int, high: int, run: PosteriorRun) -> None:
        _expect(low, high, sentences, run, (wide, null), found=(moves, logs))

    counts, nulls = expected_links(direction, expect, threads)
    jumped, left = moves.sum(axis=0, dtype=np.float64)
    moved = np.divide(jumped, left, out=jumps.copy(), where=left > 0)
    return counts, nulls, moved / moved.max(), float(logs.sum())


def train_hmm(
    direction: Direction,
    table: LexicalTable,
    iterations: int,
    null: float,
    threads: int | None = None,
    step: Callable[[], None] = lambda: None,
) -> tuple[LexicalTable, Floats, list[float]]:
    """Table and jump weights after Baum-Welch from this table, and the log-likelihood before each iteration."""
    jumps, history = first_jumps(), []
    for _ in range(iterations):
        counts, nulls, jumps, value = hmm_expectations(direction, table, jumps, null, threads)
        table = direction.normalised(counts, nulls)
        history.append(value)
        step()
    return table, jumps, history


@kernel
def jump_sums(wide, given):
    """[I+1] sum of the jump weights from each place, 0 being before the first word."""
    middle = len(wide) // 2
    out = np.zeros(given + 1)
    for q in range(given + 1):
        for i in range(1, given + 1):
            out[q] += wide[middle + i - q]
    return out


@kernel
def _forward(sentence, jumping, states, scales):
    """Scaled forward probabilities of places 1..I (`alpha`) and of null states 0..I (`silent`); row 0 is the start."""
    out, empty = sentence
    wide, norms, null = jumping
    alpha, silent = states
    made, given = out.shape
    middle = len(wide) // 2
    alpha[0, :] = 0.0
    silent[0, :] = 0.0
    silent[0, 0] = 1.0
    for j in range(made):
        row = alpha[j + 1]
        row[:] = 0.0
        for q in range(given + 1):
            mass = alpha[j, q] + silent[j, q]
            silent[j + 1, q] = null * empty[j] * mass
            weight = (1.0 - null) * mass / norms[q]
            if weight > 0.0:
                window = wide[middle + 1 - q : middle + 1 - q + given]
                for i in range(given):
                    row[i + 1] += weight * window[i]
        total = silent[j + 1, 0]
        for i in range(given):
            row[i + 1] *= out[j, i]
            total += row[i + 1] + silent[j + 1, i + 1]
        scales[j] = total
        for q in range(given + 1):
            row[q] /= total
            silent[j + 1, q] /= total


@kernel
def _backward(sentence, jumping, states, scales, reverse, moved):
    """Turns `alpha` and `silent` into posteriors in place; adds jump counts / c and departures / norm to the last two.

    `jumped[middle + d]` is summed without its factor c_d; `left` holds differences over d. `reverse` is `wide` turned.
    """
    out, empty = sentence
    wide, norms, null = jumping
    alpha, silent = states
    jumped, left = moved
    made, given = out.shape
    middle = len(wide) // 2
    beta = np.ones(given + 1)
    ahead = np.empty(given)
    for j in range(made - 1, -1, -1):
        for i in range(given):
            ahead[i] = (1.0 - null) * out[j, i] * beta[i + 1] / scales[j]
        for q in range(given + 1):  # posteriors of word j, whose beta is known
            alpha[j + 1, q] *= beta[q]
            silent[j + 1, q] *= beta[q]
        stay = null * empty[j] / scales[j]
        before = np.zeros(given + 1)
        for i in range(given):
            window = reverse[middle - 1 - i : middle - i + given]
            for q in range(given + 1):
                before[q] += ahead[i] * window[q]
        for q in range(given + 1):
            mass = (alpha[j, q] + silent[j, q]) / norms[q]
            if mass > 0.0:
                window = jumped[middle + 1 - q : middle + 1 - q + given]
                for i in range(given):
                    window[i] += mass * ahead[i]
                departures = mass * before[q] / norms[q]
                left[middle + 1 - q] += departures
                left[middle + 1 - q + given] -= departures
            beta[q] = before[q] / norms[q] + stay * beta[q]


@kernel
def _expect(low, high, sentences, run, jumping, found):
    starts, posteriors, empties = run
    wide, null = jumping
    moves, logs = found
    reverse = wide[::-1].copy()
    for n in range(low, high):
        if passed_over(sentences, n, run):
            continue
        sentence = emissions(sentences, n)
        made, given = sentence[0].shape
        start = sentences.made_offsets[n]
        weighed = wide, jump_sums(wide, given), null
        alpha, silent = np.empty((made + 1, given + 1)), np.empty((made + 1, given + 1))
        scales = np.empty(made)
        jumped, left = np.zeros(len(wide)), np.zeros(len(wide) + 1)
        _forward(sentence, weighed, (alpha, silent), scales)
        _backward(sentence, weighed, (alpha, silent), scales, reverse, moved=(jumped, left))
        logs[n] = np.log(scales).sum()
        _gather(wide, jumped, left, moves[n])
        for j in range(made):
            empties[start + j] = silent[j + 1].sum()
            for i in range(given):
                posteriors[starts[n] + (j * given + i if sentences.flipped else i * made + j)] = alpha[j + 1, i + 1]


@kernel
def _gather(wide, jumped, left, moves):
    """Jump counts and divisors of one sentence with far jumps tied."""
    middle = len(wide) // 2
    running = 0.0
    for k in range(len(wide)):
        tied = min(max(k - middle, -WIDEST), WIDEST) + WIDEST
        running += left[k]
        moves[0, tied] += jumped[k] * wide[k]
        moves[1, tied] += running
