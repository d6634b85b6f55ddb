"""Machine code of kernels in which all that is linked in is private.

Numba links the kernels that a kernel calls into its machine code as weak symbols. Where such a callee was loaded on
its own before, the linker takes that copy, which was optimised in another context and may round otherwise; so results
would depend on what was compiled or loaded before. Here callees are private to the kernel that calls them: the same
code runs, compiled now or loaded, in any order.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

_MANGLED = "_ZN"  # begins the names of compiled Python functions; the runtime's own are shared


class _Library(JITCodeLibrary):
    """Machine code in which all that is linked in is private."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            weak = not function.is_declaration and function.linkage.name == "linkonce_odr"
            if weak and function.name.startswith(_MANGLED):
                function.linkage = "internal"
        super()._optimize_final_module()


class KernelPipeline(Compiler):
    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        if library is None:
            library = _Library(target.codegen(), "kernel")
            library.enable_object_caching()
        super().__init__(typing, target, library, *rest)
