"""From the arguments of a command to lists with statistics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, look_up, nearest
from nbest.base.inputs import Input, Progress
from nbest.base.types import Floats, References
from nbest.cli.console import Console
from nbest.cli.further import settable, take
from nbest.compute import parallel
from nbest.corpus import NBest, merge
from nbest.corpus.contract import C, Corpus, are_lists, need_lists
from nbest.corpus.metric import Metric
from nbest.evaluation.findings import label_findings, reference_findings
from nbest.evaluation.overlap import shared_segments
from nbest.features.wanted import typed
from nbest.formats import read_any
from nbest.formats.joining import scores_of
from nbest.formats.references import align_references
from nbest.formats.streams import in_blocks
from nbest.metrics import METRICS, External, make_metric

R = TypeVar("R")
_OUTSIDE = ("comet", "xcomet", "cometkiwi", "bleurt", "bertscore", "metricx", "gemba")
"""Metrics of other programs, by which people may ask."""


@dataclass(frozen=True)
class Source:
    """Where lists and what belongs to them come from."""

    lists: Sequence[str]
    refs: Sequence[str] | None = None
    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)  # of the reader


def source_of(call: Any, lists: Sequence[str], refs: Sequence[str] | None = None) -> Source:
    """Lists as the options of a command say how to read them: --format and --option."""
    return Source(lists, refs, call.format, reader_options(call.option))


def reader_options(given: Sequence[str] | None) -> dict[str, Any]:
    """The options of a reader from NAME=VALUE each."""
    options: dict[str, Any] = {}
    for pair in given or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ParameterError(f"--option must be NAME=VALUE, got {pair!r}")
        if name in options:
            raise ParameterError(f"--option names {name!r} twice")
        options[name] = typed(value)
    return options


def files_of_options(given: Sequence[str] | None) -> list[str]:
    """The files that options of a reader name."""
    return [value for value in reader_options(given).values() if isinstance(value, str) and Path(value).is_file()]


def read_lists(source: Source, console: Console, what: str = "this command") -> NBest:
    """The lists, with references where they are given; what the reader changed is said."""
    return need_lists(
        read_corpus(source, console),
        f"{source.lists[0]}: {what} works on lists and this holds forests; read lists out of them with "
        "nbest convert FORESTS LISTS.jsonl --top 100",
    )


def read_corpus(source: Source, console: Console) -> Corpus:
    """Lists or forests, with references where they are given; what the reader changed is said."""
    if list(source.lists).count("-") + list(source.refs or ()).count("-") > 1:
        raise ParameterError("only one input can come from standard input (-)")
    corpus = _joined(source.lists, [read_any(path, source.format, **source.options) for path in source.lists], console)
    _say_origins(console, source.lists[0], corpus)
    if not source.refs:
        return corpus
    return corpus.with_references(_references(source, corpus.ids, console))


def _references(source: Source, ids: Sequence[str], console: Console) -> References:
    references, left_out = align_references(list(source.refs or ()), ids)
    if left_out:
        console.warn(f"{source.lists[0]}: {left_out} segments have references but no hypotheses; they are left out")
    return references


def over_blocks(
    source: Source,
    console: Console,
    consume: Callable[[Iterable[NBest]], R],
    whole: Callable[[Any], R],
    progress: Progress,
) -> R:
    """`consume` with the lists of one file block by block, with references where they are given; with forests, or
    several lists together, `whole`. The ids of all segments are read first where references have to be found for them.
    """
    if len(source.lists) > 1:
        return whole(read_corpus(source, console))
    file = Input(source.lists[0])
    own: dict[str, Sequence[str]] = {}
    if source.refs:
        if source.lists[0] == "-" and "-" in source.refs:
            raise ParameterError("only one input can come from standard input (-)")
        ids = in_blocks(file, _ids_of, source.format, whole=lambda forests: forests.ids, **source.options)
        own = dict(zip(ids, _references(source, ids, console), strict=True))

    def with_references(corpus: C) -> C:
        return corpus.with_references([own[name] for name in corpus.ids]) if own else corpus

    def blocks(given: Iterable[NBest]) -> Iterator[NBest]:
        for at, block in enumerate(given):
            if at == 0:
                _say_origins(console, source.lists[0], block)
            yield with_references(block)

    def forests(given: Corpus) -> R:
        _say_origins(console, source.lists[0], given)
        return whole(with_references(given))

    how: dict[str, Any] = {"whole": forests, "progress": progress, **source.options}
    return in_blocks(file, lambda given: consume(blocks(given)), source.format, **how)


def _ids_of(blocks: Iterable[NBest]) -> Sequence[str]:
    return [name for block in blocks for name in block.ids]


def _say_origins(console: Console, path: str, corpus: Corpus) -> None:
    """Say what a reader made of features."""
    for name, origin in corpus.origins.items():
        console.say(f"{path}: feature {name!r}: {origin}")


def _joined(paths: Sequence[str], parts: list[Corpus], console: Console) -> Corpus:
    """The one corpus, or several lists merged."""
    if len(parts) == 1:
        return parts[0]
    why = "forests cannot be merged with others; name one file or directory of forests"
    count = len({name for part in parts for name in part.ids})
    if count < sum(map(len, parts)):
        console.say(f"{', '.join(paths)}: lists with the same id are merged: {count} segments")
    return merge(*(need_lists(part, f"{path}: {why}") for path, part in zip(paths, parts, strict=True)))


@dataclass(frozen=True)
class Measure:
    """Which metric, and where an external one gets its scores."""

    metric: Metric
    column: str | None = None
    scores: str | None = None
    quiet: bool = False
    answer: str | None = None
    measured_ids: set[str] = field(default_factory=set, compare=False)  # of sets that took scores of the file

    def measured(self, corpus: C) -> C:
        """The lists with statistics of the metric, the forests with the metric."""
        bare = corpus.whole and corpus.texts is None and corpus.scored
        if bare and corpus.need_metric().name == self.metric.name:
            return corpus  # the file has the statistics, and no texts
        corpus = answered(corpus, self.answer)
        if not isinstance(self.metric, External):
            with self.progress(len(corpus.features)):
                return corpus.with_metric(self.metric)
        why = "--metric external scores hypotheses of lists; forests need a metric of texts"
        lists = need_lists(corpus, why)
        if self.scores is not None:
            values = self._of_file(lists, self.scores)
        elif self.column is not None:
            values, lists = lists.column(self.column), lists.without_features([self.column])
        elif lists.gains is not None or not lists.hypotheses:
            values = np.zeros(0) if lists.gains is None else lists.gains
        else:
            raise ParameterError(
                "--metric external needs to know what hypotheses are worth: --column NAME, --scores FILE, or 'score' "
                "of each hypothesis in the file"
            )
        return cast(C, replace(lists, stats=self.metric.stats_of(values), metric=self.metric))

    def _of_file(self, lists: NBest, path: str) -> Floats:
        values, others = scores_of(lists, path, self.column)
        if self.measured_ids and (others is None or not self.measured_ids.isdisjoint(lists.ids)):
            why = "it has no ids" if others is None else "both have segments of the same ids"
            hint = "join them to each instead: nbest features join LISTS SCORES --gain COLUMN -o OUT"
            raise ParameterError(f"{path}: cannot tell the scores of two sets of lists apart: {why}; {hint}")
        self.measured_ids.update(lists.ids)
        if others:
            Console(quiet=self.quiet).say(f"{path}: {others} rows are of segments that are not in these lists")
        return values

    @contextmanager
    def progress(self, total: int) -> Iterator[None]:
        """While this many hypotheses are measured inside, show how many are; metrics that take long tell it."""
        with Console(quiet=self.quiet).progress(f"measuring {self.metric.name}") as update:
            before = parallel.told.set(parallel.counter(update, total))
            try:
                yield
            finally:
                parallel.told.reset(before)


@dataclass(frozen=True)
class Unmeasured:
    """No metric: lists are as they are, for methods that need no labels."""

    answer: str | None = None
    metric: None = None

    def measured(self, corpus: C) -> C:
        """The lists with answers, if a rule for them is given."""
        return answered(corpus, self.answer)


def answered(corpus: C, answer: str | None) -> C:
    """The lists with the answers that a rule finds in their texts, if one is given."""
    if answer is None:
        return corpus
    return cast(C, need_lists(corpus, "--answer looks at the texts of lists; these are forests").with_answers(answer))


def measure(name: str | None, given: dict[str, str], call: Any, beside: Sequence[str] = ()) -> Measure:
    """The metric of this name with the options of a command; takes its further options out of `given`. Options that it
    does not have may be those of metrics `beside`."""
    if name is None:
        for option in given:
            if meant := nearest(["metric"], option):
                raise ParameterError(f"unknown option --{option}{meant}")
        raise ParameterError(f"say what to optimise or report with --metric, one of {', '.join(METRICS)}")
    if name.lower() in _OUTSIDE:
        raise ParameterError(
            f"nbest does not compute {name}; give its scores of all hypotheses: --metric external --scores FILE"
        )
    kind = look_up(METRICS, name, "metric")
    options = take(kind, given)
    others = [look_up(METRICS, other, "metric") for other in beside]
    for option in ("scores", "column"):
        if getattr(call, option, None) is not None and not any(issubclass(each, External) for each in (kind, *others)):
            raise ParameterError(f"--{option} is for --metric external, not for {name}")
    for option in ("tokenize", "lowercase", "normalize"):
        value = getattr(call, option) or None
        if value is None:
            continue
        if option not in settable(kind) and any(option in settable(other) for other in others):
            continue
        if option not in settable(kind):
            raise ParameterError(f"metric {name} has no --{option}; it has {', '.join(settable(kind)) or 'no options'}")
        options[option] = value
    return Measure(
        make_metric(name, **options),
        column=getattr(call, "column", None),
        scores=getattr(call, "scores", None),
        quiet=getattr(call, "quiet", False),
        answer=getattr(call, "answer", None),
    )


@contextmanager
def naming(lists: Sequence[str], option: str) -> Iterator[None]:
    """Complaints of lists name their file, and the option of their references."""
    try:
        yield
    except (CapabilityError, ParameterError) as error:
        said = re.sub(r"(?<![\w-])--refs\b", option, str(error))
        raise type(error)(said if said.startswith(lists[0]) else f"{lists[0]}: {said}") from None


def in_line(corpus: C) -> C:
    """The corpus; an error where the references of lists surely are of other lines."""
    shifted = reference_findings(corpus, sure=True) if are_lists(corpus) and corpus.scored else []
    if shifted:
        raise ParameterError(f"{shifted[0]}; is a line missing, or one too many? nbest inspect shows the lists")
    return corpus


def warn_of_labels(console: Console, corpus: Corpus) -> None:
    """Say which features of lists to tune on are the metric itself."""
    for finding in label_findings(corpus):
        console.warn(finding)


def warn_of_overlap(console: Console, name: str, corpus: Corpus, other: str, against: Corpus) -> None:
    """Say how many segments of a corpus to test or choose on were tuned on."""
    shared = shared_segments(corpus, against)
    if shared:
        what = "the test scores are not honest" if name == "test" else "what is chosen on them is not held out"
        console.warn(f"{shared} of {len(corpus)} {name} segments are also in {other}: {what}")
