"""Names of a package that are imported when they are first asked for, so that the package costs little."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    """A package with such names. A module of the same name (`mbr` in `mbr.py`) does not take the place of a name."""

    _late: Mapping[str, str]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._late:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{self.__name__}.{self._late[name]}"), name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in self._late):
            super().__setattr__(name, value)


def late_names(package: str, homes: Mapping[str, str]) -> None:
    """Let a package have these names, each of the module of its own that is said."""
    module = sys.modules[package]
    module.__dict__["_late"] = dict(homes)
    module.__class__ = _Package
