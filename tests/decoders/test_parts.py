"""Inputs that are cut into parts of lines: what is found is that of the whole, and nothing is left running."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbest.base.errors import DecoderError, ParameterError
from nbest.compute.executors import Serial, Threads, using
from nbest.corpus import Forests, NBest
from nbest.decoders import CommandDecoder
from nbest.decoders.parts import InputPart, cut, joined, numbered
from nbest.formats import FOREST_FORMATS, FORMATS, read_any, write, write_forests
from nbest.testing import toy_lists
from tests.cli.conftest import sausages
from tests.compute.elsewhere import Elsewhere
from tests.decoders.test_command import WEIGHTS, WRITE, alive, notes, program
from tests.loop import toy_program
from tests.loop.toy import sentences

TOY = shlex.join([sys.executable, toy_program.__file__]) + " {weights} {input} {k} {output} 0 alone"
START = dict.fromkeys(toy_program.FEATURES, 0.1)

# cutting ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a\nb\nc\n", "a\nb\nc", "a\r\n\nc", "a\x0cb\ré\u2028\nb\nc\nd\n", "a"])
@pytest.mark.parametrize("lines", [1, 2, 3])
def test_lines_are_cut_and_stay_as_they_are(tmp_path: Path, text: str, lines: int) -> None:
    path = tmp_path / "in.scp"
    path.write_bytes(text.encode())
    count = text.count("\n") + (not text.endswith("\n"))
    parts = cut(path, lines)
    assert len(parts) == -(-count // lines)
    if len(parts) == 1:
        assert parts == [InputPart(path)]
        return
    assert b"".join(part.inputs for part in parts) == text.encode()  # type: ignore[misc]
    assert [(part.number, part.low) for part in parts] == [(i + 1, i * lines) for i in range(len(parts))]
    assert sum(part.lines or 0 for part in parts) == count
    assert parts[1].file(tmp_path).name == "input.scp"
    assert parts[1].file(tmp_path).read_bytes() == parts[1].inputs


def test_texts_are_cut_as_files_are(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text("a\n\né\n")
    assert cut(["a", "", "é"], 2) == cut(path, 2)
    assert cut(["a", "", "é"], None) == [InputPart(("a", "", "é"))]


def test_what_cannot_be_cut(tmp_path: Path) -> None:
    import gzip

    (tmp_path / "in.gz").write_bytes(gzip.compress(b"a\nb\n"))
    for path, said in ((tmp_path / "in.gz", "is packed"), (tmp_path, "Is a directory"), (tmp_path / "x", "No such")):
        with pytest.raises(ParameterError, match=f"{said}"):
            cut(path, 1)
        assert cut(path, None) == [InputPart(path)]
    with pytest.raises(ParameterError, match="'part_lines' of a decoder must be >= 1, got 0"):
        CommandDecoder("x {weights}", part_lines=0)


# joining ------------------------------------------------------------------------------------------------------------


def pieces(whole: Any, sizes: list[int], *, own: bool) -> tuple[list[Any], list[InputPart]]:
    """Parts of a corpus, with their own ids or such as count from 0."""
    found, parts, low = [], [], 0
    for number, size in enumerate(sizes, 1):
        part = whole.select(range(low, low + size))
        found.append(part if own else replace(part, ids=tuple(str(i) for i in range(size))))
        parts.append(InputPart(b"", number, low, size))
        low += size
    return found, parts


def read_back(corpus: Any, path: Path, name: str) -> Any:
    (write_forests if isinstance(corpus, Forests) else write)(corpus, path, name)
    return read_any(path, name)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(
    "name", [name for name, each in FORMATS.items() if each.write and {"ids", "features"} <= each.keeps]
)
def test_lists_of_parts_are_those_of_the_whole(tmp_path: Path, name: str, own: bool) -> None:
    keeps = FORMATS[name].keeps
    lists = replace(toy_lists(2, segments_=9, sparse="sparse" in keeps), stats=None, metric=None)
    lists = replace(lists, ids=tuple(f"s{i}" if own and name != "moses" else str(i) for i in range(9)))
    if "references" not in keeps:
        lists = replace(lists, references=None)
    whole = read_back(lists, tmp_path / "whole", name)
    found, parts = pieces(lists, [4, 4, 1], own=own)
    found = [read_back(each, tmp_path / f"part{i}", name) for i, each in enumerate(found)]
    assert same(joined(found, parts), whole)


def same(found: NBest, whole: NBest) -> bool:
    """Equal, whatever the order of sparse columns, which files do not keep."""
    assert set(found.sparse_names) == set(whole.sparse_names)
    if whole.sparse is not None:
        place = [found.sparse_names.index(each) for each in whole.sparse_names]
        assert (found.sparse.toarray()[:, place] == whole.sparse.toarray()).all()
    bare = [replace(each, sparse=None, sparse_names=(), positions=None) for each in (found, whole)]
    return bool(bare[0] == bare[1])


@pytest.mark.parametrize("name", [name for name, each in FOREST_FORMATS.items() if each.write and "ids" in each.keeps])
def test_forests_of_parts_are_those_of_the_whole(tmp_path: Path, name: str) -> None:
    forests = replace(
        sausages(3, 7), feature_names=("acoustic", "lm", "x1"), metric=None, references=None, sources=None
    )
    forests = replace(forests, ids=tuple(map(str, range(7))))
    whole = read_back(forests, tmp_path / "whole", name)
    found, parts = pieces(forests, [3, 3, 1], own=False)
    for at, (each, part) in enumerate(zip(found, parts, strict=True)):
        path = tmp_path / f"part{at}"
        found[at] = numbered(read_back(each, path, name), path, part)  # a single forest may have the name of its file
    assert joined(found, parts) == whole


def test_ids_of_parts() -> None:
    lists = replace(toy_lists(2, segments_=6), ids=tuple(f"{i:03d}" for i in range(6)))
    found, parts = pieces(lists, [3, 3], own=True)
    again = replace(found[1], ids=("000", "001", "002"))
    assert joined([found[0], again], parts).ids == lists.ids  # numbers with zeros before them go on, too
    missing = [found[0].select([0, 2]), again.select([1])]
    assert joined(missing, parts).ids == ("000", "002", "004")
    numbers = replace(lists, ids=("7", "9", "8", "3", "5", "4"))  # numbers that the lines carry: in their order
    assert joined(pieces(numbers, [3, 3], own=True)[0], parts).ids == ("3", "4", "5", "7", "8", "9")
    with pytest.raises(DecoderError, match="the id 'a' on lines 1 to 3 and again on lines 4 to 6; ids of parts must"):
        joined([replace(each, ids=("a", f"b{i}", f"c{i}")) for i, each in enumerate(found)], parts)


def test_features_of_parts() -> None:
    lists = toy_lists(2, segments_=6)
    found, parts = pieces(lists, [3, 3], own=False)
    less = found[1].without_features(lists.feature_names[:1])
    with pytest.raises(DecoderError, match=f"same features to all parts; '{lists.feature_names[0]}' is not in part 2"):
        joined([found[0], less], parts)
    sparse = replace(toy_lists(2, segments_=6, sparse=True), stats=None, metric=None)
    name = sparse.feature_names[0]
    (one, two), parts = pieces(sparse, [3, 3], own=False)
    both = joined([one, two.without_features([name])], parts)
    assert isinstance(both, NBest)
    assert name not in both.feature_names  # some hypotheses lack it
    column = both.sparse.toarray()[:, both.sparse_names.index(name)]
    assert column.tolist() == [*one.column(name), *np.zeros(two.hypotheses)]
    with pytest.raises(DecoderError, match="lists for some parts of the input and forests for others"):
        joined([one, replace(sausages(1, 3), ids=("0", "1", "2"))], parts)


# running ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", [Serial(), Threads(3), Elsewhere(2)])
def test_a_decoder_in_parts(tmp_path: Path, executor: Any) -> None:
    texts = sentences(11, 4)[0]
    (tmp_path / "in").write_text("".join(f"{text}\n" for text in texts))
    whole = CommandDecoder(TOY, k=4).decode(START, tmp_path / "in")
    told: list[tuple[int, int]] = []
    decoder = CommandDecoder(TOY, k=4, part_lines=3, folder=tmp_path / "logs", progress=lambda *each: told.append(each))
    with using(executor):
        for inputs in (tmp_path / "in", texts):
            assert decoder.decode(START, inputs) == whole
    assert [at for at, _ in told] == [1, 2, 3, 4] * 2
    assert len(list((tmp_path / "logs").glob("run-000[1-4]-*/stderr"))) == 8
    assert decoder.describe() == {**CommandDecoder(TOY, k=4).describe(), "part_lines": 3}


def test_a_whole_input_goes_to_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = program(tmp_path, f"note(os.getcwd()); {WRITE}")
    monkeypatch.chdir(tmp_path)
    with using(Elsewhere(2)) as executor:
        decoder = CommandDecoder(f"{command} {{weights}} {{input}} {{output}}", folder=Path("logs"))
        assert decoder.decode(WEIGHTS, "in").hypotheses == 3
    assert executor.passes == 1
    assert notes(tmp_path) == [[notes(tmp_path)[0][0], str(tmp_path / "in"), notes(tmp_path)[0][2]], [str(tmp_path)]]
    (log,) = (tmp_path / "logs").iterdir()
    assert notes(tmp_path)[0][0] == str(log / "weights.json")


def test_a_part_that_failed_is_tried_again_alone(tmp_path: Path) -> None:
    body = """
    text = open(sys.argv[2]).read()
    note(text)
    if text == "b\\n" and [json.loads(line) for line in open(HERE / "notes.jsonl")].count([text]) < 2:
        sys.exit("not yet")
    pathlib.Path(sys.argv[-1]).write_text("0 ||| " + text.strip() + " ||| lm= 1 tm= 2 ||| 0\\n")
    """
    decoder = CommandDecoder(
        f"{program(tmp_path, body)} {{weights}} {{input}} {{output}}", part_lines=1, pause=0.01, retries=2
    )
    found = decoder.decode(WEIGHTS, ["a", "b", "c"])
    assert (found.ids, list(found.texts or ())) == (("0", "1", "2"), ["a", "b", "c"])
    assert sorted(line[0] for line in notes(tmp_path) if len(line) == 1) == ["a\n", "b\n", "b\n", "c\n"]
    (tmp_path / "notes.jsonl").unlink()
    decoder.retries = 0
    with pytest.raises(DecoderError, match="the decoder failed on lines 2 to 2: exit code 1"):
        decoder.decode(WEIGHTS, ["a", "b", "c"])


SLEEPS = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
text = open(sys.argv[2]).read()
note(child.pid, os.getpid())
if text == "bad\\n":
    while len(list(open(HERE / "notes.jsonl"))) < 4: time.sleep(0.01)
    sys.exit(5)
time.sleep(1000)
"""
proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to look at processes")


