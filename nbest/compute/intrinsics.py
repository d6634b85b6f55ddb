"""Maximum, minimum, exp, prefetch and new arrays for kernels: see `numba_intrinsics`."""

from __future__ import annotations

from nbest.compute.plain import HAS_NUMBA

if HAS_NUMBA:
    from nbest.compute.numba_intrinsics import fast_exp, fmax, fmin, new, prefetch
else:
    from nbest.compute.plain import fast_exp, fmax, fmin, new, prefetch  # type: ignore[assignment]

__all__ = ["fast_exp", "fmax", "fmin", "new", "prefetch"]
