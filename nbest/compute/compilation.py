"""How kernels are compiled: by Numba, without the interpreter lock, kept on disk, and each for itself.

Where Numba is absent they stay plain Python functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbest.compute.plain import HAS_NUMBA, plain_kernel

if HAS_NUMBA:
    import numba
    from numba.core.dispatcher import Dispatcher

    from nbest.compute.kernel_cache import keep
    from nbest.compute.numba_pipeline import KernelPipeline

kept = True
"""Whether there is a place on disk for every kernel; where there is none each process compiles it anew."""


def compiled(*, keeping: bool = True, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that makes a kernel of a function, with options of `numba.njit`; kept on disk where `keeping`."""
    if not HAS_NUMBA:
        return plain_kernel

    def make(function: Callable[..., Any]) -> Any:
        global kept
        always: dict[str, Any] = {
            "nogil": True,
            "error_model": "numpy",
            "no_cfunc_wrapper": True,  # no C calls our kernels
            "pipeline_class": KernelPipeline,
        }
        kernel = numba.njit(**always, **options)(function)
        if keeping and isinstance(kernel, Dispatcher):  # a plain function where Numba is switched off
            kept = keep(kernel) and kept
        return kernel

    return make


kernel = compiled()
"""How every kernel is compiled."""

lending_kernel = compiled(_nrt=False)
"""A kernel that makes no array and returns none: it does not count references to those it is lent, which in small
functions that are called often takes as long as their work. What it calls must be of its kind."""

fast_kernel = compiled(fastmath={"nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"})
"""A kernel whose sums may be reordered so that they vectorise; for finite numbers."""
