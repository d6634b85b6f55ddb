"""How kernels are compiled: by Numba, without the interpreter lock, kept on disk, and each for itself.

Numba links the kernels that a kernel calls into its machine code as weak symbols. Where such a callee was loaded on
its own before, the linker takes that copy, which was optimised in another context and may round otherwise; so results
would depend on what was compiled or loaded before. Here callees are private to the kernel that calls them: the same
code runs, compiled now or loaded, in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher

from nbest.compute.kernel_cache import keep

_MANGLED = "_ZN"  # begins the names of compiled Python functions; the runtime's own are shared

kept = True
"""Whether there is a place on disk for every kernel; where there is none each process compiles it anew."""


class _Library(JITCodeLibrary):
    """Machine code in which all that is linked in is private."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            weak = not function.is_declaration and function.linkage.name == "linkonce_odr"
            if weak and function.name.startswith(_MANGLED):
                function.linkage = "internal"
        super()._optimize_final_module()


class _Pipeline(Compiler):
    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        if library is None:
            library = _Library(target.codegen(), "kernel")
            library.enable_object_caching()
        super().__init__(typing, target, library, *rest)


def compiled(*, keeping: bool = True, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that makes a kernel of a function, with options of `numba.njit`; kept on disk where `keeping`."""

    def make(function: Callable[..., Any]) -> Any:
        global kept
        kernel = numba.njit(nogil=True, error_model="numpy", pipeline_class=_Pipeline, **options)(function)
        if keeping and isinstance(kernel, Dispatcher):  # a plain function where Numba is switched off
            kept = keep(kernel) and kept
        return kernel

    return make


kernel = compiled()
"""How every kernel is compiled."""

fast_kernel = compiled(fastmath={"nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"})
"""A kernel whose sums may be reordered so that they vectorise; for finite numbers."""
