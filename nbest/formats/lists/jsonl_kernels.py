"""Kernels that parse regular JSON lines (`jsonl_fast.py`)."""

from __future__ import annotations

from nbest.compute.compilation import kernel
from nbest.formats.lists.moses_fast import read_number

KEYS = ("id", "source", "references", "hypotheses", "group", "doc")
ID, SOURCE, REFERENCES, HYPOTHESES, GROUP, DOC = range(6)
PARTS = ("text", "features", "score", "answer", "system")
TEXT, FEATURES, SCORE, ANSWER, SYSTEM = range(5)
FIRST_PART = len(KEYS)
"""Where the words of parts begin, after those of keys."""


@kernel
def _after(buffer, at, end):
    """The next place that is no white space."""
    while at < end and (buffer[at] == 32 or buffer[at] == 9 or buffer[at] == 13):
        at += 1
    return at


@kernel
def _expect(buffer, at, end, byte):
    """The place after this byte, which stands next but for white space; -1 where it does not."""
    at = _after(buffer, at, end)
    return at + 1 if at < end and buffer[at] == byte else -1


@kernel
def _match(buffer, at, end, words, low, high):
    """The place after these words and a colon; -1 where something else stands there."""
    at = _after(buffer, at, end)
    if at + (high - low) > end:
        return -1
    for k in range(high - low):
        if buffer[at + k] != words[low + k]:
            return -1
    return _expect(buffer, at + (high - low), end, 58)


@kernel
def _string(buffer, at, end):
    """Of a string that stands next: where it begins and ends, without quotes, and 2 where it has escapes, else 1;
    -1 where there is none."""
    at = _after(buffer, at, end)
    if at >= end or buffer[at] != 34:
        return -1, -1, 0
    begin = at + 1
    kind = 1
    at = begin
    while at < end and buffer[at] != 34:
        if buffer[at] < 32:
            return -1, -1, 0
        if buffer[at] == 92:
            kind = 2
            at += 1
        at += 1
    return (begin, at, kind) if at < end else (-1, -1, 0)


@kernel
def _json_number(buffer, at, end, powers):
    """As `read_number`, of numbers as JSON writes them: no +, digits on both sides of a point, no zeros in front."""
    first = at + 1 if at < end and buffer[at] == 45 else at
    if first >= end or not 48 <= buffer[first] <= 57:
        return -1, 0.0, True
    if buffer[first] == 48 and first + 1 < end and 48 <= buffer[first + 1] <= 57:
        return -1, 0.0, True
    stop, value, exact = read_number(buffer, at, end, powers)
    whole = True
    for k in range(first, stop):
        if buffer[k] == 46 and not (k + 1 < stop and 48 <= buffer[k + 1] <= 57):
            return -1, 0.0, True
        if buffer[k] == 46 or buffer[k] == 101 or buffer[k] == 69:
            whole = False
    if whole and exact and value == 0.0:  # -0 is a whole number, and these have no sign of zero
        value = 0.0
    return stop, value, exact


@kernel
def _value(buffer, at, end, powers, features, hard, h, d):
    """A number of a hypothesis, which goes to column d; the place after it, -1 where there is none."""
    begin = _after(buffer, at, end)
    at, value, exact = _json_number(buffer, begin, end, powers)
    if at >= 0 and h < len(features):
        features[h, d] = value
        hard[h, d] = 0 if exact else begin + 1
    return at


@kernel
def _text(buffer, at, end, into, row):
    """A string, and where it is; the place after it, -1 where there is none."""
    begin, stop, kind = _string(buffer, at, end)
    if row < len(into):
        into[row, 0], into[row, 1], into[row, 2] = begin, stop, kind
    return stop + 1 if stop >= 0 else -1


@kernel
def _row(buffer, at, end, plan, features, hard, h):
    """The features of a hypothesis, an object; the place after it, -1 where it is not regular."""
    at = _expect(buffer, at, end, 123)
    for d in range(len(plan.bounds) - 1):
        if at >= 0 and d > 0:
            at = _expect(buffer, at, end, 44)
        if at < 0:
            return -1
        at = _match(buffer, at, end, plan.names, low=plan.bounds[d], high=plan.bounds[d + 1])
        if at < 0:
            return -1
        at = _value(buffer, at, end, plan.powers, features, hard=hard, h=h, d=d)
        if at < 0:
            return -1
    return _expect(buffer, at, end, 125) if at >= 0 else -1


