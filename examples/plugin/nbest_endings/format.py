"""A format of lists: id, score and text between tabs, a hypothesis a line."""

from __future__ import annotations

from nbest.base.errors import CapabilityError, FormatError
from nbest.base.files import replacing
from nbest.formats.lists.base import Format, head_lines, lines_of, need_one_line, need_texts, number, one_score
from nbest.formats.lists.builder import Builder


def read_tsv(path, *, data=None):
    """Read hypotheses. Feature: `score`."""
    builder = Builder(path)
    for at, line in enumerate(lines_of(path, data, "lines of id, score and text with tabs between them"), 1):
        parts = line.split("\t")
        if len(parts) != 3 or not parts[0]:
            raise FormatError(path, at, f"expected id, score and text with tabs between them, got {len(parts)} parts")
        segment, score, text = parts
        builder.hypothesis(segment, text, {"score": number(path, at, "the score", score)}, at)
    return builder.build()


def write_tsv(corpus, path, *, score=None):
    """Write hypotheses. Keeps ids, texts and one feature (see `score`)."""
    texts, scores = need_texts(corpus, "tsv"), one_score(corpus, "tsv", score)
    with replacing(path) as file:
        for i, name in enumerate(corpus.ids):
            for h in range(int(corpus.offsets[i]), int(corpus.offsets[i + 1])):
                cells = need_one_line(name, "tsv", "a segment id"), need_one_line(texts[h], "tsv", f"segment {name!r}")
                if not name or any("\t" in cell for cell in cells):
                    raise CapabilityError(f"tsv cannot hold a tab or an empty id, as segment {name!r} has; write jsonl")
                file.write(f"{cells[0]}\t{float(scores[h])!r}\t{cells[1]}\n".encode())


def _sniff(path, head):
    lines = head_lines(head)[:3]
    return str(path).endswith(".tsv") and bool(lines) and all(line.count("\t") == 2 for line in lines)


FORMAT = Format(
    name="tsv",
    read=read_tsv,
    write=write_tsv,
    sniff=_sniff,
    suffixes=(".tsv",),
    summary="id, score and text between tabs",
    keeps=frozenset({"ids", "score", "ragged"}),
    example={"dev.tsv": "u1\t-3.25\ta house\nu1\t-4\ta mouse\nu2\t-1e-1\tgrößer\n"},
)
