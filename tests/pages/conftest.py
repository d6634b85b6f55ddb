"""What pages are made of in tests: small lists with two models, with and without groups."""

from __future__ import annotations

from dataclasses import replace

import pytest

import nbest
from nbest.formats import bundled
from nbest.model.loglinear import LogLinear
from nbest.pages.base import Judged, Subject


def subject_of(sets: dict[str, nbest.NBest], models: dict[str, LogLinear], **more: str) -> Subject:
    """All sets, judged by all models."""
    return Subject(tuple(Judged(name, lists, models) for name, lists in sets.items()), models, **more)


def some(name: str, count: int = 60) -> nbest.NBest:
    """Bundled lists of a few segments, with word error rates."""
    return bundled.lists(name).select(range(count)).with_metric(nbest.WER())


def grouped(lists: nbest.NBest, size: int) -> nbest.NBest:
    """The lists in groups of so many segments."""
    return replace(lists, groups=tuple(f"g{i // size}" for i in range(len(lists))))


@pytest.fixture(scope="session")
def models() -> dict[str, LogLinear]:
    """Two, of which the first is the better one."""
    dev = some("tune")
    return {"likely": nbest.MaxLikelihood().fit(dev), "sharp": nbest.MinRisk().fit(dev)}


@pytest.fixture(scope="session")
def subject(models: dict[str, LogLinear]) -> Subject:
    """Dev, held-out and test lists."""
    return subject_of({"dev": some("tune"), "held-out": some("heldout", 40), "test": some("test")}, models)
