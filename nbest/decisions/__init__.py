"""How a model's scores become a choice: one flat hypothesis index a segment, -1 where a list is empty."""

from __future__ import annotations

from collections.abc import Callable

from nbest.decisions.consensus import consensus
from nbest.decisions.mbr import mbr
from nbest.decisions.onebest import first, one_best
from nbest.decisions.oracle import corpus_oracle, oracle, random_score
from nbest.types import Ints

DECISIONS: dict[str, Callable[..., Ints]] = {
    "1best": one_best,
    "consensus": consensus,
    "first": first,
    "mbr": mbr,
}
"""Decisions by the name used on the command line."""

__all__ = ["DECISIONS", "consensus", "corpus_oracle", "first", "mbr", "one_best", "oracle", "random_score"]
