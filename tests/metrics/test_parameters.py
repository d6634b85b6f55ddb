"""Options of every metric are declared with help, and their rules hold."""

from __future__ import annotations

import pytest

from nbest.base.errors import ParameterError
from nbest.base.parameters import Parameter, parameters_of
from nbest.metrics import METRICS

RULES = [pytest.param(kind, each, id=f"{name}-{each.name}") for name, kind in METRICS.items()
         for each in parameters_of(kind).values()]  # fmt: skip


@pytest.mark.parametrize(("kind", "each"), RULES)
def test_every_option_has_help_and_its_rule_holds(kind: type, each: Parameter) -> None:
    assert each.help
    each.check(each.default)
    if each.rule.words():
        with pytest.raises(ParameterError, match=f"'{each.name}' of .* must be"):
            kind(**{each.name: "no such choice" if each.rule.choices else -1})
