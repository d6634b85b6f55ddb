"""`nbest score` and `nbest compare`: runs, groups, scores of other programs, digits and forms of tables."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

import nbest
from nbest.cli.main import app, main
from nbest.evaluation.significance import permutation
from nbest.report.page import telling

N = 24


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    words = [[f"w{rng.integers(30)}" for _ in range(8)] for _ in range(N)]
    write("ref", [" ".join(each) for each in words])
    for name, share in (
        ("base.1", 0.4),
        ("base.2", 0.4),
        ("base.3", 0.42),
        ("new.1", 0.2),
        ("new.2", 0.22),
        ("new.3", 0.2),
    ):
        write(name, [" ".join("x" if rng.random() < share else word for word in each) for each in words])
    write("docs", [f"d{i // 4}" for i in range(N)])
    return tmp_path


def write(name: str, lines: list[str]) -> None:
    Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def rows(capsys, *args: str) -> list[dict]:
    assert main(["score", *args, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_runs_are_pooled(folder, capsys):
    runs = "base.1,base.2,base.3", "new.1,new.2,new.3"
    base, new = rows(capsys, *runs, "--refs", "ref", "-m", "wer")
    each = [rows(capsys, name, "--refs", "ref", "-m", "wer")[0]["score"] for name in runs[1].split(",")]
    assert new["runs"] == each
    assert new["score"] == pytest.approx(np.mean(each))
    assert new["spread"] == pytest.approx(np.std(each, ddof=1))
    assert new["difference"] == pytest.approx(new["score"] - base["score"])
    assert new["p"] < 0.05
    assert base["p"] is None
    mixed = rows(capsys, "base.1", runs[1], "--refs", "ref", "-m", "wer")
    assert mixed[0]["spread"] is None
    assert main(["score", *runs, "--refs", "ref", "-m", "wer"]) == 0
    assert "means over runs; spread: standard deviation" in capsys.readouterr().out
    assert main(["score", *runs, "--refs", "ref", "--test", "bootstrap"]) == 2
    assert "tested by permutation, not by bootstrap" in capsys.readouterr().err


def test_a_comma_in_a_name_is_no_run(folder, capsys):
    Path("base.1").rename("a,b")
    assert "spread" not in rows(capsys, "a,b", "--refs", "ref", "-m", "wer")[0]


def test_groups(folder, capsys):
    args = ["base.1", "new.1", "--refs", "ref", "-m", "wer"]
    alone, together = rows(capsys, *args)[1], rows(capsys, *args, "--groups", "docs")[1]
    assert alone["score"] == together["score"]
    assert together["p"] >= 2 / 2**6 - 0.01 > alone["p"]  # six documents
    write("by_id", [f"{i}\td{i // 4}" for i in reversed(range(N))])
    assert rows(capsys, *args, "--groups", "by_id")[1]["p"] == together["p"]
    assert main(["score", *args, "--groups", "docs", "--test", "wilcoxon"]) == 0
    assert "tested together (6 groups of 24 segments; of so few" in capsys.readouterr().out
    write("short", ["d"])
    assert main(["score", *args, "--groups", "short"]) == 2
    assert "or a group for each of 24 segments, one a line; got 1 lines" in capsys.readouterr().err


def test_scores_of_other_programs(folder, capsys):
    write("a.comet", [f"{0.8 + i / 1000:.4f}" for i in range(N)])
    write("b.comet", ["id,comet", *(f"{i},{0.8004 + i / 1000:.4f}" for i in reversed(range(N)))])
    args = ["base.1", "new.1", "-m", "external", "--label", "COMET"]
    a, b = rows(capsys, *args, "--scores", "a.comet", "--scores", "b.comet")
    assert (a["name"], a["score"]) == ("COMET", pytest.approx(0.8115))
    assert b["difference"] == pytest.approx(0.0004)
    assert b["p"] < 0.05
    both = rows(capsys, *args[:2], "-m", "wer,external", "--refs", "ref", "--scores", "a.comet", "--scores", "b.comet")
    assert [row["name"] for row in both] == ["WER", "WER", "external", "external"]
    for more, message in (
        ([], "once for each of the 2 outputs, in their order; got 0"),
        (["--scores", "a.comet", "--scores", "ref"], "ref:"),
        (["--scores", "a.comet", "--scores", "docs"], "docs:"),
    ):
        assert main(["score", *args, *more]) == 2
        assert message in capsys.readouterr().err
    write("a.comet", ["0.5"])
    assert main(["score", *args, "--scores", "a.comet", "--scores", "b.comet"]) == 2
    assert "a.comet: expected a score for each of 24 outputs, got 1" in capsys.readouterr().err
    write("b.comet", ["id,comet", "0,1", "0,2"])
    assert main(["score", "base.1", "-m", "external", "--scores", "b.comet"]) == 2
    assert "b.comet:3: segment '0' is there twice" in capsys.readouterr().err
    assert main(["score", "base.1", "-m", "wer"]) == 2
    assert "needs --refs FILE" in capsys.readouterr().err


def test_as_many_digits_as_differ(folder, capsys):
    assert telling([27.31, 40.0]) == ".2f"
    assert telling([27.3121, 27.3124, 27.3124, 90.0]) == ".4f"
    assert telling([1.0, 1.0 + 1e-12]) == ".2f"  # the same but for rounding
    assert telling([1.0, None, 1.0]) == ".2f"
    assert telling([], least=4) == ".4f"
    write("a", ["0.81231"] * N)
    write("b", ["0.81234"] * N)
    assert main(["score", "base.1", "new.1", "-m", "external", "--scores", "a", "--scores", "b"]) == 0
    out = capsys.readouterr().out
    assert "0.81231" in out
    assert "+0.00003" in out


@pytest.mark.parametrize("form", ["markdown", "latex", "csv"])
def test_tables(folder, capsys, form):
    assert main(["score", "base.1", "new.1", "--refs", "ref", "-m", "wer,cer", "--table", form]) == 0
    out = capsys.readouterr().out
    if form == "csv":
        head, base, new = csv.reader(io.StringIO(out))
        assert head == ["system", "WER", "WER difference", "WER p", "CER", "CER difference", "CER p"]
        assert base[0] == "base.1"
        assert base[2:4] == ["", ""]
        assert float(new[2]) == pytest.approx(float(new[1]) - float(base[1]))
    else:
        assert {"markdown": "| system | WER |", "latex": r"\begin{tabular}{lrrrrrr}"}[form] in out
        assert out.count("signature:") == 2
    assert main(["score", "base.1", "--refs", "ref", "--table", "word"]) == 2
    assert "unknown form of a report 'word'" in capsys.readouterr().err


def lists(name: str, first: int, groups: bool) -> None:
    rng = np.random.default_rng(first)
    out = []
    for i in range(first, first + 30):
        hypotheses = [
            {"text": " ".join(["a"] * (8 - k)), "features": {"good": -k + rng.normal(), "noise": rng.normal()}}
            for k in rng.permutation(5).tolist()
        ]
        more = {"group": f"g{i % 5}"} if groups else {}
        out.append({"id": f"s{i}", "references": ["a a a a a a a a"], "hypotheses": hypotheses, **more})
    write(name, [json.dumps(row) for row in out])


def test_compare_repeats_and_groups(folder, capsys):
    lists("dev.jsonl", 0, groups=False)
    lists("test.jsonl", 100, groups=False)
    args = ["compare", "dev.jsonl", "-m", "wer", "--test", "test.jsonl", "--methods", "random,mert", "-q"]
    assert main([*args, "--repeats", "3", "--json"]) == 0
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert len(found["random"]["runs"]) == 3
    assert found["random"]["test"] == pytest.approx(np.mean(found["random"]["runs"]))
    assert "runs" not in found["oracle"]
    assert main([*args, "--repeats", "2", "--table", "markdown"]) == 0
    out = capsys.readouterr().out
    assert "| spread |" in out
    assert main([*args, "--json"]) == 0
    alone = {row["name"]: row["p"] for row in json.loads(capsys.readouterr().out)["rows"]}
    lists("test.jsonl", 100, groups=True)
    assert main([*args, "--json"]) == 0
    together = {row["name"]: row["p"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert together["mert"] > 2 / 2**5 - 0.02 > alone["mert"]
    assert main(args) == 0
    assert "tested together (5 groups of 30 segments; of so few p is at least 0.062)" in capsys.readouterr().out


def leaves(command, name: str = "nbest"):
    """All commands, also those within others, with their names."""
    if not hasattr(command, "list_commands"):
        yield name, command
        return
    context = command.make_context(name, [], resilient_parsing=True)
    for each in command.list_commands(context):
        yield from leaves(command.resolve_command(context, [each])[1], f"{name} {each}")


def test_every_command_can_be_quiet():
    found = dict(leaves(get_command(app)))
    assert len(found) > 20
    loud = [name for name, each in found.items() if not any("--quiet" in option.opts for option in each.params)]
    assert loud == []


def test_references_of_more_segments_are_cut_and_said(folder, capsys):
    lists("dev.jsonl", 0, groups=False)
    rows = [json.loads(line) for line in Path("dev.jsonl").read_text(encoding="utf-8").splitlines()]
    write("bare.jsonl", [json.dumps({key: value for key, value in row.items() if key != "references"}) for row in rows])
    write("refs.tsv", [f"s{i}\ta a a a a a a a" for i in range(40)])
    assert main(["inspect", "bare.jsonl", "--refs", "refs.tsv", "-m", "wer", "-q"]) == 0
    assert "10 segments have references but no hypotheses; they are left out" in capsys.readouterr().err


def test_compare_tests_against_the_method_named_first_and_repeats_what_is_random(folder, capsys):
    lists("dev.jsonl", 0, groups=False)
    lists("test.jsonl", 100, groups=False)
    args = ["compare", "dev.jsonl", "-m", "wer", "--test", "test.jsonl", "--methods", "likelihood,random,risk", "-q"]
    assert main([*args, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["against"] == "likelihood"
    rows = {row["name"]: row for row in found["rows"]}
    assert list(rows) == ["first hypothesis", "equal weights", "likelihood", "random", "risk", "oracle"]
    assert len(rows["random"]["runs"]) == 3
    assert rows["random"]["spread"] == pytest.approx(np.std(rows["random"]["runs"], ddof=1))
    assert not any("runs" in rows[name] for name in ("likelihood", "risk", "equal weights"))  # not random
    assert {name for name in rows if "p_against" in rows[name]} == {"equal weights", "random", "risk"}
    test = nbest.read("test.jsonl").with_metric(nbest.WER())
    own, other = (
        test.stats[nbest.LogLinear(rows[name]["weights"]).predict(test)] for name in ("likelihood", "equal weights")
    )
    assert rows["equal weights"]["p_against"] == permutation(nbest.WER(), own, other).p
    assert main(args) == 0
    out = capsys.readouterr().out
    assert "against likelihood" in out
    assert "spread" in out
    below = [name for name in rows if rows[name]["test"] > rows["first hypothesis"]["test"]]
    assert ("worse than the first hypotheses on test" in out) == bool(below)


def test_compare_names_what_is_worse_than_the_first_hypotheses(folder, capsys):
    rng = np.random.default_rng(3)
    for name, first in (("dev.jsonl", 0), ("test.jsonl", 100)):
        rows = []
        for i in range(first, first + 40):
            worth = [1.0, 0.0, 0.0, 0.0]  # features tell nothing
            given = [{"text": f"{k}", "score": s, "features": {"a": rng.normal()}} for k, s in enumerate(worth)]
            rows.append(json.dumps({"id": f"s{i}", "hypotheses": given}))
        write(name, rows)
    args = ["compare", "dev.jsonl", "-m", "external", "--test", "test.jsonl", "--methods", "likelihood"]
    assert main(args) == 0
    assert "worse than the first hypotheses on test: likelihood" in capsys.readouterr().out
