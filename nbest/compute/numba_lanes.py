"""Four numbers at a time inside of kernels, for short rows where loops do not pay.

A loop over the ten statistics of an edge costs more than what it does: its length is not known when it is compiled, and
arrays may overlap. `Lanes` are four float64 that LLVM keeps in one register (or in two, as the processor has them);
each number is computed as a plain expression would be, so the bits are those of the loop.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, overload, register_model

WIDTH = 4

_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)


class LanesType(types.Type):
    """Numba's type of four numbers."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


LANES = LanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _place(context: Any, builder: Any, kind: Any, array: Any, row: Any, column: Any) -> Any:
    """Pointer to four neighbours in a row of an array [R, C] of which the last dimension is contiguous."""
    data = context.make_array(kind)(context, builder, array)
    width = builder.extract_value(data.shape, 1)
    start = builder.gep(data.data, [builder.add(builder.mul(row, width), column)])
    scalar = context.get_data_type(kind.dtype)
    return builder.bitcast(start, ir.VectorType(scalar, WIDTH).as_pointer()), kind.dtype.bitwidth // 8


def _takes(array: Any) -> bool:
    return (
        isinstance(array, types.Array)
        and array.ndim == 2
        and array.layout == "C"
        and isinstance(array.dtype, types.Float)
    )


@intrinsic
def load(typing_context, array, row, column):
    """Four neighbours array[row, column : column + 4], widened to float64; neither index may be negative."""
    if not _takes(array):
        return None

    def generate(context, builder, signature, arguments):
        where, size = _place(context, builder, signature.args[0], *arguments)
        found = builder.load(where, align=size)
        return found if size == 8 else builder.fpext(found, _VECTOR)

    return LANES(array, types.intp, types.intp), generate


@intrinsic
def store(typing_context, array, row, column, value):
    """array[row, column : column + 4] = value, for an array of float64."""
    if not _takes(array) or array.dtype != types.float64:
        return None

    def generate(context, builder, signature, arguments):
        where, size = _place(context, builder, signature.args[0], *arguments[:3])
        builder.store(arguments[3], where, align=size)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, LANES), generate


@intrinsic
def spread(typing_context, value):
    """Four times the same number."""

    def generate(context, builder, signature, arguments):
        one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), arguments[0], cgutils.int32_t(0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), None)
        return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), mask)

    return LANES(types.float64), generate


@intrinsic
def lane(typing_context, value, index):
    """One of the four, by a constant 0 to 3."""
    if not isinstance(index, types.IntegerLiteral):
        return None
    number = index.literal_value

    def generate(context, builder, signature, arguments):
        return builder.extract_element(arguments[0], cgutils.int32_t(number))

    return types.float64(LANES, index), generate


def _lanewise(name: str) -> Any:
    @intrinsic
    def function(typing_context, first, second):
        def generate(context, builder, signature, arguments):
            return getattr(builder, name)(*arguments)

        return LANES(LANES, LANES), generate

    return function


def _define(operation: Any, name: str) -> None:
    compute = _lanewise(name)

    @overload(operation, inline="always")
    def _(first, second):
        if first == LANES and second == LANES:
            return lambda first, second: compute(first, second)
        return None


for _operation, _name in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):
    _define(_operation, _name)