def started(folder: Path, count: int) -> list[int]:
    """The processes of so many programs, once they run."""
    for _ in range(6000):
        if (folder / "notes.jsonl").exists():
            found = [line for line in (folder / "notes.jsonl").read_text().splitlines() if line.endswith("]")]
            numbers = [int(x) for line in map(json.loads, found) if len(line) == 2 for x in line]
            if len(numbers) >= 2 * count:
                return numbers
        time.sleep(0.01)
    raise AssertionError("the programs did not start")


def all_end(processes: list[int]) -> bool:
    for _ in range(2000):
        if not any(map(alive, processes)):
            return True
        time.sleep(0.01)
    return False


@proc
def test_a_part_that_fails_for_good_ends_the_others(tmp_path: Path) -> None:
    decoder = CommandDecoder(
        f"{program(tmp_path, SLEEPS)} {{weights}} {{input}} {{output}}", part_lines=1, retries=0, pause=0.01
    )
    with using(Threads(2)), pytest.raises(DecoderError, match="failed on lines 2 to 2: exit code 5"):
        decoder.decode(WEIGHTS, ["good", "bad", "good"])
    assert all_end(started(tmp_path, 2))
    assert len(notes(tmp_path)) == 4  # the third was not begun


RUNS = """
import signal, sys
from nbest.compute.executors import Threads, using
from nbest.decoders import CommandDecoder
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
with using(Threads(2)):
    CommandDecoder(sys.argv[1], part_lines=1, shell=sys.argv[2] == "shell").decode({"lm": 1.0}, ["a", "b"])
"""


