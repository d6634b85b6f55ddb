"""What every format of forests must do: `check_forest_format` raises an `AssertionError` that says what is wrong."""

from __future__ import annotations

import gzip
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError
from nbest.compute import segments
from nbest.corpus import Forests
from nbest.formats.forests.base import ForestFormat
from nbest.formats.lists.base import HEAD
from nbest.testing.forests import enumerate_derivations, toy_forests
from nbest.testing.formats import GUISES, mutant

_WORDS = ("ant", "größer", 'say"no"', "日本", "a=b", "it's")
_VALUES = (0.1, -1 / 3, -0.0, 5e-324, -1e300, 123456789.12345679, 0.0, -7.0)


def check_forest_format(format: ForestFormat, cases: int = 200, seed: int = 1) -> None:
    """Check one format: its example in all its guises, damaged input, writing then reading, the order of segments."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        check_forest_example(format, root / "example")
        check_forest_damage(format, root / "damage", cases, seed)
        check_forest_round_trip(format, root / "written", seed)
        check_forest_order(format, root / "order", seed)


# the example in all its guises ----------------------------------------------------------------------------------


def check_forest_example(format: ForestFormat, root: Path) -> None:
    """The example is read and sniffed, whatever the ends of its lines and its packing, and prose is not sniffed."""
    assert format.example, f"{format.name}: no example"
    files = {name: text.encode() for name, text in format.example.items()}
    plain = format.read(_put(root / "plain", files))
    assert plain.edges > 0, f"{format.name}: no edges in the example"
    assert any(enumerate_derivations(plain, i) for i in range(len(plain))), f"{format.name}: no derivations in it"
    path = _put(root / "sniffed", files)
    assert format.sniff(path, path.read_bytes()[:HEAD]), f"{format.name}: does not know its own example"
    assert not format.sniff(root / "none.txt", b""), f"{format.name}: takes an empty file for its own"
    prose = b"Some words.\nAnd more words.\n"
    assert not format.sniff(root / "none.txt", prose), f"{format.name}: takes prose for its own"
    for what, change in GUISES.items():
        other = _result(format, _put(root / what, {name: change(data) for name, data in files.items()}))
        assert isinstance(other, Forests), f"{format.name}: {what} is not accepted: {other}"
        _assert_equal(f"{format.name}, {what}", plain, other, {*format.keeps, "ids", "tails"})
    if format.single:
        other = format.read(_put(root / "folder", files).parent)
        _assert_equal(f"{format.name}, a directory", plain, other, {"ids", "tails"})


# damage ---------------------------------------------------------------------------------------------------------


def check_forest_damage(format: ForestFormat, root: Path, cases: int, seed: int) -> None:
    """Damaged input gives a `FormatError` or, cut short, the beginning of the forests; never another exception."""
    name, text = next(iter(format.example.items()))
    data = text.encode()
    path = _put(root, {name: data})
    whole = format.read(path)
    for step in range(0, len(data), max(1, len(data) // 400)):
        cut = _result(format, path, data=data[:step])
        beginning = isinstance(cut, FormatError) or _is_beginning(cut, whole)
        assert beginning, f"{format.name}: cut after {step} bytes, got other forests"
    for other in (b"\n", b"\xff" + data, data[:-2] + b"\xc3\x28\n", gzip.compress(data)[:-9], b"\x1f\x8b" + data):
        bad = _result(format, _put(root, {name: other}))
        assert isinstance(bad, FormatError), f"{format.name}: {other[:20]!r} passes"
    source = random.Random(seed)
    for _ in range(cases):
        changed = mutant(data, source)
        try:
            _result(format, path, data=changed)
        except AssertionError as error:
            raise AssertionError(f"{error}; {changed!r}") from error


def _result(format: ForestFormat, path: Path, **options: Any) -> Forests | FormatError:
    """The forests or the complaint; any other exception is what the contract forbids."""
    try:
        return format.read(path, **options)
    except FormatError as error:
        return error
    except Exception as error:
        raise AssertionError(f"{format.name}: {type(error).__name__} and not FormatError: {error}") from error


def _is_beginning(cut: Forests, whole: Forests) -> bool:
    """Whether forests are the first of others, the last of them with one edge that may be cut."""
    if len(cut) > len(whole) or cut.edges > whole.edges:
        return False
    count = int(whole.forest_edges[len(cut)])
    left = Counter(map(str, _edges(cut, nodes=False))) - Counter(map(str, _edges(whole, nodes=False)[:count]))
    return cut.edges == count and sum(left.values()) <= 1


def check_forest_order(format: ForestFormat, root: Path, seed: int = 1) -> None:
    """Segments that are numbered are read in the order of the numbers, so that lines of texts go with them."""
    if "ids" not in format.keeps:
        return
    root.mkdir(parents=True)
    forests = next(each for each in forest_samples(format, seed) if len(each) > 1)
    order = list(range(len(forests)))[::-1]
    shuffled = replace(forests, ids=tuple(str(10 * i) for i in order))
    path = root / f"shuffled{format.suffixes[0]}"
    format.write(shuffled, path)
    read = format.read(path)
    assert read.ids == shuffled.ids[::-1], f"{format.name}: numbered segments are read in the order {read.ids}"
    _assert_equal(f"{format.name}, order", shuffled.select(order), read, format.keeps)


# writing and reading --------------------------------------------------------------------------------------------


def check_forest_round_trip(format: ForestFormat, root: Path, seed: int = 1) -> None:
    """What the format keeps is the same after writing and reading, and writing changes nothing in the forests."""
    root.mkdir(parents=True)
    for number, forests in enumerate(forest_samples(format, seed)):
        before = _snapshot(forests)
        path = root / f"{number}{format.suffixes[0]}"
        format.write(forests, path)
        assert _snapshot(forests) == before, f"{format.name}: writing changed the forests"
        head = b"" if path.is_dir() else path.read_bytes()[:HEAD]
        assert forests.edges == 0 or format.sniff(path, head), f"{format.name}: does not know what it wrote"
        read = format.read(path)
        if format.single and len(forests) == 1:  # the file gives it its name
            read = replace(read, ids=forests.ids)
        _assert_equal(f"{format.name}, sample {number}", forests, read, format.keeps)


def forest_samples(format: ForestFormat, seed: int = 1) -> Iterator[Forests]:
    """Forests that a format with these abilities can hold."""
    for number in range(8):
        toys = toy_forests(seed + number, forests=6, lattices="hypergraphs" not in format.keeps, features=3)
        if "empty" not in format.keeps:
            toys = toys.select([i for i in range(len(toys)) if toys.node_offsets[i] < toys.node_offsets[i + 1]])
        toys = toys if number % 4 else toys.select([0])
        yield _adapted(format, toys if "hypergraphs" in format.keeps else _as_lattices(toys), number)


def _adapted(format: ForestFormat, toys: Forests, number: int) -> Forests:
    """With the names, words and values that a format may have."""
    keeps, count = format.keeps, len(toys)
    if "features" in keeps:
        names: tuple[str, ...] = ("LM0", "a=b", "x_3")[: 3 - (number % 3 == 1)]
        at = np.arange(toys.edges)[:, None] + 3 * np.arange(len(names))
        features = np.array(_VALUES)[at % 8]
    else:
        names = format.features
        at = np.arange(toys.edges)[:, None] + 3 * np.arange(len(names))
        features = np.array(_VALUES)[at % 8]
        if "words" in names:
            assert toys.symbol_offsets is not None
            features[:, names.index("words")] = segments.lengths(toys.symbol_offsets) - toys.arities
        features[(toys.arities == 0) & _alone(toys)] = 0.0
    bare = "unnamed" in keeps and number == 5
    toys = _without_some_tails(toys) if "deletions" in keeps and number == 3 else toys
    return replace(
        toys,
        features=features,
        feature_names=names,
        vocabulary=() if bare else _WORDS,
        ids=tuple(f"utt-ä{i}" if "ids" in keeps else str(i) for i in range(count)),
        references=tuple((_WORDS[i % 6], "x y")[: 1 + i % 2] for i in range(count)) if "references" in keeps else None,
        own_weights={names[0]: -0.1, names[-1]: 2.0} if "weights" in keeps else {},
        sources=tuple(f"{_WORDS[i % 6]} x" for i in range(count)) if "sources" in keeps else None,
        groups=tuple(_WORDS[i // 2 % 6] for i in range(count)) if "groups" in keeps else None,
        symbols=None if bare else toys.symbols,
        symbol_offsets=None if bare else toys.symbol_offsets,
    )


def _alone(toys: Forests) -> Any:
    """[E] whether an edge is the start of a lattice of `_as_lattices`: the only one into node 0."""
    return (toys.heads == 0) & (segments.lengths(toys.edge_offsets)[segments.owners(toys.edge_offsets)] == 1)


def _as_lattices(toys: Forests) -> Forests:
    """A start before each forest, from which edges without tails come, and at most one word, after the tail."""
    counts: list[int] = []
    nodes: list[int] = []
    tails: list[list[int]] = []
    symbols: list[list[int]] = []
    for i in range(len(toys)):
        low, high = int(toys.node_offsets[i]), int(toys.node_offsets[i + 1])
        nodes.append(high - low + (high > low))
        if high > low:
            counts.append(1)
            tails.append([])
            symbols.append([])
        for v in range(low, high):
            edges = range(int(toys.edge_offsets[v]), int(toys.edge_offsets[v + 1]))
            counts.append(len(edges))
            for e in edges:
                own = toys.tails[toys.tail_offsets[e] : toys.tail_offsets[e + 1]]
                tails.append([int(own[0]) + 1 if len(own) else 0])
                symbols.append([-1, e % 6] if e % 3 else [-1])
    return replace(
        toys,
        node_offsets=segments.offsets_of(np.array(nodes, np.int64)),
        edge_offsets=segments.offsets_of(np.array(counts, np.int64)),
        tail_offsets=segments.offsets_of(np.array([len(row) for row in tails], np.int64)),
        tails=np.array([tail for row in tails for tail in row], np.int64),
        symbol_offsets=segments.offsets_of(np.array([len(row) for row in symbols], np.int64)),
        symbols=np.array([symbol for row in symbols for symbol in row], np.int64),
        features=np.zeros((len(tails), len(toys.feature_names))),
    )


def _without_some_tails(toys: Forests) -> Forests:
    """Target sides that name the first tail twice and never another."""
    assert toys.symbols is not None
    return replace(toys, symbols=np.maximum(toys.symbols, -1))


def _snapshot(forests: Forests) -> tuple[Any, ...]:
    names = ("node_offsets", "edge_offsets", "tail_offsets", "tails", "features", "symbol_offsets", "symbols")
    arrays = [getattr(forests, name) for name in names]
    rest = forests.feature_names, forests.ids, forests.vocabulary, forests.references, forests.sources
    return *(None if array is None else array.tobytes() for array in arrays), *rest


def _edges(forests: Forests, nodes: bool = True, tails: bool = False) -> list[Any]:
    """Each edge: its head, its words with nodes in place of tails (and its tails), and its features to the last bit."""
    out: list[Any] = []
    for e, head in enumerate(forests.heads.tolist()):
        own = forests.tails[forests.tail_offsets[e] : forests.tail_offsets[e + 1]].tolist()
        words: Any = None
        if forests.symbols is not None and forests.symbol_offsets is not None:
            row = forests.symbols[forests.symbol_offsets[e] : forests.symbol_offsets[e + 1]].tolist()
            words = [forests.vocabulary[s] if s >= 0 else own[-1 - s] if nodes else "x" for s in row]
        values = sorted(zip(forests.feature_names, map(repr, forests.features[e].tolist()), strict=True))
        out.append((head if nodes else None, words, own if tails else None, values))
    return out


def _assert_equal(what: str, first: Forests, second: Forests, keeps: frozenset[str] | set[str]) -> None:
    assert len(first) == len(second), f"{what}: {len(first)} and {len(second)} forests"
    sizes = [segments.lengths(each.node_offsets).tolist() for each in (first, second)]
    assert sizes[0] == sizes[1], f"{what}: numbers of nodes differ: {sizes[0]} and {sizes[1]}"
    assert first.edges == second.edges, f"{what}: {first.edges} and {second.edges} edges"
    for e, (one, other) in enumerate(
        zip(*(_edges(each, tails="tails" in keeps) for each in (first, second)), strict=True)
    ):
        assert one == other, f"{what}: edges {e} differ: {one} and {other}"
    if "weights" in keeps:
        assert first.own_weights == second.own_weights, f"{what}: weights differ"
    for name in ("ids", "references", "sources", "groups"):
        if name in keeps:
            assert getattr(first, name) == getattr(second, name), f"{what}: {name} differ"


def _put(root: Path, files: dict[str, bytes]) -> Path:
    """Write files below `root`; the path of the first."""
    root.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (root / name).write_bytes(data)
    return root / next(iter(files))
