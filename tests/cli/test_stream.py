"""`nbest rerank --stream`: lists answered one by one, as in a batch."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbest
from nbest.cli.main import main

COMMAND = [sys.executable, "-m", "nbest", "rerank", "--stream", "--model", "model.json"]


def lists(count: int = 12, **more: Any) -> list[dict[str, Any]]:
    rng, rows = np.random.default_rng(5), []
    for i in range(count):
        hypotheses = [
            {"text": f"it is {rng.integers(3)}", "features": {"a": rng.normal(), "b": rng.normal()}, "score": k % 2}
            for k in range(i % 5)
        ]
        rows.append({"id": f"q{i}", "group": f"g{i % 2}", "hypotheses": hypotheses, **more})
    return rows


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    nbest.LogLinear({"b": 1.0, "a": 0.5}).save("model.json")
    Path("lists.jsonl").write_text(_lines(lists()))
    return tmp_path


def _lines(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def streamed(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any, text: str | bytes, *options: str) -> tuple[int, Any]:
    data = text.encode() if isinstance(text, str) else text
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    code = main(["rerank", "--stream", "--model", "model.json", *options])
    out = capsysbinary.readouterr()
    return code, ([json.loads(line) for line in out.out.splitlines()], out.err.decode())


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--decision", "first"],
        ["--decision", "vote", "--answer", "last-number"],
        ["--decision", "vote", "--pool", "scores", "--gamma", "0.5"],
        ["--decision", "best-of-majority", "--share", "1"],
        ["--decision", "vote", "--abstain-below", "0.6"],
        ["--decision", "mbr", "--gain", "exact", "--answer", "last-number"],
    ],
)
def test_a_line_is_answered_as_in_a_batch(folder: Path, monkeypatch, capsysbinary, options: list[str]) -> None:
    assert main(["rerank", "lists.jsonl", "--model", "model.json", "--json", "-q", *options]) == 0
    expected = [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
    code, (rows, _) = streamed(monkeypatch, capsysbinary, Path("lists.jsonl").read_text(), *options)
    assert code == 0
    for row in expected:
        if row["index"] is None and not row.get("abstained"):
            del row["gain"]  # of an empty list alone nobody knows that others have gains
    order = {row["id"]: place for place, row in enumerate(lists())}
    assert rows == sorted(expected, key=lambda row: order[row["id"]])


def test_candidates_and_responses_are_lists_too(folder: Path, monkeypatch, capsysbinary) -> None:
    nbest.LogLinear({"finished": 1.0}).save("model.json")
    given = [
        {"candidates": [{"text": "x", "finished": 0, "gain": 1}, {"text": "y", "finished": 1, "gain": 0.5}]},
        {"custom_id": "r", "response": {"body": {"choices": [
            {"index": 1, "message": {"content": "late"}, "finish_reason": "stop"},
            {"index": 0, "message": {"content": "cut"}, "finish_reason": "length"},
        ]}}},
        {"choices": [{"index": 0, "message": {"content": "alone"}, "finish_reason": "stop"}]},
    ]  # fmt: skip
    code, (rows, _) = streamed(monkeypatch, capsysbinary, _lines(given))
    assert code == 0
    assert [(row["id"], row["text"], row["index"]) for row in rows] == [
        ("0", "y", 1),
        ("r", "late", 1),
        ("2", "alone", 0),
    ]
    assert rows[0]["gain"] == 0.5


@pytest.mark.parametrize(
    ("line", "name", "message"),
    [
        (b"{", "1", "standard input:2: not valid JSON"),
        (b"\xff{}", "1", "standard input:2: is not UTF-8"),
        (b" ", "1", "a blank line"),
        (b"[]", "1", "a line must be an object"),
        (b'{"id": "z", "hyps": []}', "z", 'no "hypotheses", "candidates" or "choices" in it'),
        (b'{"id": "z", "hypothesis": []}', "z", "did you mean 'hypotheses'"),
        (b'{"id": "z", "candidates": [{"text": "x", "a": 1}]}', "z", "weight for 'b'"),
        (b'{"id": "z", "hypotheses": [{"txt": "x", "features": {"a": 1, "b": 1}}]}', "z", "did you mean 'text'"),
        (b'{"id": "z", "hypotheses": [{"text": "x", "features": {"a": 1, "b": NaN}}]}', "1", "NaN is not a number"),
        (b'{"id": "z", "hypotheses": ["x"]}', "z", "a hypothesis must be an object"),
        (b'{"id": 1.5, "hypotheses": []}', "1", '"id" must be a string or an integer'),
        (b'{"id": "z", "hypotheses": [{"text": "x", "features": {"a": 1, "b": 1}, "score": "good"}]}', "z", '"score"'),
        (b"[" * 100_000, "1", "nested too deeply"),
    ],
)
def test_a_line_that_is_not_understood_is_told(folder, monkeypatch, capsysbinary, line, name, message) -> None:
    good = json.dumps(lists()[3]).encode()
    code, (rows, said) = streamed(monkeypatch, capsysbinary, b"\n".join([good, line, good]) + b"\n")
    assert code == 2
    assert [row["id"] for row in rows] == ["q3", name, "q3"]
    assert set(rows[1]) == {"id", "error"}
    assert message in rows[1]["error"]
    assert "nbest: standard input: 1 of 3 lines could not be answered" in said.splitlines()[-1]
    assert rows[0] == rows[2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["lists.jsonl"], "--stream reads lists from standard input, not from lists.jsonl"),
        (["-o", "out"], "--output is not for --stream"),
        (["--ids"], "--ids is not for --stream"),
        (["--decision", "best"], "unknown decision 'best'"),
        (["--answer", "nothing"], "unknown answer 'nothing'"),
    ],
)
def test_options_that_make_no_sense_are_refused(folder, monkeypatch, capsysbinary, options, message) -> None:
    code, (rows, said) = streamed(monkeypatch, capsysbinary, "", *options)
    assert (code, rows) == (2, [])
    assert message in said


def test_each_line_is_answered_before_the_next_one_comes(folder: Path) -> None:
    rows = lists()
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for row in rows[:3]:
            process.stdin.write(json.dumps(row).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == row["id"]
        process.send_signal(signal.SIGINT)
        out, said = process.communicate()
    assert out == b""
    assert b"Traceback" not in said
    assert process.returncode != 0


def test_a_reader_that_goes_away_is_no_traceback(folder: Path) -> None:
    command = f"yes '{json.dumps(lists()[1])}' | {' '.join(COMMAND)} | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    assert json.loads(done.stdout)["id"] == "q1"
    assert b"Traceback" not in done.stderr


def test_nothing_heavy_is_imported(folder: Path) -> None:
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print([m for m in ('numba', 'scipy', 'rich', 'sacrebleu') if m in sys.modules]))\n"
        f"from nbest.cli.main import main\nmain({COMMAND[3:]!r})"
    )
    data = _lines(lists(3)).encode()
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == b"[]"
    assert len(done.stdout.splitlines()) == 4
