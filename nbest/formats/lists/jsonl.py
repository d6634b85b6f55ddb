"""Our own format: JSON lines, one segment a line. Holds all that `NBest` holds of the input, exactly.

    {"id": "utt1", "source": "...", "references": ["..."], "group": "speaker 7", "hypotheses": [
        {"text": "...", "features": {"am": -12.3}, "sparse": {"bi:of the": 1}, "score": 1, "answer": "...",
         "system": "..."}]}

Only "hypotheses" is required. Without "id" the number of the line, from 0, is the id. Lists may be empty. "score" is
what a hypothesis is worth (`gains`), "answer" what counts for equality, "system" who made it; "doc" is another
word for "group".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.base.files import read_bytes, replacing
from nbest.corpus import NBest
from nbest.formats.json_text import kind, loads, need, need_number
from nbest.formats.lists.base import EVERYTHING, Format, lines_of, shown, sparse_row
from nbest.formats.lists.builder import Builder
from nbest.formats.lists.lines import Piece, stream_lines, whole_lines
from nbest.formats.lists.plainly import Plainly

_PLAINLY = Plainly(2**27)  # some 13 s, as long as the kernel takes to compile
_SEGMENT_KEYS = ("id", "source", "references", "hypotheses", "group", "doc")
_HYPOTHESIS_KEYS = ("text", "features", "sparse", "score", "answer", "system")


def read_jsonl(path: str | Path, *, data: bytes | None = None) -> NBest:
    """Read JSON lines. Keys it does not know are left alone, unless they look like a known one misspelt."""
    return _parse(Piece(path, read_bytes(path) if data is None else data))


def _parse(part: Piece) -> NBest:
    from nbest.formats.lists import jsonl_fast

    plain = _PLAINLY.suits(jsonl_fast.parse_lines, len(part.data))
    regular = None if plain else jsonl_fast.parse(part)
    if regular is None or (part.names is not None and set(part.names) != set(regular.feature_names)):
        return _parse_plainly(part)
    return regular


def _parse_plainly(part: Piece) -> NBest:
    path, builder = part.path, Builder(part.path, part.names)
    expected = 'one JSON object a line, with "hypotheses"'
    for line, text in enumerate(lines_of(path, part.data, expected, part.before), part.before + 1):
        if not text.strip():
            raise FormatError(path, line, "a blank line between segments; expected one JSON object a line")
        read_segment(builder, line, need(path, line, "a segment", loads(path, line, text), dict))
    return builder.build()


def read_segment(builder: Builder, line: int, segment: dict[str, Any]) -> None:
    """Add one segment, as one line holds it."""
    path = builder.path
    check_keys(path, line, segment, _SEGMENT_KEYS)
    name = id_of(path, line, segment.get("id"))
    if builder.has(name):
        raise FormatError(path, line, f"segment {name!r} is already on line {builder.line(name)}")
    if "hypotheses" not in segment:
        raise FormatError(path, line, 'the key "hypotheses" is missing')
    source = segment.get("source")
    if source is not None:
        need(path, line, '"source"', source, str)
    references = references_of(path, line, segment.get("references"))
    builder.segment(name, references, source, line, group=group_of(path, line, segment))
    for hypothesis in need(path, line, '"hypotheses"', segment["hypotheses"], list):
        read_hypothesis(builder, line, name, need(path, line, "a hypothesis", hypothesis, dict))


def id_of(path: str | Path, line: int, value: Any) -> str:
    """The id of a segment: its number in the file where it has none."""
    return str(line - 1) if value is None else _name(path, line, "id", value)


def _name(path: str | Path, line: int, key: str, value: Any) -> str:
    if type(value) not in (str, int):
        raise FormatError(path, line, f'"{key}" must be a string or an integer, got {kind(value)}: {shown(value)}')
    return str(value)


def group_of(path: str | Path, line: int, segment: dict[str, Any]) -> str | None:
    """What a segment belongs to; both words may be there where they say the same."""
    names = {_name(path, line, key, segment[key]) for key in ("group", "doc") if segment.get(key) is not None}
    if len(names) > 1:
        raise FormatError(path, line, '"group" and "doc" are the same thing and differ here; leave one of them out')
    return names.pop() if names else None


def references_of(path: str | Path, line: int, value: Any) -> list[str]:
    """One reference or a list of them."""
    if value is None:
        return []
    if isinstance(value, str):
        raise FormatError(path, line, f'"references" must be a list of strings, got one string: write [{shown(value)}]')
    for reference in need(path, line, '"references"', value, list):
        need(path, line, "a reference", reference, str)
    return value


def read_hypothesis(builder: Builder, line: int, segment: str, hypothesis: dict[str, Any]) -> None:
    """Add one hypothesis to the list of a segment."""
    path = builder.path
    check_keys(path, line, hypothesis, _HYPOTHESIS_KEYS)
    text = hypothesis.get("text")
    if text is not None:
        need(path, line, '"text"', text, str)
    score, answer, system = (hypothesis.get(key) for key in ("score", "answer", "system"))
    builder.hypothesis(
        segment,
        text,
        numbers_of(path, line, "features", hypothesis.get("features")),
        line,
        numbers_of(path, line, "sparse", hypothesis.get("sparse")),
        gain=None if score is None else need_number(path, line, '"score"', score),
        answer=None if answer is None else need(path, line, '"answer"', answer, str),
        system=None if system is None else need(path, line, '"system"', system, str),
    )


def numbers_of(path: str | Path, line: int, key: str, value: Any) -> dict[str, float]:
    """Features by name."""
    if value is None:
        return {}
    given = need(path, line, f'"{key}"', value, dict)
    return {name: need_number(path, line, f"feature {name!r}", number) for name, number in given.items()}


def check_keys(path: str | Path, line: int | None, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Complain of a key that looks like a misspelt one."""
    for key in given.keys() - set(known):
        near = get_close_matches(key, known, n=1, cutoff=0.8)
        if near and near[0] not in given:
            raise FormatError(path, line, f"unknown key {key!r}; did you mean {near[0]!r}?")


