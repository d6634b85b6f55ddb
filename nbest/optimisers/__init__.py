"""Optimisers: L-BFGS, RProp and adaptive ascent for smooth objectives, exact line search for the metric itself."""

from __future__ import annotations

from collections.abc import Callable

from nbest.base.registry import Registry
from nbest.optimisers.ascent import adaptive
from nbest.optimisers.lbfgs import lbfgs
from nbest.optimisers.result import Result
from nbest.optimisers.rprop import rprop

OPTIMISERS: Registry[Callable[..., Result]] = Registry(
    "optimiser", {"adaptive": adaptive, "lbfgs": lbfgs, "rprop": rprop}
)
"""Optimisers of smooth objectives by name: `(function, start, iterations=, tolerance=, callback=) -> Result`."""

__all__ = ["OPTIMISERS", "Result", "adaptive", "lbfgs", "rprop"]
