"""What is sent to workers: pickled objects, with large arrays beside them.

Where numbers lie in a file that is mapped (a store, `nbest.base.mapped`) only their place is sent. Large arrays that
nobody changes are put where workers can look at them without a copy, once for all that hold them. All else is part of
the pickle.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from nbest.base.mapped import FilePart, mapped_part, part_of

INLINE = 1 << 16
"""Bytes from which on a part of a message is put beside it."""


class Message(NamedTuple):
    """A pickled object, or where it was put, and where its arrays were."""

    data: Any
    arrays: tuple[Any, ...]


@dataclass
class Packed:
    """A message, and how large what it stands for is."""

    message: Message
    size: int
    shared: list[tuple[Any, ...]]  # arrays that it shares with other messages


@dataclass
class _Shared:
    """An array that was put, and who needs it."""

    array: Any  # kept, so that no other one gets its place in memory
    place: Any
    users: set[str] = field(default_factory=set)


class Packer:
    """Makes messages. `put` puts an object beside them and says where; `sent` counts the bytes that were put."""

    def __init__(self, put: Callable[[Any], Any]) -> None:
        self.put, self.files, self.sent = put, True, 0
        self._shared: dict[tuple[Any, ...], _Shared] = {}

    def pack(self, thing: Any, key: str | None = None) -> Packed:
        """A message; arrays that are put are kept there for this key until it is forgotten."""
        arrays: list[Any] = []
        shared: list[tuple[Any, ...]] = []
        size = 0

        def place_of(array: Any) -> Any:
            nonlocal size
            size += array.nbytes
            part = part_of(array) if self.files else None
            if part is not None:
                return part
            if key is None or array.nbytes < INLINE or array.flags.writeable or array.dtype.hasobject:
                size -= array.nbytes
                return None
            name = array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str
            found = self._shared.get(name)
            if found is None:
                found = self._shared[name] = _Shared(array, self.put(array))
                self.sent += array.nbytes
            found.users.add(key)
            shared.append(name)
            arrays.append(found.place)
            return len(arrays) - 1

        file = io.BytesIO()
        _pickler()(file, place_of).dump(thing)
        data: Any = file.getvalue()
        size += len(data)
        if len(data) > INLINE:
            self.sent += len(data)
            data = self.put(data)
        return Packed(Message(data, tuple(arrays)), size, shared)

    def forget(self, key: str) -> None:
        """A key is not met again."""
        for name in [name for name, each in self._shared.items() if key in each.users]:
            self._shared[name].users.discard(key)
            if not self._shared[name].users:
                del self._shared[name]


@cache
def _pickler() -> Any:
    from ray.cloudpickle import CloudPickler  # functions that are in no module, too

    class Pickler(CloudPickler):
        def __init__(self, file: Any, place_of: Callable[[Any], Any]) -> None:
            super().__init__(file, protocol=5)
            self.place_of = place_of

        def persistent_id(self, each: Any) -> Any:
            return self.place_of(each) if type(each) is np.ndarray else None

    return Pickler


class _Unpacker(pickle.Unpickler):
    def __init__(self, data: bytes, arrays: Callable[[int], Any]) -> None:
        super().__init__(io.BytesIO(data))
        self.arrays = arrays

    def persistent_load(self, place: Any) -> Any:
        return mapped_part(place) if isinstance(place, FilePart) else self.arrays(place)


def unpacked(message: Message, get: Callable[[Any], Any]) -> Any:
    """What a message stands for, where it has arrived; `get` looks up what was put."""
    data = message.data if isinstance(message.data, bytes) else get(message.data)
    return _Unpacker(data, lambda number: get(message.arrays[number])).load()
