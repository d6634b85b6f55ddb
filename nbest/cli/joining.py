"""What `nbest features join` does, once its arguments are known."""

from __future__ import annotations

from nbest.base.errors import FormatError, ParameterError
from nbest.cli.console import Console
from nbest.cli.features import Join
from nbest.cli.loading import Source, files_of_options, read_lists, reader_options
from nbest.cli.targets import need_columns, refuse_overwriting, written
from nbest.corpus import NBest
from nbest.formats import format_of_target, write
from nbest.formats.joining import join_labels, join_scores, key_of
from nbest.formats.scores import ScoreTable, read_scores

_MATCHED = {
    "index": "by id and index",
    "text": "by id and text",
    "system": "by id and system",
    "order": "by id, the rows of a segment in the order of its hypotheses",
    "position": "by position, row by row in the order of the lists: there are no ids",
}


def run(call: Join) -> None:
    """Join, write, say by what the rows were matched."""
    console = Console(quiet=call.quiet)
    wanted = format_of_target(call.output, call.target_format)
    need_columns(call.output, wanted)
    if [call.lists, *call.scores].count("-") > 1:
        raise ParameterError("only one input can come from standard input (-)")
    refuse_overwriting(written(call.output, wanted), [call.lists, call.scores, files_of_options(call.option)])
    source = Source([call.lists], None, call.source_format, reader_options(call.option))
    corpus = read_lists(source, console, "nbest features join")
    known = len(corpus.feature_names)
    for table in _tables(call):
        corpus = _joined(corpus, table, call, console)
    write(corpus, call.output, wanted)
    added = [*corpus.feature_names[known:], *(name for name in (call.gain, call.group) if name is not None)]
    console.say(f"{call.output}: {len(corpus)} segments, {corpus.hypotheses} hypotheses; joined {', '.join(added)}")


def _tables(call: Join) -> list[ScoreTable]:
    """The tables with the columns of each that are wanted; one that no table has is an error."""
    names = None if call.columns is None else [name for name in call.columns.split(",") if name]
    if names == []:
        raise ParameterError("--columns names none")
    wanted_names, labels = names if len(call.scores) == 1 else None, (call.gain or call.group) is not None
    tables = [read_scores(path, wanted_names, id=call.id, labels=labels) for path in call.scores]
    for option, wanted in (("--gain", call.gain), ("--group", call.group)):
        if wanted is not None and not any(wanted in table.table.names for table in tables):
            raise ParameterError(f"no table has a column {wanted!r}, which {option} names")
    if names is None or len(call.scores) == 1:
        return tables
    for table in tables:
        if not set(names) & set(table.names):
            raise FormatError(
                table.path, None, f"has none of --columns {call.columns}; it has {', '.join(table.names)}"
            )
    left = [name for name in names if not any(name in table.names for table in tables)]
    if left:
        raise ParameterError(f"no table has a column of numbers {left[0]!r}, which --columns names")
    return [table.only([name for name in names if name in table.names]) for table in tables]


def _joined(corpus: NBest, table: ScoreTable, call: Join, console: Console) -> NBest:
    labels = {key: name for key in ("gain", "group") if (name := getattr(call, key)) in table.table.names}
    if labels.keys() == {"group"} and table.ids is not None and len(set(table.ids)) == len(table):
        console.say(f"{table.path}: {len(table)} rows, one a segment, matched by id")
        return join_labels(corpus, table, **labels)
    how = key_of(table, call.by, systems=corpus.systems is not None)
    console.say(f"{table.path}: {len(table)} rows, to be matched {_MATCHED[how]}")
    if labels:
        corpus = join_labels(corpus, table, by=call.by, first=call.first, **labels)
    scores = table.only([name for name in table.names if name not in labels.values()])
    if not scores.names:
        return corpus
    return join_scores(corpus, scores, by=call.by, name=call.name, missing=call.missing, first=call.first)
