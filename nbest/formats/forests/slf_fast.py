"""Nodes and links of regular lattices in HTK's format, parsed from bytes by a kernel.

Regular means: numbers that are plain decimals, words in `W=` that may be quoted or have escapes while nothing else has,
logarithms, and nothing to complain of. For anything else there is no answer here, and the reader in `slf.py`, which is
the judge, takes over; the drafts that `regular_lattice` does return are bit for bit those of that reader.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.corpus.text_kernels import space_width
from nbest.corpus.texts import Texts
from nbest.corpus.words import intern
from nbest.formats.forests.builder import ForestBuilder
from nbest.formats.forests.parts import Draft
from nbest.formats.forests.slf_fields import FIELDS, Header, Lattice, spoken, unquoted
from nbest.formats.lists.moses_fast import POWERS, read_number

_FEATURES = tuple(dict.fromkeys(FIELDS.values()))
_OTHER, _START, _END, _WORD, _SUBLATTICE, _SCORE = 0, 1, 2, 3, 4, 5  # kinds of fields; of the first score, and so on
_KINDS = {"S": _START, "START": _START, "E": _END, "END": _END, "W": _WORD, "WORD": _WORD}
_KINDS |= {"L": _SUBLATTICE, "SUBLAT": _SUBLATTICE}
_KINDS |= {field: _SCORE + _FEATURES.index(feature) for field, feature in FIELDS.items()}
_MOST_FIELDS = 64  # of a line
_LONGEST = 8  # bytes of a name
_ODD, _TOO_WIDE = -1, -2
_FEED, _COMMENT, _EQUALS, _NODE, _LINK, _ESCAPE = map(ord, "\n#=IJ\\")
_NUMBER, _FROM, _TO, _BEGIN, _STOP, _LINE = range(6)  # columns of links; nodes have no _FROM and _TO


def _key(name: str) -> int:
    """The letters of a name as one number."""
    return int.from_bytes(name.encode(), "big")


def _names() -> tuple[Any, ...]:
    """Kinds of fields of one letter, by letter; keys and kinds of the others."""
    letters = np.zeros(256, np.int64)
    for name, kind in _KINDS.items():
        if len(name) == 1:
            letters[ord(name)] = kind
    long = {_key(name): kind for name, kind in _KINDS.items() if len(name) > 1}
    return letters, np.array(list(long)), np.array(list(long.values()))


_NAMES = _names()


def regular_lattice(builder: ForestBuilder, path: str | Path, data: bytes, fillers: bool) -> Lattice | None:
    """The lattice of a file, or None where it is not regular."""
    try:
        data.decode()
        header, at, line = _header(path, data)
        header.size("N"), header.size("L")
    except (FormatError, UnicodeDecodeError):
        return None
    if not header.factor:  # probabilities
        return None
    body = _Body(header, np.frombuffer(data, np.uint8), data)
    if not body.parse(at, line) or not body.fits():
        return None
    words = body.words(fillers)
    first, last = body.terminal("start", body.links[:, _TO]), body.terminal("end", body.links[:, _FROM])
    if words is None or first < 0 or last < 0:
        return None
    table = body.table(words[0] >= 0)
    return None if table is None else _lattice(builder, path, body, table, words=words, ends=(first, last))


def _header(path: str | Path, data: bytes) -> tuple[Header, int, int]:
    """The header, where the line after it begins, and the number of that line."""
    header, at, line = Header(path), 0, 1
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        text = data[at:end].decode().removesuffix("\r")
        if text.lstrip()[:2] in ("I=", "J="):
            break
        if text.strip() == "." or text.startswith("\ufeff"):
            raise FormatError(path, line, "not regular")
        if text and text[0] != "#" and not text.isspace():
            header.read(line, text)
        at, line = end + 1, line + 1
    return header, at, line


class _Body:
    """Nodes and links as they are parsed."""

    def __init__(self, header: Header, buffer: Any, data: bytes) -> None:
        self.header, self.buffer, self.data = header, buffer, data

    def parse(self, at: int, line: int) -> bool:
        """Whether all lines from a place on are regular; then their fields are known."""
        rows = self.data.count(b"\n", at) + 1
        for width in (8, len(_FEATURES)):
            nodes, links = np.empty((rows, 6), np.int64), np.empty((rows, 6), np.int64)
            scores, hard = np.empty((rows, width)), np.empty((rows * width, 3), np.int64)
            columns = np.full(len(_FEATURES), -1)
            found = nodes, links, columns, scores, hard
            counts = _parse(self.buffer, (at, line), (_NAMES, POWERS), found)
            if counts[0] != _TOO_WIDE:
                break
        node_count, link_count, width, hard_count, self.last = counts
        if node_count < 0:
            return False
        self.nodes, self.links, self.scores = nodes[:node_count], links[:link_count], scores[:link_count, :width]
        self.names = [_FEATURES[feature] for feature in np.argsort(columns)[len(columns) - width :].tolist()]
        for place, begin, end in hard[:hard_count].tolist():
            self.scores[divmod(place, scores.shape[1])] = float(self.data[begin:end])
        return True

    def fits(self) -> bool:
        """Whether there are as many nodes and links as announced, each once, and links join these nodes."""
        size, links = self.header.size("N"), self.links
        numbers = self.nodes[:, _NUMBER]
        if len(links) != self.header.size("L") or len(links) == 0 or len(numbers) not in (0, size):
            return False
        if not _distinct(numbers) or not _distinct(links[:, _NUMBER]) or (len(numbers) and int(numbers.max()) >= size):
            return False
        return size <= max(len(numbers), 2 * len(links) + 1) and int(links[:, _FROM : _TO + 1].max()) < size

    def words(self, fillers: bool) -> tuple[Ints, Ints, list[str]] | None:
        """The word of each link and of each node, numbers into a list, -1 for none; None where both ends of a link
        have one, or one cannot be read."""
        ends = np.concatenate([self.nodes[:, _BEGIN : _STOP + 1], self.links[:, _BEGIN : _STOP + 1]])
        (found,), vocabulary = intern(Texts(self.buffer, ends[:, 0], ends[:, 1]))
        try:
            said = [_said(word, fillers) for word in vocabulary]
        except FormatError:
            return None
        known: dict[str, int] = {}
        numbers = np.array([known.setdefault(word, len(known)) if word else -1 for word in said], np.int64)
        rows = np.full(len(ends), -1)
        rows[np.diff(found.offsets) > 0] = numbers[found.ids]
        of_nodes = np.full(self.header.size("N"), -1)
        of_nodes[self.nodes[:, _NUMBER]] = rows[: len(self.nodes)]
        own, below = rows[len(self.nodes) :], of_nodes[self.links[:, _TO]]
        if ((own >= 0) & (below >= 0)).any():
            return None
        return np.maximum(own, below), of_nodes, list(known)

    def table(self, worded: Any) -> Floats | None:
        """The features of each link; those without any score and word have zeros, others that lack one are odd."""
        values = np.concatenate([self.scores * self.header.factor, worded[:, None]], axis=1)
        missing = np.isnan(self.scores)
        if missing.any():
            empty = missing.all(axis=1)
            if missing[~empty].any() or worded[empty].any():
                return None
            values[empty] = 0.0
        return values if np.isfinite(values).all() else None

    def terminal(self, which: str, linked: Ints) -> int:
        """The start or the end, -1 where it is not clear."""
        size = self.header.size("N")
        given = self.header.terminals.get(which)
        if given is not None:
            return given if given < size else -1
        found = np.flatnonzero(np.bincount(linked, minlength=size) == 0)
        return int(found[0]) if len(found) == 1 else -1


@lru_cache(maxsize=2**16)
def _said(value: str, fillers: bool) -> str:
    """The word of a field, as the judge has it."""
    return spoken(unquoted("", None, value), fillers)


def _distinct(numbers: Ints) -> bool:
    return bool((np.diff(numbers) > 0).all()) or len(np.unique(numbers)) == len(numbers)


def _lattice(  # type: ignore[no-untyped-def]
    builder: ForestBuilder, path: str | Path, body: _Body, table: Floats, words, ends: tuple[int, int]
) -> Lattice:
    (of_links, of_nodes, known), (first, root) = words, ends
    of_edges = np.append(of_links, of_nodes[first])
    lines = np.append(body.links[:, _LINE], body.last)
    places = np.full(len(known) + 1, len(of_edges))  # of the first edge of each word, and of edges without
    places[of_edges[::-1]] = np.arange(len(of_edges))[::-1]
    order = np.argsort(places[:-1], kind="stable")
    order = order[places[order] < len(of_edges)]
    numbers = np.full(len(known), -1)
    texts = [known[word] for word in order.tolist()]
    for text, place in zip(texts, places[order].tolist(), strict=True):
        if text not in builder.vocabulary:
            builder.word(path, int(lines[place]), text)
    numbers[order] = [builder.vocabulary[text] for text in texts]
    tail_counts = np.ones(len(of_edges), np.int64)
    tail_counts[-1] = 0
    symbol_counts = tail_counts + (of_edges >= 0)
    symbols = np.full(int(symbol_counts.sum()), -1)
    symbols[np.cumsum(symbol_counts)[of_edges >= 0] - 1] = numbers[of_edges[of_edges >= 0]]
    own = np.zeros((1, table.shape[1]))
    own[0, -1] = of_edges[-1] >= 0
    draft = Draft(
        heads=np.append(body.links[:, _TO], first),
        tail_counts=tail_counts,
        tails=body.links[:, _FROM],
        symbol_counts=symbol_counts,
        symbols=symbols,
        lines=lines,
        values=np.concatenate([table, own]).ravel(),
        names=(*body.names, "words"),
        path=path,
    )
    return Lattice(body.header, body.names, draft, root)


# kernels ---------------------------------------------------------------------------------------------------------


@kernel
def _kind(key, names):
    """The kind of the field of this name."""
    letters, long, kinds = names
    if key < 128:
        return letters[key]
    for name in range(len(long)):
        if long[name] == key:
            return kinds[name]
    return _OTHER


@kernel
def _whole(buffer, begin, end):
    """A whole number of less than ten digits, or -1."""
    if begin == end or end - begin > 9:
        return -1
    value = 0
    for at in range(begin, end):
        if not 48 <= buffer[at] <= 57:
            return -1
        value = 10 * value + np.int64(buffer[at] - 48)
    return value


@kernel
def _split(buffer, at, tokens):
    """The fields of the line from `at`: keys of their names, where values begin and end, whether those are quoted.

    How many there are, -1 where one is odd; and where the line ends.
    """
    count = 0
    while at < len(buffer) and buffer[at] != _FEED:
        width = space_width(buffer, at, len(buffer))
        if width:
            at += width
            continue
        begin, key = at, np.int64(0)
        while at < len(buffer) and 32 < buffer[at] < 128 and buffer[at] != _EQUALS and at - begin <= _LONGEST:
            key = key << 8 | np.int64(buffer[at])
            at += 1
        if at == len(buffer) or buffer[at] != _EQUALS or not 0 < at - begin <= _LONGEST or count == len(tokens):
            return -1, at
        at += 1
        begin, escaped = at, False
        while at < len(buffer) and (33 <= buffer[at] < 0xC2 or not space_width(buffer, at, len(buffer))):
            escaped = escaped or buffer[at] == _ESCAPE
            at += 1
        first = buffer[begin] if at - begin > 1 else np.uint8(0)
        quoted = escaped or ((first == 34 or first == 39) and buffer[at - 1] == first)
        tokens[count, 0], tokens[count, 1], tokens[count, 2], tokens[count, 3] = key, begin, at, quoted
        count += 1
    return count, at


@kernel
def _fields(buffer, tokens, count, rules, row, found):
    """Put the fields of a line into a row, and scores where they belong; whether all is regular."""
    names, powers = rules
    node, at, columns, scores, hard, used = found  # used: columns, hard numbers
    width = scores.shape[1]
    for k in range(count):
        for before in range(k):
            if tokens[before, 0] == tokens[k, 0]:
                return False
        kind = _kind(tokens[k, 0], names)
        begin, end = tokens[k, 1], tokens[k, 2]
        if kind == _WORD:
            if row[_STOP] >= 0:
                return False
            row[_BEGIN], row[_STOP] = begin, end
        elif tokens[k, 3] or (node and (kind == _SUBLATTICE or kind >= _SCORE)):
            return False
        elif node:
            continue
        elif kind == _START or kind == _END:  # noqa: SIM109 - compiles to less
            place = _FROM if kind == _START else _TO
            if row[place] >= 0:
                return False
            row[place] = _whole(buffer, begin, end)
            if row[place] < 0:
                return False
        elif kind >= _SCORE:
            column = columns[kind - _SCORE]
            if column < 0:
                if used[0] == width:
                    return False
                column = columns[kind - _SCORE] = used[0]
                used[0] += 1
            stop, value, exact = read_number(buffer, begin, end, powers)
            if stop != end or not np.isnan(scores[at, column]):
                return False
            scores[at, column] = value
            if not exact:
                hard[used[1], 0], hard[used[1], 1], hard[used[1], 2] = at * width + column, begin, end
                used[1] += 1
    if row[_STOP] < 0:
        row[_BEGIN] = row[_STOP] = 0
    return node or (row[_FROM] >= 0 and row[_TO] >= 0)


@kernel
def _parse(buffer, place, rules, found):
    """How many nodes, links, columns and hard numbers there are, and the last line; `_ODD` where a line is not regular,
    `_TOO_WIDE` where it may be that there are more columns than expected."""
    nodes, links, columns, scores, hard = found
    at, line = place
    tokens = np.empty((_MOST_FIELDS, 4), np.int64)
    used = np.zeros(2, np.int64)
    node_count, link_count, last = 0, 0, line - 1
    while at < len(buffer):
        count = 0
        if buffer[at] == _COMMENT:
            while at < len(buffer) and buffer[at] != _FEED:
                at += 1
        else:
            count, at = _split(buffer, at, tokens)
        at += 1
        line += 1
        if count == 0:
            continue
        last = line - 1
        node = tokens[0, 0] == _NODE
        if count < 0 or not (node or tokens[0, 0] == _LINK):
            return _ODD, 0, 0, 0, 0
        row = nodes[node_count] if node else links[link_count]
        for k in range(len(row)):
            row[k] = -1
        row[_NUMBER] = _whole(buffer, tokens[0, 1], tokens[0, 2])
        row[_LINE] = last
        if not node:
            for k in range(scores.shape[1]):
                scores[link_count, k] = np.nan
        target = node, link_count, columns, scores, hard, used
        if row[_NUMBER] < 0 or not _fields(buffer, tokens, count, rules, row, found=target):
            return _TOO_WIDE if used[0] == scores.shape[1] else _ODD, 0, 0, 0, 0
        if node:
            node_count += 1
        else:
            link_count += 1
    return node_count, link_count, used[0], used[1], last
