"""NeMo beams: `text TAB score`, the same number of lines for each line of a manifest (JSON lines).

a text<TAB>-3.2            {"audio_filepath": "a.wav", "text": "the reference"}
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from nbest.base.errors import CapabilityError, FormatError, ParameterError
from nbest.base.files import replacing
from nbest.corpus import NBest
from nbest.formats.json_text import loads, need
from nbest.formats.lists.base import (
    Format,
    head_lines,
    is_number,
    lines_of,
    need_one_line,
    need_texts,
    number,
    one_score,
)
from nbest.formats.lists.builder import Builder

Segment = tuple[str, str | None]  # id, reference


def read_nemo(
    path: str | Path, *, data: bytes | None = None, manifest: str | Path | None = None, beam: int | None = None
) -> NBest:
    """Read beams and their manifest (by default the file called `<path>.manifest.json`).

    The beam size is the number of lines divided by that of the manifest; `beam` checks it. Feature: `score`.
    References are the manifest's `text`, ids its `audio_filepath` (with `#line` where one audio file has many lines).
    """
    if beam is not None and beam < 1:
        raise ParameterError(f"'beam' of read_nemo must be >= 1, got {beam}")
    lines = lines_of(path, data, "lines of 'text TAB score'")
    where = manifest_of(path) if manifest is None else Path(manifest)
    if manifest is None and not where.is_file():
        raise FormatError(path, None, f"NeMo beams need their manifest: say where with manifest=, or put it at {where}")
    segments = _read_manifest(where)
    size = _beam(path, len(lines), len(segments), beam)
    builder = Builder(path)
    for i, (name, reference) in enumerate(segments):
        builder.segment(name, None if reference is None else [reference], line=i * size + 1)
        for at in range(i * size, (i + 1) * size):
            text, tab, score = lines[at].rpartition("\t")
            if not tab:
                raise FormatError(path, at + 1, "expected 2 fields, 'text TAB score', got 1")
            builder.hypothesis(name, text, {"score": number(path, at + 1, "the score", score)}, at + 1)
    return builder.build()


def manifest_of(path: str | Path) -> Path:
    return Path(f"{path}.manifest.json")


def _beam(path: str | Path, lines: int, segments: int, beam: int | None) -> int:
    size, rest = divmod(lines, segments)
    if rest or size == 0 or (beam is not None and beam != size):
        asked = "" if beam is None else f", {beam} each"
        raise FormatError(
            path,
            None,
            f"{lines} hypotheses for {segments} lines of the manifest{asked}; every line needs the same number. "
            "Lists of several lengths, as transducers give, cannot be told apart here: use a format with ids (jsonl)",
        )
    return size


def _read_manifest(path: Path) -> list[Segment]:
    entries = []
    for at, line in enumerate(lines_of(path, None, 'JSON lines with "audio_filepath" and "text"'), 1):
        entry = need(path, at, "a line of the manifest", loads(path, at, line), dict)
        audio, text = entry.get("audio_filepath"), entry.get("text")
        for key, value in (("audio_filepath", audio), ("text", text)):
            if value is not None:
                need(path, at, f'"{key}"', value, str)
        entries.append((audio or str(at - 1), text))
    counts = Counter(name for name, _ in entries)
    names = [name if counts[name] == 1 else f"{name}#{at}" for at, (name, _) in enumerate(entries, 1)]
    if len(set(names)) != len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise FormatError(path, None, f"two segments would be called {twice!r}")
    return [(name, text) for name, (_, text) in zip(names, entries, strict=True)]


def write_nemo(
    corpus: NBest, path: str | Path, *, manifest: str | Path | None = None, score: str | None = None
) -> None:
    """Write beams, and the manifest to `manifest` (by default `<path>.manifest.json`).

    Keeps texts, ids, the first reference, and one feature: the one called `score`, or named by `score`, or the only
    one. All lists must be of one length.
    """
    texts, scores = need_texts(corpus, "nemo"), one_score(corpus, "nemo", score)
    sizes = sorted(set(corpus.lengths.tolist()))
    if len(sizes) != 1 or sizes == [0]:
        found = f"{sizes[0]} to {sizes[-1]}" if sizes else "no"
        raise CapabilityError(f"nemo needs lists of one length, and these have {found} hypotheses; write jsonl")
    with replacing(path) as file:
        for h, text in enumerate(texts):
            line = f"{need_one_line(text, 'nemo', f'hypothesis {h}')}\t{float(scores[h])!r}\n"
            file.write(line.encode())
    if str(path) == "-" and manifest is None:
        return
    with replacing(manifest_of(path) if manifest is None else manifest) as file:
        for i, name in enumerate(corpus.ids):
            entry = {"audio_filepath": name}
            if corpus.references is not None:
                entry["text"] = corpus.references[i][0]
            file.write(json.dumps(entry, ensure_ascii=False).encode() + b"\n")


def _sniff(path: Path, head: bytes) -> bool:
    """Lines `text TAB number`; or a tab, and a manifest beside. A table has more fields, or a header."""
    lines = [line.split("\t") for line in head_lines(head) if line.strip()]
    if lines and len(lines[0]) > 1 and manifest_of(path).is_file():
        return True
    return bool(lines) and all(len(line) == 2 and is_number(line[1]) for line in lines)


FORMAT = Format(
    name="nemo",
    read=read_nemo,
    write=write_nemo,
    sniff=_sniff,
    suffixes=(".tsv", ".nemo"),
    summary="NeMo beams: 'text TAB score' lines and a manifest",
    keeps=frozenset({"ids", "score", "reference"}),
    example={
        "beams.tsv": "a house\t-3.25\na mouse\t-4\ngrößer\t-1e-1\n\t-7.5\n",
        "beams.tsv.manifest.json": '{"audio_filepath": "a.wav", "duration": 1.5, "text": "a house"}\n'
        '{"audio_filepath": "b.wav", "duration": 2, "text": "größer"}\n',
    },
)
