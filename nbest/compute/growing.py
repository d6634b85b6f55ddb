"""Arrays that grow and tables of hashes, for use inside kernels.

Loops, as everywhere in kernels: assigning an array to a slice compiles seconds longer, since the message about shapes
that do not fit is compiled as well.
"""

from __future__ import annotations

import numpy as np

from nbest.compute.compilation import kernel
from nbest.compute.intrinsics import new


@kernel
def longer(array, size):
    """The same values with room for `size` of them."""
    out = new(size, array.dtype)
    for i in range(len(array)):
        out[i] = array[i]
    return out


@kernel
def taller(array, size):
    """The same rows [R, C] with room for `size` of them."""
    out = np.empty((size, array.shape[1]), array.dtype)
    for i in range(len(array)):
        for j in range(array.shape[1]):
            out[i, j] = array[i, j]
    return out


@kernel
def roomy(array, used):
    """The array, or one of twice the size if all of it is used."""
    return array if used < len(array) else longer(array, 2 * used)


@kernel
def room(array, need):
    """The array, or a larger one with the same values and then zeros if it has less than `need` places."""
    if need <= len(array):
        return array
    grown = np.zeros(2 * need, array.dtype)
    for i in range(len(array)):
        grown[i] = array[i]
    return grown


@kernel
def numbered_slots(hashes, size):
    """[size] numbers of entries with these 64-bit hashes by open addressing, -1 where free; a power of two."""
    table = new(size, np.int32)
    table[:] = -1
    for number in range(len(hashes)):
        slot = hashes[number] & np.uint64(size - 1)
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & np.uint64(size - 1)
        table[slot] = number
    return table
