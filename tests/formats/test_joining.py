"""Scores of other files joined to lists: against a plain twin, and every kind of mismatch with its line."""

from __future__ import annotations

import csv
import io
import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.base.errors import FormatError
from nbest.corpus import NBest, Texts
from nbest.formats.joining import join_labels, join_scores, scores_of
from nbest.formats.scores import read_scores

LISTS = {"a": ["x y", "x", "z"], "b": ["u"], "c": ["p", "p"]}


def lists(texts: dict[str, list[str]] = LISTS) -> NBest:
    sizes = [len(each) for each in texts.values()]
    return NBest(
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        features=np.zeros((sum(sizes), 1)),
        feature_names=("lm",),
        ids=tuple(texts),
        texts=Texts.of(text for each in texts.values() for text in each),
    )


def put(path: Path, form: str, rows: list[dict[str, object]]) -> Path:
    """A table as another program would write it."""
    file = path / f"scores.{form}"
    if form == "jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "json":
        file.write_text(json.dumps(rows, indent=1))
    elif form == "parquet":
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pa.Table.from_pylist(rows), file)
    else:
        out = io.StringIO()
        writer = csv.DictWriter(out, list(rows[0]), delimiter="\t" if form == "tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
        file.write_text(out.getvalue(), newline="")
    return file


def twin(rows: list[dict[str, object]], key: str) -> dict[tuple[object, object], float]:
    """A plain join: scores by id and key."""
    return {(row["id"], row[key]): float(row["qe"]) for row in rows}  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["index", "text"])
@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_as_a_plain_join(tmp_path: Path, form: str, key: str) -> None:
    source = random.Random(5)
    texts = {f"s{i}": [f'"{i}", {k}\n{source.random()}' for k in range(source.randrange(4))] for i in range(30)}
    rows = [
        {
            "id": name,
            key: k if key == "index" else text,
            "note": "n",
            "qe": source.gauss(0, 1),
            "ok": source.random() < 0.5,
        }
        for name, each in texts.items()
        for k, text in enumerate(each)
    ]
    source.shuffle(rows)
    corpus = join_scores(lists(texts), put(tmp_path, form, rows))
    assert corpus.feature_names == ("lm", "qe", "ok")
    known = twin(rows, key)
    wanted = [known[n, k if key == "index" else text] for n, each in texts.items() for k, text in enumerate(each)]
    assert corpus.column("qe").tolist() == wanted
    assert set(corpus.column("ok")) == {0.0, 1.0}


def test_by_order_and_position(tmp_path: Path) -> None:
    file = tmp_path / "qe.txt"
    file.write_text("1\n2\n3\n4\n5\n6\n\n")
    assert join_scores(lists(), file).column("qe").tolist() == [1, 2, 3, 4, 5, 6]
    assert join_scores(lists(), file, name="comet").feature_names == ("lm", "comet")
    file.write_text("c\t5\na\t1\na\t2\nb\t4\na\t3\nc\t6\n")
    assert join_scores(lists(), file).column("qe").tolist() == [1, 2, 3, 4, 5, 6]
    file.write_text("score\n1\n2\n3\n4\n5\n6\n")
    assert join_scores(lists(), file).column("score").tolist() == [1, 2, 3, 4, 5, 6]


def test_index_from_one_and_other_names(tmp_path: Path) -> None:
    file = put(
        tmp_path, "csv", [{"utt": n, "rank": k + 1, "s": k, "t": -k} for n in LISTS for k in range(len(LISTS[n]))]
    )
    corpus = join_scores(lists(), file, first=1, name="m")
    assert corpus.feature_names == ("lm", "m_s", "m_t")
    assert corpus.column("m_s").tolist() == [0, 1, 2, 0, 0, 1]
    with pytest.raises(
        FormatError, match=r"csv:4: there is no hypothesis 3: segment 'a' has 3 hypotheses, counted from 0"
    ):
        join_scores(lists(), file)


