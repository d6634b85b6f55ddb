"""Random numbers: only through a seed that is given, checked here."""

from __future__ import annotations

import numpy as np

from nbest.base.errors import ParameterError


def generator(seed: int, *stream: int) -> np.random.Generator:
    """A generator for this seed; numbers after it tell independent streams apart."""
    if seed < 0:
        raise ParameterError(f"'seed' must be >= 0, got {seed}")
    return np.random.default_rng([seed, *stream] if stream else seed)
