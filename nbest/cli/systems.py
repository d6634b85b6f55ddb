"""Commands that have one command for each system, made of its declarations when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

import typer
from typer.core import TyperGroup

from nbest.base.errors import ParameterError, shown
from nbest.base.parameters import Parameter, parameters_of
from nbest.cli import commands as c

T = TypeVar("T")
Command = Callable[[str, Any], Callable[..., None] | None]
"""The command of a system, by its name and its `Training`; None where it has none."""


def group(name: str, help: str, command: Command) -> typer.Typer:
    """A command whose commands are the systems."""

    class Systems(TyperGroup):
        def list_commands(self, context: Any) -> list[str]:
            from nbest.systems import SYSTEMS

            return [each for each in SYSTEMS if command(each, SYSTEMS[each]) is not None]

        def get_command(self, context: Any, wanted: str) -> Any:
            from nbest.systems import SYSTEMS

            made = command(wanted, SYSTEMS[wanted]) if wanted in SYSTEMS else None
            return None if made is None else _made(wanted, made)

    return c.group(name, help, Systems)


def _made(name: str, function: Callable[..., None]) -> Any:
    app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    app.command(name, cls=c.Helped, context_settings={"help_option_names": ["-h", "--help"]})(function)
    return typer.main.get_command(app)


def command_of(
    doc: str | None, parameters: Iterable[Parameter], run: Callable[[dict[str, Any]], None], *, reports: bool
) -> Callable[..., None]:
    """A command with the public ones of these parameters, arguments first, and with those that all commands have.

    What is too large is left to `taken`, which says so in one line; the help says what is.
    """
    public = sorted((each for each in parameters if each.public), key=_is_option)
    shown_ones = [replace(each, rule=replace(each.rule, most=None), help=_help_of(each)) for each in public]
    last = [each for kind in (c.EngineOption, c.Quiet, c.AsJson)[: 3 if reports else 2] for each in all_of(kind)]
    return c.function_of(doc, [*shown_ones, *last], run)


def _help_of(each: Parameter) -> str:
    """The help with the limit, unless it is one that nobody meets."""
    most = each.rule.most
    return each.help if most is None or most >= 10**6 else f"{each.help} At most {most}."


def _is_option(each: Parameter) -> bool:
    return c.flags_of(each)[0].startswith("-")


def all_of(*kinds: type | None) -> list[Parameter]:
    """The parameters of dataclasses, one after the other."""
    return [each for kind in kinds if kind is not None for each in parameters_of(kind).values()]


def taken(kind: type[T], given: dict[str, Any]) -> T:
    """What was given for the parameters of a dataclass; errors name the options."""
    own = {name: each for name, each in parameters_of(kind).items() if name in given}
    for name, each in own.items():
        broken = each.rule.broken_by(given[name])
        if broken is not None:
            raise ParameterError(f"{c.flags_of(each)[0]} must be {broken}, got {shown(given[name])}")
    return kind(**{name: given[name] for name in own})
