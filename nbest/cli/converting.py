"""What `nbest convert` does, once its arguments are known."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.types import Floats
from nbest.cli.console import Console
from nbest.cli.convert import Convert
from nbest.cli.targets import refuse_overwriting, written
from nbest.corpus import Forests, NBest, dedupe, prune
from nbest.corpus.contract import Corpus, no_answer
from nbest.features.wanted import typed
from nbest.forests.derivations import forests_of
from nbest.forests.kbest import kbest
from nbest.forests.pruning import prune as prune_forests
from nbest.formats import FOREST_FORMATS, FORMATS, read_any, read_references, write, write_forests
from nbest.formats import format_of_target as format_of
from nbest.model.loglinear import LogLinear, load


def run(call: Convert) -> None:
    """Read, change, write, say what was written."""
    console = Console(quiet=call.quiet)
    options = _options(call.option)
    outputs = written(call.target, format_of(call.target, call.target_format))
    refuse_overwriting(outputs, [call.source, call.refs, call.model, str(options.get("manifest", "-"))])
    corpus = read_any(call.source, call.source_format, **options)
    if call.refs:
        corpus = corpus.with_references(read_references(call.refs, corpus.ids))
    for name, origin in corpus.origins.items():
        console.say(f"{call.source}: feature {name!r}: {origin}")
    done = _written(_changed(corpus, call, console), call)
    console.say(f"{call.target}: {len(done)} segments, {done.size}, {len(done.feature_names)} features")


def _options(given: list[str] | None) -> dict[str, Any]:
    options = {}
    for pair in given or ():
        name, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError(f"--option must be NAME=VALUE, got {pair!r}")
        options[name] = value.split(",") if name == "features" else typed(value)
    return options


@singledispatch
def _changed(corpus: Corpus, call: Convert, console: Console) -> Corpus:
    """Lists without duplicates or cut; forests pruned, or their best strings as lists."""
    raise no_answer("convert", corpus)


@_changed.register(NBest)
def _(corpus: NBest, call: Convert, console: Console) -> NBest:
    if call.model is not None or call.prune is not None:
        raise CapabilityError("--model and --prune are for forests, and these are lists")
    return _trimmed(corpus, call)


def _trimmed(lists: NBest, call: Convert) -> NBest:
    lists = dedupe(lists) if call.dedupe else lists
    return lists if call.top is None else prune(lists, call.top)


@_changed.register(Forests)
def _(forests: Forests, call: Convert, console: Console) -> NBest | Forests:
    if call.model is not None and call.prune is None and call.top is None:
        raise ParameterError("--model ranks derivations for --top or --prune, and neither is given")
    if call.prune is not None:
        before, scores = forests.edges, _scores(call, forests) * _gamma(call, forests)
        forests = prune_forests(forests, scores, posterior=call.prune)
        console.say(f"{call.source}: {forests.edges} of {before} edges are left")
    if call.top is None:
        if call.dedupe:
            raise CapabilityError("--dedupe is for lists; with --top the strings of forests are distinct anyway")
        return forests
    return _trimmed(kbest(forests, _scores(call, forests), call.top, distinct=True).lists(), call)


def _gamma(call: Convert, forests: Forests) -> float:
    """How sharp the posterior for pruning is; weights of a recogniser, as they are, make it far too sharp."""
    if call.gamma is not None:
        return call.gamma
    if call.model is not None:
        return 1.0
    return 1.0 / max(map(abs, forests.own_weights.values()), default=1.0)


def _scores(call: Convert, forests: Forests) -> Floats:
    if call.model is not None:
        return load(call.model).edge_scores(forests)
    if not forests.own_weights and not len(forests.tails):
        return -np.arange(forests.edges, dtype=np.float64)  # lists: in their order
    if not forests.own_weights:
        raise CapabilityError(
            f"{call.source}: to rank derivations give --model with weights; the file does not tell those of its system"
        )
    return LogLinear(forests.own_weights).edge_scores(forests)


@singledispatch
def _written(corpus: Corpus, call: Convert) -> Corpus:
    """Write as the target asks; what was written."""
    raise no_answer("convert", corpus)


@_written.register(Forests)
def _(corpus: Forests, call: Convert) -> Forests:
    wanted = format_of(call.target, call.target_format)
    if wanted in FORMATS and wanted not in FOREST_FORMATS and wanted != "jsonl":
        raise CapabilityError(f"{call.target}: {wanted} holds lists; say how many of the best strings with --top")
    write_forests(corpus, call.target, None if wanted == "jsonl" else wanted)
    return corpus


@_written.register(NBest)
def _(corpus: NBest, call: Convert) -> NBest | Forests:
    wanted = format_of(call.target, call.target_format)
    if wanted not in FOREST_FORMATS:
        write(corpus, call.target, wanted)
        return corpus
    forests = forests_of(corpus)
    write_forests(forests, call.target, wanted)
    return forests
