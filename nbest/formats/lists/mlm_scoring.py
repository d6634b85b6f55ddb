"""mlm-scoring JSON: `{"utt": {"hyp_1": {"score": -1.2, "text": "..."}, ..., "ref": "..."}}`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from nbest.base.errors import CapabilityError, FormatError
from nbest.base.files import replacing
from nbest.corpus import NBest
from nbest.formats.json_text import entries, need, need_number
from nbest.formats.lists.base import Format, need_texts, shown, text_of
from nbest.formats.lists.builder import Builder

_HYPOTHESIS = re.compile(r"hyp_([0-9]{1,9})").fullmatch


def read_mlm_scoring(path: str | Path, *, data: bytes | None = None) -> NBest:
    """Read hypotheses in the order of their numbers; all that is beside `text` is a feature (`score`, ...)."""
    builder = Builder(path)
    for line, name, value in entries(path, text_of(path, data), "{"):
        segment = need(path, line, f"utterance {name!r}", value, dict)
        reference = segment.get("ref")
        if reference is not None:
            need(path, line, '"ref"', reference, str)
        builder.segment(name, None if reference is None else [reference], line=line)
        for key in _ordered(path, line, segment):
            hypothesis = dict(need(path, line, f'"{key}"', segment[key], dict))
            if "text" not in hypothesis:
                raise FormatError(path, line, f'the key "text" is missing in "{key}"')
            text = need(path, line, '"text"', hypothesis.pop("text"), str)
            features = {k: need_number(path, line, f"feature {k!r}", v) for k, v in hypothesis.items()}
            builder.hypothesis(name, text, features, line)
    return builder.build()


def _ordered(path: str | Path, line: int, segment: dict[str, Any]) -> list[str]:
    numbers: dict[int, str] = {}
    for key in segment:
        found = _HYPOTHESIS(key)
        if found and int(found[1]) in numbers:
            raise FormatError(path, line, f"{shown(key)} and {shown(numbers[int(found[1])])} are the same number")
        if found:
            numbers[int(found[1])] = key
        elif key != "ref":
            raise FormatError(path, line, f"expected the keys hyp_1, hyp_2, ... and ref, got {shown(key)}")
    return [numbers[n] for n in sorted(numbers)]


def write_mlm_scoring(corpus: NBest, path: str | Path) -> None:
    """Write hypotheses with all dense features beside `text`, ids and the first reference; sparse ones are lost."""
    texts = need_texts(corpus, "mlm-scoring")
    if "text" in corpus.feature_names:
        raise CapabilityError("mlm-scoring cannot hold a feature called 'text'; rename it or write jsonl")
    made = []
    for i, name in enumerate(corpus.ids):
        segment: dict[str, Any] = {}
        for k, h in enumerate(range(int(corpus.offsets[i]), int(corpus.offsets[i + 1])), 1):
            features = dict(zip(corpus.feature_names, corpus.features[h].tolist(), strict=True))
            segment[f"hyp_{k}"] = {**features, "text": texts[h]}
        if corpus.references is not None:
            segment["ref"] = corpus.references[i][0]
        made.append(f"  {json.dumps(name, ensure_ascii=False)}: {json.dumps(segment, ensure_ascii=False)}")
    with replacing(path) as file:
        file.write(("{\n" + ",\n".join(made) + "\n}\n").encode("utf-8", "replace"))


def _sniff(path: Path, head: bytes) -> bool:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"{") and re.search(rb'"hyp_[0-9]+"\s*:\s*\{', start) is not None


FORMAT = Format(
    name="mlm-scoring",
    read=read_mlm_scoring,
    write=write_mlm_scoring,
    sniff=_sniff,
    suffixes=(".mlm.json",),
    summary='mlm-scoring JSON: {"utt": {"hyp_1": {"score": ..., "text": ...}, "ref": ...}}',
    keeps=frozenset({"ids", "features", "reference", "ragged", "empty"}),
    example={
        "dev.mlm.json": '{\n  "u1": {"hyp_1": {"score": -3.25, "text": "a house"},\n'
        '    "hyp_2": {"score": -4, "text": "a mouse"}, "ref": "a house"},\n'
        '  "u2": {"hyp_1": {"score": -0.1, "text": "größer"}, "ref": "größer"}\n}\n'
    },
)
