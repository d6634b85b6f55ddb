"""What `--add auto` tried, on stderr."""

from __future__ import annotations

from nbest.cli.console import Console
from nbest.report import Column, Table
from nbest.trainers.adding import Added


def show_added(console: Console, added: Added | None) -> None:
    """What was tried, what each feature gave, and what is kept; nothing where `auto` was not asked for."""
    if added is None:
        return
    kept = [each.kind for each in added.tried if each.kept]
    said = f"; it keeps {', '.join(kept)}" if kept else "; it keeps nothing" if added.tried else ""
    console.say(f"--add auto: {added.words}{said}")
    if added.tried:
        heads = ("feature", Column("gain", "+.3f"), Column("p", ".4f"), "")
        rows = [[each.kind, each.gain, each.p, "kept" if each.kept else each.why] for each in added.tried]
        console.show(Table(heads, rows, missing=""))
