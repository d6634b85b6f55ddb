"""HyPoradise: one JSON list of `{"input": ["text", ...], "output": "reference"}`, now and then with "score". No ids."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.base.files import replacing
from nbest.corpus import NBest
from nbest.formats.json_text import entries, need, need_number
from nbest.formats.lists.base import Format, need_texts, text_of
from nbest.formats.lists.builder import Builder

_INPUT = re.compile(r"input([0-9]*)").fullmatch


def read_hyporadise(path: str | Path, *, data: bytes | None = None, separator: str | None = None) -> NBest:
    """Read a list of inputs and outputs. Segments are called 0, 1, ...; the reference is `output`.

    The hypotheses are the list `input`; where there is none, `input`, `input1`, `input2`, ... in the order of their
    numbers, each a list of texts or one text, which `separator` cuts into several. (Beside a list, `input1` and
    `input2` say the same again, all but the first in one text.) These lists were padded to five with copies, so a text
    that was there before in its list is dropped. Features: `rank`, -1 for the first, -2 for the second, and so on after
    dropping; and `score`, where the file has a list of them.
    """
    builder = Builder(path)
    for i, (line, _, value) in enumerate(entries(path, text_of(path, data), "[")):
        entry = need(path, line, "an entry of the list", value, dict)
        output = entry.get("output")
        if output is not None:
            need(path, line, '"output"', output, str)
        builder.segment(str(i), None if output is None else [output], line=line)
        texts = _inputs(path, line, entry, separator)
        scores = _scores(path, line, entry, len(texts))
        first = dict[str, int]()
        for at, text in enumerate(texts):
            first.setdefault(text, at)
        for k, (text, at) in enumerate(first.items()):
            score = {} if scores is None else {"score": scores[at]}
            builder.hypothesis(str(i), text, {"rank": -1.0 - k, **score}, line)
    return builder.build()


def _scores(path: str | Path, line: int, entry: dict[str, Any], count: int) -> list[float] | None:
    if entry.get("score") is None:
        return None
    given = need(path, line, '"score"', entry["score"], list)
    if len(given) != count:
        raise FormatError(path, line, f"{count} texts and {len(given)} scores; every text needs its own")
    return [need_number(path, line, "a score", value) for value in given]


def _inputs(path: str | Path, line: int, entry: dict[str, Any], separator: str | None) -> list[str]:
    if isinstance(entry.get("input"), list):
        entry = {"input": entry["input"]}
    keys = sorted((int(found[1] or 0), key) for key in entry if (found := _INPUT(key)) and len(key) < 10)
    if not keys:
        raise FormatError(path, line, 'the key "input" is missing')
    texts: list[str] = []
    for _, key in keys:
        value = entry[key]
        if isinstance(value, str):
            texts += value.split(separator) if separator else [value]
        else:
            texts += [need(path, line, f'a text of "{key}"', text, str) for text in need(path, line, key, value, list)]
    return texts


def write_hyporadise(corpus: NBest, path: str | Path) -> None:
    """Write inputs and outputs. Keeps texts, their order (copies are dropped on reading) and the first reference."""
    texts = need_texts(corpus, "hyporadise")
    made = []
    for i in range(len(corpus)):
        entry: dict[str, Any] = {"input": [texts[h] for h in range(int(corpus.offsets[i]), int(corpus.offsets[i + 1]))]}
        if corpus.references is not None:
            entry["output"] = corpus.references[i][0]
        made.append("  " + json.dumps(entry, ensure_ascii=False))
    with replacing(path) as file:
        file.write(("[\n" + ",\n".join(made) + "\n]\n").encode("utf-8", "replace"))


def _sniff(path: Path, head: bytes) -> bool:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"[") and re.search(rb'"input[0-9]*"\s*:', start) is not None


FORMAT = Format(
    name="hyporadise",
    read=read_hyporadise,
    write=write_hyporadise,
    sniff=_sniff,
    suffixes=(".hyporadise.json",),
    summary='HyPoradise JSON: [{"input": [texts], "output": reference}]',
    keeps=frozenset({"reference", "ragged", "empty"}),
    example={
        "dev.hyporadise.json": '[\n  {"input": ["a house", "a mouse", "a house"], "output": "a house"},\n'
        '  {"input1": "größer", "input2": ["grosser", ""], "output": "größer"}\n]\n'
    },
)
