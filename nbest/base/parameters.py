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
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from inspect import signature
from numbers import Integral, Real
from typing import Any, Self, TypeVar, Union, get_args, get_origin, get_type_hints, overload

from nbest.base.errors import ParameterError, _known, listed, nearest, shown
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
    choices: Iterable[Any] | None = None

    def words(self) -> str:
        """The rule as the docs and messages show it; nothing where there is none."""
        if self.choices is not None:
            return _either([str(each) for each in self.choices])
        words = ["finite"] if self.finite else []
        if self.least is not None and self.most is not None:
            words.insert(0, f"from {_short(self.least)} to {_short(self.most)}")
        elif self.above is not None and self.below is not None:
            words.insert(0, f"between {_short(self.above)} and {_short(self.below)}")
        else:
            limits = ((">=", self.least), (">", self.above), ("<=", self.most), ("<", self.below))
            words[:0] = [f"{sign} {_short(limit)}" for sign, limit in limits if limit is not None]
        return " and ".join(words)

    def broken_by(self, value: Any) -> str | None:
        """The rule that a value breaks, in words; of a whole number only the limit that it breaks."""
        if isinstance(value, Mapping):
            return next(filter(None, map(self.broken_by, value.values())), None)
        number = isinstance(value, Real) and not isinstance(value, bool)
        choices = [] if self.choices is None else list(self.choices)
        if choices and isinstance(value, str if isinstance(choices[0], str) else Real):
            return None if value in choices else self.words()
        if not number:
            return None
        whole = isinstance(value, Integral)
        if whole and self.least is not None and self.below is None:
            most = MOST if self.most is None else int(self.most)
            return f">= {_short(self.least)}" if value < self.least else f"<= {most}" if value > most else None
        return None if self._holds(value) else self.words()

    def _holds(self, value: Any) -> bool:
        return (
            (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
            and (not self.finite or math.isfinite(value))
        )


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
            words = [_KINDS[kind][0] if kind in _KINDS else getattr(kind, "__name__", str(kind)) for kind in kinds]
            self.refuse(" or ".join(words), value)
        broken = self.rule.broken_by(value)
        if broken is not None:
            self.refuse(broken, value)

    def refuse(self, rule: str, value: Any) -> None:
        """The error: which parameter, whose, the rule, the value got."""
        choices = [str(each) for each in self.rule.choices or ()]
        hint = nearest(choices, value) if isinstance(value, str) else ""
        raise ParameterError(f"{self.name!r} of {self.owner} must be {rule}, got {shown(value)}{hint}")


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
    not shown in the repr, and given by its name. `flags` are its names on the command line: ("--metric", "-m"), or one
    without dashes for an argument without a name.
    """
    metadata = {"help": help, "rule": Rule(**rule), "flags": flags}
    if factory is not None:
        return field(default_factory=factory, repr=public, metadata=metadata)
    if default is ...:
        return field(repr=public, kw_only=True, metadata=metadata)
    if not public:
        return field(default=default, repr=False, kw_only=True, metadata=metadata)
    return field(default=default, metadata=metadata)


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


def keywords_of(function: Callable[..., Any]) -> Mapping[str, Parameter]:
    """The keyword-only arguments of a function as parameters, without help and rule; any value where none is said."""
    hints = get_type_hints(function)
    return {
        name: Parameter(function.__name__, name, hints.get(name, Any), each.default)
        for name, each in signature(function).parameters.items()
        if each.kind is each.KEYWORD_ONLY
    }


def same_as(kind: type, name: str) -> Any:
    """A field with the default, help and rule of the parameter `name` of another class."""
    each = parameters_of(kind)[name]
    return field(
        default=each.default, repr=each.public, metadata={"help": each.help, "rule": each.rule, "flags": each.flags}
    )


def check(values: Any, owner: str | None = None) -> None:
    """Complain of the first parameter of an object that is of another type or breaks its rule, in words of `owner`."""
    for name, each in parameters_of(type(values)).items():
        (each if owner is None else replace(each, owner=owner)).check(getattr(values, name))


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


def _short(limit: float) -> str:
    return str(int(limit)) if limit == int(limit) else f"{limit:g}"


def _either(words: list[str]) -> str:
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) < 10 else f"one of {listed(words)}"


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
