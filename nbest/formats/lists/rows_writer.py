"""Writes lists as CSV or TSV, one hypothesis a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from nbest.base.errors import CapabilityError, shown
from nbest.base.files import replacing
from nbest.corpus import NBest
from nbest.corpus.views import reference_columns


def write_csv(corpus: NBest, path: str | Path) -> None:
    """Write a table with a header; between the fields are tabs where the suffix is .tsv, else commas.

    Keeps ids, texts, dense features, references, sources, groups, gains, answers and systems. Empty lists are left out;
    sparse features cannot be written.
    """
    if corpus.sparse is not None:
        raise CapabilityError("csv cannot hold sparse features; write jsonl")
    if corpus.groups is not None and "" in corpus.groups:
        raise CapabilityError("csv cannot hold a group without a name; write jsonl")
    tabs = Path(path).name.removesuffix(".gz").removesuffix(".xz").endswith(".tsv")
    header = _header(corpus)
    twice = next((name for at, name in enumerate(header) if name in header[:at] or name != name.strip()), None)
    if twice is not None or "" in header:
        raise CapabilityError(f"csv cannot hold a feature of the name {twice or ''!r}; write jsonl")
    with replacing(path) as file:
        for row in (header, *_rows(corpus)):
            out = io.StringIO()
            csv.writer(out, delimiter="\t" if tabs else ",", lineterminator="\n").writerow(row)
            file.write(_checked(row, out.getvalue(), tabs).encode("utf-8", "replace"))


def _checked(row: list[str], line: str, tabs: bool) -> str:
    odd = next(
        (cell for cell in row if "\r" in cell or "\0" in cell or (tabs and ("\t" in cell or "\n" in cell))), None
    )
    if odd is not None:
        what = "a tab, line break or" if tabs else "a carriage return or"
        raise CapabilityError(f"{'tsv' if tabs else 'csv'} cannot hold {what} NUL in a text: {shown(odd)}; write jsonl")
    return line


def _header(corpus: NBest) -> list[str]:
    most = max(map(len, corpus.references or ()), default=0)
    references = reference_columns(most)
    given = {
        "text": corpus.texts,
        "source": corpus.sources,
        "group": corpus.groups,
        "gain": corpus.gains,
        "answer": corpus.answers,
        "system": corpus.systems,
    }
    return ["id", *(name for name, value in given.items() if value is not None), *references, *corpus.feature_names]


def _rows(corpus: NBest) -> Iterator[list[str]]:
    most = max(map(len, corpus.references or ()), default=0)
    for i, name in enumerate(corpus.ids):
        own = () if corpus.references is None else corpus.references[i]
        if "" in own[1:]:
            raise CapabilityError(f"csv cannot hold an empty reference after others, as segment {name!r} has")
        references = [*own, *[""] * (most - len(own))]
        for h in range(int(corpus.offsets[i]), int(corpus.offsets[i + 1])):
            row = [name]
            for value, at in (
                (corpus.texts, h),
                (corpus.sources, i),
                (corpus.groups, i),
                (None if corpus.gains is None else [repr(float(corpus.gains[h]))], 0),
                (corpus.answers, h),
                (corpus.systems, h),
            ):
                row += [] if value is None else [value[at]]
            yield [*row, *references, *(repr(float(value)) for value in corpus.features[h])]
