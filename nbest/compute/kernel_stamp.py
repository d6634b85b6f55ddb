"""What a kernel's machine code depends on, as one number: its own code and that of everything it reaches.

Numba's own cache looks at the file of the outermost kernel only. Here every function that is called, in whatever
file, every constant that is read and every option of the compiler counts, as they are in memory. So machine code that
was kept on disk is used only where compiling again would give the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

_VERSIONED = ("numba", "llvmlite", "numpy", "builtins", "math")  # packages whose version stands for their code
_CODE = (FunctionType, Dispatcher, _Intrinsic, type, staticmethod, classmethod)
_PLAIN = (int, float, complex, str, bytes, bool, type(None), type(...))


def stamp_of(kernel: Any) -> str:
    """The sum of all that a kernel reaches."""
    total = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__} {np.__version__}".encode())
    seen: set[int] = set()  # of constants it would depend on which of them share an object
    waiting = [kernel]
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        if isinstance(item, _CODE):
            seen.add(id(item))
        text, reached = _told(item)
        total.update(text.encode("utf-8", "surrogatepass") + b"\0")
        waiting += reached
    return total.hexdigest()


def _told(item: Any) -> tuple[str, list[Any]]:
    """What an object is, in words that are the same in every process, and what it reaches."""
    if isinstance(item, Dispatcher):
        return f"kernel {_constant(tuple(sorted(item.targetoptions.items())))}", [item.py_func, *_reached(item.py_func)]
    if isinstance(item, _Intrinsic):
        return "intrinsic", [item._defn, *_reached(item._defn)]
    if isinstance(item, FunctionType):
        return _code(item.__code__), _reached(item)
    if isinstance(item, type):
        return f"class {_name(item)}", list(vars(item).values()) if _ours(item) else []
    if isinstance(item, staticmethod | classmethod):
        return "method", [item.__func__]
    if isinstance(item, ModuleType):
        return f"module {item.__name__}", []
    return _constant(item), []


def _reached(function: FunctionType) -> list[Any]:
    """Globals and cells that a function names; of modules what it takes from them.

    A plain function may stand for what Numba overloads it with, so it reaches all that its module defines.
    """
    if not _ours(function):
        return []
    names = list(dict.fromkeys(_names(function.__code__)))
    found = [function.__globals__[name] for name in names if name in function.__globals__]
    modules = [item for item in found if isinstance(item, ModuleType) and _ours(item)]
    found += [getattr(module, name) for module in modules for name in names if hasattr(module, name)]
    found += [cell.cell_contents for cell in function.__closure__ or ()]
    found += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    plain = [item for item in found if isinstance(item, FunctionType) and _ours(item)]
    return found + [other for item in plain for other in _defined(item.__module__, item.__globals__)]


def _defined(name: str, space: dict[str, Any]) -> list[Any]:
    """Functions, kernels and classes that a module defines."""
    return [item for item in space.values() if isinstance(item, _CODE) and getattr(item, "__module__", None) == name]


def _names(code: CodeType) -> Iterator[str]:
    """Names of globals and attributes, also of functions within."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


@cache
def _code(code: CodeType) -> str:
    """Instructions, constants and names."""
    parts = (code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars, code.co_argcount)
    return f"function {code.co_name} {parts} {_constant(code.co_consts)}"


def _constant(value: Any) -> str:
    """A constant in words that do not depend on addresses or on the order of a set."""
    if isinstance(value, CodeType):
        return _code(value)
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, set | frozenset):
        return f"set {sorted(map(_constant, value))}"
    if isinstance(value, tuple):
        return f"tuple {[_constant(item) for item in value]}"
    if isinstance(value, (*_PLAIN, np.generic)):
        return f"{type(value).__name__} {value!r}"
    return f"a {_name(value if isinstance(value, type) else type(value))}"


def _name(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _ours(item: Any) -> bool:
    """Whether the code of an object may change while all versions stay."""
    name = item.__name__ if isinstance(item, ModuleType) else getattr(item, "__module__", None) or ""
    return name.partition(".")[0] not in _VERSIONED
