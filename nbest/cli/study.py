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
        from nbest.cli.studying import command_of
        from nbest.studies import STUDIES

        if cmd_name not in STUDIES:
            return None
        made = c.group(cmd_name, "")
        c.add_command(made, cmd_name, command_of(cmd_name))
        info = made.registered_commands[0]
        return typer.main.get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode="rich")


app = c.group(
    "study", "Studies of lists, metrics and trainers: each writes NAME.jsonl (data) and NAME.svg (a picture)."
)
app.info.cls = _Studies


@app.callback()
def _studies() -> None:
    """Makes it a group, although it has no command yet."""
