"""Writing a language model as ARPA text, which every n-gram tool reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from nbest.base.files import replacing
from nbest.compute.compilation import kernel
from nbest.corpus import Texts
from nbest.lm.model import LanguageModel
from nbest.lm.trie import node_words

_BLOCK = 100_000  # n-grams formatted at a time
_NUMBER = 32  # bytes enough for any number
_ZERO = -99.0  # how ARPA files write the logarithm of 0


def write_arpa(
    model: LanguageModel, path: str | Path, progress: Callable[[int, int], None] = lambda done, total: None
) -> None:
    """Write ARPA (`.gz` and `.xz` packed): base-10 logarithms of at least 9 digits, probability 0 as -99.

    Reading the file back gives the same model, bit by bit where 9 digits tell float32 numbers apart, which they do.
    """
    names = Texts.of(model.vocabulary)
    with replacing(path) as file:
        sizes = "".join(f"ngram {n}={size}\n" for n, size in enumerate(model.sizes, 1))
        file.write(f"\\data\\\n{sizes}".encode())
        for n in range(1, model.order + 1):
            file.write(f"\n\\{n}-grams:\n".encode())
            _write_order(model, n, names, file, progress)
        file.write(b"\n\\end\\\n")


def _write_order(
    model: LanguageModel, n: int, names: Texts, file: IO[bytes], progress: Callable[[int, int], None]
) -> None:
    rows = node_words(model, n)
    first = int(model.levels[n - 1])
    sizes = names.ends - names.starts
    backoffs = model.backoffs if n < model.order else np.zeros(0, np.float32)
    for low in range(0, len(rows), _BLOCK):
        high = min(low + _BLOCK, len(rows))
        room = int(sizes[rows[low:high]].sum()) + (high - low) * (n + 2 * _NUMBER)
        out = np.empty(room, np.uint8)
        logprobs = model.logprobs[first + low : first + high]
        used = _format(
            rows[low:high],
            logprobs,
            backoffs[first + low : first + high],
            names.buffer,
            names.starts,
            ends=names.ends,
            out=out,
        )
        file.write(out[:used].tobytes())
        progress(first + high, int(model.levels[-1]))


@kernel
def _format(rows, logprobs, backoffs, buffer, starts, ends, out):
    """Lines of n-grams into `out`; the number of bytes written. No `backoffs`: no column of them."""
    at = 0
    for k in range(len(rows)):
        at = _number(logprobs[k], out, at)
        for j in range(rows.shape[1]):
            out[at] = 9 if j == 0 else 32
            at += 1
            for byte in range(starts[rows[k, j]], ends[rows[k, j]]):
                out[at] = buffer[byte]
                at += 1
        if len(backoffs):
            out[at] = 9
            at = _number(backoffs[k], out, at + 1)
        out[at] = 10
        at += 1
    return at


@kernel
def _number(value, out, at):
    """A natural logarithm in base 10, at least 9 digits that count; where to write on."""
    value = np.float64(value) / np.log(10.0)
    if value == -np.inf:
        value = _ZERO
    if value < 0:
        out[at] = 45
        at += 1
        value = -value
    decimals = 9
    scale = 1e9
    while value * scale < 1e8 and decimals < 18:
        decimals += 1
        scale *= 10.0
    if value < 1e-15:
        decimals = 0
        scale = 1.0
    digits = np.int64(np.rint(value * scale))
    size = 1
    most = np.int64(10)
    while digits >= most and size < 18:
        most *= 10
        size += 1
    size = max(size, decimals + 1)
    place = at + size + (1 if decimals else 0)
    end = place
    for d in range(size):
        if d == decimals and decimals:
            place -= 1
            out[place] = 46
        place -= 1
        out[place] = 48 + digits % 10
        digits //= 10
    return end
