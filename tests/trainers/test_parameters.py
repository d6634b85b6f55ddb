"""Parameters of every trainer: declared once, cloned, set, checked in fit."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from nbest.base.errors import ParameterError
from nbest.base.parameters import Parameter, parameters_of
from nbest.trainers import TRAINERS

EVERY = [pytest.param(kind, each, id=f"{name}-{each.name}") for name, kind in TRAINERS.items()
         for each in parameters_of(kind).values()]  # fmt: skip


def outside(each: Parameter) -> list[object]:
    """Values that break the rule of a parameter, or are of another type."""
    rule = each.rule
    limits = [(rule.least, -1), (rule.most, 1), (rule.above, 0), (rule.below, 0)]
    values: list[object] = [limit + step for limit, step in limits if limit is not None]
    if rule.finite:
        values.append(float("inf"))
    if rule.choices is not None:
        values.append("no such choice" if str in each.kinds or each.name == "signs" else 99)
    return [*({"lm": value} if each.name == "signs" else value for value in values), object()]


@pytest.mark.parametrize("kind", TRAINERS.values(), ids=TRAINERS)
def test_scikit_learn_clones_a_trainer(kind: type) -> None:
    trainer = kind(threads=1)
    changed = clone(trainer).set_params(threads=2)
    assert type(changed) is kind
    assert trainer.get_params()["threads"] == 1
    assert changed.get_params() == {**trainer.get_params(), "threads": 2}
    assert kind(**trainer.get_params()) == trainer
    with pytest.raises(ParameterError, match=f"{kind.__name__} has no parameter 'thread'.*did you mean 'threads'"):
        trainer.set_params(thread=2)


@pytest.mark.parametrize(("kind", "each"), EVERY)
def test_every_parameter_has_help_and_its_rule_holds_in_fit(kind: type, each: Parameter) -> None:
    assert each.help
    each.check(each.default)
    for value in outside(each):
        with pytest.raises(ParameterError, match=f"'{each.name}' of {kind.__name__} must be"):
            kind(**{each.name: value}).fit(None)
