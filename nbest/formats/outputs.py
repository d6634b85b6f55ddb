"""Outputs to be scored with their references: by id where the lines carry ids, else by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.files import read_lines
from nbest.base.types import Floats, References
from nbest.corpus.order import in_order, whole_numbers
from nbest.formats.lists.base import shown
from nbest.formats.references import align_lines
from nbest.formats.scores import read_scores
from nbest.formats.texts_by_id import ids_before_blanks, json_rows, own_ids, texts_after_blanks, without_blank_end

_JOIN = " (those of hypotheses: nbest features join --gain, and rerank --json writes that of what is chosen)"


@dataclass(frozen=True)
class Outputs:
    """Texts of each system and references, both in one order of segments."""

    systems: dict[str, list[str]]
    references: References  # none where no file has any
    left_out: int  # references of segments that no system has an output for
    ids: Sequence[str] | int  # of the segments, or their number where the lines carry none
    abstained: int = 0  # segments that some system gives no answer to, which are left out
    gains: dict[str, Floats] = field(
        default_factory=dict
    )  # [N] of systems that carry them, NaN where nothing is chosen
    groups: dict[str, list[str]] = field(default_factory=dict)  # N of systems that carry them
    covered: dict[str, int] = field(default_factory=dict)  # of how many segments each system gives an output
    alone: dict[str, Outputs] = field(default_factory=dict)  # each system on all segments it answers, where they differ

    @property
    def scored(self) -> int:
        """The number of segments, N."""
        return self.ids if isinstance(self.ids, int) else len(self.ids)

    @property
    def segments(self) -> int:
        """The number of segments with those that are left out."""
        return self.scored + self.left_out + self.abstained


def read_outputs(paths: Sequence[str], refs: Sequence[str | Path]) -> Outputs:
    """The outputs of one or more systems with the references of their segments, by the rule of `read_references`.

    Lines `id<TAB>text`, JSON lines of `nbest rerank --json`, and `id text` where references have these ids too, are
    taken by id; others by line, as segments 0, 1, ... All systems must have the same segments. Those for which no
    system chose anything ("index": null in JSON lines), and those to which one gives no answer ("abstained": true), are
    left out. Without references, only ids that are sure count.
    JSON lines may carry what the chosen is worth ("gain") and what its segment belongs to ("group").
    """
    lines = {path: read_lines(path) for path in paths}
    for path, mine in lines.items():
        if not mine:
            raise FormatError(path, None, "the file is empty; expected one output a line")
    given = [(ref, read_lines(ref)) for ref in refs]  # once: one may be a pipe
    known = {path: _texts(path, mine, given) for path, mine in lines.items()}
    named = next((path for path in paths if known[path] is not None), None)
    if named is None:
        return _by_line(lines, given)
    ids = in_order(known[named] or ())
    systems = {path: _in_order(path, mine, known[path], named, ids) for path, mine in lines.items()}
    references, left_out = align_lines(given, ids) if given else ((), 0)
    rows = {path: {str(row["id"]): row for row in json_rows(path, mine) or ()} for path, mine in lines.items()}
    whole = Outputs(
        systems,
        references,
        left_out,
        ids,
        gains={path: np.array(gains, np.float64) for path, gains in _told("gain", rows, ids)},
        groups=dict(_told("group", rows, ids)),
        covered={path: len(ids) - len(_not_chosen(mine) | _abstained(mine)) for path, mine in rows.items()},
    )
    found = _answered(whole, rows)
    if not found.scored:
        none = "no segment is answered by all systems" if found.abstained else "nothing was chosen for any segment"
        raise FormatError(named, None, f"there is no output to score: {none}")
    if not found.abstained:
        return found
    return replace(found, alone={path: _answered(whole, {path: mine}) for path, mine in rows.items()})


def _answered(whole: Outputs, rows: dict[str, Rows]) -> Outputs:
    """The systems of some files on the segments for which one of them chose anything and that all of them answer."""
    nothing = set.intersection(*map(_not_chosen, rows.values()))
    abstained = set[str]().union(*map(_abstained, rows.values())) - nothing
    ids = _ids(whole)
    kept = [i for i, name in enumerate(ids) if name not in nothing | abstained]
    return Outputs(
        {path: [whole.systems[path][i] for i in kept] for path in rows},
        [whole.references[i] for i in kept] if whole.references else (),
        whole.left_out + len(nothing),
        [ids[i] for i in kept],
        abstained=len(abstained),
        gains={path: gains[kept] for path, gains in whole.gains.items() if path in rows},
        groups={path: [groups[i] for i in kept] for path, groups in whole.groups.items() if path in rows},
        covered={path: whole.covered[path] for path in rows},
    )


Rows = dict[str, dict[str, Any]]
"""Of JSON lines, by id."""


def _not_chosen(rows: Rows) -> set[str]:
    return {name for name, row in rows.items() if "index" in row and row["index"] is None}


def _abstained(rows: Rows) -> set[str]:
    return {name for name, row in rows.items() if row.get("abstained") is True}


def _told(key: str, files: dict[str, Rows], ids: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
    """What the lines of files say under a key, in the order of the ids; of files where all lines do."""
    for path, rows in files.items():
        lacking = [
            line for line, row in enumerate(rows.values(), 1) if key not in row and row.get("index", 0) is not None
        ]
        if lacking and any(key in row for row in rows.values()):
            raise FormatError(path, lacking[0], f'there is no "{key}" here, while other lines have one')
        if any(key in row for row in rows.values()):
            yield path, [rows[name].get(key) for name in ids]


def own_gains(path: str, outputs: Outputs) -> Floats:
    """[N] the gains that an output carries; a `FormatError` where it does not, or nothing is chosen of a segment."""
    if path not in outputs.gains:
        other = next(iter(outputs.gains))
        raise FormatError(path, None, f"carries no gains, while {other} does; write both with nbest rerank --json")
    missing = np.isnan(outputs.gains[path])
    if missing.any():
        name = _ids(outputs)[int(np.argmax(missing))]
        raise FormatError(path, None, f"nothing is chosen for segment {name!r}, so that it has no gain")
    return outputs.gains[path]


def _ids(outputs: Outputs) -> Sequence[str]:
    return list(map(str, range(outputs.ids))) if isinstance(outputs.ids, int) else outputs.ids


def groups_of(outputs: Outputs) -> list[str] | None:
    """The group of each segment where outputs carry them; where several do, they must say the same."""
    first, known = next(iter(outputs.groups.items()), ("", None))
    for path, groups in outputs.groups.items():
        at = next((at for at, group in enumerate(groups) if known and group != known[at]), None)
        if known and at is not None:
            what = f"segment {_ids(outputs)[at]!r} is of group {shown(groups[at])}, in {first} of {shown(known[at])}"
            raise FormatError(path, None, f"{what}; --groups FILE says what holds")
    return known


def read_output_scores(path: str, outputs: Outputs, column: str | None = None) -> Floats:
    """[N] the score of each output: by the id of its segment where the file has ids, else one for each, in order."""
    table = read_scores(path, None if column is None else [column])
    if len(table.names) > 1:
        raise FormatError(path, None, f"several columns of numbers; say which (--column): {', '.join(table.names)}")
    ids = _ids(outputs)
    values = table.values[:, 0]
    empty = np.isnan(values)
    if empty.any():
        table.complain(int(np.argmax(empty)), f"{table.names[0]!r} is empty; every output needs a score")
    if table.ids is None:
        table.refuse_ids(ids)
        if len(values) != len(ids):
            raise FormatError(path, None, f"expected a score for each of {len(ids)} outputs, got {len(values)}")
        return values
    rows: dict[str, int] = {}
    for row, name in enumerate(table.ids):
        if rows.setdefault(name, row) != row:
            table.complain(row, f"segment {name!r} is there twice; expected one score an output{_JOIN}")
    missing = next((name for name in ids if name not in rows), None)
    if missing is not None:
        raise FormatError(path, None, f"there is no score for segment {missing!r}")
    return values[[rows[name] for name in ids]]


def _by_line(lines: dict[str, list[str]], given: Sequence[tuple[str | Path, list[str]]]) -> Outputs:
    (first, size), *others = [(path, len(mine)) for path, mine in lines.items()]
    for path, other in others:
        if other != size:
            raise FormatError(path, None, f"has {other} lines while {first} has {size}")
    references, left_out = align_lines(given, size) if given else ((), 0)
    return Outputs(lines, references, left_out, size, covered=dict.fromkeys(lines, size))


def _texts(path: str, lines: list[str], given: Sequence[tuple[str | Path, list[str]]]) -> dict[str, str] | None:
    """Texts by id where lines carry ids: for sure, or before a blank where references have the same; else None."""
    own = own_ids(path, lines)
    if own is not None:
        return own
    ids = ids_before_blanks(without_blank_end(lines))
    if ids is None or not given:
        return None
    texts = texts_after_blanks(without_blank_end(lines))
    for ref, whole in given:
        mine = without_blank_end(whole)
        theirs = own_ids(ref, mine) or texts_after_blanks(mine) or {}
        if theirs.keys() == set(ids):
            return texts
    raise FormatError(
        path,
        None,
        f"lines look like 'id text' with the ids {shown(ids[0])}, ..., which the references do not have; "
        "write them as 'id<TAB>text'; if these are words, write 'number<TAB>text', from 0",
    )


def _in_order(path: str, lines: list[str], texts: dict[str, str] | None, named: str, ids: list[str]) -> list[str]:
    """The texts of a system in the order of the ids of the first system that has ids."""
    if texts is None:
        if whole_numbers(ids) != list(range(len(lines))):
            what = f"has {len(lines)} lines without ids while {named} has {len(ids)} with ids"
            raise FormatError(path, None, f"{what} ({shown(ids[0])}, ...); write both with nbest rerank --ids")
        return lines
    odd = next(iter(sorted(texts.keys() ^ set(ids))), None)
    if odd is not None:
        has, lacks = (path, named) if odd in texts else (named, path)
        raise FormatError(lacks, None, f"has no output for segment {odd!r}, which {has} has")
    return [texts[name] for name in ids]