def test_missing(tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    file.write_text("id,index,qe\na,0,3\na,1,\nb,0,1\nc,0,2\nc,1,2\n")
    with pytest.raises(FormatError, match=r"s\.csv:3: 'qe' is empty"):
        join_scores(lists(), file)
    assert join_scores(lists(), file, missing="0").column("qe").tolist() == [3, 0, 0, 1, 2, 2]
    assert join_scores(lists(), file, missing="mean").column("qe").tolist() == [3, 2, 2, 1, 2, 2]
    flagged = join_scores(lists(), file, missing="flag")
    assert flagged.feature_names == ("lm", "qe", "qe_missing")
    assert flagged.features[:, 1:].tolist() == [[3, 0], [0, 1], [0, 1], [1, 0], [2, 0], [2, 0]]
    file.write_text("id,index,qe\na,0,3\na,1,2\nb,0,1\nc,0,2\nc,1,2\n")
    with pytest.raises(FormatError, match=r"s\.csv: there is no row for hypothesis 2 of segment 'a'"):
        join_scores(lists(), file)
    assert nbest.join_scores(lists(), file, missing="flag").column("qe_missing").tolist() == [0, 0, 1, 0, 0, 0]
    with pytest.raises(nbest.ParameterError, match="unknown way with missing scores 'zero'"):
        join_scores(lists(), file, missing="zero")


GOOD = "id,index,qe\na,0,1\na,1,2\na,2,3\nb,0,4\nc,0,5\nc,1,6\n"
BY_TEXT = "id,text,qe\na,x y,1\na,x,2\na,z,3\nb,u,4\nc,p,5\n"
WRONG = {
    "unknown id": (GOOD.replace("b,0", "B,0"), "5: there is no segment 'B' in the lists"),
    "out of range": (GOOD.replace("b,0", "b,1"), "5: there is no hypothesis 1: segment 'b' has 1 hypotheses"),
    "no whole number": (GOOD.replace("b,0", "b,0.5"), "5: 'index' must be a whole number, 0 or more, got '0.5'"),
    "negative": (GOOD.replace("b,0", "b,-1"), "5: 'index' must be a whole number, 0 or more, got '-1'"),
    "empty index": (GOOD.replace("b,0", "b,"), "5: 'index' must be a whole number, 0 or more, got ''"),
    "key twice": (GOOD + "a,1,2\n", "8: hypothesis 1 of segment 'a' is there twice, first on line 3"),
    "row missing": (GOOD.replace("a,1,2\n", ""), " there is no row for hypothesis 1 of segment 'a'"),
    "cell missing": (GOOD.replace("a,1,2\n", "a,1,\n"), "3: 'qe' is empty"),
    "not a number": (GOOD.replace("a,1,2\n", "a,1,two\n"), "3: 'qe' must be a finite number, got 'two'"),
    "nan": (GOOD.replace("a,1,2\n", "a,1,nan\n"), "3: 'qe' must be a finite number, got 'nan'"),
    "infinite": (GOOD.replace("a,1,2\n", "a,1,1e999\n"), "3: 'qe' must be a finite number, got '1e999'"),
    "underscore": (GOOD.replace("a,1,2\n", "a,1,1_0\n"), "3: 'qe' must be a finite number, got '1_0'"),
    "fields": (GOOD.replace("a,1,2\n", "a,1,2,3\n"), "3: expected 3 fields, as the first line has, got 4"),
    "blank line": (GOOD.replace("a,1,2\n", "a,1,2\n\n"), "4: expected 3 fields, as the first line has, got 1"),
    "open quote": (GOOD.replace("a,1,2\n", 'a,1,"2\n'), "3: the quotes of this row are not those of a table"),
    "name twice": (GOOD.replace("index", "qe"), "1: the column 'qe' is named twice"),
    "column there": (GOOD.replace("qe", "lm"), " the lists already have a feature 'lm'"),
    "no numbers": ("id,note\na,x\n", " no column of numbers in it; it has id, note"),
    "no rows": ("id,qe\n", " there are no rows in it"),
    "empty": ("", " the file is empty"),
    "text not in list": (BY_TEXT.replace("b,u", "b,U"), "5: no hypothesis of segment 'b' has the text 'U'"),
    "text twice": (BY_TEXT + "a,x,7\n", "7: the same text of segment 'a' has other scores on line 3"),
    "text missing": (BY_TEXT.replace("a,z,3\n", ""), " there is no row for hypothesis 2 of segment 'a'"),
    "count": ("1\n2\n", " expected a score for each of 6 hypotheses, got 2"),
    "short list": ("id,qe\na,1\na,2\nb,1\n", "3: 2 rows for segment 'a', which has 3 hypotheses"),
    "long list": ("id,qe\nb,1\nb,2\n", "3: one row too many: segment 'b' has 1 hypotheses"),
    "utf8": (GOOD.encode() + b"\xff", "8: not valid UTF-8"),
    "json": ('{"id": "a", "qe": 1}\n{"id": \n', "2: not valid JSON"),
    "json row": ('{"id": "a", "qe": 1}\n[1]\n', "2: a row must be an object"),
    "json value": ('{"id": "a", "qe": 1}\n{"id": "a", "qe": "x"}\n', "2: 'qe' must be a finite number, got 'x'"),
    "json id": ('{"id": "a", "qe": 1}\n{"id": 1.5, "qe": 1}\n', "2: 'id' must be a string or an integer"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_every_mismatch_is_refused(tmp_path: Path, kind: str) -> None:
    contents, message = WRONG[kind]
    file = tmp_path / "s.csv"
    for good in (GOOD, BY_TEXT):
        file.write_text(good)
        join_scores(lists(), file)
    file.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    with pytest.raises(FormatError) as caught:
        join_scores(lists(), file)
    assert str(caught.value).startswith(f"{file}:{message}")


def test_parquet_names_rows(tmp_path: Path) -> None:
    rows = [{"id": n, "index": k, "qe": 0.5} for n in LISTS for k in range(len(LISTS[n]))]
    file = put(tmp_path, "parquet", [*rows, rows[1]])
    with pytest.raises(FormatError, match=r"row 7: hypothesis 1 of segment 'a' is there twice, first on row 2"):
        join_scores(lists(), file)


def test_quotes(tmp_path: Path) -> None:
    texts = {"a": ['"so" he said', "two\nlines", "tab\tin"], "b": ['"']}
    file = tmp_path / "s.tsv"
    file.write_text('id\ttext\tqe\na\t"so" he said\t1\nb\t"\t4\n')
    found = read_scores(file)
    assert found.texts == ['"so" he said', '"']
    assert list(found.lines) == [2, 3]
    file.write_text('id\ttext\tqe\na\t"""so"" he said"\t1\na\t"two\nlines"\t2\na\t"tab\tin"\t3\nb\t""""\t4\n')
    found = read_scores(file)
    assert list(found.lines) == [2, 3, 5, 6]
    assert join_scores(lists(texts), found).column("qe").tolist() == [1, 2, 3, 4]
    file.write_text(f'id,text,qe\na,"{"x" * 300_000}",1\n')
    assert len((read_scores(file).texts or [""])[0]) == 300_000
    assert csv.field_size_limit() == 131072


def test_columns_and_keys(tmp_path: Path) -> None:
    file = put(tmp_path, "csv", [{"id": n, "index": k, "p": 1, "q": 2} for n in LISTS for k in range(len(LISTS[n]))])
    assert join_scores(lists(), file, columns=["q"]).feature_names == ("lm", "q")
    with pytest.raises(FormatError, match="there is no column 'qq'; it has id, index, p, q; did you mean 'q'"):
        join_scores(lists(), file, columns=["qq"])
    with pytest.raises(FormatError, match="to be matched by text it needs a column text; it has id, index, p, q"):
        join_scores(lists(), file, by="text")
    with pytest.raises(nbest.ParameterError, match="unknown key 'place'"):
        join_scores(lists(), file, by="place")
    assert join_scores(lists(), file, by="position").column("p").tolist() == [1] * 6


def test_scores_of_other_segments_are_for_metrics_only(tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    file.write_text(GOOD + "d,0,7\n")
    values, others = scores_of(lists(), file)
    assert values.tolist() == [1, 2, 3, 4, 5, 6]
    assert others == 1
    with pytest.raises(FormatError, match=r"csv:8: there is no segment 'd'"):
        join_scores(lists(), file)


def test_scores_of_python() -> None:
    corpus, wanted = lists(), [1.0, 2, 3, 4, 5, 6]
    by_key = {(n, k): wanted[h] for h, (n, k) in enumerate((n, k) for n in LISTS for k in range(len(LISTS[n])))}
    assert corpus.with_scores("qe", np.array(wanted)).column("qe").tolist() == wanted
    assert corpus.with_scores("qe", by_key).column("qe").tolist() == wanted
    assert corpus.with_scores("qe", {"c": [5, 6], "a": [1, 2, 3], "b": [4]}).column("qe").tolist() == wanted
    for given, message in (
        (wanted[1:], r"one number for each of 6 hypotheses, got \(5,\)"),
        ([*wanted[1:], np.nan], "finite numbers, got nan for hypothesis 5"),
        ({**by_key, ("a", 3): 1.0}, "entries for what the lists do not have"),
        ({key: value for key, value in by_key.items() if key != ("b", 0)}, "has no entry for"),
        ({"c": [5, 6], "a": [1, 2], "b": [4]}, "has 2 numbers for segment 'a', which has 3"),
        ({}, "has no entry for"),
    ):
        with pytest.raises(nbest.ParameterError, match=message):
            corpus.with_scores("qe", given)
    with pytest.raises(nbest.ParameterError, match="already have a feature 'lm'"):
        corpus.with_scores("lm", wanted)


SYSTEMS = [
    {"id": i, "text": f"{name} {i}", "system": name, "f": float(k)}
    for i in range(3)
    for k, name in enumerate(("sysA", "sysB", "sysC"))
]


def by_system(order: tuple[str, ...]) -> str:
    rows = "".join(f"{i},{name},{10 * i + ord(name[-1])}\n" for i in (2, 0, 1) for name in order)
    return f"id,system,kiwi\n{rows}"


@pytest.mark.parametrize("order", [("sysA", "sysB", "sysC"), ("sysC", "sysB", "sysA"), ("sysB", "sysA", "sysC")])
def test_rows_are_matched_by_system_in_any_order(order: tuple[str, ...], tmp_path: Path) -> None:
    lists = nbest.from_records(SYSTEMS)
    (tmp_path / "kiwi.csv").write_text(by_system(order))
    joined = nbest.join_scores(lists, tmp_path / "kiwi.csv")
    assert joined.column("kiwi").tolist() == [10 * i + ord(name) for i in range(3) for name in "ABC"]


def test_names_that_the_lists_do_not_know_are_not_matched_by_order(tmp_path: Path) -> None:
    lists = nbest.from_records([{k: v for k, v in row.items() if k != "system"} for row in SYSTEMS])
    (tmp_path / "kiwi.csv").write_text(by_system(("sysC", "sysB", "sysA")))
    with pytest.raises(FormatError, match=r"the column 'system' tells the rows of a segment apart.*--by order"):
        nbest.join_scores(lists, tmp_path / "kiwi.csv")
    said = nbest.join_scores(lists, tmp_path / "kiwi.csv", by="order")
    assert said.column("kiwi").tolist() == [10 * i + ord(name) for i in range(3) for name in "CBA"]


def test_systems_that_are_not_there_or_there_twice(tmp_path: Path) -> None:
    lists = nbest.from_records(SYSTEMS)
    (tmp_path / "kiwi.csv").write_text(by_system(("sysA", "sysB", "sysD")))
    with pytest.raises(FormatError, match=r"kiwi\.csv:\d+: no hypothesis of segment .* has the system .sysD."):
        nbest.join_scores(lists, tmp_path / "kiwi.csv")
    twice = nbest.from_records([{**row, "system": "one"} for row in SYSTEMS])
    (tmp_path / "kiwi.csv").write_text(by_system(("one", "two", "three")))
    with pytest.raises(FormatError, match="several hypotheses of one system"):
        nbest.join_scores(twice, tmp_path / "kiwi.csv")


def test_groups_of_a_table_with_one_row_a_segment(tmp_path: Path) -> None:
    lists = nbest.from_records(SYSTEMS)
    (tmp_path / "docs.csv").write_text("id,speaker\n2,bob\n0,ann\n1,ann\n9,eve\n")
    table = read_scores(tmp_path / "docs.csv", labels=True)
    assert join_labels(lists, table, group="speaker").groups == ("ann", "ann", "bob")
    (tmp_path / "docs.csv").write_text("id,speaker\n2,bob\n0,ann\n")
    with pytest.raises(FormatError, match="there is no 'speaker' for segment '1'"):
        join_labels(lists, read_scores(tmp_path / "docs.csv", labels=True), group="speaker")


@pytest.mark.parametrize(("name", "begin"), [("beam", 0), ("epoch", 1), ("run", 0)])
def test_numbers_of_hypotheses_by_another_name_are_not_taken_for_scores_out_of_order(
    name: str, begin: int, tmp_path: Path
) -> None:
    rows = [(i, k) for i in range(3) for k in range(3)]
    shuffled = [rows[at] for at in (1, 0, 2, 3, 4, 5, 8, 7, 6)]
    for given, right in ((rows, True), (shuffled, False)):
        text = "".join(f"{i},{k + begin},{10 * i + k}\n" for i, k in given)
        (tmp_path / "s.csv").write_text(f"id,{name},reward\n{text}")
        if right:
            found = nbest.join_scores(nbest.from_records(SYSTEMS), tmp_path / "s.csv", columns=["reward"])
            assert found.column("reward").tolist() == [10 * i + k for i, k in rows]
        else:
            with pytest.raises(FormatError, match=f"the numbers in '{name}' are those of hypotheses"):
                nbest.join_scores(nbest.from_records(SYSTEMS), tmp_path / "s.csv")
    (tmp_path / "s.csv").write_text("id,sample,reward\n" + "".join(f"{i},{k},{10 * i + k}\n" for i, k in shuffled))
    found = nbest.join_scores(nbest.from_records(SYSTEMS), tmp_path / "s.csv")
    assert found.feature_names == ("f", "reward")
    assert found.column("reward").tolist() == [10 * i + k for i, k in rows]


def test_ids_by_a_name_that_is_not_known_are_not_ignored(tmp_path: Path) -> None:
    lists = nbest.from_records([{"id": f"u{i}", "text": f"{k}"} for i in (1, 2) for k in range(2)])
    (tmp_path / "s.csv").write_text("key,qe\nu2,2\nu2,1\nu1,4\nu1,7\n")
    with pytest.raises(FormatError, match=r"the column 'key' holds ids of segments; name it \(--id key"):
        nbest.join_scores(lists, tmp_path / "s.csv")
    assert nbest.join_scores(lists, read_scores(tmp_path / "s.csv", id="key")).column("qe").tolist() == [4, 7, 2, 1]
    assert nbest.join_scores(lists, tmp_path / "s.csv", by="position").column("qe").tolist() == [2, 1, 4, 7]


def test_columns_that_mean_something_else_are_no_scores(tmp_path: Path) -> None:
    lists = nbest.from_records([{"id": "u", "text": f"{k}"} for k in range(2)])
    (tmp_path / "s.csv").write_text("id,index,doc,gain,qe\nu,0,7,1,0.5\nu,1,7,0,0.25\n")
    assert nbest.join_scores(lists, tmp_path / "s.csv").feature_names == ("qe",)
    assert nbest.join_scores(lists, tmp_path / "s.csv", columns=["gain"]).feature_names == ("gain",)
    assert read_scores(tmp_path / "s.csv", ["gain"]).names == ("gain",)


def test_both_files_may_say_which_sample_is_which(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("id,sample,text,lm\nu1,1,B,1\nu1,0,A,2\n")
    (tmp_path / "s.csv").write_text("id,sample,reward\nu1,0,100\nu1,1,101\n")
    joined = nbest.join_scores(nbest.read(tmp_path / "l.csv"), tmp_path / "s.csv")
    assert list(joined.texts or ()) == ["A", "B"]
    assert joined.feature_names == ("lm", "reward")
    assert joined.column("reward").tolist() == [100, 101]


def test_gains_that_are_there_or_missing(tmp_path: Path) -> None:
    lists = nbest.from_records(SYSTEMS)
    (tmp_path / "g.csv").write_text("id,system,mqm\n" + "".join(f"{i},sys{n},{i}\n" for i in range(3) for n in "AB"))
    table = read_scores(tmp_path / "g.csv")
    with pytest.raises(FormatError, match="there is no 'mqm' for hypothesis 2 of segment '0'; each needs one"):
        join_labels(lists, table, gain="mqm")
    two = nbest.from_records([row for row in SYSTEMS if row["system"] != "sysC"])
    worth = join_labels(two, table, gain="mqm")
    assert worth.gains is not None
    assert worth.gains.tolist() == [0, 0, 1, 1, 2, 2]
    with pytest.raises(FormatError, match="know already what hypotheses are worth"):
        join_labels(worth, table, gain="mqm")


@pytest.mark.parametrize(("column", "one", "two"), [("text", "a", "b"), ("system", "s1", "s2")])
def test_an_index_that_the_text_or_system_contradicts(column: str, one: str, two: str, tmp_path: Path) -> None:
    lists = nbest.from_records([{"id": "u1", "text": t, "system": s} for t, s in (("a", "s1"), ("b", "s2"))])
    (tmp_path / "s.csv").write_text(f"id,index,{column},reward\nu1,0,{two},100\nu1,1,{one},101\n")
    with pytest.raises(FormatError, match=f"s.csv:2: the row has the {column} '{two}', and hypothesis 0 of segment"):
        nbest.join_scores(lists, tmp_path / "s.csv")
    assert nbest.join_scores(lists, tmp_path / "s.csv", by=column).column("reward").tolist() == [101, 100]
    assert nbest.join_scores(lists, tmp_path / "s.csv", by="index").column("reward").tolist() == [100, 101]


def test_ids_of_another_kind_are_told_from_numbers_in_order(tmp_path):
    numbered = replace(lists(), ids=tuple(str(i) for i in range(len(lists()))))
    file = tmp_path / "s.csv"
    file.write_text("id,index,s\nutt-1,0,1\n")
    with pytest.raises(FormatError, match=r"no segment 'utt-1' .* their ids are numbers in order"):
        join_scores(numbered, file)
    with pytest.raises(FormatError, match=r"first is '\w+'$"):
        join_scores(lists(), file)
