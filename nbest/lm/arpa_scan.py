"""Kernels that read the lines of ARPA files."""

from __future__ import annotations

import numpy as np

from nbest.compute.compilation import kernel

SHORT, FIELDS, NUMBER, WORD = 1, 2, 3, 4
"""What is wrong with a section: too few n-grams; a line with too few or too many fields, a bad number, a new word."""
_TAB, _NEWLINE, _RETURN, _SPACE, _BACKSLASH = 9, 10, 13, 32, 92


@kernel
def _hash(buffer, start, end):
    code = np.uint64(0xCBF29CE484222325)
    for at in range(start, end):
        code = (code ^ np.uint64(buffer[at])) * np.uint64(0x100000001B3)
    return code ^ (code >> np.uint64(29))


@kernel
def lookup_table(buffer, starts, ends):
    """Open addressing: a table of places in `starts`, -1 where free, and the hash of each word."""
    size = 16
    while size < 2 * len(starts):
        size *= 2
    table = np.full(size, -1, np.int64)
    hashes = np.empty(len(starts), np.uint64)
    for word in range(len(starts)):
        hashes[word] = _hash(buffer, starts[word], ends[word])
        slot = hashes[word] & np.uint64(size - 1)
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & np.uint64(size - 1)
        table[slot] = word
    return table, hashes


@kernel
def _find(buffer, start, end, starts, ends, table, hashes):
    code = _hash(buffer, start, end)
    slot = code & np.uint64(len(table) - 1)
    while table[slot] >= 0:
        word = table[slot]
        if hashes[word] == code and ends[word] - starts[word] == end - start:
            same = True
            for k in range(end - start):
                if buffer[starts[word] + k] != buffer[start + k]:
                    same = False
                    break
            if same:
                return word
        slot = (slot + np.uint64(1)) & np.uint64(len(table) - 1)
    return np.int64(-1)


@kernel
def _digits(buffer, at, end, value, scale):
    """Digits from `at` on added to `value`: (where they end, value, by what power of ten it is too large)."""
    while at < end and 48 <= buffer[at] <= 57:
        if value < 1e17:
            value = value * 10.0 + (buffer[at] - 48)
        else:
            scale += 1
        at += 1
    return at, value, scale


@kernel
def _number(buffer, start, end):
    """The number in these bytes, -inf for -inf, nan where it is none."""
    at = start
    negative = at < end and buffer[at] == 45
    if at < end and (buffer[at] == 45 or buffer[at] == 43):
        at += 1
    if end - at == 3 and buffer[at] | 32 == 105 and buffer[at + 1] | 32 == 110 and buffer[at + 2] | 32 == 102:
        return -np.inf if negative else np.nan
    begin = at
    at, value, scale = _digits(buffer, at, end, 0.0, 0)
    count = at - begin
    if at < end and buffer[at] == 46:
        begin = at + 1
        at, value, dropped = _digits(buffer, begin, end, value, 0)
        count += at - begin
        scale -= at - begin - dropped
    if count == 0:
        return np.nan
    if at < end and buffer[at] | 32 == 101:
        at += 1
        sign = -1 if at < end and buffer[at] == 45 else 1
        if at < end and (buffer[at] == 45 or buffer[at] == 43):
            at += 1
        begin = at
        at, power, _ = _digits(buffer, at, end, 0.0, 0)
        if at == begin or power > 400:
            return np.nan
        scale += sign * int(power)
    if at < end:
        return np.nan
    value = value / 10.0 ** (-scale) if scale < 0 else value * 10.0**scale
    return -value if negative else value


@kernel
def _fields(buffer, at, end, bounds):
    """Starts and ends of the fields of a line into `bounds` [most, 2]; how many there are (more than fit: most + 1)."""
    count = 0
    while at < end:
        if buffer[at] == _SPACE or buffer[at] == _TAB or buffer[at] == _RETURN:
            at += 1
            continue
        if count == len(bounds):
            return count + 1
        bounds[count, 0] = at
        while at < end and buffer[at] != _SPACE and buffer[at] != _TAB and buffer[at] != _RETURN:
            at += 1
        bounds[count, 1] = at
        count += 1
    return count


@kernel
def _line(buffer, fields, known, out, k):
    """One n-gram into row k; what is wrong with it, 0 if nothing."""
    bounds, count = fields
    n = len(bounds) - 2
    rows, logprobs, backoffs = out
    starts, ends, numbers, table, hashes = known
    if count < n + 1 or count > n + 2:
        return FIELDS
    logprobs[k] = _number(buffer, bounds[0, 0], bounds[0, 1])
    if count == n + 2:
        backoffs[k] = _number(buffer, bounds[n + 1, 0], bounds[n + 1, 1])
    if np.isnan(logprobs[k]) or np.isnan(backoffs[k]):
        return NUMBER
    if len(table) == 0:
        rows[k, 0], rows[k, 1] = bounds[1, 0], bounds[1, 1]
        return 0
    for j in range(n):
        word = _find(
            buffer, start=bounds[j + 1, 0], end=bounds[j + 1, 1], starts=starts, ends=ends, table=table, hashes=hashes
        )
        if word < 0:
            return WORD
        rows[k, j] = numbers[word]
    return 0


@kernel
def scan_section(buffer, at, n, known, rows, logprobs, backoffs, places):
    """Read `len(rows)` lines from `at` on: (how many were read, where reading stopped, what was wrong or 0)."""
    bounds = np.empty((n + 2, 2), np.int64)
    done = 0
    while done < len(rows):
        if at >= len(buffer):
            return done, len(buffer), SHORT
        end = at
        while end < len(buffer) and buffer[end] != _NEWLINE:
            end += 1
        count = _fields(buffer, at, end, bounds)
        if count > 0:
            if buffer[bounds[0, 0]] == _BACKSLASH:
                return done, at, SHORT
            wrong = _line(buffer, (bounds, count), known, (rows, logprobs, backoffs), done)
            if wrong:
                return done, at, wrong
            places[done] = at
            done += 1
        at = end + 1
    return done, at, 0
