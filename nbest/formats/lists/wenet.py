"""WeNet's runtime: `wav <id>`, then a line `candidate <score> <text>` for each hypothesis."""

from __future__ import annotations

from pathlib import Path

from nbest.base.errors import CapabilityError, FormatError
from nbest.base.files import replacing
from nbest.corpus import NBest
from nbest.formats.lists.base import Format, head_lines, lines_of, need_one_line, need_texts, number, one_score, shown
from nbest.formats.lists.builder import Builder


def read_wenet(path: str | Path, *, data: bytes | None = None) -> NBest:
    """Read candidates. Feature: `score`. A `wav` without candidates is an empty list; one named again goes on."""
    builder = Builder(path)
    segment = None
    for at, line in enumerate(lines_of(path, data, "'wav <id>' and 'candidate <score> <text>' lines"), 1):
        word, _, rest = line.partition(" ")
        if word == "wav" and rest.strip(" \t"):
            segment = rest.strip(" \t")
            builder.segment(segment, line=at)
        elif word == "candidate" and segment is not None:
            score, _, text = rest.partition(" ")
            builder.hypothesis(segment, text.strip(" "), {"score": number(path, at, "the score", score)}, at)
        elif word == "candidate":
            raise FormatError(path, at, "a candidate before the first 'wav <id>'")
        else:
            raise FormatError(path, at, f"expected 'wav <id>' or 'candidate <score> <text>', got {shown(line)}")
    return builder.build()


def write_wenet(corpus: NBest, path: str | Path, *, score: str | None = None) -> None:
    """Write candidates. Keeps ids, texts without space at their ends, and one feature (see `score`)."""
    texts, scores = need_texts(corpus, "wenet"), one_score(corpus, "wenet", score)
    with replacing(path) as file:
        for i, name in enumerate(corpus.ids):
            if not name.strip(" \t") or name != name.strip(" \t"):
                raise CapabilityError(
                    f"wenet cannot hold the segment id {shown(name)}: empty or with space at its ends"
                )
            file.write(f"wav {need_one_line(name, 'wenet', 'a segment id')}\n".encode())
            for h in range(int(corpus.offsets[i]), int(corpus.offsets[i + 1])):
                text = need_one_line(texts[h], "wenet", f"segment {name!r}")
                file.write(f"candidate {float(scores[h])!r} {text}\n".encode())


def _sniff(path: Path, head: bytes) -> bool:
    lines = head_lines(head)
    return bool(lines) and lines[0].startswith("wav ") and all(s.startswith(("wav ", "candidate ")) for s in lines[1:3])


FORMAT = Format(
    name="wenet",
    read=read_wenet,
    write=write_wenet,
    sniff=_sniff,
    suffixes=(".wenet",),
    summary="WeNet: 'wav <id>' and 'candidate <score> <text>' lines",
    keeps=frozenset({"ids", "score", "ragged", "empty"}),
    example={
        "dev.wenet": "wav u1\ncandidate -3.25 a house\ncandidate -4 a mouse\nwav u2\nwav u3\ncandidate -1e-1 größer\n"
    },
)
