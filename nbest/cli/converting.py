"""What `nbest convert` does, once its arguments are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.types import Floats
from nbest.cli.console import Console
from nbest.cli.convert import Convert
from nbest.cli.targets import refuse_overwriting, written
from nbest.corpus import Forests, NBest, dedupe, prune
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
    if isinstance(corpus, Forests):
        corpus = _changed_forests(call, corpus, console)
    elif call.model is not None or call.prune is not None:
        raise CapabilityError("--model and --prune are for forests, and these are lists")
    if isinstance(corpus, NBest):
        corpus = dedupe(corpus) if call.dedupe else corpus
        corpus = corpus if call.top is None else prune(corpus, call.top)
    corpus = _write(call, corpus)
    size = f"{corpus.hypotheses} hypotheses" if isinstance(corpus, NBest) else f"{corpus.edges} edges"
    console.say(f"{call.target}: {len(corpus)} segments, {size}, {len(corpus.feature_names)} features")


def _options(given: list[str] | None) -> dict[str, Any]:
    options = {}
    for pair in given or ():
        name, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError(f"--option must be NAME=VALUE, got {pair!r}")
        options[name] = value.split(",") if name == "features" else typed(value)
    return options


def _changed_forests(call: Convert, forests: Forests, console: Console) -> NBest | Forests:
    """Pruned, or the best strings as lists."""
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
    return kbest(forests, _scores(call, forests), call.top, distinct=True).lists()


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


def _write(call: Convert, corpus: NBest | Forests) -> NBest | Forests:
    """Write as the target asks; what was written."""
    wanted = format_of(call.target, call.target_format)
    if isinstance(corpus, Forests):
        if wanted in FORMATS and wanted not in FOREST_FORMATS and wanted != "jsonl":
            raise CapabilityError(f"{call.target}: {wanted} holds lists; say how many of the best strings with --top")
        write_forests(corpus, call.target, None if wanted == "jsonl" else wanted)
    elif wanted in FOREST_FORMATS:
        corpus = forests_of(corpus)
        write_forests(corpus, call.target, wanted)
    else:
        write(corpus, call.target, wanted)
    return corpus
