"""Parameters: declared once, checked, read and set."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from nbest.base.errors import ParameterError
from nbest.base.parameters import Parameters, check, parameter, parameters_of


@dataclass
class Shaker(Parameters):
    times: int = parameter(3, "how often", least=1)
    force: float = parameter(0.5, "how hard", above=0, most=1)
    way: str = parameter("up", "where to", choices=("up", "down", "left"))
    spread: float | dict[str, float] = parameter(1.0, "sigma", above=0)
    start: dict[str, float] | str | None = parameter(None, "weights", choices=("random",))
    names: tuple[str, ...] = parameter((), "features")
    signs: dict[str, str] = parameter(factory=dict, help="signs", choices=("+", "-"))
    loud: bool = parameter(False, "say so")
    seed: int = parameter(1, "seed of what is random")
    progress: object = parameter(None, public=False)
    plain: int = 4
    result_: int | None = field(default=None, init=False, repr=False)


def test_parameters_are_read_in_order_with_help_rule_and_default() -> None:
    found = parameters_of(Shaker)
    assert list(found) == list(Shaker().get_params())
    assert len(found) == 11
    assert (found["times"].default, found["times"].help, found["times"].rule.words()) == (3, "how often", ">= 1")
    assert found["force"].rule.words() == "> 0 and <= 1"
    assert found["way"].rule.words() == "up, down or left"
    assert found["signs"].default == {}
    assert not found["progress"].public
    assert found["plain"].help == ""


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"times": 0}, "'times' of Shaker must be >= 1, got 0"),
        ({"times": 2**31}, "'times' of Shaker must be <= 2147483647, got 2147483648"),
        ({"times": 1.5}, "'times' of Shaker must be a whole number, got 1.5"),
        ({"times": True}, "'times' of Shaker must be a whole number, got True"),
        ({"force": 0.0}, "'force' of Shaker must be > 0 and <= 1, got 0.0"),
        ({"force": float("nan")}, "'force' of Shaker must be > 0 and <= 1, got nan"),
        ({"force": None}, "'force' of Shaker must be a number, got None"),
        ({"way": "right"}, "'way' of Shaker must be up, down or left, got 'right'"),
        ({"way": 3}, "'way' of Shaker must be a word, got 3"),
        ({"spread": {"lm": -1.0}}, "'spread' of Shaker must be > 0, got {'lm': -1.0}"),
        ({"start": "mert"}, "'start' of Shaker must be random, got 'mert'"),
        ({"signs": {"lm": "*"}}, r"'signs' of Shaker must be \+ or -, got {'lm': '\*'}"),
        ({"loud": "yes"}, "'loud' of Shaker must be true or false, got 'yes'"),
    ],
)
def test_a_value_that_breaks_its_rule_is_named(values: dict[str, object], message: str) -> None:
    shaker = Shaker(**values)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=f"^{message}$"):
        check(shaker)


def test_values_within_the_rules_pass() -> None:
    check(Shaker())
    check(Shaker(force=1, spread={"lm": 2}, start={"lm": 1.0}, names=["a"], seed=2**40))  # type: ignore[arg-type]


def test_params_are_got_and_set_by_name() -> None:
    shaker = Shaker(times=5)
    assert Shaker(**shaker.get_params()) == shaker
    assert shaker.set_params(force=0.25) is shaker
    assert shaker.get_params()["force"] == 0.25
    with pytest.raises(ParameterError, match=r"Shaker has no parameter 'forse'; known: .*did you mean 'force'"):
        shaker.set_params(forse=1)


def test_a_parameter_without_default_has_to_be_given() -> None:
    @dataclass
    class Needy:
        size: int = parameter(1, "size", least=0)
        text: str = parameter(..., "the text")

    with pytest.raises(TypeError, match="text"):
        Needy()
    assert Needy(text="a").size == 1


def test_a_misspelt_rule_is_an_error_at_once() -> None:
    with pytest.raises(TypeError, match="leats"):
        parameter(1, "size", leats=0)
