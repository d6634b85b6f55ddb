"""`nbest warmup`: compile every kernel ahead of the first real run."""

from __future__ import annotations

from dataclasses import dataclass

from nbest.cli import commands as c


@dataclass(frozen=True, kw_only=True)
class Warmup(c.ThreadsOption, c.Quiet):
    """Compile all kernels now, once for this installation, so that no later run has to.

    It runs every kind of command on small data, some minutes of work for one core, on all cores.

    [bold]Example[/bold]

      nbest warmup
    """

    def run(self) -> None:
        """Do it and say so."""
        import time

        from nbest.base.errors import CapabilityError
        from nbest.cli.console import Console
        from nbest.cli.warming import left_out, warm_up
        from nbest.compute import compilation
        from nbest.compute.parallel import thread_count

        if not compilation.kept:
            raise CapabilityError("kernels cannot be kept: no folder can be written to; let NUMBA_CACHE_DIR name one")
        console = Console(quiet=self.quiet)
        begin = time.perf_counter()
        with console.progress("compiling kernels") as update:
            warm_up(thread_count(self.threads), update)
        for name, extra in left_out().items():
            console.say(f"those of the {name} are left out, which needs pip install '{extra}'")
        console.say(f"kernels are ready ({time.perf_counter() - begin:.1f} s)")
