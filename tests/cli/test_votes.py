"""`nbest rerank` by votes and the best of the majority, with and without a model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nbest.cli.main import main

ROWS = [
    {"id": "a", "hypotheses": [
        {"text": "it is 3", "features": {"v": 5.0}},
        {"text": "so 4", "features": {"v": 1.0}},
        {"text": "4.0", "features": {"v": 2.0}},
        {"text": "no idea", "features": {"v": 9.0}},
    ]},
    {"id": "b", "hypotheses": [{"text": "1", "features": {"v": 0.0}}, {"text": "2", "features": {"v": 0.5}}]},
]  # fmt: skip


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def texts(capfd: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["rerank", "test.jsonl", "--answer", "last-number", "--json", *words]) == 0
    return [json.loads(line)["text"] for line in capfd.readouterr().out.splitlines()]


def test_votes(capfd: pytest.CaptureFixture[str]) -> None:
    assert texts(capfd, "--decision", "vote") == ["so 4", "1"]
    assert texts(capfd, "--decision", "vote", "--weights", "v=0.001") == ["4.0", "2"]
    assert texts(capfd, "--decision", "vote", "--weights", "v=1") == ["it is 3", "2"]
    assert texts(capfd, "--decision", "vote", "--weights", "v=1", "--pool", "scores") == ["it is 3", "2"]
    assert texts(capfd, "--decision", "vote", "--weights", "v=1", "--gamma", "0") == ["4.0", "1"]
    assert texts(capfd, "--decision", "best-of-majority", "--weights", "v=1", "--share", "1") == ["4.0", "2"]
    assert texts(capfd, "--decision", "best-of-majority", "--weights", "v=1", "--share", "0.5") == ["it is 3", "2"]
    assert texts(capfd, "--decision", "mbr", "--gain", "exact") == ["so 4", "1"]


def test_votes_that_tell_nothing_are_said(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["rerank", "test.jsonl", "--decision", "vote"]) == 0
    assert "no two hypotheses of a list have the same answer" in capfd.readouterr().err
    assert main(["rerank", "test.jsonl", "--decision", "vote", "--answer", "last-number"]) == 0
    assert "the same answer" not in capfd.readouterr().err
    Path("test.jsonl").write_text(json.dumps({"id": "a", "hypotheses": [{"text": "Yes"}, {"text": "yes"}]}) + "\n")
    assert main(["rerank", "test.jsonl", "--decision", "vote", "--normalize", "lower"]) == 0
    assert "the same answer" not in capfd.readouterr().err


def test_segments_without_an_answer_are_left_out_of_all_systems(capfd: pytest.CaptureFixture[str]) -> None:
    Path("refs.tsv").write_text("a\t4\nb\t1\n")
    for name, words in (("sure", ["--abstain-below", "0.6"]), ("all", [])):
        given = ["rerank", "test.jsonl", "--decision", "vote", "--answer", "last-number", "--json"]
        assert main([*given, *words, "-o", f"{name}.jsonl"]) == 0
    capfd.readouterr()
    score = ["score", "all.jsonl", "sure.jsonl", "--refs", "refs.tsv", "--metric", "exact", "--answer", "last-number"]
    assert main([*score, "--json"]) == 0
    said = capfd.readouterr()
    assert [row["score"] for row in json.loads(said.out)] == [100.0, 100.0]
    assert "1 segments that a system gives no answer to are left out, for all systems" in said.err


def test_a_decision_that_is_said_is_that_of_the_model(capfd: pytest.CaptureFixture[str]) -> None:
    rows = [{**row, "id": f"{row['id']}{k}"} for k in range(15) for row in ROWS]
    Path("dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("dev.tsv").write_text("".join(f"a{k}\t4\nb{k}\t2\n" for k in range(15)))
    given = ["tune", "dev.jsonl", "--refs", "dev.tsv", "--metric", "exact", "--answer", "last-number"]
    for words, decision in (([], {"kind": "vote", "pool": "scores"}), (["--decision", "1best"], None)):
        assert main([*given, "--method", "vote", "--variance", "0.1", "-o", "m.json", *words]) == 0
        assert json.loads(Path("m.json").read_text()).get("decision") == decision
        capfd.readouterr()
        assert main(["rerank", "dev.jsonl", "--model", "m.json", "--ids", "-o", "out.tsv"]) == 0
        assert main(["score", "out.tsv", "--refs", "dev.tsv", *given[4:], "--json"]) == 0
        score = json.loads(capfd.readouterr().out)[0]["score"]
        assert json.loads(Path("m.json").read_text())["scores"]["dev"] == pytest.approx(score)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--decision", "best-of-majority"), "nbest rerank --decision best-of-majority needs --model FILE"),
        (("--decision", "vote", "--share", "0.5"), "--share is for --decision best-of-majority, not for vote"),
        (("--decision", "mbr", "--pool", "scores"), "--pool is for --decision vote, not for mbr"),
        (("--decision", "vote", "--weights", "v=1", "--pool", "sum"), "posteriors"),
        (("--decision", "vote", "--gamma", "3"), "--gamma says how scores count: give --model FILE"),
        (("--decision", "vote", "--pool", "scores"), "--pool says how scores count: give --model FILE"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["rerank", "test.jsonl", *words]) == 2
    said = capfd.readouterr()
    assert message in said.err
    assert said.out == ""


def test_inspect_tells_what_a_vote_gives(capfd: pytest.CaptureFixture[str]) -> None:
    Path("refs.tsv").write_text("a\t4\nb\t2\n")
    look = ["inspect", "test.jsonl", "--refs", "refs.tsv", "--metric", "exact"]
    assert main([*look, "--answer", "last-number", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["scores"]["vote"] == 50.0, "right in a, where 4 has two votes, not in b"
    assert main([*look, "--answer", "last-number"]) == 0
    assert "vote 50.00, oracle 100.00" in capfd.readouterr().out
    assert main(look) == 0
    assert "vote" not in capfd.readouterr().out, "texts are no answers"


def test_inspect_votes_as_the_metric_compares(capfd: pytest.CaptureFixture[str]) -> None:
    hypotheses = [{"text": text, "answer": text} for text in ("no", "Yes", "yes")]
    Path("test.jsonl").write_text(json.dumps({"id": "a", "references": ["yes"], "hypotheses": hypotheses}) + "\n")
    for how, score in (("none", 0.0), ("lower", 100.0)):
        assert main(["inspect", "test.jsonl", "--metric", "exact", "--normalize", how, "--json"]) == 0
        assert json.loads(capfd.readouterr().out)["scores"]["vote"] == score


def answers_of(count: int, seed: int) -> None:
    """Lists of five answers, of which the right one often has most."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        said = np.where(rng.random(5) < 0.45, 0, rng.integers(1, 4, 5))
        hypotheses = [{"text": f"so {said[k]}", "features": {"v": float(rng.normal() - said[k])}} for k in range(5)]
        rows.append({"id": f"{seed}-{i}", "references": ["0"], "hypotheses": hypotheses})
    Path(f"lists{seed}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_plurality_vote_stands_beside_what_is_tuned(capfd: pytest.CaptureFixture[str]) -> None:
    answers_of(80, 1)
    answers_of(50, 2)
    how = ["--metric", "exact", "--answer", "last-number"]
    voted = {}
    for seed in (1, 2):
        lists = f"lists{seed}.jsonl"
        assert main(["rerank", lists, "--decision", "vote", "--answer", "last-number", "-o", "out.txt"]) == 0
        assert main(["score", "out.txt", "--refs", lists, *how, "--json"]) == 0
        voted[seed] = json.loads(capfd.readouterr().out)[0]["score"]
    assert main(["tune", "lists1.jsonl", *how, "--json", "-o", "m.json"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["plurality"] == voted[1]
    assert "plurality vote" in err
    compared = ["compare", "lists1.jsonl", "--test", "lists2.jsonl", *how, "--methods", "likelihood"]
    assert main([*compared, "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    row = next(row for row in found["rows"] if row["name"] == "plurality vote")
    assert row["test"] == voted[2]
    assert 0 < row["p"] < 1
    assert found["segments"] == {"dev": 60, "heldout": 20, "test": 50}
    assert main([*compared, "-o", "compared"]) == 0
    assert "segments: 60 of dev, 20 held out, 50 of test" in capfd.readouterr().out
    assert main(["report", "compared", "-o", "page.html"]) == 0
    assert main([*compared, "--json", "--table", "latex"]) == 2
    capfd.readouterr()
    assert main([*compared, "--decision", "vote"]) == 0
    assert "were settled" not in capfd.readouterr().out