def write_jsonl(corpus: NBest, path: str | Path) -> None:
    """Write JSON lines. Statistics, origins and positions are not kept; all else is, to the last bit."""
    _write_blocks([corpus], path)


def _write_blocks(blocks: Iterable[NBest], path: str | Path) -> None:
    with replacing(path) as file:
        for corpus in blocks:
            for i in range(len(corpus)):
                text = json.dumps(_segment(corpus, i), ensure_ascii=False, allow_nan=False)
                file.write(text.encode("utf-8", "replace") + b"\n")


def _segment(corpus: NBest, i: int) -> dict[str, Any]:
    segment: dict[str, Any] = {"id": corpus.ids[i]}
    if corpus.sources is not None:
        segment["source"] = corpus.sources[i]
    if corpus.references is not None:
        segment["references"] = list(corpus.references[i])
    if corpus.groups is not None:
        segment["group"] = corpus.groups[i]
    rows = range(int(corpus.offsets[i]), int(corpus.offsets[i + 1]))
    segment["hypotheses"] = [_hypothesis(corpus, h) for h in rows]
    return segment


def _hypothesis(corpus: NBest, h: int) -> dict[str, Any]:
    hypothesis: dict[str, Any] = {} if corpus.texts is None else {"text": corpus.texts[h]}
    if corpus.feature_names:
        hypothesis["features"] = dict(zip(corpus.feature_names, corpus.features[h].tolist(), strict=True))
    if corpus.sparse is not None:
        sparse = sparse_row(corpus, h)
        if sparse:
            hypothesis["sparse"] = {name: _short(value) for name, value in sparse.items()}
    if corpus.gains is not None:
        hypothesis["score"] = _short(float(corpus.gains[h]))
    if corpus.answers is not None:
        hypothesis["answer"] = corpus.answers[h]
    if corpus.systems is not None:
        hypothesis["system"] = corpus.systems[h]
    return hypothesis


def _short(value: float) -> int | float:
    """A count as an integer, which reads back as the same float."""
    return int(value) if value.is_integer() and 0 < abs(value) < 1e15 else value


def _sniff(path: Path, head: bytes) -> bool:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"{") and re.search(rb'"hypotheses"\s*:', start) is not None


FORMAT = Format(
    name="jsonl",
    read=read_jsonl,
    write=write_jsonl,
    stream=partial(stream_lines, parse=_parse, cut=whole_lines),
    write_blocks=_write_blocks,
    sniff=_sniff,
    suffixes=(".jsonl", ".ndjson"),
    summary="JSON lines, one segment each: the format of nbest itself, which keeps everything",
    keeps=EVERYTHING,
    example={
        "dev.jsonl": '{"id": "u1", "source": "ein Haus", "references": ["a house"], "doc": "d", "hypotheses": ['
        '{"text": "a house", "features": {"am": -12.3, "lm": -4.5}, "score": true, "answer": "house", '
        '"system": "s1"}, '
        '{"text": "one höuse", "features": {"am": -12, "lm": -5.25e0}, "sparse": {"bi:one house": 1}, "score": 0.5}]}\n'
        '{"id": 7, "source": "", "references": ["x", "y"], "group": 3, "hypotheses": []}\n'
        '{"source": "-", "references": ["-"], "group": "3", "hypotheses": ['
        '{"text": "", "features": {"lm": 0, "am": true}, "score": -2}]}\n'
    },
)
