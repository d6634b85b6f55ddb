"""`nbest features join`, and scores of tables as a metric."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import nbest
from tests.cli.conftest import Run
from tests.doc_blocks import run_page


@pytest.fixture
def table(folder: Path) -> Path:
    """The second feature as a table by id and index, rows in another order."""
    dev = nbest.read(folder / "dev.nbest")
    rows = [
        f"{name},{h - dev.offsets[i]},{float(dev.features[h, 1])!r},{float(-dev.features[h, 1])!r}"
        for i, name in enumerate(dev.ids)
        for h in range(dev.offsets[i], dev.offsets[i + 1])
    ]
    file = folder / "reward.csv"
    file.write_text("id,index,rm,cost\n" + "\n".join(reversed(rows)) + "\n")
    return file


def test_join(run: Run, folder: Path, table: Path) -> None:
    done = run("features", "join", "dev.nbest", "reward.csv", "-o", "out.jsonl")
    assert done.code == 0
    assert "rows, to be matched by id and index" in done.err
    dev, out = nbest.read(folder / "dev.nbest"), nbest.read(folder / "out.jsonl")
    assert out.feature_names == (*dev.feature_names, "rm", "cost")
    assert (out.column("rm") == dev.features[:, 1]).all()
    (folder / "plain.txt").write_text("1\n" * dev.hypotheses)
    done = run("features", "join", "dev.nbest", "reward.csv", "plain.txt", "--columns", "cost,plain", "-o", "out.jsonl")
    assert "by position, row by row" in done.err
    assert nbest.read(folder / "out.jsonl").feature_names == (*dev.feature_names, "cost", "plain")


def test_refused(run: Run, folder: Path, table: Path) -> None:
    table.write_text(table.read_text() + "nobody,0,1,1\n")
    done = run("features", "join", "dev.nbest", "reward.csv", "-o", "out.jsonl")
    assert done.code == 2
    assert done.err.count("\n") == 2  # how rows are matched, and what is wrong
    assert "reward.csv:482: there is no segment 'nobody'" in done.err
    assert not (folder / "out.jsonl").exists()
    assert run("features", "join", "dev.nbest", "reward.csv", "-o", "reward.csv").code == 2
    assert "--columns names none" in run("features", "join", "dev.nbest", "reward.csv", "--columns", ",", "-o", "x").err


def test_columns_are_not_lost(run: Run, folder: Path, table: Path) -> None:
    done = run("features", "join", "dev.nbest", "reward.csv", "-o", "out.tsv")
    assert done.code == 2
    assert "out.tsv: format nemo does not keep all features; write .jsonl or .csv; for a table with tabs" in done.err
    assert run("features", "join", "dev.nbest", "reward.csv", "-o", "out.tsv", "--to", "csv").code == 0
    assert nbest.read(folder / "out.tsv").feature_names[-2:] == ("rm", "cost")
    assert run("features", "join", "dev.nbest", "reward.csv", "-o", "out.forests.jsonl").code == 2


def test_a_table_as_a_metric(run: Run, folder: Path, table: Path) -> None:
    given = ("dev.nbest", "--metric", "external", "--scores", "reward.csv")
    assert "several columns of numbers; say which: rm, cost" in run("inspect", *given).err
    by_table = json.loads(run("inspect", *given, "--column", "rm", "--json").out)["scores"]
    name = nbest.read(folder / "dev.nbest").feature_names[1]
    by_feature = json.loads(run("inspect", "dev.nbest", "--metric", "external", "--column", name, "--json").out)[
        "scores"
    ]
    assert by_table == by_feature
    held = table.read_text().splitlines()
    table.write_text("\n".join([*held, "elsewhere,0,1,1"]) + "\n")
    done = run("tune", *given, "--column", "rm", "-o", "model.json")
    assert done.code == 0
    assert "1 rows are of segments that are not in these lists" in done.err
    dev = nbest.read(folder / "dev.nbest")
    nbest.write(replace(dev, ids=tuple(f"t{name}" for name in dev.ids)), folder / "other.jsonl")
    table.write_text("\n".join([*held, *(f"t{line}" for line in held[1:])]) + "\n")
    done = run("compare", *given, "--column", "rm", "--methods", "mert", "--test", "other.jsonl", "--json", "-q")
    assert done.code == 0
    rows = {row["name"]: row["test"] for row in json.loads(done.out)["rows"]}
    assert rows["mert"] == pytest.approx(by_table["oracle"])  # the metric is one of the features


def test_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dev.jsonl").write_text(
        '{"id": "utt1", "hypotheses": [{"text": "a b", "features": {"lm": 1}}, {"text": "a", "features": {"lm": 2}}]}\n'
        '{"id": "utt2", "hypotheses": [{"text": "c", "features": {"lm": 1}}]}\n'
    )
    Path("reward.csv").write_text("id,text,reward,right\nutt2,c,0.5,true\nutt1,a b,2,false\nutt1,a,1,true\n")
    Path("comet.tsv").write_text("id\tindex\tcomet\nutt1\t0\t0.1\nutt1\t1\t0.2\nutt2\t0\t0.3\n")
    Path("qe.txt").write_text("1\n2\n3\n")
    run_page("docs/joining.md", capfd)
    assert nbest.read("dev.scored.jsonl").column("qe").tolist() == [1, 2, 3]


def test_gains_and_groups_of_a_table(run: Run, folder: Path, table: Path) -> None:
    lines = table.read_text().splitlines()
    rows = [f"{lines[0]},doc", *(f"{line},d{int(line.split(',')[0]) // 7}" for line in lines[1:])]
    table.write_text("\n".join(rows) + "\n")
    done = run("features", "join", "dev.nbest", "reward.csv", "--gain", "rm", "--group", "doc", "-o", "out.jsonl")
    assert done.code == 0, done.err
    dev, out = nbest.read(folder / "dev.nbest"), nbest.read(folder / "out.jsonl")
    assert out.feature_names == (*dev.feature_names, "cost")
    assert out.gains is not None
    assert (out.gains == dev.features[:, 1]).all()
    assert out.groups == tuple(f"d{i // 7}" for i in range(len(dev)))
    for option, name in (("--gain", "rn"), ("--group", "document")):
        done = run("features", "join", "dev.nbest", "reward.csv", option, name, "-o", "x.jsonl")
        assert f"no table has a column {name!r}, which {option} names" in done.err
    table.write_text("\n".join([*rows[:5], rows[5].replace("d8", "d9"), *rows[6:]]) + "\n")
    done = run("features", "join", "dev.nbest", "reward.csv", "--group", "doc", "-o", "x.jsonl")
    assert re.search(r"reward\.csv:\d+: 'doc' differs from that of other rows of segment", done.err)
    assert done.code == 2


def test_rows_of_a_key_that_is_not_known_are_not_matched_by_position(run: Run, folder: Path, table: Path) -> None:
    table.write_text(table.read_text().replace("id,index", "name,index", 1))
    done = run("features", "join", "dev.nbest", "reward.csv", "-o", "out.jsonl")
    assert done.code == 2
    assert "it has numbers of hypotheses, but no column of ids that is known: name, index, rm, cost" in done.err
    done = run("features", "join", "dev.nbest", "reward.csv", "--id", "name", "-o", "out.jsonl")
    assert done.code == 0, done.err
    dev = nbest.read(folder / "dev.nbest")
    assert (nbest.read(folder / "out.jsonl").column("rm") == dev.features[:, 1]).all()
    assert "no column 'nam'" in run("features", "join", "dev.nbest", "reward.csv", "--id", "nam", "-o", "x.jsonl").err


def test_options_of_an_external_metric_are_not_ignored_by_others(run: Run) -> None:
    for command in (["tune", "dev.nbest"], ["inspect", "dev.nbest"], ["score", "dev.ref"]):
        for option in (["--scores", "none.csv"], ["--column", "am"]):
            done = run(*command, "--refs", "dev.ref", "--metric", "wer", *option)
            assert done.code == 2
            assert f"{option[0]} is for --metric external, not for wer" in done.err


def test_options_go_to_the_metrics_that_have_them(run: Run, folder: Path) -> None:
    (folder / "scores.txt").write_text("1\n" * len((folder / "dev.ref").read_text().splitlines()))
    given = ("dev.ref", "--refs", "dev.ref", "--scores", "scores.txt", "--normalize", "lower", "--json")
    rows = json.loads(run("score", *given, "--metric", "wer,external").out)
    assert [("norm:lower" in row["signature"]) for row in rows] == [True, False]
    assert "has no --normalize" in run("score", *given, "--metric", "external").err


def test_scores_of_two_sets_that_cannot_be_told_apart(run: Run, folder: Path, table: Path) -> None:
    dev = nbest.read(folder / "dev.nbest")
    (folder / "by-line.txt").write_text("1\n" * dev.hypotheses)
    given = ("tune", "dev.nbest", "--heldout", "dev.nbest", "--metric", "external")
    assert "two sets of lists apart: it has no ids" in run(*given, "--scores", "by-line.txt").err
    done = run(*given, "--scores", "reward.csv", "--column", "rm")
    assert done.code == 2
    assert "two sets of lists apart: both have segments of the same ids" in done.err
