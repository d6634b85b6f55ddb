"""Writes n-best lists as Moses does today."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.files import replacing
from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.formats.lists.base import need_one_line, need_texts, shown, sparse_row

BAR = re.compile(r"(?:(?<=[ \t])|^)\|\|\|(?=[ \t]|$)")


def write_moses(corpus: NBest, path: str | Path, *, scores: Floats | None = None, numbered: bool = False) -> None:
    """Write `id ||| text ||| Name= v v ||| score`, columns `Name_0`, `Name_1`, ... together as `Name= v v`.

    `scores` [H] are the totals (0 without them). `numbered` writes 0, 1, ... in place of the ids, as Moses' own tools
    want them. Not kept: references, sources, empty lists, white space at the ends of texts.
    """
    texts = need_texts(corpus, "moses")
    if scores is not None and len(scores) != corpus.hypotheses:
        raise ParameterError(f"'scores' of write_moses must have {corpus.hypotheses} entries, got {len(scores)}")
    groups = _groups(corpus.feature_names)
    for name in (*groups, *corpus.sparse_names):
        _need_token(name, "the feature name")
    if "WordScores" in groups:
        raise CapabilityError("moses cannot hold a feature called 'WordScores', which means scores of words there")
    bare = scores is None and not corpus.feature_names and not corpus.sparse_names  # a total of 0 would be a feature
    with replacing(path) as file:
        for i, segment in enumerate(corpus.ids):
            first = str(i) if numbered else _need_token(segment, "the segment id")
            for h in range(int(corpus.offsets[i]), int(corpus.offsets[i + 1])):
                text = _need_text(texts[h], segment)
                fields = [first, text, _features(corpus, groups, h)]
                if not bare:
                    fields.append("0" if scores is None else repr(float(scores[h])))
                file.write((" ||| ".join(fields) + "\n").encode())


def _groups(names: tuple[str, ...]) -> dict[str, list[int]]:
    """The columns of each name to write: those of `Name_0`, `Name_1`, ... in a row together, as `Name`."""
    groups: dict[str, list[int]] = {}
    for stem, run in groupby(range(len(names)), lambda i: names[i].rpartition("_")[0]):
        columns = list(run)
        whole = len(columns) > 1 and [names[i] for i in columns] == [f"{stem}_{k}" for k in range(len(columns))]
        if whole and stem and stem not in names:
            groups[stem] = columns
        else:
            groups.update({names[i]: [i] for i in columns})
    return groups


def _features(corpus: NBest, groups: dict[str, list[int]], h: int) -> str:
    values = corpus.features[h].tolist()
    pieces = [f"{name}= {' '.join(repr(values[i]) for i in columns)}" for name, columns in groups.items()]
    pieces += [f"{name}= {value!r}" for name, value in sparse_row(corpus, h).items()]
    return " ".join(pieces)


def _need_token(name: str, what: str) -> str:
    if not name or "|||" in name or re.search(r"[ \t\n\r]", name):
        raise CapabilityError(f"moses cannot hold {what} {shown(name)}: it must not be empty, hold white space or bars")
    return name


def _need_text(text: str, segment: str) -> str:
    if BAR.search(need_one_line(text, "moses", f"segment {segment!r}")):
        raise CapabilityError(f"moses cannot hold a text with '|||' in it (segment {segment!r}); write jsonl")
    return text
