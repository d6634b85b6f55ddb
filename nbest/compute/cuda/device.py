"""The device: whether there is one, how arrays get there, and how much stays there.

Arrays go through two pinned buffers of each thread: while one is copied to the device the other is filled, from memory
or from a mapped file. Every thread has a stream of its own, so that copies of one shard and kernels of another overlap.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError

_PIECE = 1 << 25  # bytes copied at a time
_SHARE = 0.7  # of the free memory may be taken by shards that stay
_local = threading.local()
_alone = threading.RLock()  # the interpreter runs one kernel at a time


class Device:
    """An accelerator by PyTorch's name for it; `cpu` only under Triton's interpreter, for tests."""

    def __init__(self, name: str, memory: int | None = None) -> None:
        self.torch = _torch()
        self.name = name
        if name.startswith("cuda") and not self.torch.cuda.is_available():
            raise CapabilityError(
                "there is no CUDA device here that PyTorch can use (torch.cuda.is_available() is False); "
                "leave out the device to compute on the processor"
            )
        if not name.startswith("cuda") and not _interpreted():
            raise CapabilityError(f"the device {name!r} is unknown; give cuda or cuda:N, or leave it out")
        self.device = self.torch.device(name)
        self.real = self.device.type == "cuda"
        self._memory, self._taken, self._lock = memory, 0, threading.Lock()

    @property
    def memory(self) -> int:
        """Bytes that shards may take for good; those beyond it come again in every pass."""
        if self._memory is None:
            free = self.torch.cuda.mem_get_info(self.device)[0] if self.real else 1 << 62
            self._memory = int(_SHARE * free)
        return self._memory

    def keep(self, owner: Any, size: int) -> bool:
        """Whether so many bytes may stay as long as their owner lives."""
        with self._lock:
            if self._taken + size > self.memory:
                return False
            self._taken += size
        weakref.finalize(owner, self._give_back, size)
        return True

    def _give_back(self, size: int) -> None:
        with self._lock:
            self._taken -= size

    @contextmanager
    def working(self) -> Iterator[None]:
        """A stream of this thread's own; at the end all of it is done."""
        if not self.real:
            with _alone:
                yield
            return
        streams = _local.__dict__.setdefault("streams", {})
        if self.name not in streams:
            streams[self.name] = self.torch.cuda.Stream(self.device)
        with self.torch.cuda.device(self.device), self.torch.cuda.stream(streams[self.name]):
            yield
            streams[self.name].synchronize()

    def empty(self, *shape: int, kind: str = "float64") -> Any:
        """An array of anything."""
        return self.torch.empty(shape, dtype=getattr(self.torch, kind), device=self.device)

    def zeros(self, *shape: int, kind: str = "float64") -> Any:
        """An array of zeros."""
        return self.torch.zeros(shape, dtype=getattr(self.torch, kind), device=self.device)

    def put(self, array: Any, kind: str | None = None) -> Any:
        """An array on the device, of another type if wanted."""
        array = np.ascontiguousarray(array)
        if array.dtype == bool:
            array = array.view(np.uint8)
        if not self.real:
            found = self.torch.from_numpy(array.copy())
        elif array.nbytes <= _PIECE:
            found = self.torch.from_numpy(_writable(array)).to(self.device)
        else:
            found = self._streamed(array)
        return found if kind is None else found.to(getattr(self.torch, kind))

    def send(self, array: Any) -> Any:
        """A small array, without waiting for what is under way; it may be reused at once."""
        return self.torch.from_numpy(array).to(self.device, non_blocking=True)

    def get(self, tensor: Any) -> Any:
        """A NumPy array of its numbers."""
        return tensor.cpu().numpy()

    def _streamed(self, array: Any) -> Any:
        """A large array, piece by piece through the pinned buffers of this thread."""
        torch, flat = self.torch, array.reshape(-1)
        found = torch.empty(array.shape, dtype=torch.from_numpy(np.empty(0, array.dtype)).dtype, device=self.device)
        goal, size = found.view(-1), _PIECE // array.itemsize
        for number, low in enumerate(range(0, len(flat), size)):
            buffer, event = self._buffers()[number % 2]
            event.synchronize()  # what was copied out of it before has arrived
            piece = buffer[: min(size, len(flat) - low) * array.itemsize].numpy().view(array.dtype)
            np.copyto(piece, flat[low : low + size])
            goal[low : low + size].copy_(torch.from_numpy(piece), non_blocking=True)
            event.record()
        return found

    def _buffers(self) -> Any:
        if not hasattr(_local, "buffers"):
            make = [self.torch.empty(_PIECE, dtype=self.torch.uint8, pin_memory=True) for _ in range(2)]
            _local.buffers = [(each, self.torch.cuda.Event()) for each in make]
        return _local.buffers


def _writable(array: Any) -> Any:
    return array if array.flags.writeable else array.copy()


@lru_cache
def open_device(name: str, memory: int | None = None) -> Device:
    """The device of this name, opened once, or an error that says what is missing."""
    return Device(name, memory)


def _torch() -> Any:
    try:
        import torch
        import triton  # noqa: F401
    except ImportError as error:
        raise CapabilityError(
            f"computing on a device needs PyTorch and Triton ({error}); pip install 'nbest[gpu]'"
        ) from None
    return torch


def _interpreted() -> bool:
    """Whether Triton runs kernels by its interpreter, on the processor."""
    return os.environ.get("TRITON_INTERPRET") == "1"
