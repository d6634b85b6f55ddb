"""Parameters of every trainer: declared once, cloned, set, checked in fit."""

from __future__ import annotations

from functools import partial

import pytest
from sklearn.base import clone

from nbest import MERT, MaxLikelihood, Pipeline, Threads, using
from nbest.base.errors import ParameterError
from nbest.base.parameters import Parameter, parameters_of
from nbest.testing import toy_lists
from nbest.trainers import TRAINERS
from nbest.trainers.finishing import describe
from nbest.trainers.settings_grid import search
from tests.compute.elsewhere import Elsewhere

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


@pytest.mark.parametrize("kind", TRAINERS.values(), ids=TRAINERS)
def test_a_clone_has_the_same_executor_and_copies_of_all_else(kind: type) -> None:
    executor = Elsewhere(2)
    trainer = kind(executor=executor, **({"start": {"first": 1.0}} if "start" in parameters_of(kind) else {}))
    again = clone(trainer)
    assert again.executor is executor
    assert again == trainer
    assert "executor" not in repr(trainer)
    assert "executor" not in describe(trainer)
    if "start" in parameters_of(kind):
        assert again.start is not trainer.start


@pytest.mark.parametrize("kind", [MaxLikelihood, pytest.param(MERT, marks=pytest.mark.slow)])
def test_an_executor_runs_what_its_trainer_does(kind: type) -> None:
    corpus, executor = toy_lists(3), Elsewhere(2)
    few, add = ({"restarts": 2}, "length") if kind is MERT else ({}, "gaussians:kernels=2")
    expected = kind(**few).fit(corpus)
    with using(Threads(1)):
        assert kind(**few, executor=executor).fit(corpus).weights == expected.weights
    assert executor.passes > 0
    model = Pipeline(trainer=kind(**few, executor=executor), add=add).fit(corpus)
    assert model.weights == Pipeline(trainer=kind(**few), add=add).fit(corpus).weights
    with pytest.raises(ParameterError, match=f"{kind.__name__} takes 'threads' or an 'executor', got both"):
        kind(**few, executor=executor, threads=2).fit(corpus)


def test_a_grid_is_run_by_the_executor_of_its_trainer() -> None:
    corpus, executor = toy_lists(3), Elsewhere(2)
    values = {"variance": [0.1, 1.0, 10.0]}
    here, rows = search(MaxLikelihood, values, corpus, corpus)
    there, same = search(partial(MaxLikelihood, executor=executor), values, corpus, corpus)
    assert (here.weights, rows) == (there.weights, same)
    assert executor.passes > 0


@pytest.mark.parametrize(("kind", "each"), EVERY)
def test_every_parameter_has_help_and_its_rule_holds_in_fit(kind: type, each: Parameter) -> None:
    assert each.help
    each.check(each.default)
    for value in outside(each):
        with pytest.raises(ParameterError, match=f"'{each.name}' of {kind.__name__} must be"):
            kind(**{each.name: value}).fit(None)
