"""How a model's scores become a choice: one flat hypothesis index a segment, -1 where a list is empty."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from nbest.base.late import late_names
from nbest.base.registry import Registry
from nbest.base.types import Ints
from nbest.corpus import NBest
from nbest.decisions.majority import best_of_majority
from nbest.decisions.onebest import first, one_best
from nbest.decisions.oracle import corpus_oracle, corpus_oracle_score, oracle, random_score
from nbest.decisions.vote import vote
from nbest.model.loglinear import LogLinear

if TYPE_CHECKING:
    from nbest.decisions.consensus import consensus
    from nbest.decisions.mbr import mbr

late_names(__name__, {"consensus": "consensus", "mbr": "mbr"})

DECISIONS: Registry[Callable[..., Ints]] = Registry(
    "decision",
    {
        "1best": one_best,
        "best-of-majority": best_of_majority,
        "consensus": "consensus:consensus",
        "first": first,
        "mbr": "mbr:mbr",
        "vote": vote,
    },
    group="nbest.decisions",
    room=__name__,
)
"""Decisions by the name used on the command line: `(model, corpus, **options) -> choice`. What else a decision takes
(gain, gamma, evidence, order, forests, progress) are its keywords; `model: ... | None` says that it needs none."""

BY_METRIC = frozenset({"mbr"})
"""Decisions whose gain on the command line is the metric of the model, where none is given."""


def decide(name: str, model: LogLinear | None, corpus: NBest, **offered: Any) -> Ints:
    """What a decision chooses, given those of the keywords that it takes."""
    return DECISIONS[name](model, corpus, **{key: value for key, value in offered.items() if takes(name, key)})


def takes(name: str, option: str) -> bool:
    """Whether a decision has this keyword."""
    parameters = signature(DECISIONS[name]).parameters
    anything = any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())
    return anything or option in list(parameters)[2:]


def needs_model(name: str) -> bool:
    """Whether a decision must be given a model."""
    model = next(iter(signature(DECISIONS[name]).parameters.values()))
    return model.default is Parameter.empty and "None" not in str(model.annotation)


def needs_one(name: str) -> bool:
    """Whether the best string of a forest is all that a decision looks at."""
    return DECISIONS[name] in (one_best, first)


__all__ = [
    "BY_METRIC", "DECISIONS", "best_of_majority", "consensus", "corpus_oracle", "corpus_oracle_score", "decide",
    "first", "mbr", "needs_model", "needs_one", "one_best", "oracle", "random_score", "takes", "vote",
]  # fmt: skip
