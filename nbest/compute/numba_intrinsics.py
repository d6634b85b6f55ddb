"""Pieces that LLVM vectorises where plain Numba stays scalar: float maximum and minimum as reductions, exp; prefetch.

`exp` in a Numba loop calls the C library for every element. The polynomial here is within 2e-15 of it, relative, and
exactly 0 below -708, which is what a posterior wants.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import _empty_nd_impl, make_array

from nbest.compute.compilation import compiled


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


@intrinsic
def _as_float(typing_context, bits):
    """The float64 with these bits."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def prefetch(typing_context, array, index):
    """Fetch `array[index]` into the cache while other work goes on; the index may be anything."""
    if not isinstance(array, types.Array) or index != types.int64:
        return None

    def generate(context, builder, signature, arguments):
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        builder.call(call, [address, number(0), number(3), number(1)])  # to read it, soon and again, as data
        return context.get_dummy_value()

    return types.void(array, index), generate


@intrinsic
def new(typing_context, size, kind):
    """`np.empty(size, kind)`, which compiles in no time: NumPy's function is two kernels more for each kind."""
    array = types.Array(kind.dtype, 1, "C")

    def generate(context, builder, signature, arguments):
        return _empty_nd_impl(context, builder, array, arguments[:1])._getvalue()

    return array(types.intp, kind), generate


@compiled(fastmath={"contract"}, inline="always")
def fast_exp(x):
    """exp(x) for x <= 709: 2^n times a polynomial on [-ln 2 / 2, ln 2 / 2]."""
    y = max(x, -708.0)
    n = np.floor(y * 1.4426950408889634 + 0.5)
    r = y - n * 6.93145751953125e-1
    r -= n * 1.42860682030941723212e-6
    p = 1.0 / 479001600
    p = p * r + 1.0 / 39916800
    p = p * r + 1.0 / 3628800
    p = p * r + 1.0 / 362880
    p = p * r + 1.0 / 40320
    p = p * r + 1.0 / 5040
    p = p * r + 1.0 / 720
    p = p * r + 1.0 / 120
    p = p * r + 1.0 / 24
    p = p * r + 1.0 / 6
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * _as_float((np.int64(n) + 1023) << 52) * (x > -708.0)
