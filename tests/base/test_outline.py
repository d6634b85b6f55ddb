"""What is read out of source files is what is imported."""

from __future__ import annotations

from importlib import import_module

import pytest

from nbest.base.outline import family, parameters_at
from nbest.cli.completion import REGISTRIES
from nbest.cli.further import settable

FAMILIES = [(package, name) for package, name in REGISTRIES.items() if name]


@pytest.mark.parametrize(("package", "name"), FAMILIES)
def test_names_are_those_of_the_registry(package: str, name: str) -> None:
    """All of nbest's own, in order."""
    registry = getattr(import_module(package), name)
    assert list(family(package, name)) == [each for each in registry if each not in registry.added()]


@pytest.mark.parametrize(("package", "name"), [pair for pair in FAMILIES if pair[1] not in ("FORMATS", "FEATURES")])
def test_parameters_are_those_that_can_be_given(package: str, name: str) -> None:
    """Of every trainer, metric and decision."""
    registry = getattr(import_module(package), name)
    for key, place in family(package, name).items():
        assert set(parameters_at(place)) == set(settable(registry[key])), key
