"""From the arguments of a command to lists with statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nbest.cli.console import Console
from nbest.corpus import NBest, merge
from nbest.errors import FormatError, ParameterError, look_up
from nbest.features import FEATURES, apply_recipes
from nbest.files import read_lines
from nbest.formats import read, read_references
from nbest.formats.base import number
from nbest.metrics import METRICS, External, make_metric
from nbest.types import Metric


@dataclass(frozen=True)
class Source:
    """Where lists and what belongs to them come from."""

    lists: Sequence[str]
    refs: Sequence[str] | None = None
    format: str | None = None


def read_lists(source: Source, console: Console) -> NBest:
    """The lists, with references where they are given; what the reader changed is said."""
    if list(source.lists).count("-") + list(source.refs or ()).count("-") > 1:
        raise ParameterError("only one input can come from standard input (-)")
    parts = [read(path, source.format) for path in source.lists]
    corpus = parts[0] if len(parts) == 1 else merge(*parts)
    for name, origin in corpus.origins.items():
        console.say(f"{source.lists[0]}: feature {name!r}: {origin}")
    if not source.refs:
        return corpus
    references = read_references(list(source.refs), corpus.ids)
    if all(_is_number(name) for name in corpus.ids):
        missing = max(int(name) for name in corpus.ids) + 1 - len(corpus)
        if missing > 0 and min(int(name) for name in corpus.ids) == 0:
            console.warn(f"{source.lists[0]}: {missing} segments have references but no hypotheses; they are left out")
    return corpus.with_references(references)


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


@dataclass(frozen=True)
class Measure:
    """Which metric, and where an external one gets its scores."""

    metric: Metric
    column: str | None = None
    scores: str | None = None

    def measured(self, corpus: NBest) -> NBest:
        """The lists with statistics of the metric."""
        if not isinstance(self.metric, External):
            return corpus.with_metric(self.metric)
        if self.column is not None:
            values, corpus = corpus.column(self.column), corpus.without_features([self.column])
        elif self.scores is not None:
            values = _column_of(self.scores, corpus)
        else:
            raise ParameterError("--metric external needs --column NAME or --scores FILE")
        return replace(corpus, stats=self.metric.stats_of(values), metric=self.metric)


def _column_of(path: str, corpus: NBest) -> Any:
    """One score a hypothesis, in the order of the file the lists were read from."""
    lines = read_lines(path)
    if len(lines) != corpus.hypotheses:
        raise FormatError(path, None, f"expected a score for each of {corpus.hypotheses} hypotheses, got {len(lines)}")
    values = np.array([number(path, at, "a score", line.strip()) for at, line in enumerate(lines, 1)])
    return values if corpus.positions is None else values[corpus.positions]


def measure(
    name: str | None,
    given: dict[str, str],
    tokenize: str | None,
    lowercase: bool,
    column: str | None,
    scores: str | None,
) -> Measure:
    """The metric of the arguments; takes its further options out of `given`."""
    from nbest.cli.options import settable, take

    if name is None:
        raise ParameterError(f"say what to optimise or report with --metric, one of {', '.join(METRICS)}")
    kind = look_up(METRICS, name, "metric")
    options = take(kind, given)
    for option, value in (("tokenize", tokenize), ("lowercase", lowercase or None)):
        if value is None:
            continue
        if option not in settable(kind):
            raise ParameterError(f"metric {name} has no --{option}; it has {', '.join(settable(kind)) or 'no options'}")
        options[option] = value
    return Measure(make_metric(name, **options), column, scores)


def wanted(text: str | None) -> tuple[dict[str, Any], ...]:
    """Features to add, from `length,agreement` or `agreement:metric=cer,bins:bins=10:soft=true`."""
    out = []
    for part in (text or "").split(","):
        if part:
            kind, *options = part.split(":")
            look_up(FEATURES, kind, "feature")
            if not all("=" in option for option in options):
                raise ParameterError(f"options of a feature to add are NAME=VALUE, got {part!r}")
            pairs = dict(option.split("=", 1) for option in options)
            out.append({"kind": kind, **{name: plain_value(text) for name, text in pairs.items()}})
    return tuple(out)


def plain_value(text: str) -> Any:
    """A number, true or false, or the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def columns(corpus: NBest, added: Sequence[dict[str, Any]], only: str | None, drop: str | None) -> NBest:
    """The lists with added columns, then only those named, without those dropped."""
    corpus = apply_recipes(corpus, added)
    if only is not None:
        corpus = corpus.only_features([name for name in only.split(",") if name])
    if drop is not None:
        names = [name for name in drop.split(",") if name]
        for name in names:
            corpus.column(name)
        corpus = corpus.without_features(names)
    return corpus
