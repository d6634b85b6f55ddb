"""From n-grams in any order, as files of other tools hold them, to a `LanguageModel`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.lm.model import LanguageModel
from nbest.lm.query import lm_arrays, word_logprob
from nbest.lm.trie import Level, assemble_trie, find_rows


@dataclass(frozen=True)
class NgramTable:
    """K n-grams of one order with natural logarithms."""

    rows: Ints  # [K, n] words, oldest first
    logprobs: Floats  # [K]
    backoffs: Floats  # [K]


_NOTHING = Level(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


class RepeatedError(ParameterError):
    """An n-gram stands twice in a table."""

    def __init__(self, order: int, row: int) -> None:
        self.order, self.row = order, row
        super().__init__(f"the same {order}-gram is given twice (row {row})")


def build_table(vocabulary: Sequence[str], tables: Sequence[NgramTable]) -> LanguageModel:
    """The model of these tables; `tables[0]` has the words in order.

    An n-gram whose suffix is not in the tables (pruned by another tool) gets it, with the probability that backing off
    gives it: no query changes its answer.
    """
    tables = list(tables)
    levels = [Level(tables[0].rows[:, 0], np.zeros(len(vocabulary), np.int64), tables[0].logprobs, tables[0].backoffs)]
    while len(levels) < len(tables):
        model = assemble_trie(vocabulary, levels)
        table = tables[len(levels)]
        suffixes = find_rows(model.levels, model.words, model.children, table.rows[:, 1:])
        if (suffixes < 0).any():
            missing = np.unique(table.rows[suffixes < 0, 1:], axis=0)
            levels.pop()
            lower = assemble_trie(vocabulary, [*levels, _NOTHING])  # one order more, so that all backoffs are in it
            tables[len(levels)] = _completed(tables[len(levels)], missing, lower)
            continue
        levels.append(_sorted(table, suffixes - model.levels[-2]))
    return assemble_trie(vocabulary, levels)


def _sorted(table: NgramTable, suffixes: Ints) -> Level:
    first = table.rows[:, 0]
    order = np.lexsort((first, suffixes))
    first, suffixes = first[order], suffixes[order]
    twice = np.flatnonzero((first[1:] == first[:-1]) & (suffixes[1:] == suffixes[:-1]))
    if len(twice):
        raise RepeatedError(table.rows.shape[1], int(order[twice + 1].min()))
    return Level(first, suffixes, table.logprobs[order], table.backoffs[order])


def _completed(table: NgramTable, missing: Ints, lower: LanguageModel) -> NgramTable:
    """The table with further n-grams that have the probability the orders below give them."""
    logprobs = _last_words(lm_arrays(lower), missing)
    return NgramTable(
        np.concatenate([table.rows, missing]),
        np.concatenate([table.logprobs, logprobs]),
        np.concatenate([table.backoffs, np.zeros(len(missing))]),
    )


@kernel
def _last_words(arrays, rows):
    """[K] log probability of the last word of each row after the others."""
    out = np.empty(len(rows))
    for k in range(len(rows)):
        out[k] = word_logprob(arrays, rows[k], rows.shape[1] - 1, rows[k, -1])
    return out
