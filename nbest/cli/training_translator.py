"""What `nbest train translator` does, once its arguments are known."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from nbest.base.errors import ParameterError
from nbest.base.unpacking import need_rereadable
from nbest.cli.console import Console
from nbest.cli.targets import refuse_overwriting
from nbest.systems.translator.train import Settings, Training
from nbest.systems.translator.translator import Translator


@dataclass(frozen=True)
class TrainCall:
    """The arguments of `nbest train translator`."""

    source: str
    target: str
    source_language: str
    target_language: str
    output: str
    more_target: list[str] | None
    settings: Settings
    threads: int | None
    quiet: bool


def run(call: TrainCall) -> None:
    """Train what is missing, say what was done."""
    console = Console(quiet=call.quiet)
    if "-" in (call.source, call.target, *(call.more_target or ())):
        raise ParameterError("training reads its texts more than once; they cannot come from standard input (-)")
    for path in (call.source, call.target, *(call.more_target or ())):
        need_rereadable(path, "training reads its texts more than once")
    refuse_overwriting([call.output], [call.source, call.target, call.more_target])
    folder = Path(call.output)
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"the output {call.output!r} is a file; a translator is a directory")
    begin = time.perf_counter()
    training = Training(
        call.source,
        call.target,
        call.source_language,
        call.target_language,
        folder,
        call.settings,
        tuple(call.more_target or ()),
        call.threads,
    )
    with console.progress("training") as update:
        stage = ""

        def progress(name: str, done: int, total: int) -> None:
            nonlocal stage
            if name != stage:
                console.say(f"{time.perf_counter() - begin:.0f} s: {name}")
                stage = name
            update(done, total)

        training.progress = progress
        training.run()
    for reason, count in training.report.get("not aligned", {}).items():
        if count:
            console.warn(f"{count} sentence pairs with {reason} were not trained on")
    did = ", ".join(training.done) or "nothing: all stages were done before"
    pairs = len(Translator.load(folder).table)
    console.say(f"{call.output}: did {did}; {pairs} phrase pairs; {time.perf_counter() - begin:.0f} s")
