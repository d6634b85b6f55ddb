"""What `nbest inspect` does, once its arguments are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from nbest.base.errors import ParameterError
from nbest.cli.console import Console, number, print_json
from nbest.cli.further import refuse_rest, separate
from nbest.cli.inspect import Inspect
from nbest.cli.loading import Measure, Source, answered, measure, over_blocks, read_corpus, read_lists, source_of
from nbest.cli.settling import words as settled_words
from nbest.cli.streams import put
from nbest.corpus import NBest
from nbest.corpus.contract import C, Corpus, need_lists
from nbest.evaluation.forest_inspection import ForestInspection, inspect_corpus
from nbest.evaluation.inspection import Inspection, inspect, inspect_blocks
from nbest.evaluation.model_inspection import ModelInspection, inspect_model, is_model
from nbest.model.evidence import evidence_of
from nbest.model.loglinear import load
from nbest.model.settled import settled_of
from nbest.pages.verdicts import words
from nbest.report import Column, Table

_TOP = 20  # strongest features shown of a model
_OF_LISTS = (
    "refs",
    "metric",
    "against",
    "against_refs",
    "tokenize",
    "lowercase",
    "normalize",
    "answer",
    "column",
    "scores",
)


def run(call: Inspect) -> None:
    """Look, print."""
    console = Console(quiet=call.quiet)
    paths, given = separate(call.lists)
    if call.format is None and any(is_model(path) for path in paths):
        refuse_rest(given, own=Inspect)
        _look_at_model(paths, call, console)
        return
    if call.top is not None:
        raise ParameterError(f"--top is for the features of a model file, and {paths[0]} is none")
    how = None
    if call.metric is not None:
        how = measure(call.metric, given, call)
    refuse_rest(given, *([] if how is None else [type(how.metric)]), own=Inspect)
    found = _look(source_of(call, paths, call.refs), how, call, console)
    if call.as_json:
        print_json(asdict(found))
    elif isinstance(found, Inspection):
        _print_lists(found, how, console)
    else:
        _print_forests(found, how, console)


def _look_at_model(paths: list[str], call: Inspect, console: Console) -> None:
    """Show a model file, which goes with no other file and no metric."""
    if len(paths) > 1:
        raise ParameterError(f"a model file is inspected alone, got {len(paths)} files")
    for option in _OF_LISTS:
        if getattr(call, option):
            name = option.replace("_", "-")
            raise ParameterError(f"--{name} is for lists and forests, and {paths[0]} is a model file")
    found = inspect_model(load(paths[0]), _TOP if call.top is None else call.top)
    if call.as_json:
        print_json(asdict(found))
    else:
        _print_model(found, console)


def _print_model(found: ModelInspection, console: Console) -> None:
    settings = {key: value for key, value in found.trainer.items() if key != "name"}
    put(f"trained by {found.trainer.get('name', 'hand')}{_settings(settings)}")
    if found.metric or found.scores:
        scores = ", ".join(f"{name} {_shown(value)}" for name, value in found.scores.items())
        put(f"{found.metric or 'scores'}: {scores or 'no scores'}")
    for recipe in found.recipes:
        put(f"adds {recipe['kind']}{_settings({key: value for key, value in recipe.items() if key != 'kind'})}")
    if found.decision:
        options = {key: value for key, value in found.decision.items() if key != "kind"}
        put(f"chooses by {found.decision['kind']}{_settings(options)}")
    if tried := settled_of(found.settled):
        put(settled_words(tried, found.decision))
    if known := evidence_of(found.evidence):
        learned = any(weight for _, weight in found.dense) or found.sparse_zeros < found.sparse_weights
        put(words(known, kept=not learned and not found.decision)[0])
    if found.confidence:
        put(found.confidence["words"])
    if found.history:
        put(f"keeps {found.history} steps of its training (nbest report shows them)")
    zeros = f" ({found.sparse_zeros} of them 0)" if found.sparse_zeros else ""
    put(f"weights: {len(found.dense)} dense, {found.sparse_weights} sparse{zeros}")
    for header, rows in (
        ("dense feature", found.dense),
        ("sparse features that raise the score most", found.positive),
        ("sparse features that lower it most", found.negative),
    ):
        if rows:
            console.show(Table((header, Column("weight", ".6g")), rows), out=True)


def _settings(values: dict[str, object]) -> str:
    """Settings in brackets; of long ones only how many entries they have."""
    shown = []
    for key, value in values.items():
        if isinstance(value, dict | list) and len(value) > 5:
            shown.append(f"{key}: {len(value)} entries")
        elif value not in (None, "", [], {}):
            shown.append(f"{key}={value}")
    return f" ({', '.join(shown)})" if shown else ""


def _shown(value: object) -> str:
    return number(value) if isinstance(value, int | float) else str(value)


def _look(source: Source, how: Measure | None, call: Inspect, console: Console) -> Inspection | ForestInspection:
    def measured(corpus: C) -> C:
        return answered(corpus, call.answer) if how is None else how.measured(corpus)

    by_line = bool(call.refs)
    if call.against is not None:
        lists = need_lists(measured(read_corpus(source, console)), "--against compares lists; these are forests")
        other = read_lists(source_of(call, [call.against], call.against_refs), console)
        return inspect(lists, other, by_line=by_line)
    if call.scores is not None:  # of all hypotheses
        return inspect_corpus(measured(read_corpus(source, console)), by_line=by_line)

    def lists_found(blocks: Iterable[NBest]) -> Inspection | ForestInspection:
        return inspect_blocks(map(measured, blocks), by_line=by_line)

    def whole(corpus: Corpus) -> Inspection | ForestInspection:
        return inspect_corpus(measured(corpus), by_line=by_line)

    with console.progress(f"bytes of {source.lists[0]}") as update:
        return over_blocks(source, console, lists_found, whole=whole, progress=update)


def _print_lists(found: Inspection, how: Measure | None, console: Console) -> None:
    distinct = "" if found.distinct_texts is None else f", {found.distinct_texts} distinct texts"
    put(
        f"{found.segments} segments, {found.hypotheses} hypotheses "
        f"({found.shortest} to {found.longest} a list{distinct}), "
        f"{len(found.features)} features"
        + (f" and {found.sparse_features} sparse ones" if found.sparse_features else "")
    )
    _print_scores(found.scores, how)
    heads = {"low": "lowest", "high": "highest", "mean": "mean", "spread": "spread in lists"}
    console.show(_features(found.features, heads, how), out=True)
    _print_findings(found.findings, how)


def _print_forests(found: ForestInspection, how: Measure | None, console: Console) -> None:
    kind = "lattices" if found.lattices else f"edges of up to {found.arity} tails"
    span = found.derivations
    many = "no derivations" if span is None else f"10^{span[0]:.1f} to 10^{span[1]:.1f} derivations"
    put(
        f"{found.segments} forests ({kind}), {found.nodes} nodes, {found.edges} edges ({found.smallest} to "
        f"{found.largest} a forest), {many}, {found.vocabulary} distinct words, "
        f"{len(found.features)} features"
    )
    _print_scores(found.scores, how)
    heads = {"low": "lowest", "high": "highest", "mean": "mean of edges", "spread": "spread of derivations"}
    console.show(_features(found.features, heads | {"own_weight": "own weight"}, how), out=True)
    _print_findings(found.findings, how)


def _features(features: Sequence[Any], heads: Mapping[str, str], how: Measure | None) -> Table:
    """A row a feature, under the names of its attributes; with a metric also what it scores alone."""
    columns = [Column("feature"), *(Column(head, ".4g") for head in heads.values())]
    keys = ["name", *heads]
    if how is not None:
        columns += [Column("1-best by it"), Column("by minus it")]
        keys += ["score", "reverse_score"]
    return Table(columns, [[getattr(each, key) for key in keys] for each in features], missing="")


def _print_scores(scores: dict[str, float], how: Measure | None) -> None:
    if how is not None:
        put(f"{how.metric.name}: " + ", ".join(f"{name} {number(value)}" for name, value in scores.items()))


def _print_findings(findings: Sequence[str], how: Measure | None) -> None:
    for finding in findings:
        put(f"! {finding}")
    if not findings:
        put("nothing wrong found" + ("" if how else "; with --refs and --metric more can be checked"))
