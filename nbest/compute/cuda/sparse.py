"""Sparse matrices on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.cuda import sparse_kernels as kernels
from nbest.compute.cuda.device import Device

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_PIECE = 1024  # entries of a column that are summed by one program


@dataclass
class Entries:
    """Rows of entries on a device: those of row r are starts[r]:starts[r + 1], with places and values."""

    device: Device
    starts: Any  # [R+1]
    places: Any
    values: Any

    @classmethod
    def of(cls, device: Device, starts: Ints, places: Ints, values: Floats) -> Entries:
        """Sent to the device; no array is empty there."""
        kind = np.float32 if values.dtype == np.float32 else np.float64
        entries = np.append(places, 0).astype(np.int32), np.append(values, 0).astype(kind)
        return cls(device, device.put(np.asarray(starts, np.int64)), *map(device.put, entries))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def short(self, factors: Any) -> Any:
        """[R] sums of value * factor[place], for rows of few entries."""
        out = self.device.zeros(max(1, len(self)))
        if len(self):
            kernels.short_rows[(-(-len(self) // 128),)](
                self.starts, self.places, self.values, factors, out, len(self), BR=128, num_warps=4
            )
        return out

    def long(self, factors: Any) -> Any:
        """The same, for rows of many."""
        out = self.device.zeros(max(1, len(self)))
        if len(self):
            kernels.long_rows[(len(self),)](self.starts, self.places, self.values, factors, out, BE=256, num_warps=4)
        return out


@dataclass
class DeviceSparse:
    """Sparse columns [H, D'] on a device: by rows for scores, by columns, cut into pieces, for gradients."""

    device: Device
    matrix: csr_array

    def __post_init__(self) -> None:
        torch, matrix = self.device.torch, self.matrix.tocsr()
        self.rows = Entries.of(self.device, matrix.indptr, matrix.indices, matrix.data)
        count, lengths = matrix.nnz, self.rows.starts.diff()
        owner = torch.repeat_interleave(torch.arange(len(lengths), device=self.device.device), lengths)
        order = torch.sort(self.rows.places[:count], stable=True).indices
        starts = np.zeros(matrix.shape[1] + 1, np.int64)
        np.cumsum(np.bincount(matrix.indices, minlength=matrix.shape[1]), out=starts[1:])
        pieces = -(-np.diff(starts) // _PIECE)
        ends = np.concatenate([[0], np.cumsum(pieces)])
        place = np.arange(ends[-1]) - np.repeat(ends[:-1], pieces)
        cuts = np.append(np.repeat(starts[:-1], pieces) + place * _PIECE, starts[-1])
        sorted_ = (_ended(owner[order].int()), _ended(self.rows.values[:count][order]))
        self.pieces = Entries(self.device, self.device.put(cuts), *sorted_)
        self.columns = Entries.of(self.device, ends, np.arange(ends[-1]), np.ones(ends[-1]))

    def scores(self, weights: Floats) -> Any:
        """[H] product with weights [D'], on the device."""
        return self.rows.short(self.device.put(np.append(weights, 0.0)))

    def sums(self, amounts: Any) -> Floats:
        """[D'] sum over hypotheses of amount [H], on the device, * column."""
        return self.device.get(self.columns.short(self.pieces.long(amounts)))[: self.matrix.shape[1]]


def by_column(device: Device, columns: Any, values: Any, kept: Any, count: int) -> Entries:
    """Entries of a matrix [H, count] by column, from what is on the device: columns and values [H, top], those that
    are `kept` [H, top] only; places are rows."""
    torch = device.torch
    rows = torch.arange(len(columns), device=device.device)[:, None].expand_as(columns)[kept]
    column, value = columns[kept], values[kept]
    order = torch.sort(column, stable=True).indices
    starts = device.zeros(count + 1, kind="int64")
    starts[1:] = torch.bincount(column, minlength=count).cumsum(0)
    return Entries(device, starts, _ended(rows[order].int()), _ended(value[order]))


def _ended(entries: Any) -> Any:
    """With a 0 behind them, so that there is always one."""
    found = entries.new_zeros(len(entries) + 1)
    found[:-1] = entries
    return found
