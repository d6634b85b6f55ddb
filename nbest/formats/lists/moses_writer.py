"""Writes n-best lists as Moses does today."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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
    if scores is not None and len(scores) != corpus.hypotheses:
        raise ParameterError(f"'scores' of write_moses must have {corpus.hypotheses} entries, got {len(scores)}")
    write_blocks([corpus], path, scores=scores, numbered=numbered)


def write_blocks(
    blocks: Iterable[NBest], path: str | Path, *, scores: Floats | None = None, numbered: bool = False
) -> None:
    """As `write_moses`, of lists that come in blocks."""
    with replacing(path) as file:
        segments = hypotheses = 0
        for corpus in blocks:
            mine = None if scores is None else scores[hypotheses : hypotheses + corpus.hypotheses]
            file.writelines(_lines(corpus, mine, segments if numbered else None))
            segments, hypotheses = segments + len(corpus), hypotheses + corpus.hypotheses


def _lines(corpus: NBest, scores: Floats | None, number: int | None) -> Iterator[bytes]:
    """The lines of a block whose first segment has this number, or goes by its id."""
    texts = need_texts(corpus, "moses")
    groups = _groups(corpus.feature_names)
    for name in (*groups, *corpus.sparse_names):
        _need_token(name, "the feature name")
    if "WordScores" in groups:
        raise CapabilityError("moses cannot hold a feature called 'WordScores', which means scores of words there")
    bare = scores is None and not corpus.feature_names and not corpus.sparse_names  # a total of 0 would be a feature
    for i, segment in enumerate(corpus.ids):
        first = _need_token(segment, "the segment id") if number is None else str(number + i)
        for h in range(int(corpus.offsets[i]), int(corpus.offsets[i + 1])):
            text = _need_text(texts[h], segment)
            fields = [first, text, _features(corpus, groups, h)]
            if not bare:
                fields.append("0" if scores is None else repr(float(scores[h])))
            yield (" ||| ".join(fields) + "\n").encode()


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
