"""Lists in blocks: together what reading gives, with the same complaints, whatever the file."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from nbest.base.errors import FormatError, NbestError
from nbest.corpus import NBest, Texts
from nbest.corpus.operations import join
from nbest.formats import FORMATS, read, write, write_blocks
from nbest.formats.lists import lines
from nbest.formats.streams import in_blocks
from nbest.testing.formats import mutant

STREAMED = [name for name, format in FORMATS.items() if format.stream is not None and not format.directory]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "PIECE", 100)
    monkeypatch.setattr("nbest.formats.lists.table_files.BATCH", 4)


def _lists(seed: int, segments: int = 12) -> NBest:
    source = random.Random(seed)
    sizes = [source.randrange(1, 5) for _ in range(segments)]
    rows = sum(sizes)
    named = source.random() < 0.3
    return NBest(
        offsets=np.cumsum([0, *sizes]),
        features=np.array([[source.uniform(-9, 9), source.randrange(5)] for _ in range(rows)]),
        feature_names=("lm", "words"),
        ids=tuple(f"u{i}" if named else str(i) for i in range(segments)),
        texts=Texts.of(" ".join(source.choice(["a", "größe", "house", "|"]) for _ in range(3)) for _ in range(rows)),
    )


def _together(path: Path, counts: list[int] | None = None) -> NBest:
    def consume(blocks: Iterable[NBest]) -> NBest:
        parts = list(blocks)
        if counts is not None:
            counts.append(len(parts))
        return parts[0] if len(parts) == 1 else join(parts)

    return in_blocks(path, consume)


@pytest.mark.parametrize("name", STREAMED)
@pytest.mark.parametrize("packed", ["", ".gz", ".xz"])
def test_blocks_together_are_what_reading_gives(name: str, packed: str, tmp_path: Path) -> None:
    for seed in range(10):
        path = tmp_path / f"lists{seed}{FORMATS[name].suffixes[0]}{packed}"
        write(_lists(seed), path, name)
        counts: list[int] = []
        assert _together(path, counts) == read(path)
        assert counts[0] > 3


@pytest.mark.parametrize("name", STREAMED)
def test_damaged_files_give_the_same_lists_or_the_same_complaint(name: str, tmp_path: Path) -> None:
    source = random.Random(name)
    refused = 0
    for seed in range(150):
        whole = tmp_path / "whole"
        write(_lists(seed, 5), whole, name)
        path = tmp_path / f"lists{FORMATS[name].suffixes[0]}"
        path.write_bytes(mutant(whole.read_bytes(), source))
        outcomes = []
        for way in (read, _together):
            try:
                outcomes.append(way(path))
            except NbestError as error:
                outcomes.append(error)
        if isinstance(outcomes[0], NBest):
            assert outcomes[0] == outcomes[1], path.read_bytes()
        else:  # of several faults another one may be met first; where all is read again it is the same
            _check_complaint(*outcomes)
        refused += not isinstance(outcomes[0], NBest)
    assert refused > 20


def _check_complaint(whole: NbestError, blocks: NbestError) -> None:
    assert isinstance(whole, FormatError)
    assert isinstance(blocks, FormatError)
    first = blocks.line is not None and whole.line is not None and blocks.line <= whole.line
    assert str(whole) == str(blocks) or first or str(blocks).endswith(("others have", "others have none"))


def _moses(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "lists.nbest"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "rows",
    [
        [(i, "F= 1") for i in (3, 2, 1, 0) for _ in range(9)],
        [(i, "F= 1") for _ in range(9) for i in range(3)],
        [(i, "F= 1 s_a= 2" if i < 4 else "F= 1") for i in range(8) for _ in range(3)],
        [("a" if i == 7 else i, "F= 1") for i in range(9) for _ in range(3)],
        [(i % 7, "F= 1") for i in range(9)],
    ],
    ids=["falling", "scattered", "sparse before", "a name among numbers", "again"],
)
def test_lists_out_of_step_are_read_as_a_whole(rows: list[tuple[object, str]], tmp_path: Path) -> None:
    path = _moses(tmp_path, "".join(f"{i} ||| text number {k} ||| {row} ||| 0\n" for k, (i, row) in enumerate(rows)))
    counts: list[int] = []
    assert _together(path, counts) == read(path)
    assert counts == [1]


@pytest.mark.parametrize(
    "rows",
    [
        [(i, f"F= 1 T= 1 2 s_{i}= 2" if k else "F= 1 T= 1 2") for i in range(8) for k in range(3)],
        [(i, "F= 1 T= 1 2 s_a= 2" if i > 4 else "F= 1 T= 1 2") for i in range(8) for _ in range(3)],
        [(i, "s_a= 1" if i > 4 else "") for i in range(8) for _ in range(3)],
        [(i, "score= 1" if i > 4 else "score= 2") for i in range(8) for _ in range(3)],
    ],
    ids=["sparse", "sparse later, in all", "nothing but sparse", "score"],
)
def test_sparse_moses_lists_in_blocks(rows: list[tuple[object, str]], tmp_path: Path) -> None:
    path = _moses(tmp_path, "".join(f"{i} ||| text number {k} ||| {row} ||| 0\n" for k, (i, row) in enumerate(rows)))
    assert _together(path) == read(path)


def test_a_byte_order_mark_counts_at_the_beginning_only(tmp_path: Path) -> None:
    lines_ = [f"{name} ||| a rather long text {k} ||| F= 1\n" for name in "abcdef" for k in range(3)]
    for text in ("\ufeff" + "".join(lines_), "".join(f"\ufeff{line}" for line in lines_)):
        path = _moses(tmp_path, text)
        assert _together(path) == read(path)


def test_random_moses_lists_with_sparse_features(tmp_path: Path) -> None:
    source = random.Random(8)
    read_whole = 0
    for _ in range(400):
        names = source.sample(["s_a", "s_b", "s_c", "q_d"], source.randrange(5))
        shares = {name: source.choice([0.1, 0.5, 0.9, 1.0]) for name in names}
        rows = []
        for i in range(source.randrange(2, 8)):
            for k in range(source.randrange(1, 4)):
                own = "".join(f" {name}= {k}" for name in names if source.random() < shares[name])
                dense = "F= 1 T= 1 2" if source.random() < 0.97 else "F= 1"
                rows.append(f"{i} ||| some text {k} ||| {dense}{own} ||| -1\n")
        path = _moses(tmp_path, "".join(rows))
        outcomes: list[object] = []
        for way in (read, _together):
            try:
                outcomes.append(way(path))
            except FormatError:
                outcomes.append("refused")
        assert outcomes[0] == outcomes[1], path.read_text()
        read_whole += isinstance(outcomes[0], NBest)
    assert read_whole > 200


def test_standard_input_is_kept_to_be_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rows in ([0, 0, 1, 1, 2, 2], [2, 2, 1, 1, 0, 0]):
        text = "".join(f"{i} ||| a rather long text, longer than a piece, {k} ||| F= {k}\n" for k, i in enumerate(rows))
        packed = gzip.compress(text.encode())
        for data in (text.encode(), packed):
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
            assert _together(Path("-")) == read(_moses(tmp_path, text))


def test_a_stream_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return b"0 ||| a text ||| F= 1\n" * 1000

    monkeypatch.setenv("NBEST_MAX_INPUT", "2M")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Endless()))
    with pytest.raises(FormatError, match="standard input: goes on after 2097152 bytes"):
        _together(Path("-"))


def test_a_feature_that_is_missing_in_a_later_block_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    good = '{"hypotheses": [{"text": "a long enough text", "features": {"f": 1}}]}\n'
    path.write_text(good * 9 + good.replace('"f"', '"g"'))
    with pytest.raises(FormatError, match="10: feature 'f' is missing"):
        _together(path)


def test_references_must_be_there_in_every_block(tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    own = '{"references": ["a long reference"], "hypotheses": [{"text": "a long enough text"}]}\n'
    path.write_text(own * 9 + '{"hypotheses": [{"text": "a long enough text"}]}\n')
    with pytest.raises(FormatError, match="references: the segment '9' has none, while others have"):
        _together(path)


@pytest.mark.parametrize("name", [name for name, format in FORMATS.items() if format.write is not None])
def test_blocks_are_written_as_the_whole_is(name: str, tmp_path: Path) -> None:
    lists = _lists(3)
    if "ragged" not in FORMATS[name].keeps:
        lists = lists.select([0]).keep(np.arange(len(lists.select([0]).features)) < 1)
    if "features" not in FORMATS[name].keeps:
        lists = lists.only_features(["lm"])
    suffix = FORMATS[name].suffixes[0]
    write(lists, tmp_path / f"whole{suffix}", name)
    write_blocks(lists.shards(2), tmp_path / f"blocks{suffix}", name)
    assert read(tmp_path / f"blocks{suffix}", name) == read(tmp_path / f"whole{suffix}", name)
