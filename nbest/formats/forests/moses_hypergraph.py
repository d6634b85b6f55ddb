"""Moses' search graphs as hypergraphs (`-output-search-graph-hypergraph`), one forest a file.

    # target ||| features ||| source-covered
    3 4                                         nodes and edges
    1                                           edges into node 0
    <s> |||  ||| 0
    # node 1
    2
    [0] a house  ||| LM0=-3.5 PP_1=0.5 ||| 2    words, with [n] for the words of node n
    [0] the house  ||| LM0=-4 ||| 2
    1
    [1] </s> |||  ||| 2

Nodes come children first and the last one is the root. A feature that an edge does not have is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nbest.base.errors import FormatError
from nbest.corpus import Forests
from nbest.formats.forests.base import (
    ForestFormat,
    edge_rows,
    named_tails,
    need_names,
    need_vocabulary,
    single_files,
    sniff_single,
    sparse_values,
    write_single,
)
from nbest.formats.forests.builder import ForestBuilder
from nbest.formats.forests.parts import Draft
from nbest.formats.lists.base import lines_of, number, shown

_FIRST = "# target ||| features ||| source-covered"
_MARKS = ("<s>", "</s>")
_SUFFIXES = (".hypergraph",)


def read_moses_hypergraph(
    path: str | Path,
    *,
    data: bytes | None = None,
    marks: bool = False,
    features: Sequence[str] | None = None,
) -> Forests:
    """Read a hypergraph, or a directory of them (`0`, `1.gz`, ...).

    `<s>` and `</s>` are no words, unless `marks`. `features` names those to keep.
    """
    builder = ForestBuilder(path, sparse=True, only=features)
    for name, file, contents in single_files(path, data, _SUFFIXES, numbered=True):
        _HypergraphReader(builder, file, lines_of(file, contents, f"'{_FIRST}'"), marks).read(name)
    return builder.build()


class _HypergraphReader:
    """Reads one file line by line."""

    def __init__(self, builder: ForestBuilder, path: str | Path, lines: list[str], marks: bool) -> None:
        self.builder, self.path, self.lines, self.at = builder, path, lines, 0
        self.left_out = () if marks else _MARKS
        self.draft = Draft(path=self.path)

    def read(self, name: str) -> None:
        if self.lines[0].strip() != _FIRST:
            raise FormatError(self.path, 1, f"expected '{_FIRST}', got {shown(self.lines[0])}")
        self.at = 1
        nodes, edges = self._counts("the numbers of nodes and of edges", 2)
        for node in range(nodes):
            for _ in range(self._counts("the number of edges into a node", 1)[0]):
                self._edge(node, self._next("an edge"))
        while self.at < len(self.lines) and self.lines[self.at].startswith("#"):
            self.at += 1
        if self.at < len(self.lines):
            raise FormatError(self.path, self.at + 1, f"more text after the last of {nodes} nodes")
        if len(self.draft.heads) != edges:
            got = len(self.draft.heads)
            raise FormatError(self.path, len(self.lines), f"{edges} edges are announced, and there are {got}")
        self.builder.add(name, self.draft, nodes, nodes - 1 if nodes else None)

    def _next(self, expected: str) -> str:
        if self.at == len(self.lines):
            raise FormatError(self.path, self.at, f"the file ends here; expected {expected}")
        self.at += 1
        return self.lines[self.at - 1]

    def _counts(self, expected: str, size: int) -> list[int]:
        text = self._next(expected)
        while text.startswith("#"):  # comments stand between nodes, not between edges
            text = self._next(expected)
        tokens = text.split()
        if len(tokens) != size or not all(token.isascii() and token.isdigit() and len(token) < 10 for token in tokens):
            raise FormatError(self.path, self.at, f"expected {expected}, got {shown(text)}")
        return [int(token) for token in tokens]

    def _edge(self, node: int, text: str) -> None:
        fields = text.split("|||")
        if len(fields) != 3:
            what = f"expected 'target ||| features ||| source-covered', got {len(fields)} fields"
            raise FormatError(self.path, self.at, what)
        covered = fields[2].strip()
        if not (covered.isascii() and covered.isdigit()):
            what = f"the number of covered source words must be a whole number, got {shown(covered)}"
            raise FormatError(self.path, self.at, what)
        self._target(node, fields[0].split())
        self._features(fields[1].split())
        self.draft.heads.append(node)
        self.draft.lines.append(self.at)

    def _target(self, node: int, tokens: list[str]) -> None:
        draft, vocabulary, arity = self.draft, self.builder.vocabulary, 0
        before = len(draft.symbols)
        for token in tokens:
            if token[0] == "[" and token[-1] == "]":
                child = token[1:-1]
                if not (child.isascii() and child.isdigit() and len(child) < 10 and int(child) < node):
                    what = f"{shown(token)} must be the number of a node before this one, {node}, in brackets"
                    raise FormatError(self.path, self.at, what)
                draft.tails.append(int(child))
                arity += 1
                draft.symbols.append(-arity)
            elif token not in self.left_out:
                known = vocabulary.get(token)
                draft.symbols.append(self.builder.word(self.path, self.at, token) if known is None else known)
        draft.tail_counts.append(arity)
        draft.symbol_counts.append(len(draft.symbols) - before)

    def _features(self, tokens: list[str]) -> None:
        draft, row = self.draft, len(self.draft.heads)
        seen = set()
        for token in tokens:
            name, _, value = token.rpartition("=")
            if not name or name in seen:
                what = f"feature {name!r} is named twice" if name else f"expected name=value, got {shown(token)}"
                raise FormatError(self.path, self.at, what)
            seen.add(name)
            column = self.builder.column(name)
            parsed = number(self.path, self.at, f"feature {name!r}", value)
            if column >= 0:
                draft.rows.append(row)
                draft.columns.append(column)
                draft.values.append(parsed)


def write_moses_hypergraph(forests: Forests, path: str | Path) -> None:
    """Write hypergraphs, one a file. Numbers of covered source words are not known and written as 0.

    Tails come in the order in which the words name them. Not kept: references and sources. The words `<s>` and `</s>`
    need `marks=True` to be read again.
    """
    offsets, symbols = named_tails(forests, "moses-hypergraph")
    need_vocabulary(forests, "moses-hypergraph", _is_no_word)
    need_names(forests, "moses-hypergraph", "|||")

    def render(i: int) -> str:
        low, high = int(forests.node_offsets[i]), int(forests.node_offsets[i + 1])
        into: list[list[str]] = [[] for _ in range(high - low)]
        for edge, head, tails in edge_rows(forests, i):
            words = [
                forests.vocabulary[symbol] if symbol >= 0 else f"[{tails[-1 - symbol]}]"
                for symbol in symbols[offsets[edge] : offsets[edge + 1]].tolist()
            ]
            values = " ".join(f"{name}={value!r}" for name, value in sparse_values(forests, edge).items())
            into[head].append(f"{' '.join(words)} ||| {values} ||| 0")
        lines = [_FIRST, f"{len(into)} {sum(map(len, into))}"]
        for node, edges in enumerate(into):
            lines += [f"# node {node}", str(len(edges)), *edges]
        return "\n".join(lines) + "\n"

    write_single(forests, path, "moses-hypergraph", _SUFFIXES[0], render, numbered=True)


def _is_no_word(word: str) -> bool:
    return "|||" in word or (word[0] == "[" and word[-1] == "]")


def _begins(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").startswith(_FIRST.encode())


def _sniff(path: Path, head: bytes) -> bool:
    return sniff_single(path, head, _SUFFIXES, _begins, numbered=True)


FORMAT = ForestFormat(
    name="moses-hypergraph",
    read=read_moses_hypergraph,
    write=write_moses_hypergraph,
    sniff=_sniff,
    suffixes=_SUFFIXES,
    summary="Moses' search graph as a hypergraph, one a file",
    single=True,
    keeps=frozenset({"ids", "hypergraphs", "features", "empty"}),
    example={
        "7.hypergraph": f"{_FIRST}\n4 6\n# node 0\n1\n<s> |||  ||| 0\n# node 1\n2\n"
        "[0] ein  ||| PP_1=0.5 LM0=-1.25 ||| 1\n[0] größer als  ||| LM0=-2e0 a=b=1 ||| 1\n# node 2\n2\n"
        "[1] Haus  ||| LM0=-0.5 ||| 2\n[1] [1]  ||| LM0=-3 ||| 2\n# node 3\n1\n[2] </s> |||  ||| 2\n"
    },
)
