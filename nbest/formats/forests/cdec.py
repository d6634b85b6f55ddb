"""cdec's JSON forests, one a file.

    {"rules": [1, "[X] ||| Haus ||| house", 2, "[X] ||| ein [X,1] ||| a [1]"], "features": ["lm", "tm"],
     "edges": [{"tail": [], "feats": [0, -1.5], "rule": 1}], "node": {"in_edges": [0], "cat": "X"},
     "edges": [{"tail": [0], "feats": [0, -0.5, "other", 1], "rule": 2}], "node": {"in_edges": [1]}}

The keys "edges" and "node" come again and again; edges are numbered through, nodes come children first, the last is the
root. `feats` are pairs of a feature, by name or by its place in "features", and a value. What an edge does not have
is 0, and so is a value of `null`; `null` for a list is the empty one. Features in the text of a rule are not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from nbest.base.errors import FormatError
from nbest.corpus import Forests
from nbest.formats.forests.base import ForestFormat, many_objects, single_files, sniff_single
from nbest.formats.forests.builder import ForestBuilder
from nbest.formats.forests.cdec_writer import SUFFIXES, write_cdec
from nbest.formats.forests.parts import Draft
from nbest.formats.json_text import RefusedError, check_unicode, refuse_constant, whole_number
from nbest.formats.lists.base import shown, text_of

_TAIL = re.compile(r"\[(?:[^\s\[\],]+,)?([0-9]{1,6})\]").fullmatch
_CATEGORY = re.compile(r"\[[^\s\[\]]+\]").fullmatch


class _Repeated(list[tuple[str, Any]]):
    """The pairs of an object that names a key more than once."""


def _object(pairs: list[tuple[str, Any]]) -> Any:
    made = dict(pairs)
    return made if len(made) == len(pairs) else _Repeated(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=whole_number, parse_constant=refuse_constant)


@many_objects()
def read_cdec(path: str | Path, *, data: bytes | None = None, features: Sequence[str] | None = None) -> Forests:
    """Read a forest, or a directory of them (`0.json.gz`, ...). `features` names those to keep."""
    builder = ForestBuilder(path, sparse=True, only=features)
    for name, file, contents in single_files(path, data, SUFFIXES):
        _CdecReader(builder, file).read(name, _pairs(file, text_of(file, contents)))
    return builder.build()


def _pairs(path: str | Path, text: str) -> list[tuple[str, Any]]:
    """Keys and values of the file, in order."""
    if not text.strip():
        raise FormatError(path, None, "the file is empty; expected a JSON object")
    try:
        found = _DECODER.decode(text)
        if "\\u" in text:
            check_unicode(path, 1, found)
    except json.JSONDecodeError as error:
        raise FormatError(path, error.lineno, f"not valid JSON: {error.msg} at column {error.colno}") from None
    except RefusedError as error:
        raise FormatError(path, None, str(error)) from None
    except RecursionError:
        raise FormatError(path, None, "JSON nested too deeply") from None
    if not isinstance(found, (dict, _Repeated)):
        raise FormatError(path, None, f"expected a JSON object, got {shown(found)}")
    return list(found.items()) if isinstance(found, dict) else found


class _CdecReader:
    """Reads one file; complaints name the edge or the node, as the whole file is mostly one line."""

    def __init__(self, builder: ForestBuilder, path: str | Path) -> None:
        self.builder, self.path = builder, path
        self.draft = Draft(path=self.path)
        self.rules: dict[int, list[int]] = {}  # symbols of each
        self.names: dict[str, int] = {}  # column of each of "features"
        self.columns: list[int] = []
        self.nodes = 0

    def fail(self, message: str) -> NoReturn:
        raise FormatError(self.path, None, message)

    def read(self, name: str, pairs: list[tuple[str, Any]]) -> None:
        readers = {"rules": self._rules, "features": self._features, "edges": self._edges, "node": self._node}
        once = set()
        for key, value in pairs:
            if key in once:
                self.fail(f"{key!r} is named twice")
            if key not in ("edges", "node"):
                once.add(key)
            if key in readers:
                readers[key](value)
            elif key != "is_sorted":
                self.fail(f"unknown key {shown(key)}; expected rules, features, edges or node")
        heads = self.draft.heads
        if -1 in heads:
            self.fail(f'edge {heads.index(-1)} is in no node; a "node" with it in "in_edges" must follow')
        if len(self.draft.symbol_counts) not in (0, len(heads)):
            self.fail("some edges have a rule and others have none")
        self.builder.add(name, self.draft, self.nodes, self.nodes - 1 if self.nodes else None)

    def _list(self, value: Any, what: str) -> list[Any]:
        if value is None:
            return []
        if type(value) is not list:
            self.fail(f"{what} must be a list, got {shown(value)}")
        return value

    def _features(self, value: Any) -> None:
        for name in self._list(value, '"features"'):
            if type(name) is not str or name in self.names:
                self.fail(f"names of features must be strings that differ, got {shown(name)}")
            self.names[name] = self.builder.column(name)
            self.columns.append(self.names[name])

    def _rules(self, value: Any) -> None:
        entries = self._list(value, '"rules"')
        if len(entries) % 2:
            self.fail('"rules" must be numbers and texts in turn, and the last has no text')
        for number, text in zip(entries[::2], entries[1::2], strict=True):
            if type(number) is not int or number in self.rules or type(text) is not str:
                self.fail(f"rules must be a number that differs and a text, got {shown(number)}, {shown(text)}")
            self.rules[number] = self._symbols(text)

    def _symbols(self, rule: str) -> list[int]:
        """The target side of the text of a rule."""
        fields = [field.split() for field in rule.split("|||")]
        if len(fields) < 3 or len(fields[0]) != 1 or not _CATEGORY(fields[0][0]):
            self.fail(f"a rule must be '[X] ||| source ||| target', got {shown(rule)}")
        symbols = []
        for token in fields[2]:
            tail = _TAIL(token)
            if tail and int(tail[1]) == 0:
                self.fail(f"tails are numbered from 1 in the target side of a rule, got {shown(rule)}")
            symbols.append(-int(tail[1]) if tail else self.builder.word(self.path, None, token))
        return symbols

    def _node(self, value: Any) -> None:
        if type(value) is not dict:
            self.fail(f"node {self.nodes} must be an object whose keys differ, got {shown(value)}")
        heads = self.draft.heads
        for edge in self._list(value.get("in_edges"), '"in_edges"'):
            if type(edge) is not int or not 0 <= edge < len(heads):
                self.fail(f"node {self.nodes} has edge {shown(edge)}, and before it come only {len(heads)} edges")
            if heads[edge] >= 0:
                self.fail(f"edge {edge} is in nodes {heads[edge]} and {self.nodes}")
            heads[edge] = self.nodes
        self.nodes += 1

    def _edges(self, value: Any) -> None:
        draft = self.draft
        for edge in self._list(value, '"edges"'):
            number = len(draft.heads)
            if type(edge) is not dict:
                self.fail(f"edge {number} must be an object whose keys differ, got {shown(edge)}")
            tails = self._list(edge.get("tail"), '"tail"')
            for tail in tails:
                if type(tail) is not int or not 0 <= tail < self.nodes:
                    self.fail(f"edge {number} has tail {shown(tail)}, and before it come only {self.nodes} nodes")
            draft.heads.append(-1)
            draft.tail_counts.append(len(tails))
            draft.tails += tails
            if edge.get("rule") is not None:
                self._rule(number, edge["rule"], len(tails))
            self._feats(number, self._list(edge.get("feats"), '"feats"'))

    def _rule(self, number: int, rule: Any, arity: int) -> None:
        if type(rule) is str:
            symbols = self._symbols(rule)
        elif type(rule) is int and rule in self.rules:
            symbols = self.rules[rule]
        else:
            self.fail(f'edge {number} has rule {shown(rule)}, which is not in "rules"')
        if symbols and -min(symbols) > arity:
            self.fail(f"edge {number} has {arity} tails, and its rule names tail {-min(symbols)}")
        self.draft.symbol_counts.append(len(symbols))
        self.draft.symbols += symbols

    def _feats(self, number: int, feats: list[Any]) -> None:
        if len(feats) % 2:
            self.fail(f"features of edge {number} must be features and values in turn, and the last has no value")
        draft, seen = self.draft, set()
        for feature, value in zip(feats[::2], feats[1::2], strict=True):
            column = self._column(number, feature)
            if type(value) not in (int, float, type(None)):
                self.fail(f"feature {shown(feature)} of edge {number} must be a finite number, got {shown(value)}")
            if column < 0 or value is None:
                continue
            if column in seen:
                self.fail(f"feature {shown(feature)} of edge {number} is named twice")
            seen.add(column)
            draft.rows.append(number)
            draft.columns.append(column)
            draft.values.append(value)

    def _column(self, number: int, feature: Any) -> int:
        if type(feature) is int and 0 <= feature < len(self.columns):
            return self.columns[feature]
        if type(feature) is not str:
            self.fail(f'edge {number} has feature {shown(feature)}, and "features" names {len(self.columns)}')
        return self.builder.column(feature)


def _begins(head: bytes) -> bool:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start.startswith(b"{") or re.search(rb'"(?:nodes|hypotheses)"\s*:', start):
        return False
    return re.search(rb'^\{\s*"rules"\s*:\s*\[\s*[0-9]+\s*,|"node"\s*:\s*\{\s*"(?:in_edges|cat)"', start) is not None


def _sniff(path: Path, head: bytes) -> bool:
    return sniff_single(path, head, SUFFIXES, _begins)


FORMAT = ForestFormat(
    name="cdec",
    read=read_cdec,
    write=write_cdec,
    sniff=_sniff,
    suffixes=SUFFIXES,
    summary="cdec's JSON forest, one a file",
    single=True,
    keeps=frozenset({"ids", "tails", "deletions", "unnamed", "hypergraphs", "features", "empty"}),
    example={
        "0.json": '{"rules":[1,"[X] ||| Haus ||| house ||| tm=-1",2,"[X] ||| ein [X,1] ||| a [1]",'
        '3,"[X] ||| [X,1] [X,2] ||| [X,2] größer [X,1]"],"features":["lm","tm","a=b"],'
        '"edges":[{"tail":[],"spans":[0,1,-1,-1],"feats":[0,-1.5,1,-2e0],"rule":1},'
        '{"tail":null,"feats":null,"rule":"[X] ||| Haus ||| home"}],"node":{"in_edges":[0,1],"cat":"X"},'
        '"edges":[{"tail":[0],"feats":[0,-0.5,"other",1],"rule":2},{"tail":[0,0],"feats":[2,null],"rule":3}],'
        '"node":{"in_edges":[2,3]}}\n'
    },
)
