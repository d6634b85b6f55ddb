"""`nbest warmup`: compile every kernel ahead of the first real run."""

from __future__ import annotations

from nbest.cli import options as o


def warmup(quiet: o.Quiet = False) -> None:
    """Compile all kernels now, once for this installation, so that no later run has to.

    [bold]Example[/bold]

      nbest warmup
    """
    import time

    from nbest.cli.console import Console
    from nbest.demo import exercise

    console = Console(quiet=quiet)
    begin = time.perf_counter()
    exercise()
    console.say(f"kernels are ready ({time.perf_counter() - begin:.1f} s)")
