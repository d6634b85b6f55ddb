"""`nbest score` of outputs that do not answer all segments, of all pairs of systems, and of files of the wrong kind."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nbest.cli.main import main

N = 12
REFERENCES = [f"right {i}" for i in range(N)]
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    by_id("refs.tsv", REFERENCES)
    for name, wrong in (("good", 1), ("bad", 8), ("mean", 4)):
        by_id(f"{name}.tsv", ["wrong" if i < wrong else text for i, text in enumerate(REFERENCES)])
    chosen("some.jsonl", left=range(3))
    chosen("few.jsonl", left=range(2, 9))


def lines(name: str, rows: Sequence[str]) -> None:
    Path(name).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def by_id(name: str, texts: Sequence[str]) -> None:
    lines(name, [f"s{i}\t{text}" for i, text in enumerate(texts)])


def objects(name: str, rows: Sequence[dict[str, Any]]) -> None:
    lines(name, [json.dumps(row) for row in rows])


def chosen(name: str, left: Sequence[int]) -> None:
    """As `nbest rerank --json` writes choices that abstain from some segments; all others are right."""
    rows = [{"id": f"s{i}", "text": text, "index": 0, "score": 1.0} for i, text in enumerate(REFERENCES)]
    for i in left:
        rows[i] |= {"text": "", "index": None, "score": None, "abstained": True}
    objects(name, rows)


def scored(capsys: Captured, *words: str) -> list[dict[str, Any]]:
    assert main(["score", *words, "--refs", "refs.tsv", "-m", "exact", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def table(capsys: Captured, *words: str) -> list[list[str]]:
    """The rows of the table, with heads, as CSV has them."""
    assert main(["score", *words, "--refs", "refs.tsv", "-m", "exact", "--table", "csv"]) == 0
    return list(csv.reader(io.StringIO(capsys.readouterr().out)))


# covered -----------------------------------------------------------------------------------------------------


def test_the_table_says_how_many_segments_are_given(capsys: Captured) -> None:
    assert table(capsys, "some.jsonl") == [["system", "covered", "exact"], ["some.jsonl", "9/12", "100.0"]]
    heads, *rows = table(capsys, "good.tsv", "some.jsonl", "few.jsonl")
    assert heads[:3] == ["system", "covered", "exact"]
    assert [row[1] for row in rows] == ["12/12", "9/12", "5/12"]
    assert main(["score", "good.tsv", "few.jsonl", "--refs", "refs.tsv", "-m", "exact"]) == 0
    assert "scores are of 5 of 12 segments, those that no system leaves out" in capsys.readouterr().out


def test_the_count_is_in_json_too(capsys: Captured) -> None:
    rows = scored(capsys, "good.tsv", "some.jsonl", "few.jsonl")
    assert [(row["covered"], row["segments"], row["scored"]) for row in rows] == [(12, 12, 3), (9, 12, 3), (5, 12, 3)]
    (row,) = scored(capsys, "good.tsv")
    assert (row["covered"], row["segments"], row["scored"]) == (12, 12, 12)


def test_each_system_is_scored_on_what_it_answers_too(capsys: Captured) -> None:
    rows = scored(capsys, "bad.tsv", "some.jsonl", "few.jsonl")
    assert [row["score"] for row in rows] == [100.0] * 3  # of the three segments that all answer
    assert [row["alone"] for row in rows] == [pytest.approx(100 * 4 / 12), 100.0, 100.0]
    heads, bad, *_ = table(capsys, "bad.tsv", "some.jsonl", "few.jsonl")
    assert heads[3] == "alone"
    assert float(bad[3]) == pytest.approx(100 * 4 / 12)
    assert "alone" not in table(capsys, "some.jsonl")[0]
    assert "alone" not in scored(capsys, "bad.tsv", "gate=some.jsonl,few.jsonl")[0]


def test_the_bootstrap_shows_intervals_of_differences(capsys: Captured) -> None:
    words = ("good.tsv", "bad.tsv", "mean.tsv", "--test", "bootstrap")
    rows = scored(capsys, *words, "--pairs")
    heads, first, bad, mean = table(capsys, *words)
    assert heads == ["system", "exact", "difference", "95 % from", "to", "p (bootstrap)"]
    assert first[2:] == [""] * 4
    for row, shown in ((rows[1], bad), (rows[2], mean)):
        assert [float(cell) for cell in shown[2:5]] == pytest.approx([row["difference"], *row["interval"]])
        assert row["interval"][0] <= row["difference"] <= row["interval"][1]
    assert "95 % from" not in table(capsys, "good.tsv", "bad.tsv")[0]


def test_references_without_an_output_are_not_given(capsys: Captured) -> None:
    lines("part.tsv", Path("good.tsv").read_text(encoding="utf-8").splitlines()[:8])
    assert table(capsys, "part.tsv")[1][1] == "8/12"


def test_the_counts_of_runs_are_the_least_and_the_most(capsys: Captured) -> None:
    assert [row[1] for row in table(capsys, "good.tsv", "gate=some.jsonl,few.jsonl")[1:]] == ["12/12", "5 to 9/12"]
    assert scored(capsys, "good.tsv", "gate=some.jsonl,few.jsonl")[1]["covered"] == [9, 5]


def test_where_all_is_given_no_column_says_so(capsys: Captured) -> None:
    assert "covered" not in table(capsys, "good.tsv", "bad.tsv")[0]
    assert main(["score", "good.tsv", "--refs", "refs.tsv", "-m", "exact"]) == 0
    assert "segments" not in capsys.readouterr().out


def test_all_forms_of_tables_have_the_column(capsys: Captured) -> None:
    for form in ("markdown", "latex"):
        assert main(["score", "some.jsonl", "--refs", "refs.tsv", "-m", "exact,wer", "--table", form]) == 0
        out = capsys.readouterr().out
        assert out.count("9/12") == 1
        assert "covered" in out


# pairs ----------------------------------------------------------------------------------------------------------


def test_all_pairs_are_tested(capsys: Captured) -> None:
    names = ["good.tsv", "bad.tsv", "mean.tsv"]
    first, second, third = scored(capsys, *names, "--pairs")
    assert first["pairs"] == []
    assert [each["against"] for each in third["pairs"]] == names[:2]
    assert second["pairs"][0]["difference"] == second["difference"]
    (_, alone) = scored(capsys, "bad.tsv", "mean.tsv")
    other = third["pairs"][1]
    assert (other["p"], other["difference"]) == (alone["p"], alone["difference"])
    assert (third["p"], third["difference"]) == (third["pairs"][0]["p"], third["pairs"][0]["difference"])
    assert "pairs" not in scored(capsys, *names)[1]


def test_pairs_are_a_second_table(capsys: Captured) -> None:
    args = ["score", "good.tsv", "bad.tsv", "mean.tsv", "--refs", "refs.tsv", "--pairs"]
    assert main([*args, "-m", "exact"]) == 0
    out = capsys.readouterr().out
    _, below = out.split("\n\n", 1)
    rows = [line.split() for line in below.splitlines()]
    assert rows[0] == ["system", "against", "difference", "p", "(permutation)"]
    pairs = [("bad.tsv", "good.tsv"), ("mean.tsv", "good.tsv"), ("mean.tsv", "bad.tsv")]
    assert [tuple(row[:2]) for row in rows[1:4]] == pairs
    assert rows[3][2] == "+33.33"
    assert "each p is of one of 3 tests" in below
    assert main([*args, "-m", "exact,wer", "--table", "csv"]) == 0
    below = capsys.readouterr().out.split("\n\n", 1)[1]
    assert below.splitlines()[0] == "system,against,exact difference,exact p,WER difference,WER p"


def test_pairs_of_runs_are_pooled(capsys: Captured) -> None:
    names = ["good.tsv", "two=bad.tsv,mean.tsv", "mean.tsv"]
    pairs = scored(capsys, *names, "--pairs")[2]["pairs"]
    assert pairs[1]["p"] == scored(capsys, *names[1:])[1]["p"]


def test_one_system_is_no_pair(capsys: Captured) -> None:
    assert main(["score", "good.tsv", "--refs", "refs.tsv", "-m", "exact", "--pairs"]) == 2
    assert "--pairs tests each output against each other; got one, 'good.tsv'" in capsys.readouterr().err


# what is no text ------------------------------------------------------------------------------------------------

LISTS = [{"id": f"s{i}", "hypotheses": [{"text": text}, {"text": "wrong"}]} for i, text in enumerate(REFERENCES)]


def refused(capsys: Captured, *words: str) -> str:
    assert main(["score", *words]) == 2
    return capsys.readouterr().err


def test_lists_with_references_are_references_by_id(capsys: Captured) -> None:
    objects("test.jsonl", [{**row, "references": [REFERENCES[i]]} for i, row in enumerate(LISTS)])
    assert main(["score", "good.tsv", "bad.tsv", "--refs", "test.jsonl", "-m", "exact", "--json"]) == 0
    assert [round(row["score"], 2) for row in json.loads(capsys.readouterr().out)] == [91.67, 33.33]


def test_lists_without_references_are_refused(capsys: Captured) -> None:
    objects("test.jsonl", LISTS)
    assert "test.jsonl: holds lists" in refused(capsys, "good.tsv", "--refs", "test.jsonl", "-m", "exact")


RECORDS = [{"id": f"s{i}", "gold": text} for i, text in enumerate(REFERENCES)]


@pytest.mark.parametrize("more", [(), ("--answer", "boxed"), ("--answer", "last-number")])
@pytest.mark.parametrize("output", ["good.tsv", "some.jsonl", "records.jsonl", "lists.jsonl"])
def test_records_are_no_references(output: str, more: tuple[str, ...], capsys: Captured) -> None:
    objects("gold.jsonl", RECORDS)
    objects("records.jsonl", [{"id": row["id"], "output": row["gold"]} for row in RECORDS])
    objects("lists.jsonl", LISTS)
    said = refused(capsys, output, "--refs", "gold.jsonl", "-m", "exact", *more)
    assert "gold.jsonl: lines are whole JSON objects" in said
    assert "expected texts" in said


def test_records_and_lists_are_no_outputs(capsys: Captured) -> None:
    objects("gold.jsonl", [{"output": row["gold"]} for row in RECORDS])
    objects("lists.jsonl", LISTS)
    lines("refs.txt", REFERENCES)
    for name, more in (("gold.jsonl", ()), ("lists.jsonl", ()), ("lists.jsonl", ("--answer", "last-number"))):
        said = refused(capsys, name, "--refs", "refs.txt", "-m", "exact", *more)
        assert f"{name}: lines are whole JSON objects" in said
        assert "--answer json:PATH" in said


def test_what_is_within_records_is_compared_where_an_answer_says_so(capsys: Captured) -> None:
    objects("gold.jsonl", RECORDS)
    words = ["score", "gold.jsonl", "--refs", "gold.jsonl", "-m", "exact", "--answer", "json:gold", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)[0]["score"] == 100.0


def test_texts_may_be_objects_on_both_sides(capsys: Captured) -> None:
    objects("refs.json", [{"x": i} for i in range(N)])
    lines("mine.json", ["{broken", *(f'{{"x": {i}}}' for i in range(1, N))])
    assert main(["score", "mine.json", "--refs", "refs.json", "-m", "exact", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["score"] == pytest.approx(100 * (N - 1) / N)


def test_objects_with_ids_are_texts_where_both_sides_have_the_same_keys(capsys: Captured) -> None:
    """And where one of several systems writes none."""
    objects("refs.json", [{"id": i, "x": i} for i in range(N)])
    lines("broken.txt", ["{broken"] * N)
    words = ["score", "broken.txt", "refs.json", "--refs", "refs.json", "-m", "exact", "--json"]
    assert main(words) == 0
    assert [row["score"] for row in json.loads(capsys.readouterr().out)] == [0.0, 100.0]


def test_an_answer_may_be_within_an_object(capsys: Captured) -> None:
    objects("mine.json", [{"thought": "so", "x": 7 * i + 3} for i in range(N)])
    lines("refs.txt", [str(7 * i + 3) for i in range(N)])
    words = ["score", "mine.json", "--refs", "refs.txt", "-m", "exact", "--answer", "last-number", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)[0]["score"] == 100.0
