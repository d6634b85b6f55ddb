"""Lists to look at, in Python and in notebooks: `lists[3][0].text`, the first of them as a table of HTML,
all of them as a data frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, _known
from nbest.compute import segments

if TYPE_CHECKING:
    from nbest.corpus.nbest import NBest

_SHOWN = 5
"""Segments, and hypotheses of each, that a notebook shows."""
_LONGEST = 200
"""Letters of a text that it shows."""


@dataclass(frozen=True)
class Hypothesis:
    """One hypothesis of lists."""

    lists: NBest
    number: int  # among all hypotheses of the lists

    @property
    def text(self) -> str | None:
        """Its text."""
        return None if self.lists.texts is None else self.lists.texts[self.number]

    @property
    def answer(self) -> str | None:
        """What of it counts for equality."""
        return None if self.lists.answers is None else self.lists.answers[self.number]

    @property
    def system(self) -> str | None:
        """Who made it."""
        return None if self.lists.systems is None else self.lists.systems[self.number]

    @property
    def gain(self) -> float | None:
        """What it is worth."""
        return None if self.lists.gains is None else float(self.lists.gains[self.number])

    @property
    def features(self) -> dict[str, float]:
        """All its features by name; of the sparse ones those that are not 0."""
        found = dict(zip(self.lists.feature_names, self.lists.features[self.number].tolist(), strict=True))
        if self.lists.sparse is not None:
            row = self.lists.sparse[[self.number]].tocoo()
            for column, value in zip(row.coords[1], row.data, strict=True):
                name = self.lists.sparse_names[column]
                found[name] = found.get(name, 0.0) + float(value)
        return found

    def __repr__(self) -> str:
        said = "" if self.text is None else f"{self.text!r}, "
        return f"Hypothesis({said}{self.features})"


@dataclass(frozen=True, repr=False)
class Segment(Sequence[Hypothesis]):
    """One segment of lists: a sequence of hypotheses."""

    lists: NBest
    number: int

    @property
    def id(self) -> str:
        """Its name."""
        return self.lists.ids[self.number]

    @property
    def references(self) -> tuple[str, ...]:
        """Its references; none where the lists carry none."""
        return () if self.lists.references is None else self.lists.references[self.number]

    @property
    def source(self) -> str | None:
        """Its input."""
        return None if self.lists.sources is None else self.lists.sources[self.number]

    @property
    def group(self) -> str | None:
        """What it belongs to."""
        return None if self.lists.groups is None else self.lists.groups[self.number]

    def __len__(self) -> int:
        return int(self.lists.lengths[self.number])

    @overload
    def __getitem__(self, index: int) -> Hypothesis: ...

    @overload
    def __getitem__(self, index: slice) -> list[Hypothesis]: ...

    def __getitem__(self, index: int | slice) -> Hypothesis | list[Hypothesis]:
        rows = range(*self.lists.offsets[[self.number, self.number + 1]].tolist())
        if isinstance(index, slice):
            return [Hypothesis(self.lists, h) for h in rows[index]]
        return Hypothesis(self.lists, rows[index])

    def __repr__(self) -> str:
        return f"Segment({self.id!r}, {len(self)} hypotheses)"


def item_of(lists: NBest, index: int | str | slice) -> Segment | NBest:
    """The segment with this number or id; the lists of a slice."""
    if isinstance(index, slice):
        return lists.select(range(len(lists))[index])
    if isinstance(index, str):
        if index not in lists.ids:
            raise ParameterError(f"no segment is called {index!r}; {_known(lists.ids, index)}")
        return Segment(lists, lists.ids.index(index))
    return Segment(lists, range(len(lists))[index])


def segments_of(lists: NBest) -> Iterator[Segment]:
    """Every segment, in order."""
    return (Segment(lists, i) for i in range(len(lists)))


def html_of(lists: NBest) -> str:
    """The first segments and hypotheses as a table; everything in it is escaped."""
    heads = ["segment", "text", *(["gain"] if lists.gains is not None else []), *lists.feature_names]
    rows = [_cells(heads)]
    for segment in segments_of(lists[:_SHOWN]):
        hypotheses = segment[:_SHOWN]
        rows += [_row(lists, segment.id if k == 0 else "", each) for k, each in enumerate(hypotheses)]
        if len(segment) > len(hypotheses):
            rows.append(_cells(["", f"... {len(segment) - len(hypotheses)} more"]))
    if len(lists) > _SHOWN:
        rows.append(_cells([f"... {len(lists) - _SHOWN} more"]))
    return f"<p>{escape(repr(lists))}</p><table>{''.join(rows)}</table>"


def _row(lists: NBest, name: str, each: Hypothesis) -> str:
    text = each.text or ""
    values = [*([each.gain] if each.gain is not None else []), *lists.features[each.number].tolist()]
    short = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    return _cells([name, short, *(f"{value:.6g}" for value in values)])


def _cells(cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def frame_of(corpus: NBest) -> Any:
    """A data frame with one hypothesis a row: id, index in the list, text, answer, gain, dense features, and what
    belongs to the segment. Sparse features are left out."""
    try:
        import pandas as pd
    except ImportError:
        raise CapabilityError("to_pandas needs pandas, which is not installed: pip install pandas") from None
    owners = segments.owners(corpus.offsets)
    made: dict[str, Any] = {
        "id": np.array(corpus.ids, object)[owners],
        "index": np.arange(corpus.hypotheses) - corpus.offsets[:-1][owners],
    }
    for name, texts in (("text", corpus.texts), ("answer", corpus.answers), ("system", corpus.systems)):
        if texts is not None:
            made[name] = list(texts)
    if corpus.gains is not None:
        made["gain"] = np.array(corpus.gains)
    most = max(map(len, corpus.references or ()), default=0)
    columns = reference_columns(most)
    taken = {*made, "source", "group", *columns}
    for d, name in enumerate(corpus.feature_names):
        made[f"feature:{name}" if name in taken else name] = np.array(corpus.features[:, d])
    for name, values in (("source", corpus.sources), ("group", corpus.groups)):
        if values is not None:
            made[name] = [values[i] for i in owners]
    for k, name in enumerate(columns):
        given = [texts[k] if k < len(texts) else None for texts in corpus.references or ()]
        made[name] = [given[i] for i in owners]
    return pd.DataFrame(made)


def reference_columns(most: int) -> list[str]:
    """Names of columns of a table for up to so many references of a segment."""
    return ["reference"] if most == 1 else [f"reference_{k + 1}" for k in range(most)]
