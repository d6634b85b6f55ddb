"""What `nbest loop` does, once its arguments are known."""

from __future__ import annotations

import hashlib
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbest.base.ending import raising
from nbest.base.errors import FormatError, ParameterError, look_up
from nbest.base.files import read_bytes
from nbest.cli.console import Console, print_json
from nbest.cli.further import grid_values, refuse_rest, refuse_twice, separate, take
from nbest.cli.loading import Measure, measure, reader_options
from nbest.cli.loop import LoopRun
from nbest.cli.targets import refuse_overwriting
from nbest.decoders import CommandDecoder
from nbest.features.wanted import typed
from nbest.formats import read_references
from nbest.loop.inputs import Inputs
from nbest.loop.loop import Loop
from nbest.metrics import External
from nbest.model.loglinear import load
from nbest.systems.decoder import SystemDecoder, is_system
from nbest.trainers import TRAINERS


def run(call: LoopRun) -> None:
    """Run the loop with messages; say what was reached and where the model is."""
    console = Console(quiet=call.quiet)
    (path, *more), given = separate(call.dev)
    if more:
        raise ParameterError(f"one input file is decoded, got {path!r} and {more[0]!r}; quote a command with blanks")
    kind = look_up(TRAINERS, call.method, "method")
    how = measure(call.metric, given, call)
    settings = take(kind, given, load=lambda path: load(path).weights)
    refuse_rest(given, kind, type(how.metric), own=LoopRun)
    grid = grid_values(kind, call.grid) if call.grid else None
    refuse_twice(settings, grid or {}, "--grid")
    named = [call.start if call.start and Path(call.start).is_file() else None, call.refs, call.heldout_refs]
    refuse_overwriting([call.output], [path, call.heldout, *named, call.decoder if is_system(call.decoder) else None])
    if call.heldout is not None and _same_contents(path, call.heldout):
        console.warn(f"{call.heldout} has the same contents as {path}: what is chosen on it is not held out")
    decoder = _decoder(call)
    ending = raising(lambda number, frame: sys.exit(128 + number))
    signal.signal(signal.SIGTERM, ending)  # ends a running command, too
    with console.progress("working") as update, console.convergence():
        decoder.progress = update
        loop = Loop(
            decoder,
            _trainer(kind, settings, update),
            how.metric,
            call.output,
            rounds=call.rounds,
            k=call.k,
            step=call.step,
            start=_start(call.start, decoder),
            forests=call.forests,
            grid=grid,
            measure=_measure(how),
            config=_files(call, path),
            say=console.say,
        )
        held = None if call.heldout is None else _inputs(decoder, call.heldout, call.heldout_refs)
        try:
            model = loop.run(_inputs(decoder, path, call.refs), held, resume=call.resume)
        except KeyboardInterrupt:
            console.say("stopped; the same command with --resume goes on")
            raise
    result = loop.place.result()
    assert result is not None
    shown = ", ".join(f"{name} {value:.2f}" for name, value in model.scores_.items())
    console.say(f"{Path(call.output) / 'model.json'}: {how.metric.name} {shown}; {result['reason']}")
    if result["chosen"] == 0:
        console.warn(
            "no round decodes better than the weights of the start, which are kept: tuning did not help; give more "
            "segments, or features that tell more"
        )
    if call.as_json:
        print_json({**result, "weights": dict(model.weights), "model": str(Path(call.output) / "model.json")})


def _decoder(call: LoopRun) -> CommandDecoder | SystemDecoder:
    if is_system(call.decoder):
        if call.option:
            raise ParameterError("--option is for the lists that a command writes; a system writes none")
        if call.part_lines is not None:
            raise ParameterError("--part-lines is for commands; a system cuts its inputs itself")
        options = dict(_pair(text) for text in call.settings or ())
        return SystemDecoder(call.decoder, call.k, call.forests, options, call.threads)
    if Path(call.decoder).is_dir():
        raise ParameterError(f"the directory {call.decoder!r} holds no system of nbest train, and is no command")
    if call.settings:
        raise ParameterError("--set is for systems of nbest train; a command has its options in --decoder")
    return CommandDecoder(
        call.decoder,
        k=call.k,
        format=call.format,
        options=reader_options(call.option),
        weight_file=call.weight_file,
        unit=call.unit,
        shell=call.shell,
        limit=call.limit,
        retries=call.retries,
        part_lines=call.part_lines,
        keep=call.keep,
        folder=Path(call.output) / "decoder",
    )


def _pair(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ParameterError(f"expected NAME=VALUE, got {text!r}")
    return name.strip(), typed(value)


def _start(text: str | None, decoder: CommandDecoder | SystemDecoder) -> Mapping[str, float] | None:
    """First weights: of a model file, given one by one, or all 0; None leaves them to the decoder."""
    if text is None:
        return None
    if text == "zero":
        if not decoder.start:
            raise ParameterError("--start zero needs a system, which knows its features; name them: NAME=0,NAME=0")
        return dict.fromkeys(decoder.start, 0.0)
    if "=" not in text or Path(text).is_file():
        return load(text).weights
    weights: dict[str, Any] = {}
    for name, value in (_pair(part) for part in text.split(",") if part):
        if name in weights:
            raise ParameterError(f"--start has two weights of {name!r}; leave one of them out")
        weights[name] = value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ParameterError(f"the weight of {name!r} in --start must be a number, got {value!r}")
    return {name: float(value) for name, value in weights.items()}


def _trainer(kind: type, settings: dict[str, Any], update: Any) -> Any:
    trainer = kind(**settings)
    if hasattr(trainer, "progress"):
        trainer.progress = update
    return trainer


def _measure(how: Measure) -> Any:
    return how.measured if isinstance(how.metric, External) else None


def _inputs(decoder: CommandDecoder | SystemDecoder, path: str, refs: list[str] | None) -> Inputs:
    if not Path(path).is_file() and not (isinstance(decoder, CommandDecoder) and Path(path).exists()):
        raise FormatError(path, None, "cannot be read: there is no such file")
    if isinstance(decoder, CommandDecoder):
        if not refs:
            return Inputs(path)
        return Inputs(path, lambda ids: read_references(list(refs), ids), len(refs))
    inputs = decoder.read(path)
    if not refs:
        return Inputs(inputs, each=1)  # a tree or a row of tags
    sides = [decoder.references(side) for side in zip(*read_references(list(refs), len(inputs)), strict=True)]
    return Inputs(inputs, tuple(zip(*sides, strict=True)))


def _files(call: LoopRun, path: str) -> dict[str, Any]:
    """Names and sums of what is read, so that a resumed run is known to be about the same."""
    held = [] if call.heldout is None else [call.heldout]
    roles = {"dev": [path], "refs": call.refs or [], "heldout": held, "heldout_refs": call.heldout_refs or []}
    sums = {role: {each: _sum(each) for each in paths if Path(each).is_file()} for role, paths in roles.items()}
    return {"method": call.method, "files": sums}


def _same_contents(path: str, other: str) -> bool:
    return Path(path).is_file() and Path(other).is_file() and _sum(path) == _sum(other)


def _sum(path: str) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()
