"""What every format must do: `check_format` raises an `AssertionError` that says what one does wrong."""

from __future__ import annotations

import gzip
import lzma
import random
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError, FormatWarning
from nbest.compute import segments
from nbest.corpus import NBest, Texts
from nbest.corpus.container import OF_SEGMENTS
from nbest.formats.lists.base import EVERYTHING, HEAD, Format, sparse_row

_TEXTS = ("a house", "größer  als", "", 'say "no" \\ <unk>', "日本 語", "= 1 : 2", "a mouse", "x|y")
_VALUES = (0.1, -1 / 3, -0.0, 5e-324, -1e300, 123456789.12345679, 0.0, -7.0)
_SPLICES = (
    b"\n",
    b"\r\n",
    b"\t",
    b" ",
    b" ||| ",
    b"|||",
    b"=",
    b'"',
    b"{",
    b"]",
    b"\\",
    b"\x00",
    b"\xff",
    b"nan",
    b"-",
)


def check_format(format: Format, cases: int = 200, seed: int = 1) -> None:
    """Check one format: its example in all its guises, damaged input, writing then reading, the order of segments."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)  # of what damage leaves out
        root = Path(folder)
        check_example(format, root / "example")
        check_damage(format, root / "damage", cases, seed)
        if format.write is not None:
            check_round_trip(format, root / "written")
            check_order(format, root / "order")


# the example in all its guises ----------------------------------------------------------------------------------


def check_example(format: Format, root: Path) -> None:
    """The example is read and sniffed, whatever the ends of its lines and its packing, and prose is not sniffed."""
    files = example_files(format)
    assert files, f"{format.name}: no example"
    plain = format.read(put(format, root / "plain", files))
    assert plain.hypotheses > 0, f"{format.name}: no hypotheses in the example"
    path = put(format, root / "sniffed", files)
    head = b"" if format.directory else path.read_bytes()[:HEAD]
    assert format.sniff(path, head), f"{format.name}: does not know its own example"
    assert not format.sniff(root / "none.txt", b""), f"{format.name}: takes an empty file for its own"
    prose = b"Some words.\nAnd more words.\n"
    assert not format.sniff(root / "none.txt", prose), f"{format.name}: takes prose for its own"
    for what, change in () if format.binary else GUISES.items():
        other = _result(format, put(format, root / what, {name: change(data) for name, data in files.items()}))
        assert isinstance(other, NBest), f"{format.name}: {what} is not accepted: {other}"
        _assert_equal(f"{format.name}, {what}", plain, other, EVERYTHING)


GUISES: dict[str, Any] = {
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "no final newline": lambda data: data.removesuffix(b"\n"),
    "blank lines at the end": lambda data: data + b"\n\n",
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "xz": lzma.compress,
}


# damage ---------------------------------------------------------------------------------------------------------


def check_damage(format: Format, root: Path, cases: int, seed: int) -> None:
    """Damaged input gives a `FormatError` or, cut short, the beginning of the lists; never another exception."""
    files = example_files(format)
    whole = format.read(put(format, root, files))
    cuts = 60 if len(files) < 4 else 15
    for name, data in files.items():
        for step in range(0, len(data), max(1, len(data) // cuts)):
            cut = _result(format, put(format, root, {**files, name: data[:step]}))
            if len(files) == 1 or format.directory:  # a side file cut short may leave other lists that are valid
                assert _is_beginning(cut, whole), f"{format.name}: cut after {step} bytes of {name}, got other lists"
        for other in (b"\n", b"\xff" + data, data[:-2] + b"\xc3\x28\n", gzip.compress(data)[:-9], b"\x1f\x8b" + data):
            bad = _result(format, put(format, root, {**files, name: other}))
            if other != b"\n" or len(files) == 1:
                assert isinstance(bad, FormatError), f"{format.name}: {other[:20]!r} in {name} passes"
        put(format, root, files)
        _check_mutants(format, root, files, name, cases=cases // len(files), seed=seed)


def _check_mutants(format: Format, root: Path, files: dict[str, bytes], name: str, cases: int, seed: int) -> None:
    source = random.Random(seed)
    for _ in range(cases):
        changed = mutant(files[name], source)
        try:
            if format.directory or name != next(iter(files)):
                _result(format, put(format, root, {name: changed}))
            else:
                _result(format, root / name, data=changed)
        except AssertionError as error:
            raise AssertionError(f"{error}; {name} = {changed!r}") from error
    put(format, root, files)


def mutant(data: bytes, source: random.Random) -> bytes:
    """`data` with one to three bytes flipped, inserted, deleted, spliced, or a stretch of it moved."""
    changed = bytearray(data)
    for _ in range(source.randint(1, 3)):
        at = source.randrange(len(changed) + 1)
        kind = source.randrange(6)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << source.randrange(8)
        elif kind == 1:
            changed[at:at] = bytes([source.randrange(256)])
        elif kind == 2:
            del changed[at : at + source.randint(1, 4)]
        elif kind == 3:
            changed[at:at] = source.choice(_SPLICES)
        elif kind == 4:
            changed[at:at] = changed[source.randrange(len(changed) + 1) :][:40]
        else:
            del changed[at:]
    return bytes(changed)


def _result(format: Format, path: Path, **options: Any) -> NBest | FormatError:
    """The lists or the complaint; any other exception is what the contract forbids."""
    try:
        return format.read(path, **options)
    except FormatError as error:
        return error
    except Exception as error:
        raise AssertionError(f"{format.name}: {type(error).__name__} and not FormatError: {error}") from error


def _is_beginning(cut: NBest | FormatError, whole: NBest) -> bool:
    """Whether lists are a beginning of others; the last hypothesis that was read may be cut."""
    if isinstance(cut, FormatError):
        return True
    full = dict(zip(whole.ids, _lists(whole), strict=True))
    strange = 0
    for name, texts in zip(cut.ids, _lists(cut), strict=True):
        first = full.get(name, [])[: len(texts)]
        strange += sum(a != b for a, b in zip(texts, first, strict=False)) + len(texts) - len(first)
    return strange <= 1 and cut.hypotheses <= whole.hypotheses


def _lists(corpus: NBest) -> list[list[str]]:
    texts = list(corpus.texts or [])
    return [texts[a:b] for a, b in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)]


# writing and reading --------------------------------------------------------------------------------------------


def check_round_trip(format: Format, root: Path) -> None:
    """What the format keeps is the same after writing and reading, and writing changes nothing in the corpus."""
    assert format.write is not None
    root.mkdir(parents=True)
    for number, corpus in enumerate(samples(format.keeps)):
        before = _snapshot(corpus)
        path = root / f"{number}{format.suffixes[0]}"
        format.write(corpus, path)
        assert _snapshot(corpus) == before, f"{format.name}: writing changed the corpus"
        head = b"" if format.directory else path.read_bytes()[:HEAD]
        known = format.sniff(path, head) or corpus.hypotheses == 0
        assert known, f"{format.name}: does not know what it wrote"
        _assert_equal(f"{format.name}, sample {number}", corpus, format.read(path), format.keeps | {"features"})


def check_order(format: Format, root: Path) -> None:
    """Segments that are numbered are read in the order of the numbers, so that lines of texts go with them."""
    if format.write is None or "ids" not in format.keeps:
        return
    root.mkdir(parents=True)
    shuffled = replace(_sample(np.array([2, 2, 2, 2]), format.keeps), ids=("3", "0", "10", "1"))
    path = root / f"shuffled{format.suffixes[0]}"
    format.write(shuffled, path)
    read = format.read(path)
    assert read.ids == ("0", "1", "3", "10"), f"{format.name}: numbered segments are read in the order {read.ids}"
    _assert_equal(f"{format.name}, order", shuffled.select([1, 3, 0, 2]), read, format.keeps | {"features"})


def samples(keeps: frozenset[str]) -> Iterator[NBest]:
    """Corpora that a format with these abilities can hold."""
    sizes = [[2, 2], [1]]
    if "ragged" in keeps:
        sizes.append([3, 1, 4])
    if "empty" in keeps:
        sizes += [[0, 2, 0], [0]]
    for lengths in sizes:
        yield _sample(np.array(lengths), keeps)


def _sample(lengths: Any, keeps: frozenset[str]) -> NBest:
    offsets = segments.offsets_of(lengths)
    count = int(offsets[-1])
    if "features" in keeps:
        names: tuple[str, ...] = ("LM0", "TM0_0", "TM0_1", "a=b", "x_3") if count else ()
        features = np.array([[_VALUES[(h + 3 * d) % 8] for d in range(len(names))] for h in range(count)])
    elif "score" in keeps:
        names, features = ("score",), np.array([[_VALUES[h % 8]] for h in range(count)])
    else:
        names, features = ("rank",), -1.0 - (np.arange(count) - np.repeat(offsets[:-1], lengths))[:, None]
    if count == 0:
        names = ()
    return NBest(
        offsets=offsets,
        features=features.reshape(count, len(names)),
        feature_names=names,
        ids=tuple(f"utt-ä{i}" if "ids" in keeps else str(i) for i in range(len(lengths))),
        texts=Texts.of(_TEXTS[h % 8] for h in range(count)),
        references=_sample_references(len(lengths), keeps),
        sources=tuple(_TEXTS[i % 8] for i in range(len(lengths))) if "sources" in keeps else None,
        groups=tuple(_TEXTS[i // 2 % 8] for i in range(len(lengths))) if "groups" in keeps else None,
        gains=np.array([_VALUES[(h + 1) % 8] for h in range(count)]) if "gains" in keeps and count else None,
        answers=Texts.of(_TEXTS[(h + 5) % 8] for h in range(count)) if "answers" in keeps and count else None,
        systems=Texts.of(_TEXTS[(h + 3) % 8] for h in range(count)) if "systems" in keeps and count else None,
        **(_sample_sparse(count) if "sparse" in keeps and count > 1 else {}),
    )


def _sample_references(count: int, keeps: frozenset[str]) -> tuple[tuple[str, ...], ...] | None:
    if "references" in keeps:
        return tuple((_TEXTS[i % 8], "another")[: 1 + i % 2] for i in range(count))
    return tuple((_TEXTS[i % 8],) for i in range(count)) if "reference" in keeps else None


def _sample_sparse(count: int) -> dict[str, Any]:
    from scipy.sparse import coo_array

    values = np.array([1.0, -0.5])
    return {
        "sparse": coo_array((values, (np.array([0, count - 1]), np.array([0, 1]))), shape=(count, 2)).tocsr(),
        "sparse_names": ("pp_ü", "pp_b=c"),
    }


def _snapshot(corpus: NBest) -> tuple[Any, ...]:
    texts = None if corpus.texts is None else list(corpus.texts)
    rows = [sparse_row(corpus, h) for h in range(corpus.hypotheses)]
    arrays = corpus.offsets.tobytes(), corpus.features.tobytes()
    own = [getattr(corpus, name) for name in OF_SEGMENTS]
    more = [_values(corpus, name) for name in ("gains", "answers", "systems")]
    return *arrays, corpus.feature_names, texts, own, repr(rows), more


def _values(corpus: NBest, name: str) -> list[Any] | None:
    """What hypotheses have of a field; None where there is none."""
    value = getattr(corpus, name)
    return None if value is None else list(value)


def _assert_equal(what: str, first: NBest, second: NBest, keeps: frozenset[str] | set[str]) -> None:
    assert _lists(first) == _lists(second), f"{what}: texts differ: {_lists(first)} and {_lists(second)}"
    if "ids" in keeps:
        assert first.ids == second.ids, f"{what}: ids differ: {first.ids} and {second.ids}"
    if "features" in keeps:
        assert _rows(first) == _rows(second), f"{what}: features differ: {_rows(first)} and {_rows(second)}"
    if keeps & {"references", "reference"}:
        assert first.references == second.references, f"{what}: references differ"
    for name in {"sources", "groups", "gains", "answers", "systems"} & keeps:
        assert _values(first, name) == _values(second, name), f"{what}: {name} differ"


def _rows(corpus: NBest) -> list[str]:
    """All features of each hypothesis, dense and sparse alike, to the last bit."""
    dense = [dict(zip(corpus.feature_names, row.tolist(), strict=True)) for row in corpus.features]
    return [repr(sorted({**row, **sparse_row(corpus, h)}.items())) for h, row in enumerate(dense)]


def example_files(format: Format) -> dict[str, bytes]:
    """The files of a small valid input, by name; written here where the format is binary."""
    if not format.binary or format.write is None:
        return {name: text.encode() for name, text in format.example.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"example{format.suffixes[0]}"
        format.write(_sample(np.array([3, 1, 2] if "ragged" in format.keeps else [2, 2]), format.keeps), path)
        root = path if format.directory else Path(folder)
        return {
            file.relative_to(root).as_posix(): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()
        }


def put(format: Format, root: Path, files: dict[str, bytes]) -> Path:
    """Write the files of an input below `root`; the path to read it from."""
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root if format.directory else root / next(iter(format.example or files))
