"""Lists as tables of Arrow, one hypothesis a row: what readers of Parquet and Arrow files share.

| column | holds |
| --- | --- |
| `id` | the segment, a string or a whole number; its rows stand together. The only column that must be there |
| `text` | the hypothesis |
| `source` | the input text of the segment, the same in all of its rows |
| `references` | a list of strings, or one string; the same in all rows of the segment |
| `group` or `doc` | what the segment belongs to, a string or a whole number, the same in all of its rows |
| `gain` | what the hypothesis is worth, a number (`score` in jsonl; here a column `score` is a feature as any other) |
| `answer` | what of the hypothesis counts for equality |
| `system` | who made the hypothesis, a string or a whole number |
| `index` | the place of the hypothesis in its list; rows of a segment that do not stand so are put in order |
| `sparse` | a map from names to numbers |
| any other column of numbers | a dense feature |

The names are those of `jsonl`; booleans are 0 and 1, columns of other kinds are left alone. A row in which text,
features, gain and sparse features are all null is a segment without hypotheses. Rows are read batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.types import Bools, Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest, Texts
from nbest.corpus.operations import join
from nbest.corpus.order import in_order
from nbest.formats.column_names import IDS, PLACES, REFERENCE, SOURCES, SYSTEMS, TEXTS
from nbest.formats.lists.arrow_kinds import complaints, is_list, is_number, is_string
from nbest.formats.lists.jsonl import check_keys
from nbest.formats.lists.known import KnownNames
from nbest.formats.lists.lines import OutOfStepError

OWN = ("id", "text", "source", "references", "group", "doc", "gain", "answer", "system", "index", "sparse")
"""Columns that are no features."""

_ALIASES = {
    "id": IDS,
    "text": TEXTS,
    "source": SOURCES,
    "system": SYSTEMS,
    "references": ("reference", "ref"),
    "index": PLACES,
}
"""Other names of columns, for those that are not there."""

_TWICE = "the rows of a segment must stand together"


def lists_of(path: str | Path, batches: Iterable[Any]) -> NBest:
    """All lists of the batches of a table, numbered segments in the order of their numbers."""
    blocks = list(blocks_of(path, batches))
    corpus = join(blocks)
    order = in_order(corpus.ids)
    if list(corpus.ids) == order:
        return corpus
    place = {name: i for i, name in enumerate(corpus.ids)}
    chosen = np.array([place[name] for name in order])
    rows, _ = segments.rows_of(corpus.offsets, chosen)
    return replace(corpus.select(chosen), positions=rows)


def blocks_of(path: str | Path, batches: Iterable[Any]) -> Iterator[NBest]:
    """The lists block by block, whole segments each, in the order of the rows."""
    import pyarrow as pa

    seen = KnownNames()
    rest, row = None, 1
    for batch in batches:
        with complaints(path):
            batch.validate(full=True)
            table = _renamed(_decoded(pa.Table.from_batches([batch])))
            table = table if rest is None else pa.concat_tables([rest, table])
            part = _TableRows(path, table, row)
            end = int(part.starts[-1]) if len(part.starts) else 0  # the last segment may go on in the next batch
            block = part.until(end, seen) if end else None
        rest, row = table.slice(end), row + end
        if block is not None:
            yield block
    if rest is None or not rest.num_rows:  # the last row of a table always goes into the rest
        raise FormatError(path, None, "no hypotheses in it; expected at least one segment")
    with complaints(path):
        block = _TableRows(path, rest, row).until(rest.num_rows, seen)
    yield block


def _renamed(table: Any) -> Any:
    """The table with our names for columns that have others which `rows` knows, too."""
    names = list(table.column_names)
    for own, others in _ALIASES.items():
        kinds = {name: table.field(name).type for name in others if name in names}
        fits = [name for name, kind in kinds.items() if own == "id" or is_number(kind) == (own == "index")]
        if own not in names and fits and names.count(fits[0]) == 1:
            names[names.index(fits[0])] = own
    return table.rename_columns(names)


def _decoded(table: Any) -> Any:
    """The table with the numbers themselves in columns of numbers that are encoded by dictionaries."""
    import pyarrow as pa

    for at, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and is_number(field.type.value_type):
            values = [chunk.dictionary_decode() for chunk in table.column(at).chunks]
            table = table.set_column(at, field.name, pa.chunked_array(values, field.type.value_type))
    return table


class _TableRows:
    """Rows of a table, the first of which has the number `row`."""

    def __init__(self, path: str | Path, table: Any, row: int) -> None:
        self.path, self.row, self.table = path, row, table
        self._check_columns()
        self.ids = self._ids()
        self.first = np.ones(len(self.ids), bool)  # of a segment
        self.first[1:] = self.ids[1:] != self.ids[:-1]
        self.starts: Ints = np.flatnonzero(self.first)

    def until(self, end: int, seen: KnownNames) -> NBest:
        """The lists of the rows before `end`, with which a segment ends; their ids go to those that were seen."""
        rows = _TableRows(self.path, self.table.slice(0, end), self.row)
        ids = tuple(rows.ids[rows.starts])
        if len(set(ids)) < len(ids) or not seen.add(ids):
            at, name = next(each for each in zip(rows.starts, ids, strict=True) if not seen.add(each[1:]))
            rows.complain(at, f"segment {name!r} was there before; {_TWICE}")
        owners = np.cumsum(rows.first) - 1
        rows.need_order()
        there = rows.there(owners)
        sparse, sparse_names = rows.sparse(there)
        return NBest(
            offsets=segments.offsets_of(np.bincount(owners[there], minlength=len(ids))),
            features=rows.features(there),
            feature_names=rows.names,
            ids=ids,
            texts=rows.texts("text", there),
            answers=rows.texts("answer", there),
            systems=rows.texts("system", there),
            gains=rows.gains(there),
            references=rows.references(),
            sources=rows.segments_have("source"),
            groups=rows.segments_have("group") or rows.segments_have("doc"),
            sparse=sparse,
            sparse_names=sparse_names,
        )

    def need_order(self) -> None:
        """Rows that do not stand by their index are put in order when all are there (`read_rows`)."""
        import pyarrow as pa

        names, schema = self.table.column_names, self.table.schema
        if "index" not in names or not pa.types.is_integer(schema.field("index").type):
            return  # labels of rows, perhaps
        self._refuse_null("index", np.asarray(self.table.column("index").is_null()))
        index = self.table.column("index").to_numpy()
        falls = np.diff(index) <= 0
        if (falls & ~self.first[1:][: len(falls)]).any():
            raise OutOfStepError

    def complain(self, at: int, what: str) -> None:
        """Of one row."""
        raise FormatError(self.path, None, f"row {self.row + int(at)}: {what}")

    def _check_columns(self) -> None:
        import pyarrow as pa

        names, schema = self.table.column_names, self.table.schema
        if any(
            REFERENCE(name) and name[-1].isdigit() for name in names
        ):  # several columns of references are read with all rows (`read_rows`)
            raise OutOfStepError
        if len(set(names)) < len(names):
            raise FormatError(self.path, None, "two columns have the same name")
        nested = [name for name in ("hypotheses", "id", "text") if name in names and is_list(schema.field(name).type)]
        if nested:
            why = f"{nested[0]!r} holds lists, one segment a row; expected one hypothesis a row: unnest it first"
            raise FormatError(self.path, None, f"the column {why}")
        self.names = tuple(name for name in names if name not in OWN and is_number(schema.field(name).type))
        check_keys(self.path, None, dict.fromkeys(name for name in names if name not in self.names), OWN)
        if "id" not in names:
            raise FormatError(self.path, None, "the column 'id' is missing; it says which segment a row belongs to")
        for name, fits, kind in (
            ("id", lambda t: is_string(t) or pa.types.is_integer(t), "strings or whole numbers"),
            ("text", is_string, "strings"),
            ("source", is_string, "strings"),
            ("answer", is_string, "strings"),
            ("system", lambda t: is_string(t) or pa.types.is_integer(t), "strings or whole numbers"),
            ("gain", is_number, "numbers"),
            ("group", lambda t: is_string(t) or pa.types.is_integer(t), "strings or whole numbers"),
            ("doc", lambda t: is_string(t) or pa.types.is_integer(t), "strings or whole numbers"),
            ("references", lambda t: is_string(t) or (is_list(t) and is_string(t.value_type)), "lists of strings"),
            ("sparse", lambda t: pa.types.is_map(t) and is_string(t.key_type) and is_number(t.item_type), "maps"),
        ):
            if name in names and not fits(schema.field(name).type):
                got = f"must hold {kind}, got {schema.field(name).type}"
                raise FormatError(self.path, None, f"the column {name!r} {got}")

    def _column(self, name: str, kind: Any) -> Any:
        """One array of a column as this kind."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = pc.cast(self.table.column(name), kind, safe=False)
        return pa.concat_arrays(found.chunks) if found.num_chunks else pa.array([], kind)

    def _ids(self) -> Any:
        """[R] ids as Python's strings."""
        column = self.table.column("id")
        self._refuse_null("id", np.asarray(column.is_null()))
        return np.array([str(each) for each in column.to_pylist()] + [None], object)[:-1]

    def _refuse_null(self, name: str, missing: Bools) -> None:
        if missing.any():
            self.complain(int(np.argmax(missing)), f"{name!r} is null")

    def there(self, owners: Ints) -> Ints:
        """The rows that are hypotheses."""
        own = [name for name in ("text", *self.names, "gain", "sparse") if name in self.table.column_names]
        nothing = np.full(len(owners), bool(own))
        for name in own:
            nothing &= np.asarray(self.table.column(name).is_null())
        odd = nothing & (np.bincount(owners)[owners] > 1)
        if odd.any():
            self.complain(int(np.argmax(odd)), "all is null, as for a segment without hypotheses, which has other rows")
        for name in own:
            if name != "sparse":
                self._refuse_null(name, np.asarray(self.table.column(name).is_null()) & ~nothing)
        return np.flatnonzero(~nothing)

    def features(self, there: Ints) -> Floats:
        """[H, D] as float32 where all columns are, else float64."""
        import pyarrow as pa

        kinds = [self.table.schema.field(name).type for name in self.names]
        single = bool(kinds) and all(pa.types.is_float32(kind) for kind in kinds)
        out = np.empty((len(there), len(self.names)), np.float32 if single else np.float64)
        for d, name in enumerate(self.names):
            out[:, d] = self._numbers(name, pa.from_numpy_dtype(out.dtype), there, f"feature {name!r}")
        return out

    def gains(self, there: Ints) -> Floats | None:
        """[H] what hypotheses are worth."""
        import pyarrow as pa

        return self._numbers("gain", pa.float64(), there, "'gain'") if "gain" in self.table.column_names else None

    def _numbers(self, name: str, kind: Any, there: Ints, what: str) -> Floats:
        """[H] a column of finite numbers."""
        values = self._column(name, kind).fill_null(0.0).to_numpy()[there]
        wrong = ~np.isfinite(values)
        if wrong.any():
            h = int(np.argmax(wrong))
            self.complain(there[h], f"{what} must be a finite number, got {values[h]}")
        return np.asarray(values)

    def texts(self, name: str, there: Ints) -> Texts | None:
        """A column of texts of the hypotheses; they share the memory of the table."""
        import pyarrow as pa

        if name not in self.table.column_names:
            return None
        column = self._column(name, pa.large_string())
        _, offsets, data = column.buffers()
        ends = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
        buffer = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        return Texts(buffer, ends[:-1][there], ends[1:][there])

    def segments_have(self, name: str) -> tuple[str, ...] | None:
        """A column of texts that is the same in all rows of a segment: one for each."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if name not in self.table.column_names:
            return None
        column = self._column(name, pa.large_string())
        self._refuse_null(name, np.asarray(column.is_null()))
        differs = np.asarray(pc.not_equal(column[1:], column[:-1]))
        self._refuse_difference(name, np.append(False, differs)[: len(column)])
        return tuple(column.take(pa.array(self.starts)).to_pylist())

    def references(self) -> tuple[tuple[str, ...], ...] | None:
        """Of the segments."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if "references" not in self.table.column_names:
            return None
        kind = pa.large_string()
        if is_string(self.table.schema.field("references").type):
            one = self._column("references", kind)
            column = pa.LargeListArray.from_arrays(pa.array(np.arange(len(one) + 1)), one)
            lengths = np.where(np.asarray(one.is_null()), 0, 1)
        else:
            column = self._column("references", pa.large_list(kind))
            lengths = np.asarray(pc.list_value_length(column).fill_null(0))
        if (lengths == 0).any():
            self.complain(int(np.argmax(lengths == 0)), "no 'references'")
        offsets, values = np.asarray(column.offsets), column.values
        self._refuse_null("references", _any_of(np.asarray(values.is_null()), offsets))
        differs = np.append(True, lengths[1:] != lengths[:-1])[: len(lengths)]
        same = np.flatnonzero(~differs)
        places, cuts = segments.rows_of(offsets, same)
        before = places - np.repeat(lengths[same], lengths[same])
        unequal = np.asarray(pc.not_equal(values.take(pa.array(places)), values.take(pa.array(before))))
        differs[same] = _any_of(unequal, cuts)
        self._refuse_difference("references", differs)
        return tuple(map(tuple, column.take(pa.array(self.starts)).to_pylist()))

    def _refuse_difference(self, name: str, differs: Bools) -> None:
        odd = differs & ~self.first
        if odd.any():
            self.complain(int(np.argmax(odd)), f"{name!r} differs from that of the row before, of the same segment")

    def sparse(self, there: Ints) -> tuple[Any, tuple[str, ...]]:
        """The matrix and the names of its columns."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if "sparse" not in self.table.column_names:
            return None, ()
        column = self._column("sparse", pa.map_(pa.large_string(), pa.float64()))
        lengths = np.where(np.asarray(column.is_null()), 0, np.diff(np.asarray(column.offsets)))[there]
        places, cuts = segments.rows_of(np.asarray(column.offsets), there[lengths > 0])
        if not len(places):
            return None, ()
        values = column.items.take(pa.array(places)).fill_null(np.nan).to_numpy(zero_copy_only=False)
        names = pc.dictionary_encode(column.keys.take(pa.array(places)))
        rows = np.repeat(np.flatnonzero(lengths), np.diff(cuts))
        wrong, known = ~np.isfinite(values), tuple(names.dictionary.to_pylist())
        if wrong.any():
            at = int(np.argmax(wrong))
            what = f"feature {known[names.indices[at].as_py()]!r} must be a finite number, got {values[at]}"
            self.complain(there[rows[at]], what)
        both = next((name for name in known if name in self.names), None)
        if both is not None:
            raise FormatError(self.path, None, f"feature {both!r} is both dense and sparse")
        from scipy.sparse import coo_array

        entries = (values, (rows, np.asarray(names.indices)))
        return coo_array(entries, shape=(len(there), len(known))).tocsr(), known


def _any_of(flags: Bools, offsets: Ints) -> Bools:
    """[R] whether any flag of a row is set."""
    return segments.sums(flags.astype(np.float64), offsets) > 0
