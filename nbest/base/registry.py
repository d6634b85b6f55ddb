"""Families of things by name, to which other packages can add."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from nbest.base.errors import ParameterError, look_up

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

T = TypeVar("T")


class PluginWarning(UserWarning):
    """A plug-in could not be loaded and is left out."""


def plugin_names(group: str) -> list[str]:
    """The names that other packages add to a group, without importing anything of theirs."""
    return sorted({point.name for point in _points(group)})


def _points(group: str) -> EntryPoints:
    from importlib.metadata import entry_points  # 30 ms that --help can do without

    return entry_points(group=group)


class Registry(MutableMapping[str, T], Generic[T]):
    """A family: names and the things they stand for, in their order, then those of other packages.

    A thing is given itself, or as "module:name" within the `room` (a package), which is imported when it is asked for.
    An installed package adds to the family by an entry point of `group`; it is looked for when the names are first
    needed. One that cannot be loaded is warned of by its name and left out; one whose name is taken is an error.
    """

    def __init__(self, kind: str, things: Mapping[str, T | str], *, group: str | None = None, room: str = "") -> None:
        self.kind = kind
        self._things: dict[str, T | str] = dict(things)
        self._group, self._room = group, room
        self._added: dict[str, str] = {}

    def __getitem__(self, name: str) -> T:
        thing = self._things[name] if name in self._things else self._all()[name]
        if isinstance(thing, str):
            module, _, attribute = thing.partition(":")
            thing = self._things[name] = cast(T, getattr(import_module(f"{self._room}.{module}"), attribute))
        return thing

    def __setitem__(self, name: str, thing: T) -> None:
        self._things[name] = thing

    def __delitem__(self, name: str) -> None:
        del self._things[name]

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._all()))

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, name: object) -> bool:
        return name in self._things or name in self._all()

    def __repr__(self) -> str:
        return f"<{self.kind}s: {', '.join(self)}>"

    def look_up(self, name: str) -> T:
        """The thing of this name, or a `ParameterError` that lists the known names and the nearest."""
        return look_up(self, name, self.kind)

    def summary(self, name: str) -> str:
        """The first paragraph of the docstring of a thing, on one line; what is not imported yet is only looked at."""
        thing = self._all()[name]
        text = thing.__doc__ if not isinstance(thing, str) else _docstring(self._room, thing)
        return " ".join((text or "").strip().partition("\n\n")[0].split())

    def added(self) -> dict[str, str]:
        """The names that other packages have added, and which package."""
        self._all()
        return dict(self._added)

    def _all(self) -> Mapping[str, T | str]:
        """The family with what other packages add, which is looked for once."""
        if self._group is not None:
            points = self._checked(_points(self._group))
            self._group = None  # before loading: what is loaded may ask this family
            for package, point in points:
                try:
                    self._things[point.name] = point.load()
                except Exception as error:
                    what = f"the {self.kind} {point.name!r} of {package}"
                    warnings.warn(f"{what} cannot be loaded and is left out: {error!r}", PluginWarning, stacklevel=4)
                else:
                    self._added[point.name] = package
        return self._things

    def _checked(self, points: Iterable[EntryPoint]) -> list[tuple[str, EntryPoint]]:
        """The packages and their entry points, whose names must be new."""
        owners, found = dict.fromkeys(self._things, "nbest"), []
        for point in points:
            package = point.dist.name if point.dist is not None else point.value
            if point.name in owners:
                raise ParameterError(
                    f"the {self.kind} {point.name!r} of {package} has a name that is taken by {owners[point.name]}; "
                    "one of the two has to go"
                )
            owners[point.name] = package
            found.append((package, point))
        return found


def _docstring(room: str, place: str) -> str | None:
    """The docstring at "module:name", out of the file of the module."""
    import ast
    from importlib.util import find_spec

    module, _, name = place.partition(":")
    spec = find_spec(f"{room}.{module}")
    assert spec is not None
    assert spec.origin is not None
    with open(spec.origin, encoding="utf-8") as file:
        body = ast.parse(file.read()).body
    found = (each for each in body if isinstance(each, ast.FunctionDef | ast.ClassDef) and each.name == name)
    return ast.get_docstring(next(found))