@proc
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("shell", ["shell", "no shell"])
def test_programs_end_with_the_process_that_runs_them(tmp_path: Path, how: signal.Signals, shell: str) -> None:
    template = f"{program(tmp_path, SLEEPS)} {{weights}} {{input}} {{output}}{' | cat' if shell == 'shell' else ''}"
    process = subprocess.Popen([sys.executable, "-c", RUNS, template, shell], stderr=subprocess.PIPE)
    try:
        processes = started(tmp_path, 2)
        os.kill(process.pid, how)
        said = process.communicate()[1].decode()
    finally:
        process.kill()
    assert all_end(processes), said
    assert process.returncode == (143 if how == signal.SIGTERM else -how), said


def children_of(process: int) -> list[int]:
    """The processes that a process has started itself."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(path.parent.name))
    return found


@proc
def test_programs_end_where_the_children_of_a_worker_are_ended_first(tmp_path: Path) -> None:
    """As Ray does with the children of a worker that it ends, but not with theirs."""
    template = f"{program(tmp_path, SLEEPS)} {{weights}} {{input}} {{output}} | cat"
    process = subprocess.Popen([sys.executable, "-c", RUNS, template, "shell"], stderr=subprocess.PIPE)
    try:
        processes = started(tmp_path, 2)
        os.kill(process.pid, signal.SIGSTOP)
        found = children_of(process.pid)
        assert len(found) >= 2
        for child in found:
            os.kill(child, signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    assert all_end(processes)