@kernel
def _hypothesis(buffer, at, end, plan, found, h):
    """The place after a hypothesis; -1 where it is not regular."""
    places, features, hard = found
    at = _expect(buffer, at, end, 123)
    for k in range(len(plan.parts)):
        if at >= 0 and k > 0:
            at = _expect(buffer, at, end, 44)
        if at < 0:
            return -1
        part = plan.parts[k]
        word = FIRST_PART + part
        at = _match(buffer, at, end, plan.words, low=plan.word_bounds[word], high=plan.word_bounds[word + 1])
        if at < 0:
            return -1
        if part == FEATURES:
            at = _row(buffer, at, end, plan, features, hard=hard, h=h)
        elif part == SCORE:
            at = _value(buffer, at, end, plan.powers, features, hard=hard, h=h, d=features.shape[1] - 1)
        elif part == SYSTEM:
            at = _text(buffer, at, end, places.systems, h)
        else:
            at = _text(buffer, at, end, places.texts if part == TEXT else places.answers, h)
    return _expect(buffer, at, end, 125) if at >= 0 else -1


@kernel
def _many(buffer, at, end, plan, found, first, rows):
    """An array of hypotheses (`rows`), or of references: the place after it and how many there are; -1 if irregular."""
    places = found[0]
    at = _expect(buffer, at, end, 91)
    if at < 0:
        return -1, 0
    empty = _expect(buffer, at, end, 93)
    if empty >= 0:
        return empty, 0
    count = 0
    while True:
        if rows:
            at = _hypothesis(buffer, at, end, plan, found, h=first + count)
            if at < 0:
                return -1, 0
        else:
            begin, stop, kind = _string(buffer, at, end)
            if stop < 0:
                return -1, 0
            if first + count < len(places.references):
                row = places.references[first + count]
                row[0], row[1], row[2] = begin, stop, kind
            at = stop + 1
        count += 1
        close = _expect(buffer, at, end, 93)
        if close >= 0:
            return close, count
        at = _expect(buffer, at, end, 44)
        if at < 0:
            return -1, 0


@kernel
def _name(buffer, at, end, into, line):
    """A string, or for an id a whole number, and where it is; the place after it, -1 where it is neither."""
    begin, stop, kind = _string(buffer, at, end)
    if stop < 0:
        begin = _after(buffer, at, end)
        stop = begin
        while stop < end and 48 <= buffer[stop] <= 57 and stop - begin < 18:
            stop += 1
        if stop == begin or (buffer[begin] == 48 and stop > begin + 1):
            return -1
        kind = 0
    if line < len(into):
        into[line, 0], into[line, 1], into[line, 2] = begin, stop, kind
    return stop if kind == 0 else stop + 1


@kernel
def _segment(buffer, at, end, plan, found, line, first, counts):
    """One line; whether it is regular. `first`: the places of its hypotheses and references."""
    places = found[0]
    at = _expect(buffer, at, end, 123)
    for k in range(len(plan.keys)):
        if at >= 0 and k > 0:
            at = _expect(buffer, at, end, 44)
        if at < 0:
            return False
        word = plan.keys[k]
        at = _match(buffer, at, end, plan.words, low=plan.word_bounds[word], high=plan.word_bounds[word + 1])
        if at < 0:
            return False
        if word == HYPOTHESES:
            at, counts[0] = _many(buffer, at, end, plan, found, first=first[0], rows=True)
        elif word == REFERENCES:
            at, counts[1] = _many(buffer, at, end, plan, found, first=first[1], rows=False)
        elif word == SOURCE:
            at = _text(buffer, at, end, places.sources, line)
        else:
            at = _name(buffer, at, end, places.ids if word == ID else places.groups, line)
    at = _expect(buffer, at, end, 125) if at >= 0 else -1
    return at >= 0 and _after(buffer, at, end) == end


@kernel
def parse_lines(low, high, lines, plan, found, counts, firsts, failed):
    """Lines low:high: how many hypotheses and references they have, or with room for them what they are."""
    buffer, starts, ends = lines
    for line in range(low, high):
        if not _segment(
            buffer, starts[line], ends[line], plan, found, line=line, first=firsts[line], counts=counts[line]
        ):
            failed[line] = True
            return
