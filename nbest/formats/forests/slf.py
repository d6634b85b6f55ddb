"""HTK's standard lattice format (SLF), one lattice a file; also what PocketSphinx and SRILM write.

    VERSION=1.0
    base=10 start=0 end=2
    N=3 L=3
    I=0 W=!NULL
    I=1 W=house
    I=2 W=!SENT_END
    J=0 S=0 E=1 a=-10.5 l=-1.5
    J=1 S=0 E=1 a=-11 l=-1.5
    J=2 S=1 E=2 a=-2 l=-0.5

A link becomes an edge from its node S to its node E, with the word of the link or else of node E. The start gets one
edge without tails. Scores become natural logarithms; scales and the penalty of the header are not applied, but are the
`own_weights` of the forests.
"""

from __future__ import annotations

import re
from pathlib import Path

from nbest.base.errors import FormatError, ParameterError
from nbest.corpus import Forests, Origin
from nbest.formats.forests.base import ForestFormat, many_objects, single_files, sniff_single
from nbest.formats.forests.builder import ForestBuilder
from nbest.formats.forests.parts import Draft
from nbest.formats.forests.slf_fast import regular_lattice
from nbest.formats.forests.slf_fields import FIELDS, Header, Lattice, Scores, fields, integer, spoken
from nbest.formats.forests.slf_writer import SUFFIXES, write_slf
from nbest.formats.lists.base import lines_of, shown

_SIZES = re.compile(rb"^(?:\w+=\S*[ \t]+)*(?:N|NODES)=[0-9]+(?=\s|$)", re.M)
_LINKS = re.compile(rb"^(?:\w+=\S*[ \t]+)*(?:L|LINKS)=[0-9]+(?=\s|$)", re.M)


@many_objects()
def read_slf(
    path: str | Path, *, data: bytes | None = None, fillers: bool = False, floor: float | None = None
) -> Forests:
    """Read a lattice, or a directory of them (`*.slf`, `*.lat`, `*.htk`).

    Features: `acoustic` (a=), `lm` (l=), `ngram` (n=), `pronunciation` (r=), `duration` (ds=), `x1`, ... as far as
    links have them, and `words`, 1 on edges with a word. `!NULL`, `!SENT_START`, `!SENT_END`, `<s>` and `</s>` are no
    words; nor are `<sil>`, `-pau-`, `[NOISE]` and `++NOISE++`, unless `fillers`. `to(3)` is the word `to`. A score of
    -inf (or a probability of 0) is an error, unless `floor` says what to put in its place.
    """
    if floor is not None and not abs(floor) < float("inf"):
        raise ParameterError(f"'floor' of slf must be a finite number, got {floor}")
    builder = ForestBuilder(path, sparse=False)
    bases: set[float] = set()
    names: dict[str, None] = {}
    for name, file, contents in single_files(path, data, SUFFIXES):
        lattice = regular_lattice(builder, file, contents, fillers) or _read(builder, file, contents, fillers, floor)
        header = lattice.header
        builder.add(name, lattice.draft, header.size("N"), lattice.root, weights=header.weights(lattice.names))
        names.update(dict.fromkeys(lattice.names))
        if header.base is not None:
            bases.add(header.base)
    return builder.build({name: Origin(log_base=min(bases)) for name in names} if bases else {})


def _read(
    builder: ForestBuilder, path: str | Path, contents: bytes, fillers: bool, floor: float | None = None
) -> Lattice:
    """Any lattice, line by line."""
    reader = _Reader(builder, path, fillers, floor)
    reader.read(lines_of(path, contents, "a lattice, with N= and L="))
    return reader.lattice()


