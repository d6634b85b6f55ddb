"""What `nbest convert` does, once its arguments are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, listed
from nbest.base.types import Floats
from nbest.cli.console import Console
from nbest.cli.convert import Convert
from nbest.cli.loading import Source, files_of_options, over_blocks, reader_options
from nbest.cli.moses import WEIGHTS, put_weights
from nbest.cli.targets import refuse_overwriting, written
from nbest.corpus import Forests, NBest, dedupe, prune, split
from nbest.corpus.operations import join
from nbest.features.wanted import columns, names_in
from nbest.forests.derivations import forests_of
from nbest.forests.kbest import kbest
from nbest.forests.pruning import prune as prune_forests
from nbest.formats import FOREST_FORMATS, FORMATS, write_blocks, write_forests
from nbest.formats import format_of_target as format_of
from nbest.model.files import begins_as_model
from nbest.model.loglinear import LogLinear, load


def run(call: Convert) -> None:
    """Read, change, write, say what was written."""
    console = Console(quiet=call.quiet)
    if call.target.endswith(WEIGHTS) and call.target_format is None:
        _weights(call, console)
        return
    outputs = written(call.target, format_of(call.target, call.target_format))
    if (call.split is None) != (call.rest is None):
        raise ParameterError("--split SHARE and --rest FILE belong together: one share goes to each of two files")
    if call.rest is not None:
        also = written(call.rest, format_of(call.rest, call.target_format))
        refuse_overwriting(also, [call.source, call.refs, call.model, call.target])
    refuse_overwriting(outputs, [call.source, call.refs, call.model, files_of_options(call.option)])
    source = Source([call.source], call.refs, call.source_format, reader_options(call.option))
    conversion = _Conversion(call, console)
    with console.progress(f"bytes of {call.source}") as update:
        done = over_blocks(source, console, conversion.lists, whole=conversion.forests, progress=update)
    console.say(f"{call.target}: {done}")


def _weights(call: Convert, console: Console) -> None:
    """A model's weights for Moses; what is for lists is refused."""
    plain = Convert(source=call.source, target=call.target, quiet=call.quiet)
    odd = next((each.name for each in fields(call) if getattr(call, each.name) != getattr(plain, each.name)), None)
    if odd is not None:
        raise ParameterError(f"{call.target} is a file of weights, and --{odd.replace('_', '-')} is for lists")
    if Path(call.source).is_file() and not begins_as_model(Path(call.source)):
        raise ParameterError(
            f"{call.target} is a file of weights, and {call.source} is no model; of lists write .jsonl"
        )
    refuse_overwriting([call.target], [call.source])
    put_weights(load(call.source), call.target, console)


@dataclass(frozen=True)
class _Conversion:
    """Changes and writes lists, block by block, or forests; what was written, in words."""

    call: Convert
    console: Console

    def lists(self, blocks: Iterable[NBest]) -> str:
        """Lists without duplicates or cut."""
        if self.call.model is not None or self.call.prune is not None:
            raise CapabilityError("--model and --prune are for forests, and these are lists")
        blocks = _less(blocks, self.call)
        if self.call.rest is None:
            return _put(blocks, self.call)
        assert self.call.split is not None
        parts = split(join(list(blocks)), self.call.split, self.call.split_seed)
        rest = replace(self.call, target=self.call.rest)
        self.console.say(f"{self.call.rest}: {_put([parts[1]], rest)}")
        return _put([parts[0]], self.call)

    def forests(self, forests: Forests) -> str:
        """Forests pruned, or their best strings as lists."""
        call, forests = self.call, columns(forests, drop=self.call.drop)
        if call.rest is not None:
            raise CapabilityError("--split is for lists, and these are forests; read lists out of them first (--top)")
        if call.model is not None and call.prune is None and call.top is None:
            raise ParameterError("--model ranks derivations for --top or --prune, and neither is given")
        if call.prune is not None:
            before, scores = forests.edges, _scores(call, forests) * _gamma(call, forests)
            forests = prune_forests(forests, scores, posterior=call.prune)
            self.console.say(f"{call.source}: {forests.edges} of {before} edges are left")
        if call.top is not None:
            return _put([kbest(forests, _scores(call, forests), call.top, distinct=True).lists()], call)
        if call.dedupe:
            raise CapabilityError("--dedupe is for lists; with --top the strings of forests are distinct anyway")
        wanted = format_of(call.target, call.target_format)
        if wanted in FORMATS and wanted not in FOREST_FORMATS and wanted != "jsonl":
            raise CapabilityError(f"{call.target}: {wanted} holds lists; say how many of the best strings with --top")
        return _put_forests(forests, call, None if wanted == "jsonl" else wanted)


def _less(blocks: Iterable[NBest], call: Convert) -> Iterator[NBest]:
    """Lists without the features to be dropped, which some block must have: sparse ones may come late."""
    names = names_in(call.drop)
    missing = dict.fromkeys(names)
    known: dict[str, None] = {}
    for block in blocks:
        known |= dict.fromkeys(block.names)
        here = [name for name in names if name in block.feature_names or name in block.sparse_names]
        for name in here:
            missing.pop(name, None)
        yield columns(block, drop=here)
    if missing:
        raise ParameterError(f"--drop: no feature {next(iter(missing))!r} in these lists; known: {listed(known)}")


def _put(blocks: Iterable[NBest], call: Convert) -> str:
    """Write lists, without what is to be left out, as the target asks."""
    wanted = format_of(call.target, call.target_format)
    trimmed = (_trimmed(block, call) for block in blocks)
    if wanted in FOREST_FORMATS:
        return _put_forests(forests_of(join(list(trimmed))), call, wanted)
    return put_lists(trimmed, call.target, wanted)


def put_lists(blocks: Iterable[NBest], target: str, wanted: str | None) -> str:
    """Write lists; what was written and what the format did not keep, in words."""
    count = _Count()
    write_blocks(count.passing(blocks), target, wanted)
    lost = sorted(count.has - FORMATS[wanted or "jsonl"].keeps)
    gone = f"; {wanted} does not keep {', '.join(lost)}" if lost else ""
    return f"{count.segments} segments, {count.hypotheses} hypotheses, {count.features} features{gone}"


def _trimmed(lists: NBest, call: Convert) -> NBest:
    lists = dedupe(lists) if call.dedupe else lists
    return lists if call.top is None else prune(lists, call.top)


@dataclass
class _Count:
    """How much has passed."""

    segments: int = 0
    hypotheses: int = 0
    features: int = 0
    has: set[str] = field(default_factory=set)  # what not all formats keep

    def passing(self, blocks: Iterable[NBest]) -> Iterator[NBest]:
        for block in blocks:
            self.segments += len(block)
            self.hypotheses += block.hypotheses
            self.features = max(self.features, len(block.feature_names))
            kinds = ("sources", "groups", "gains", "answers", "systems")
            self.has.update(name for name in kinds if getattr(block, name) is not None)
            yield block


def _put_forests(forests: Forests, call: Convert, wanted: str | None) -> str:
    write_forests(forests, call.target, wanted)
    return f"{len(forests)} segments, {forests.size}, {len(forests.feature_names)} features"


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
