"""Where compiled kernels are kept, so that only the first run compiles: beside the code, or where there is room.

Kept code is used only under the stamp of all that it depends on (`kernel_stamp`) and with its checksum. A file that is
damaged, missing or cannot be written costs a compilation and nothing else.
"""

from __future__ import annotations

import gc
import hashlib
import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

from numba.core import caching
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import Environment, _rebuild_env, lookup_environment
from numba.core.runtime import rtsys

from nbest.base.errors import NbestError
from nbest.base.files import write_text
from nbest.compute.kernel_stamp import stamp_of
from nbest.compute.kernel_turn import Turn

_HASHING = b"_numba_hashsecret_"
_SUM = hashlib.sha256().digest_size


@cache
def _can_keep(path: str) -> bool:
    """Whether files can be made in a folder, which is made if need be; asked once for each folder."""
    try:
        os.makedirs(path, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError:
        return False
    return True


class _AskedOnce:
    def ensure_cache_path(self) -> None:
        if not _can_keep(self.get_cache_path()):  # type: ignore[attr-defined]
            raise OSError(f"cannot write to {self.get_cache_path()}")  # type: ignore[attr-defined]


class _Named(_AskedOnce, caching.UserProvidedCacheLocator):
    """The folder that NUMBA_CACHE_DIR names."""


class _Beside(_AskedOnce, caching.InTreeCacheLocator):
    """`__pycache__` beside the code."""


class _AtHome(_AskedOnce, caching.UserWideCacheLocator):
    """The user's folder for caches."""


class _Temporary(_Beside):
    """A folder in the system's temporary one that nobody else can write to: kept code is trusted."""

    def __init__(self, function: Any, file: str) -> None:
        super().__init__(function, file)
        self._cache_path = str(Path(_own_temporary(), self.get_suitable_cache_subpath(file)))

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        return super().from_function(function, file) if _own_temporary() else None


@cache
def _own_temporary() -> str:
    """The path of the folder, or "" where it cannot be ours alone."""
    if not hasattr(os, "getuid"):
        return ""
    path = Path(tempfile.gettempdir(), f"nbest-kernels-{os.getuid()}")
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError:
        return ""
    private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return str(path) if private else ""


class _Kept(caching.CompileResultCacheImpl):
    _locator_classes = [_Named, _Beside, _AtHome, _Temporary]  # noqa: RUF012


class _SummedFile(caching.IndexDataCacheFile):
    """Numba's files with a checksum in front of the contents."""

    def _dump(self, obj: Any) -> bytes:
        data = super()._dump(obj)
        return hashlib.sha256(data).digest() + data

    def _load_index(self) -> Any:
        """Numba reads the index in two parts, the version before the sum."""
        try:
            return self._unpacked_index()
        except Exception:
            return {}

    def _unpacked_index(self) -> Any:
        with open(self._index_path, "rb") as file:
            if pickle.load(file) != self._version:
                return {}
            stamp, overloads = pickle.loads(_checked(file.read()))
        return overloads if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        data = _checked(Path(self._data_path(name)).read_bytes())
        if _HASHING in data:  # code that hashes refers to what this module has made known
            import numba.cpython.hashing  # noqa: F401
        return _Unpickler(BytesIO(data)).load()


class _Unpickler(pickle.Unpickler):
    """Where machine code has parts of other modules in it, these are not imported, as Numba does: it never asks them.

    Most kernels have parts of `numba.np.arraymath`, which imports `scipy.linalg`.
    """

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (_rebuild_env.__module__, _rebuild_env.__name__):
            return _environment
        return super().find_class(module, name)


def _environment(module: str, constants: list[Any], name: str) -> Environment:
    """Numba's `_rebuild_env`, without the import."""
    found = lookup_environment(name)
    if found is None:
        found = Environment(vars(sys.modules[module]) if module in sys.modules else {"__name__": module})
        found.consts[:] = constants
        found.env_name = name
        Environment._memo[name] = found
    return found


def _checked(data: bytes) -> bytes:
    if hashlib.sha256(data[_SUM:]).digest() != data[:_SUM]:
        raise ValueError("kept machine code is damaged")
    return data[_SUM:]


def _fields(types: Any) -> tuple[Any, ...]:
    """Names of the fields of all named tuples among types: kernels read them by place."""
    inner = types if isinstance(types, tuple) else getattr(types, "types", ())
    return *getattr(types, "fields", ()), *(_fields(each) for each in inner)


class KernelCache(caching.FunctionCache):
    """Numba's cache of one kernel, under our stamp, which is made when the kernel is first called: by then all that it
    calls is defined."""

    _impl_class = _Kept

    def __init__(self, kernel: Any) -> None:
        self._kernel, self._py_func, self._name = kernel, kernel.py_func, repr(kernel.py_func)
        self._impl = self._impl_class(kernel.py_func)
        self._cache_path = self._impl.locator.get_cache_path()
        self._turn = Turn(Path(self._cache_path, f"{self._impl.filename_base}.lock"))
        self.enable()

    @cached_property
    def _cache_file(self) -> _SummedFile:
        return _SummedFile(self._cache_path, self._impl.filename_base, stamp_of(self._kernel))

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return *super()._index_key(sig, codegen), _fields(sig)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Without what is needed to compile: Numba would import all it can translate, and parts of SciPy, first."""
        rtsys.initialize(target_context)
        found = self._found(sig, target_context)
        if found is None and self._enabled:
            self._turn.take()
            found = self._found(sig, target_context)  # kept by whom we waited for
        return found

    def _found(self, sig: Any, target_context: Any) -> Any:
        try:
            return self._load_overload(sig, target_context)
        except Exception:  # whatever is wrong with kept code: it is compiled again
            return None

    def compiled(self, sig: Any) -> Any:
        """The kernel for a signature: loaded, or compiled while no other process compiles it."""
        with global_compiler_lock, _uncollected():  # so that only the thread that has the turn gives it back
            try:
                return type(self._kernel).compile(self._kernel, sig)
            finally:
                self._turn.give_back()

    def any_kept(self) -> bool:
        """Whether there is machine code on disk, of any signature, for the kernel as it is now."""
        return bool(self._cache_file._load_index())

    def count(self, amount: int) -> int:
        """Add to a number on disk, and what it is now: that of all runs, or only `amount` where it cannot be kept."""
        path = Path(self._cache_path, f"{self._impl.filename_base}.count")
        with suppress(OSError, ValueError):
            amount += int(path.read_text()) if path.exists() else 0
        with suppress(OSError, NbestError):
            write_text(path, str(amount))
        return amount

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:  # a full disk: not kept
            self.disable()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without looking for garbage: what the compiler makes is looked through again and again, a tenth of its time."""
    if not gc.isenabled():  # a kernel that a kernel calls
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def is_kept(kernel: Any) -> bool:
    """Whether some machine code of a kernel is on disk, so that it was compiled here before."""
    cache = getattr(kernel, "_cache", None)  # a plain function where Numba is switched off
    return isinstance(cache, KernelCache) and cache.any_kept()


def count(kernel: Any, amount: int) -> int:
    """Add to how much was done without a kernel, in this run and earlier ones, and the sum."""
    cache = getattr(kernel, "_cache", None)
    return cache.count(amount) if isinstance(cache, KernelCache) else amount


def keep(kernel: Any) -> bool:
    """Let a kernel be kept on disk; False where no folder can be written to."""
    try:
        kernel._cache = KernelCache(kernel)
        kernel.compile = kernel._cache.compiled
    except RuntimeError:
        return False
    return True
