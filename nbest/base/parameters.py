"""Parameters of a dataclass, each declared once: its type, default, rule and help.

    @dataclass
    class MERT(Parameters):
        restarts: int = parameter(20, "random starts", least=0)
        ascent: str = parameter("first", "which gain to take", choices=("first", "best"))

`check(self)` at the start of `fit` complains of the first value that breaks its type or its rule; `get_params` and
`set_params` are those of scikit-learn; the command line and the tables in the docs are made of `parameters_of(MERT)`.
Fields that are declared in the plain way are parameters too, without help and rule.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from numbers import Integral, Real
from typing import Any, Self, TypeVar, Union, get_args, get_origin, get_type_hints, overload

from nbest.base.errors import ParameterError, _known, listed, shown
from nbest.base.limits import MOST

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What a value must be besides of its type: limits of numbers, choices of words; of a dict they are on its values.

    A whole number with a `least` and no `most` is a count, which is at most `MOST`.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    finite: bool = False
    choices: Iterable[str] | None = None

    def words(self) -> str:
        """The rule as the docs and messages show it; nothing where there is none."""
        if self.choices is not None:
            return _either(list(self.choices))
        limits = ((">=", self.least), (">", self.above), ("<=", self.most), ("<", self.below))
        shown_limits = " and ".join(f"{sign} {limit:g}" for sign, limit in limits if limit is not None)
        if not self.finite:
            return shown_limits
        return f"a finite number {shown_limits}".rstrip()

    def broken_by(self, value: Any) -> str | None:
        """The rule that a value breaks, in words."""
        if isinstance(value, Mapping):
            return next(filter(None, map(self.broken_by, value.values())), None)
        if isinstance(value, str):
            return self.words() if self.choices is not None and value not in list(self.choices) else None
        if not isinstance(value, Real) or isinstance(value, bool):
            return None
        number: Any = value
        holds = (
            (self.least is None or number >= self.least)
            and (self.above is None or number > self.above)
            and (self.most is None or number <= self.most)
            and (self.below is None or number < self.below)
            and (not self.finite or math.isfinite(number))
        )
        if not holds:
            return self.words()
        count = isinstance(value, Integral) and self.least is not None and self.most is None
        return f"<= {MOST}" if count and number > MOST else None


@dataclass(frozen=True)
class Parameter:
    """One parameter of a dataclass, as everything that reads it sees it."""

    owner: str
    name: str
    hint: Any
    default: Any  # MISSING where it must be given
    help: str = ""
    rule: Rule = Rule()
    public: bool = True  # whether the command line has it
    flags: tuple[str, ...] = ()  # on the command line, where not --name

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types that a value may have."""
        return get_args(self.hint) if get_origin(self.hint) in (Union, types.UnionType) else (self.hint,)

    def check(self, value: Any) -> None:
        """A `ParameterError` where a value is of another type or breaks the rule."""
        if not any(_is(value, kind) for kind in self.kinds):
            kinds = [get_origin(kind) or kind for kind in self.kinds]
            self.refuse(" or ".join(_KINDS[kind][0] if kind in _KINDS else str(kind) for kind in kinds), value)
        broken = self.rule.broken_by(value)
        if broken is not None:
            self.refuse(broken, value)

    def refuse(self, rule: str, value: Any) -> None:
        """The error: which parameter, whose, the rule, the value got."""
        raise ParameterError(f"{self.name!r} of {self.owner} must be {rule}, got {shown(value)}")


@overload
def parameter(default: types.EllipsisType, help: str = "", **how: Any) -> Any: ...
@overload
def parameter(default: T, help: str = "", **how: Any) -> T: ...
@overload
def parameter(*, factory: Callable[[], T], help: str = "", **how: Any) -> T: ...
def parameter(
    default: Any = ...,
    help: str = "",
    *,
    factory: Any = None,
    public: bool = True,
    flags: tuple[str, ...] = (),
    **rule: Any,
) -> Any:
    """A field of a dataclass with its help and its rule: `least`, `most`, `above`, `below`, `finite`, `choices`.

    One without a default (`...`) has to be given by its name. One that is not `public` belongs to Python only: it is
    not shown in the repr. `flags` are its names on the command line: ("--metric", "-m"), or one without dashes for an
    argument without a name.
    """
    metadata = {"help": help, "rule": Rule(**rule), "flags": flags}
    if factory is not None:
        return field(default_factory=factory, repr=public, metadata=metadata)
    if default is ...:
        return field(repr=public, kw_only=True, metadata=metadata)
    return field(default=default, repr=public, metadata=metadata)


def parameters_of(kind: type) -> Mapping[str, Parameter]:
    """The parameters of a dataclass by name, in their order; those that start with `_` or end in it are none."""
    return _parameters_of(kind)


@cache
def _parameters_of(kind: Any) -> Mapping[str, Parameter]:
    hints = get_type_hints(kind)
    found = {}
    for each in fields(kind):
        if each.init and not each.name.startswith("_") and not each.name.endswith("_"):
            default = each.default if each.default_factory is MISSING else each.default_factory()
            found[each.name] = Parameter(
                kind.__name__, each.name, hints[each.name], default, public=each.repr, **each.metadata
            )
    return types.MappingProxyType(found)


def check(owner: Any) -> None:
    """Complain of the first parameter of an object that is of another type or breaks its rule."""
    for name, each in parameters_of(type(owner)).items():
        each.check(getattr(owner, name))


class Parameters:
    """For dataclasses: `get_params` and `set_params` as scikit-learn has them, so that its `clone` works."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Every parameter by name, as it was given."""
        return {name: getattr(self, name) for name in parameters_of(type(self))}

    def set_params(self, **values: Any) -> Self:
        """Change parameters; an unknown name lists the known ones. Values are checked when they are used."""
        known = parameters_of(type(self))
        odd = next((name for name in values if name not in known), None)
        if odd is not None:
            raise ParameterError(f"{type(self).__name__} has no parameter {odd!r}; {_known(known, odd)}")
        for name, value in values.items():
            setattr(self, name, value)
        return self


def _either(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if 1 < len(words) < 10 else f"one of {listed(words)}"


def _is(value: Any, kind: Any) -> bool:
    """Whether a value is of a type; what is neither plain nor a container of plain things is not looked into."""
    origin = get_origin(kind) or kind
    if origin in _KINDS:
        return _KINDS[origin][1](value)
    return isinstance(value, origin) if isinstance(origin, type) else True


_KINDS: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    bool: ("true or false", lambda value: isinstance(value, bool) or type(value).__name__ == "bool_"),
    int: ("a whole number", lambda value: isinstance(value, Integral) and not isinstance(value, bool)),
    float: ("a number", lambda value: isinstance(value, Real) and not isinstance(value, bool)),
    str: ("a word", lambda value: isinstance(value, str)),
    dict: ("values by name", lambda value: isinstance(value, Mapping)),
    tuple: ("several values", lambda value: isinstance(value, tuple | list)),
    type(None): ("None", lambda value: value is None),
}
"""Plain types: in words, and how to tell."""