class _Reader:
    """Reads one lattice."""

    def __init__(self, builder: ForestBuilder, path: str | Path, fillers: bool, floor: float | None) -> None:
        self.builder, self.path, self.fillers = builder, path, fillers
        self.header = Header(path)
        self.scores = Scores(path, floor)
        self.node_words: dict[int, str] = {}
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.links: set[int] = set()
        self.link_words: list[str] = []
        self.lines: list[int] = []
        self.last = 0

    def read(self, lines: list[str]) -> None:
        begun = False
        for line, text in enumerate(lines, 1):
            if not text or text[0] == "#" or text.isspace():
                continue
            self.last = line
            first = text.lstrip()[:2]
            if first == "J=":
                self._link(line, fields(self.path, line, text))
            elif first == "I=":
                self._node(line, fields(self.path, line, text))
            elif begun or text.strip() == ".":
                what = "sub-lattices are not supported" if text.strip() == "." else "expected I= or J="
                raise FormatError(self.path, line, f"{what}, got {shown(text)}")
            else:
                self.header.read(line, text)
                continue
            begun = True
        self._check_sizes()

    def _node(self, line: int, pairs: dict[str, str]) -> None:
        node = integer(self.path, line, "I", pairs["I"])
        if node in self.node_words:
            raise FormatError(self.path, line, f"node {node} is defined twice")
        for field in pairs:
            if field in ("L", "SUBLAT"):
                raise FormatError(self.path, line, "sub-lattices are not supported, and a node names one (L=)")
            if field in FIELDS:
                raise FormatError(self.path, line, f"scores of nodes are not supported, got {field}=")
        self.node_words[node] = spoken(pairs.get("W", pairs.get("WORD", "!NULL")), self.fillers)

    def _link(self, line: int, pairs: dict[str, str]) -> None:
        link = integer(self.path, line, "J", pairs["J"])
        if link in self.links:
            raise FormatError(self.path, line, f"link {link} is defined twice")
        self.links.add(link)
        start, end = pairs.get("S", pairs.get("START")), pairs.get("E", pairs.get("END"))
        if start is None or end is None:
            raise FormatError(self.path, line, "a link needs S= and E=, its two nodes")
        self.starts.append(integer(self.path, line, "S", start))
        self.ends.append(integer(self.path, line, "E", end))
        word = pairs.get("W") or pairs.get("WORD")
        self.link_words.append("" if word is None else spoken(word, self.fillers))
        self.lines.append(line)
        self.scores.read(line, pairs, self.header.factor)

    def _check_sizes(self) -> None:
        nodes, links = self.header.size("N"), self.header.size("L")
        if len(self.links) != links:
            what = f"L= announces {links} links, and there are {len(self.links)}"
            raise FormatError(self.path, self.last, f"{what}; the file may be cut short")
        if self.node_words and len(self.node_words) != nodes:
            what = f"N= announces {nodes} nodes, and there are {len(self.node_words)}"
            raise FormatError(self.path, self.last, f"{what}; the file may be cut short")
        strange = next((node for node in self.node_words if node >= nodes), None)
        if strange is not None:
            raise FormatError(self.path, self.last, f"node {strange} is defined, and N= announces {nodes}")
        if nodes > max(len(self.node_words), 2 * links + 1):
            raise FormatError(self.path, self.last, f"N= announces {nodes} nodes, and {links} links cannot join them")

    def lattice(self) -> Lattice:
        nodes = self.header.size("N")
        draft = Draft()
        words = [self._word(link) for link in range(len(self.starts))]
        table = self.scores.table([bool(word) for word in words], self.lines)
        for word, row, line in zip(words, table, self.lines, strict=True):
            self._symbols(draft, line, word, -1)
            draft.values += row
            draft.values.append(1.0 if word else 0.0)
        draft.heads += self.ends
        draft.tails += self.starts
        draft.tail_counts += [1] * len(draft.heads)
        draft.lines += self.lines
        first, last = self._terminal("start", self.ends, nodes), self._terminal("end", self.starts, nodes)
        if first is not None:
            word = self.node_words.get(first, "")
            draft.heads.append(first)
            draft.tail_counts.append(0)
            draft.lines.append(self.last)
            self._symbols(draft, self.last, word)
            draft.values += [*[0.0] * len(self.scores.names), 1.0 if word else 0.0]
        names = self.scores.names
        draft.names, draft.path = (*names, "words"), self.path
        return Lattice(self.header, names, draft, last)

    def _word(self, link: int) -> str:
        below = self.node_words.get(self.ends[link], "")
        if below and self.link_words[link]:
            what = f"the word {self.link_words[link]!r} on a link into node {self.ends[link]}, which has {below!r}"
            raise FormatError(self.path, self.lines[link], f"{what}; expected words on links or on nodes")
        return self.link_words[link] or below

    def _symbols(self, draft: Draft, line: int, word: str, *before: int) -> None:
        said = [self.builder.word(self.path, line, word)] if word else []
        draft.symbol_counts.append(len(before) + len(said))
        draft.symbols += [*before, *said]

    def _terminal(self, which: str, linked: list[int], nodes: int) -> int | None:
        """The start (or end): as the header says, or the one node without links into it (out of it)."""
        given = self.header.terminals.get(which)
        if given is not None or nodes == 0:
            if given is not None and given >= nodes:
                raise FormatError(self.path, self.header.line, f"{which}={given}, and N= announces {nodes} nodes")
            return given
        used = set(linked)
        found = [node for node in range(nodes) if node not in used]
        if len(found) == 1:
            return found[0]
        if not found:
            raise FormatError(self.path, self.last, f"no node can be the {which}; a lattice must not have cycles")
        kind, way = ("two starts", "into") if which == "start" else ("two roots", "out of")
        what = f"{kind}: no link leads {way} nodes {found[0]} and {found[1]}"
        raise FormatError(self.path, self.last, f"{what}; say which with {which}= in the header")


def _begins(head: bytes) -> bool:
    return _SIZES.search(head) is not None and _LINKS.search(head) is not None


def _sniff(path: Path, head: bytes) -> bool:
    return sniff_single(path, head, SUFFIXES, _begins)


FORMAT = ForestFormat(
    name="slf",
    read=read_slf,
    write=write_slf,
    sniff=_sniff,
    suffixes=SUFFIXES,
    summary="HTK's standard lattice format, one lattice a file",
    single=True,
    keeps=frozenset({"ids", "empty"}),
    features=("acoustic", "lm", "x1", "words"),
    example={
        "u1.slf": "# made up\nVERSION=1.0\nUTTERANCE=u1 lmscale=12.0 wdpenalty=-5\nstart=0 end=4\nN=5 L=6\n"
        "I=0 t=0.00 W=!SENT_START\nI=1 t=0.25 W=a(2) v=2\nI=2 t=0.30 W=größer\nI=3 t=0.80 W=[NOISE]\n"
        "I=4 t=1.0 W=!SENT_END\nJ=0 S=0 E=1 a=-10.5 l=-1.5 p=0.5\n"
        "J=1 S=0 E=2 a=-11 l=-2e0 p=0.5\nJ=2 S=1 E=2 a=-5.25 l=-.5\n"
        "J=3 S=2 E=3 a=-4 l=0\nJ=4 S=1 E=3 a=-3 l=0\nJ=5 S=3 E=4 a=-1.5 l=-0.25\n"
    },
)
