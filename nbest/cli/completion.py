"""What the shell offers while a command is typed: names of families, and options of the method that was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbest.base.outline import family, parameters_at
from nbest.base.registry import plugin_names

REGISTRIES = {
    "nbest.decisions": "DECISIONS",
    "nbest.executors": "",
    "nbest.features": "FEATURES",
    "nbest.formats": "FORMATS",
    "nbest.metrics": "METRICS",
    "nbest.trainers": "TRAINERS",
}
"""Families by the group of their plug-ins, which is also the package where their registry is."""

_MORE = {"nbest.decisions": ["auto"], "nbest.features": ["auto"], "nbest.executors": ["ray"]}


def names_of(group: str) -> list[str]:
    """The names of a family, with those that other packages add, and words that stand for a choice among them."""
    known = list(family(group, REGISTRIES[group])) if REGISTRIES[group] else []
    return [*known, *_MORE.get(group, []), *plugin_names(group)]


def offering(group: str) -> Callable[[str], list[str]]:
    """What completes an option that names one of a family, or several between commas."""

    def offer(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names_of(group) if name.startswith(last)]

    return offer


def further_options(given: dict[str, Any], families: dict[str, str]) -> list[str]:
    """Options of the trainer, metric and decision that were named, as they are typed."""
    found = []
    for option in ("method", "metric", "decision"):
        group = families.get(option, "")
        places = family(group, REGISTRIES[group]) if given.get(option) else {}
        if given.get(option) in places:
            found += parameters_at(places[given[option]])
    return [f"--{name.replace('_', '-')}" for name in dict.fromkeys(found)]
