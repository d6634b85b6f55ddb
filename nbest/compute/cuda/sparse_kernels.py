"""Kernels over sparse matrices by rows: products with a vector, in one order."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def short_rows(starts, places, values, factors, out, R, BR: tl.constexpr):
    """out [R] = sums over the entries of each row of value * factor[place]; for rows of few entries."""
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    low = tl.load(starts + r, mask=r < R, other=0)
    size = tl.load(starts + r + 1, mask=r < R, other=0) - low
    total = tl.zeros((BR,), tl.float64)
    for j in range(tl.max(size, 0).to(tl.int32)):
        inside = j < size
        place = tl.load(places + low + j, mask=inside, other=0)
        value = tl.load(values + low + j, mask=inside, other=0.0).to(tl.float64)
        total += value * tl.load(factors + place, mask=inside, other=0.0)
    tl.store(out + r, total, mask=r < R)


@triton.jit
def long_rows(starts, places, values, factors, out, BE: tl.constexpr):
    """The same, one program a row; for rows of many entries."""
    r = tl.program_id(0)
    low = tl.load(starts + r)
    size = (tl.load(starts + r + 1) - low).to(tl.int32)
    e = tl.arange(0, BE)
    total = tl.zeros((BE,), tl.float64)
    for at in range(0, size, BE):
        inside = at + e < size
        place = tl.load(places + low + at + e, mask=inside, other=0)
        value = tl.load(values + low + at + e, mask=inside, other=0.0).to(tl.float64)
        total += value * tl.load(factors + place, mask=inside, other=0.0)
    tl.store(out + r, tl.sum(total, 0))
