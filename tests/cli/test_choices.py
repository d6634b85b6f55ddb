"""Choices of `nbest rerank` that carry gains and groups, compared by `nbest score`; weights and names on the line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.cli.main import main
from nbest.evaluation.significance import by_group, permutation

N = 30


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lists with gains and groups; `a` knows the gain better than `b`."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    rows = []
    for i in range(N):
        hypotheses = []
        for k in range(4):
            gain = float(rng.normal())
            features = {"a": gain + 0.3 * rng.normal(), "b": gain + 2 * rng.normal()}
            hypotheses.append({"text": f"text {i} {k}", "score": gain, "features": features})
        rows.append({"id": f"s{i}", "group": f"d{i % 6}", "references": [f"text {i} 1"], "hypotheses": hypotheses})
    write("lists.jsonl", rows)
    return tmp_path


def write(name: str, rows: list[dict]) -> None:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def chosen(name: str, *args: str, lists: str = "lists.jsonl") -> list[dict]:
    assert main(["rerank", lists, *args, "--json", "-q", "-o", name]) == 0
    return [json.loads(line) for line in Path(name).read_text().splitlines()]


def rows(capsys: pytest.CaptureFixture[str], *args: str) -> list[dict]:
    assert main(["score", *args, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def fails(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(list(args)) == 2
    return capsys.readouterr().err


def test_weights_on_the_line(folder, capsys) -> None:
    lists = nbest.read("lists.jsonl")
    found = chosen("a.jsonl", "--weights", "a=1")
    assert [row["index"] for row in found] == lists.features[:, 0].reshape(N, 4).argmax(axis=1).tolist()
    both = chosen("both.jsonl", "--weights", "a=0.5,b=-2e-1")
    scores = (lists.features @ [0.5, -0.2]).reshape(N, 4)
    assert [row["index"] for row in both] == scores.argmax(axis=1).tolist()
    assert [row["score"] for row in both] == pytest.approx(scores.max(axis=1))
    assert main(["rerank", "lists.jsonl", "--weights", "a=1"]) == 0
    assert "no weight for" not in capsys.readouterr().err
    rerank = ["rerank", "lists.jsonl", "--weights"]
    assert "leave one of them out" in fails(capsys, *rerank, "a=1", "--model", "model.json")
    assert "c" in fails(capsys, *rerank, "c=1")
    for wrong in ("a", "a=x", "=1", "a=1,a=2", "a=nan", "a=1,", ""):
        assert "--weights must be NAME=VALUE,NAME=VALUE, each name once" in fails(capsys, *rerank, wrong)
    assert "or --weights NAME=VALUE" in fails(capsys, "rerank", "lists.jsonl")


def test_votes_alone_need_no_model(folder, capsys) -> None:
    votes = [["x", "y", "y", "z"], ["z", "z", "y", "y"]]
    write("votes.jsonl", [{"id": f"q{i}", "hypotheses": [{"text": t} for t in texts]} for i, texts in enumerate(votes)])
    for args in (["--decision", "mbr", "--gain", "exact"], ["--decision", "vote"]):
        for more in ([], ["--gamma", "0"]):
            assert [row["index"] for row in chosen("majority", *args, *more, lists="votes.jsonl")] == [1, 0]
    for decision in ("1best", "consensus", "best-of-majority"):
        assert "needs --model FILE" in fails(capsys, "rerank", "votes.jsonl", "--decision", decision)


def test_choices_carry_gains_and_groups(folder) -> None:
    lists = nbest.read("lists.jsonl")
    found = chosen("a.jsonl", "--weights", "a=1")
    assert lists.gains is not None
    assert [row["gain"] for row in found] == [lists.gains[4 * i + row["index"]] for i, row in enumerate(found)]
    assert [row["group"] for row in found] == list(lists.groups or ())
    write("bare.jsonl", [{"id": "s", "hypotheses": [{"text": "x", "features": {"a": 1}}]}])
    keys = {"id", "text", "index", "score", "confidence", "calibrated"}
    assert chosen("out", "--weights", "a=1", lists="bare.jsonl")[0].keys() == keys


def test_choices_are_compared_by_gains_and_groups(folder, capsys) -> None:
    gains = {}
    for name in ("a", "b"):
        found = chosen(f"{name}.jsonl", "--weights", f"{name}=1")
        gains[name] = np.array([row["gain"] for row in found])
    b, a = rows(capsys, "b.jsonl", "a.jsonl", "-m", "external", "--label", "MQM")
    metric = nbest.External(label="MQM")
    assert (b["score"], a["score"]) == (pytest.approx(gains["b"].mean()), pytest.approx(gains["a"].mean()))
    groups = [f"d{i % 6}" for i in range(N)]
    stats = [by_group(metric.stats_of(gains[name]), groups) for name in ("b", "a")]
    assert a["p"] == permutation(metric, *stats).p
    assert a["signature"].startswith("nrefs:0|label:MQM")
    Path("alone.tsv").write_text("".join(f"s{i}\ts{i}\n" for i in range(N)))
    alone = rows(capsys, "b.jsonl", "a.jsonl", "-m", "external", "--groups", "alone.tsv")[1]
    assert alone["p"] < a["p"]  # what --groups says counts
    assert main(["score", "b.jsonl", "a.jsonl", "-m", "external"]) == 0
    assert "tested together (6 groups of 30 segments" in capsys.readouterr().out


def test_texts_are_tested_by_the_groups_that_one_carries(folder, capsys) -> None:
    chosen("a.jsonl", "--weights", "a=1")
    Path("ref").write_text("".join(f"s{i}\ttext {i} 1\n" for i in range(N)))
    assert main(["rerank", "lists.jsonl", "--decision", "first", "--ids", "-q", "-o", "first.tsv"]) == 0
    assert main(["score", "first.tsv", "a.jsonl", "--refs", "ref", "-m", "wer"]) == 0
    assert "tested together (6 groups of 30 segments" in capsys.readouterr().out


def test_gains_and_groups_are_never_mixed(folder, capsys) -> None:
    found = chosen("a.jsonl", "--weights", "a=1")
    write("b.jsonl", [{"id": row["id"], "text": row["text"]} for row in found])
    score = ["score", "-m", "external"]
    assert "b.jsonl: carries no gains, while a.jsonl does" in fails(capsys, *score, "a.jsonl", "b.jsonl")
    assert "or outputs of nbest rerank --json" in fails(capsys, *score, "b.jsonl")
    for key in ("gain", "group"):
        write("b.jsonl", [{k: v for k, v in row.items() if k != key or at} for at, row in enumerate(found)])
        assert f'b.jsonl:1: there is no "{key}" here, while other lines have one' in fails(
            capsys, *score, "a.jsonl", "b.jsonl"
        )
    for key, value in (("gain", "x"), ("gain", 10**400), ("gain", [1]), ("group", None), ("group", 1.5)):
        write("b.jsonl", [row | ({key: value} if at == 2 else {}) for at, row in enumerate(found)])
        assert "b.jsonl:3: " in fails(capsys, *score, "b.jsonl")
    write("b.jsonl", [row | ({} if at else {"group": "other"}) for at, row in enumerate(found)])
    assert "b.jsonl: segment 's0' is of group 'other', in a.jsonl of 'd0'" in fails(
        capsys, *score, "a.jsonl", "b.jsonl"
    )
    write("b.jsonl", [row | ({} if at else {"gain": None, "index": None}) for at, row in enumerate(found)])
    assert "b.jsonl: nothing is chosen for segment 's0'" in fails(capsys, *score, "a.jsonl", "b.jsonl")


def test_missing_segments_matter_only_where_references_go_by_line(folder, capsys) -> None:
    rows = [json.loads(line) | {"id": 2 * i} for i, line in enumerate(Path("lists.jsonl").read_text().splitlines())]
    Path("ref").write_text("".join(f"text {i // 2} 1\n" for i in range(2 * N)))
    bare = [{key: value for key, value in row.items() if key != "references"} for row in rows]
    for row in bare:
        row["hypotheses"] = [{"text": each["text"], "features": each["features"]} for each in row["hypotheses"]]
    write("own.jsonl", rows)
    write("gains.jsonl", [{key: value for key, value in row.items() if key != "references"} for row in rows])
    write("bare.jsonl", bare)
    for args, said in (
        (["own.jsonl"], False),
        (["gains.jsonl", "-m", "external"], False),
        (["bare.jsonl"], True),
        (["bare.jsonl", "--refs", "ref", "-m", "wer"], True),
        (["bare.jsonl", "--refs", "ref", "-m", "wer", "--against", "own.jsonl"], True),
    ):
        assert main(["inspect", *args, "-q"]) == 0
        assert ("29 segments are missing (the first is 1)" in capsys.readouterr().out) == said, args


def test_systems_have_names(folder, capsys) -> None:
    for name in ("a", "b"):
        chosen(f"{name}.jsonl", "--weights", f"{name}=1")
    found = rows(capsys, "the old=b.jsonl", "new=a.jsonl,b.jsonl", "-m", "external")
    assert [row["system"] for row in found] == ["the old", "new"]
    assert len(found[1]["runs"]) == 2
    assert main(["score", "old=b.jsonl", "new=a.jsonl,b.jsonl", "-m", "external", "--table", "latex"]) == 0
    out = capsys.readouterr().out
    assert ".jsonl" not in out
    assert "new &" in out
    assert "segments are swapped for all runs together, and runs drawn" in out
    Path("x=a.jsonl").write_text(Path("a.jsonl").read_text())
    assert [row["system"] for row in rows(capsys, "x=a.jsonl", "-m", "external")] == ["x=a.jsonl"]
    assert rows(capsys, "x=a.jsonl,a.jsonl", "-m", "external")[0]["system"] == "x=a.jsonl,a.jsonl"
    both = ["new=a.jsonl", "new=b.jsonl"]
    assert "two systems are called 'new'; names of systems must differ" in fails(
        capsys, "score", *both, "-m", "external"
    )
    assert "none.jsonl" in fails(capsys, "score", "new=none.jsonl", "-m", "external")


def test_signatures_name_the_answers(folder, capsys) -> None:
    lists = nbest.read("lists.jsonl")
    signatures = []
    for corpus in (lists, lists.with_answers("last-number")):
        model = nbest.MERT(restarts=1).fit(corpus.with_metric(nbest.metrics.make_metric("exact")))
        signatures.append(model.metric)
    assert signatures[1] == f"{signatures[0]}|answer:last-number"
    chosen("a.jsonl", "--weights", "a=1")
    Path("ref").write_text("".join(f"s{i}\ttext {i} 1\n" for i in range(N)))
    scored = rows(capsys, "a.jsonl", "--refs", "ref", "-m", "exact", "--answer", "last-number")[0]
    assert f"{scored['name']}|{scored['signature']}" == signatures[1]
