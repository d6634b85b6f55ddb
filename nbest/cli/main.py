"""The `nbest` command: one file a command, each thin; nothing heavy is imported before a command runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from nbest.cli import (
    compare,
    convert,
    decode,
    demo,
    features,
    inspect,
    loop,
    reproduce,
    rerank,
    score,
    study,
    train,
    tune,
    warmup,
)
from nbest.cli.commands import add_command, group
from nbest.cli.streams import complain, foreseen, give_up_output, make_ready

_HELP = """Learn to pick the best of n: tune and rerank candidate lists by the metric that matters.

Start with [bold]nbest demo[/bold], or with your own lists:

  nbest inspect dev.nbest --refs dev.ref --metric bleu

  nbest tune dev.nbest --refs dev.ref --metric bleu -o model.json

  nbest rerank test.nbest --model model.json > out.txt
"""

app = group("nbest", _HELP)

add_command(app, "demo", demo.Demo)
add_command(app, "tune", tune.Tune, further=True)
add_command(app, "rerank", rerank.Rerank)
add_command(app, "score", score.Score, further=True)
add_command(app, "compare", compare.Compare, further=True)
add_command(app, "inspect", inspect.Inspect, further=True)
add_command(app, "convert", convert.Convert)
add_command(app, "reproduce", reproduce.Reproduce)
add_command(app, "warmup", warmup.Warmup)
add_command(app, "loop", loop.LoopRun, further=True)
app.add_typer(study.app, name="study")
app.add_typer(train.app, name="train")
app.add_typer(features.app, name="features")
app.add_typer(decode.app, name="decode")


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
        app(args=None if argv is None else list(argv), standalone_mode=True)
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
    code = main()
    if code:
        give_up_output()
    sys.exit(code)


if __name__ == "__main__":
    run()
