"""The output of fairseq-generate: a letter, a segment number and fields between tabs.

    S-0  source            D-0  score  detokenised text
    T-0  reference         P-0  base-2 log probability of each token, end of sentence included
    H-0  score  text

Segments come in any order; other lines (log messages, A-, I-, ...) are left alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nbest.base.errors import FormatError
from nbest.corpus import NBest, Origin
from nbest.formats.lists.base import Format, head_lines, lines_of, number, shown
from nbest.formats.lists.builder import Builder

_LINE = re.compile(r"([STHDP])-([0-9]+)(?=\t|$)").match
_ALMOST = re.compile(r"[STHDP]-[0-9]+[ |:]").match
_LN2 = math.log(2.0)

Lines = list[tuple[int, str]]  # line number, what stands after the first tab


@dataclass
class _Segment:
    line: int
    source: str | None = None
    reference: str | None = None
    lines: dict[str, Lines] = field(default_factory=lambda: {"H": [], "D": [], "P": []})


def read_fairseq(path: str | Path, *, data: bytes | None = None) -> NBest:
    """Read what fairseq-generate printed. The k-th H, D and P line of a segment are one hypothesis.

    With P lines the features are `logprob`, the sum of P turned into natural logarithms, and `length`, the number
    of tokens in P; H is their quotient (a mixture) and is left out. Without P lines the only feature is `score`, which
    is H as a natural logarithm and stays divided by the length. The text is D where there is one, else H.
    """
    segments = _collect(path, lines_of(path, data, "lines that start with S-, T-, H-, D- or P-"))
    builder = Builder(path)
    for name, segment in segments.items():
        references = None if segment.reference is None else [segment.reference]
        builder.segment(name, references, segment.source, segment.line)
        for line, text, features in _hypotheses(path, name, segment):
            builder.hypothesis(name, text, features, line)
    if any(segment.lines["P"] for segment in segments.values()):
        return builder.build({"logprob": Origin(log_base=2.0)})
    return builder.build({"score": Origin(log_base=2.0, normalised="length")})


def _collect(path: str | Path, lines: list[str]) -> dict[str, _Segment]:
    segments: dict[str, _Segment] = {}
    for at, text in enumerate(lines, 1):
        found = _LINE(text)
        if not found:
            if _ALMOST(text):
                raise FormatError(path, at, f"expected a tab after {shown(text.split(' ')[0])}")
            continue
        letter, name = found.groups()
        segment = segments.setdefault(name, _Segment(at))
        rest = text[found.end() + 1 :]
        if letter in "ST":
            _put_once(
                path, at, segment, "source" if letter == "S" else "reference", text=rest, letter=letter, name=name
            )
        else:
            segment.lines[letter].append((at, rest))
    return segments


def _put_once(path: str | Path, line: int, segment: _Segment, what: str, text: str, letter: str, name: str) -> None:
    if getattr(segment, what) not in (None, text):
        raise FormatError(path, line, f"a second and different line {letter}-{name}")
    setattr(segment, what, text)


def _hypotheses(path: str | Path, name: str, segment: _Segment) -> Iterator[tuple[int, str, dict[str, float]]]:
    heads, clean, tokens = segment.lines["H"], segment.lines["D"], segment.lines["P"]
    for letter, given in (("D", clean), ("P", tokens)):
        if given and len(given) != len(heads):
            line = given[-1][0]
            raise FormatError(
                path, line, f"segment {name} has {len(heads)} lines H-{name} but {len(given)} {letter}-{name}"
            )
    for k, (line, rest) in enumerate(heads):
        score, text = _score_and_text(path, line, rest)
        if clean:
            _, text = _score_and_text(path, *clean[k])
        if tokens:
            at, positions = tokens[k]
            logs = [number(path, at, "a token's score", value) for value in positions.split()]
            features = {"logprob": math.fsum(logs) * _LN2, "length": float(len(logs))}
        else:
            features = {"score": score * _LN2}
        yield line, text, features


def _score_and_text(path: str | Path, line: int, rest: str) -> tuple[float, str]:
    score, _, text = rest.partition("\t")
    return number(path, line, "the score", score), text


def _sniff(path: Path, head: bytes) -> bool:
    return any(line.startswith(("H-", "S-")) and _LINE(line) for line in head_lines(head))


FORMAT = Format(
    name="fairseq",
    read=read_fairseq,
    write=None,
    sniff=_sniff,
    suffixes=(".fairseq",),
    summary="output of fairseq-generate: S-, T-, H-, D- and P- lines",
    example={
        "gen.fairseq": "2024-01-01 | INFO | loading\nS-1\tein Haus\nT-1\ta house\nH-1\t-0.5\ta hou@@ se\n"
        "D-1\t-0.5\ta house\nP-1\t-0.25 -0.5 -0.75 -0.5\nS-0\tgrün\nT-0\tgreen\nH-0\t-0.5\tgreen\nD-0\t-0.5\tgreen\n"
        "P-0\t-0.5 -0.5\nH-0\t-1.5\tgré@@ en\nD-0\t-1.5\tgréen\nP-0\t-1 -2\n| Generate test with beam=2\n"
    },
)
