"""Float maximum and minimum that LLVM vectorises as reductions; plain `max` in a Numba loop stays scalar."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _reduction(name: str) -> Any:
    @intrinsic
    def function(typing_context, first, second):
        if first != second or not isinstance(first, types.Float):
            return None

        def generate(context, builder, signature, arguments):
            kind = context.get_value_type(signature.args[0])
            call = builder.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind, kind]))
            return builder.call(call, arguments, fastmath=("fast",))

        return first(first, second), generate

    return function


fmax = _reduction("llvm.maxnum")
fmin = _reduction("llvm.minnum")
