"""The commands of `nbest` in groups, each made when it is asked for; the help of all of them without Rich, at once."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from nbest.base.errors import ParameterError, nearest
from nbest.base.registry import Registry
from nbest.cli.commands import add_to

_WIDEST = 100
_INDENT = 14


class Grouped(TyperGroup):
    """A group whose commands are those of a registry."""

    registry: Registry[Any]
    groups: Mapping[str, Sequence[str]]

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of the registry."""
        return list(self.registry)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, which is imported and made now."""
        if cmd_name not in self.commands and cmd_name in self.registry:
            app = typer.Typer()
            add_to(app, cmd_name, self.registry[cmd_name])
            self.commands[cmd_name] = typer.main.get_group(app).commands[cmd_name]
        return self.commands.get(cmd_name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Without anything the help is told, of which typer would print nothing."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command; of one that there is not, the nearest is told."""
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and name not in self.registry:
            known = list(self.registry)
            raise ParameterError(f"unknown command {name!r}{nearest(known, name) or '; known: ' + ', '.join(known)}")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Usage, what it is, commands by group, options."""
        width = min(shutil.get_terminal_size().columns, _WIDEST)
        lines = [ctx.command_path.join((_head("Usage: "), " [OPTIONS] COMMAND [ARGS]...")), ""]
        lines += [_bold(line) for line in (self.help or "").strip().splitlines()]
        for title, names in self.groups.items():
            lines += ["", _head(title)]
            for name in names:
                lines += _row(name, _summary(self.registry[name]), width)
        lines += ["", _head("Options")]
        for each in self.get_params(ctx):
            flags, said = each.get_help_record(ctx) or ("", "")
            lines += _row(flags.replace(" BOOLEAN", ""), said, width)
        formatter.write("\n".join([*lines, "", f"{ctx.command_path} COMMAND --help tells all of a command.", ""]))


def _summary(made: Any) -> str:
    """The first sentence of a command."""
    text = (made.info.help if isinstance(made, typer.Typer) else made.__doc__) or ""
    return " ".join(text.strip().partition("\n\n")[0].split())


def _row(name: str, said: str, width: int) -> list[str]:
    """A name, and beside it what it does; below it where the name is long."""
    said_lines = textwrap.wrap(said, max(width - _INDENT, _INDENT)) or [""]
    beside = len(name) <= _INDENT - 3
    rows = [f"  {name:{_INDENT - 2}}{said_lines[0]}", *said_lines[1:]] if beside else [f"  {name}", *said_lines]
    return [rows[0], *(" " * _INDENT + line for line in rows[1:])]


def _head(text: str) -> str:
    return _bold(f"[bold]{text}[/bold]")


def _bold(text: str) -> str:
    """Bold where a terminal shows it, else plain."""
    shows = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return text.replace("[bold]", "\x1b[1m" if shows else "").replace("[/bold]", "\x1b[0m" if shows else "")
