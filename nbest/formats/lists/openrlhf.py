"""OpenRLHF: JSON lines `{"input": "...", "output": "...", "reward": 1.5}`, where lines of one input may stand apart."""

from __future__ import annotations

import re
from pathlib import Path

from nbest.base.errors import FormatError
from nbest.corpus import NBest
from nbest.formats.json_text import json_lines, need, need_number, top_keys
from nbest.formats.lists.base import Format
from nbest.formats.lists.builder import Builder


def read_openrlhf(path: str | Path, *, data: bytes | None = None) -> NBest:
    """Read responses with their rewards. A segment is an input, called 0, 1, ... in the order in which inputs come.

    The input is the source. Features: `reward`, where it is there, and any other key whose value is a number.
    """
    builder, names = Builder(path), dict[str, str]()
    for line, entry in json_lines(path, data, 'with "input" and "output"'):
        for key in ("input", "output"):
            if key not in entry:
                raise FormatError(path, line, f'the key "{key}" is missing')
        source = need(path, line, '"input"', entry["input"], str)
        name = names.setdefault(source, str(len(names)))
        text = need(path, line, '"output"', entry["output"], str)
        numbers = {key: value for key, value in entry.items() if key == "reward" or isinstance(value, int | float)}
        features = {key: need_number(path, line, f'"{key}"', value) for key, value in numbers.items()}
        builder.segment(name, source=source, line=line)
        builder.hypothesis(name, text, features, line)
    return builder.build()


def _sniff(path: Path, head: bytes) -> bool:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return (
        start[:1] == b"{"
        and {"input", "output"} <= top_keys(head)
        and re.search(rb'"input"\s*:\s*"', start) is not None
    )


FORMAT = Format(
    name="openrlhf",
    read=read_openrlhf,
    write=None,
    sniff=_sniff,
    suffixes=(),
    summary='OpenRLHF: JSON lines {"input": ..., "output": ..., "reward": ...}, grouped by input',
    example={
        "rewards.jsonl": '{"input": "2 + 3?", "output": "5", "reward": 1.25}\n'
        '{"input": "größer?", "output": "ja", "reward": -0.5}\n'
        '{"input": "2 + 3?", "output": "", "reward": -3}\n'
    },
)
