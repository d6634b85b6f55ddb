"""What `--add` did, on stderr: columns that it made anew, and what `auto` tried."""

from __future__ import annotations

from collections.abc import Sequence

from nbest.base.errors import listed
from nbest.cli.console import Console
from nbest.report import Column, Table
from nbest.trainers.adding import Added


def show_added(console: Console, added: Added | None, replaced: Sequence[str]) -> None:
    """Columns of the lists that are lost, and of `auto` what was tried, what each feature gave, and what is kept."""
    if replaced:
        console.warn(
            f"--add made {listed(replaced)} anew, and the lists have other values there, which do not count; to keep "
            "both, call one otherwise (--add lm:name=NAME, nbest features join --name NAME)"
        )
    if added is None:
        return
    kept = [each.kind for each in added.tried if each.kept]
    said = f"; it keeps {', '.join(kept)}" if kept else "; it keeps nothing" if added.tried else ""
    console.say(f"--add auto: {added.words}{said}")
    if added.tried:
        heads = ("feature", Column("gain", "+.3f"), Column("p", ".4f"), "")
        rows = [[each.kind, each.gain, each.p, "kept" if each.kept else each.why] for each in added.tried]
        console.show(Table(heads, rows, missing=""))
