"""`nbest study`: what lists and trainers look like, as data (JSONL) and as a picture (SVG).

The commands are made of the studies' own signatures (`nbest.studies.keywords`), when they are asked for.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from nbest.cli import commands as c


class _Studies(TyperGroup):
    """One command a study."""

    def list_commands(self, ctx: Any) -> list[str]:
        from nbest.studies import STUDIES

        return list(STUDIES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command as the list of all shows it: nothing of the study is imported."""
        from nbest.studies import STUDIES

        return typer.core.TyperCommand(cmd_name, help=STUDIES.summary(cmd_name)) if cmd_name in STUDIES else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is run, with its options."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and _made(str(name)), rest


def _made(name: str) -> Any:
    from nbest.cli.studying import command_of

    made = c.group(name, "")
    c.add_command(made, name, command_of(name))
    info = made.registered_commands[0]
    return typer.main.get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode="rich")


app = c.group(
    "study", "Studies of lists, metrics and trainers: each writes NAME.jsonl (data) and NAME.svg (a picture)."
)
app.info.cls = _Studies


@app.callback()
def _studies() -> None:
    """Makes it a group, although it has no command yet."""
