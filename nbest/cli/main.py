"""The `nbest` command: one file a command, each thin; nothing heavy is imported before a command runs."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, NoReturn

import typer

from nbest.base.ending import raising
from nbest.base.registry import Registry
from nbest.cli.commands import group
from nbest.cli.grouping import Grouped
from nbest.cli.streams import complain, foreseen, give_up_output, make_ready, warning_of_files

_HELP = """Learn to pick the best of n: tune and rerank candidate lists by the metric that matters.

Start with [bold]nbest demo[/bold], or with your own lists:

  nbest inspect dev.nbest --refs dev.ref --metric bleu

  nbest tune dev.nbest --refs dev.ref --metric bleu -o model.json

  nbest rerank test.nbest --model model.json > out.txt
"""

COMMANDS: Registry[Any] = Registry(
    "command",
    {
        "demo": "demo:Demo",
        "tune": "tune:Tune",
        "calibrate": "calibrate:Calibrate",
        "rerank": "rerank:Rerank",
        "score": "score:Score",
        "compare": "compare:Compare",
        "inspect": "inspect:Inspect",
        "report": "report:ReportRun",
        "convert": "convert:Convert",
        "reproduce": "reproduce:Reproduce",
        "warmup": "warmup:Warmup",
        "loop": "loop:LoopRun",
        "study": "study:app",
        "train": "train:app",
        "features": "features:app",
        "decode": "decode:app",
    },
    room="nbest.cli",
)
"""Commands by name: dataclasses of their options, or applications with commands of their own."""

GROUPS = {
    "Tune and choose": ("demo", "inspect", "tune", "rerank", "calibrate"),
    "Measure and look": ("score", "compare", "report"),
    "Lists and features": ("convert", "features"),
    "Systems and the outer loop": ("train", "decode", "loop"),
    "Research": ("study", "reproduce"),
    "Set-up": ("warmup",),
}
"""Commands as --help lists them."""


class _Commands(Grouped):
    registry, groups = COMMANDS, GROUPS


app = group("nbest", _HELP, _Commands)


def _version(asked: bool) -> None:
    if asked:
        from nbest.base.version import VERSION

        typer.echo(f"nbest {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options before the command."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code. Errors that nbest foresees are one line on stderr and exit code 2."""
    make_ready()
    try:
        with warning_of_files():
            _whole()(args=None if argv is None else list(argv), standalone_mode=True)
    except SystemExit as end:
        return (end.code if isinstance(end.code, int) else 1) or _flushed()
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        return 1
    except Exception as error:
        message = foreseen(error)
        if message is None:
            raise
        complain(message)
        return 2
    return _flushed()


@cache
def _whole() -> Any:
    """The application with all its commands, as typer makes it of what was declared."""
    return typer.main.get_command(app)


def _flushed() -> int:
    """0 when all that was printed has been written."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return 1
    except OSError as error:
        complain(foreseen(error) or str(error))
        return 2
    return 0


def run() -> None:
    """Entry point of the installed command."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, raising(signal.default_int_handler))
    code = main()
    if code:
        give_up_output()
    if sys.gettrace() is None and sys.getprofile() is None:
        _end(code)
    sys.exit(code)


def _end(code: int) -> NoReturn:
    """End at once: taking compiled code and modules apart one by one takes a fifth of a second, and leaves nothing that
    the system does not give back by itself. Whoever asked to be called at the end is called."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
