"""Tables with one hypothesis a row: what columns become, and what is refused with its line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nbest.base.errors import CapabilityError, FormatError, FormatWarning, ParameterError
from nbest.cli.main import main
from nbest.corpus import NBest, Texts
from nbest.formats import read, sniff, write

ROWS = [
    {"id": "b", "text": "x y", "reference": "x", "src": "X", "doc": "1", "score": -1.5, "right": True, "model": "m1"},
    {"id": "a", "text": "p", "reference": "q", "src": "Q", "doc": "2", "score": 2, "right": False, "model": "m1"},
    {"id": "b", "text": "x", "reference": "x", "src": "X", "doc": "1", "score": 1e-3, "right": False, "model": "m2"},
]


def put(path: Path, form: str) -> Path:
    file = path / f"dev.{form}"
    if form == "json":
        file.write_text(json.dumps(ROWS, indent=2))
    elif form == "jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    else:
        mark = {"csv": ",", "tsv": "\t", "txt": ";"}[form]
        lines = [ROWS[0].keys(), *(row.values() for row in ROWS)]
        file.write_text("".join(mark.join(map(str, line)) + "\n" for line in lines))
    return file


@pytest.mark.parametrize("form", ["csv", "tsv", "txt", "json", "jsonl"])
def test_columns(tmp_path: Path, form: str) -> None:
    corpus = read(put(tmp_path, form))
    assert corpus.ids == ("b", "a")
    assert list(corpus.texts or ()) == ["x y", "x", "p"]
    assert corpus.references == (("x",), ("q",))
    assert corpus.sources == ("X", "Q")
    assert corpus.groups == ("1", "2")
    assert corpus.feature_names == ("score", "right")
    assert corpus.features.tolist() == [[-1.5, 1], [1e-3, 0], [2, 0]]
    assert corpus.gains is None
    assert list(corpus.positions if corpus.positions is not None else ()) == [0, 2, 1]


def test_options(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("utterance,output,truth,truth2,speaker,ok,p,q,answer\nu,a,r,s,S,1,2,3,A\nu,b,r,s,S,0,4,5,\n")
    named = {"id": "utterance", "text": "output", "gain": "ok", "group": "speaker"}
    corpus = read(file, **named, references="truth,truth2", features=["q"])
    assert corpus.ids == ("u",)
    assert list(corpus.texts or ()) == ["a", "b"]
    assert corpus.references == (("r", "s"),)
    assert corpus.groups == ("S",)
    assert corpus.gains is not None
    assert corpus.gains.tolist() == [1, 0]
    assert corpus.feature_names == ("q",)
    assert list(corpus.answers or ()) == ["A", ""]
    with pytest.raises(
        FormatError, match=r"no column holds the ids of segments \(id\): the columns are utterance, output"
    ):
        read(file)
    with pytest.raises(FormatError, match=r"there is no column 'outputs'; .* did you mean 'output'"):
        read(file, id="utterance", text="outputs")
    with pytest.raises(ParameterError, match="format csv has no option 'texts'"):
        read(file, texts="output")


def test_index_orders_a_list(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("id,index,text,f\nu,1,b,2\nv,0,c,3\nu,0,a,1\n")
    corpus = read(file)
    assert list(corpus.texts or ()) == ["a", "b", "c"]
    assert corpus.feature_names == ("f",)
    assert list(corpus.positions if corpus.positions is not None else ()) == [2, 0, 1]


def test_texts_that_are_numbers_and_several_references(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("id,text,ref_0,ref_1,f\nu,42,41,,1\nv,7,,6,2\nu,43,,,3\n")
    corpus = read(file)
    assert list(corpus.texts or ()) == ["42", "43", "7"]
    assert corpus.references == (("41",), ("", "6"))


def test_nested_features(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"id": 1, "text": "a", "features": {"f": 1, "g": true}, "sparse": {"s": 2}, "h": 3}\n')
    corpus = read(file)
    assert corpus.feature_names == ("h", "f", "g")
    assert corpus.features.tolist() == [[3, 1, 1]]
    assert corpus.sparse_names == ("s",)


CSV = "id,text,reference,f\nu,a,r,1\nu,b,r,2\nv,c,s,3\n"
WRONG = {
    "not a number": (CSV.replace("b,r,2", "b,r,x"), "3: 'f' must be a finite number, got 'x'"),
    "missing": (CSV.replace("b,r,2", "b,r,"), "3: feature 'f' is missing; every hypothesis needs it"),
    "fields": (CSV.replace("b,r,2", "b,r,2,3"), "3: expected 4 fields, as the first line has, got 5"),
    "after a line break": (
        CSV.replace("u,a,", 'u,"a\n\n",').replace("b,r,2", "b,r,x"),
        "5: 'f' must be a finite number",
    ),
    "differs": (CSV.replace("b,r,2", "b,t,2"), "3: 'reference' differs from that of line 2, of the same segment"),
    "no id": (CSV.replace("u,b", ",b"), "3: 'id' is empty"),
    "misspelt": (CSV.replace("text", "txt"), " unknown key 'txt'; did you mean 'text'?"),
    "no rows": ("id,text\n", " no hypotheses in it"),
    "quotes": (CSV.replace("u,b", 'u,"b" x'), "3: the quotes of this row are not those of a table"),
    "name twice": (CSV.replace("reference", "f"), "1: the column 'f' is named twice"),
    "gain": (CSV.replace(",f", ",gain").replace("b,r,2", "b,r,"), "3: feature 'gain' is missing"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_refused(tmp_path: Path, kind: str) -> None:
    contents, message = WRONG[kind]
    file = tmp_path / "x.csv"
    file.write_text(contents)
    with pytest.raises(FormatError) as caught:
        read(file)
    assert str(caught.value).startswith(f"{file}:{message}")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"id": "v", "text": null, "f": 1}', "'text' is missing"),
        ('{"id": "v", "text": "a", "f": "1x"}', "'f' must be a finite number, got '1x'"),
        ('{"id": "v", "text": "a"}', "feature 'f' is missing"),
        ('{"id": 1.5, "text": "a", "f": 1}', "'id' must be a string or an integer, got a number: 1.5"),
        ('{"id": "v", "text": ["a"], "f": 1}', "'text' must be a string or an integer, got a list"),
        ('{"id": "v", "text": "a", "f": NaN}', "NaN is not a number in JSON"),
        ('{"id": "v", "id": "v", "text": "a", "f": 1}', "'id' is named twice"),
        ('{"id": "v", "text": "a", "f": 1, "features": {"g": 1}}', "feature 'g' is missing; every hypothesis needs it"),
        ('{"id": "v", "text": "a", "f": 1, "features": {"g": "x"}}', "feature 'g' must be a finite number"),
        ('{"id": "v", "text": "a", "f": 1, "ref": "r"}', "segment 'u' has no references while others have"),
        ('{"id": "v", "text": "a", "f": 1, "ref": ["r", 1]}', "'ref' must be strings"),
        ("[1]", "a row must be an object"),
        ("", "a blank line between rows"),
    ],
)
def test_json_refused(tmp_path: Path, row: str, message: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(f'{{"id": "u", "text": "a", "f": 1}}\n{row}\n{{"id": "w", "text": "a", "f": 1}}\n')
    with pytest.raises(FormatError) as caught:
        read(file, "rows")
    line = 1 if message.startswith(("feature 'g' is", "segment 'u'")) else 2  # the first row that lacks it
    assert str(caught.value).startswith(f"{file}:{line}: {message}")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('"features": {"f": 1}', "feature 'f' is there twice: in 'features', and beside it"),
        ('"sparse": {"f": 1}', "feature 'f' is both dense and sparse"),
    ],
)
def test_one_name_one_feature(tmp_path: Path, more: str, message: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(f'{{"id": "u", "text": "a", "f": 1, {more}}}\n')
    with pytest.raises(FormatError) as caught:
        read(file)
    assert str(caught.value) == f"{file}: {message}"


def test_a_tsv_is_no_nemo_manifest(tmp_path: Path) -> None:
    assert sniff("x.tsv", b"id\ttext\tscore\nu\ta\t1\n") == "csv"
    assert sniff("x.tsv", b"utterance\ttext\tscore\nu\ta\t1\n") == "csv"
    assert sniff("x.tsv", b"u1\ta text\t-3.5\nu2\tb\t-1\n") == "csv"
    assert sniff("x.tsv", b"a text\t-3.5\nb\t-1\n") == "nemo"
    file = tmp_path / "x.tsv"
    file.write_text("u1\ta text\t-3.5\n")
    with pytest.raises(FormatError, match=r"no column holds the ids .*: the columns are u1, a text, -3.5; name it"):
        read(file)


def test_writing(tmp_path: Path) -> None:
    lists = NBest(
        offsets=np.array([0, 2]),
        features=np.array([[1.0], [0.1]]),
        feature_names=("f",),
        ids=("u",),
        texts=Texts.of(['"quoted" and', '"whole"']),
        references=(("r", "s"),),
    )
    for name in ("x.csv", "x.tsv"):
        write(lists, tmp_path / name, "csv")
        again = read(tmp_path / name)
        assert again.texts == lists.texts
        assert again.references == lists.references
    assert (tmp_path / "x.tsv").read_text().startswith("id\ttext\treference_1\treference_2\tf\n")
    broken = NBest(offsets=np.array([0, 1]), features=np.ones((1, 1)), feature_names=("f",), ids=("u",))
    for text, file, message in (
        ("a\tb", "y.tsv", "tsv cannot hold a tab"),
        ("a\rb", "y.csv", "cannot hold a carriage"),
    ):
        with pytest.raises(CapabilityError, match=message):
            write(NBest(**{**vars(broken), "texts": Texts.of([text])}), tmp_path / file, "csv")
        assert not (tmp_path / file).exists()
    write(NBest(**{**vars(broken), "offsets": np.array([0, 0, 1]), "ids": ("u", "v")}), tmp_path / "y.csv")
    assert read(tmp_path / "y.csv").ids == ("v",)  # empty lists are not kept
    with pytest.raises(CapabilityError, match="csv cannot hold a feature of the name 'id'"):
        write(NBest(**{**vars(broken), "feature_names": ("id",)}), tmp_path / "y.csv")


def test_parquet_has_the_same_options(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [
        {"question": 2, "said": "b", "ok": True, "f": 1.5, "g": 1, "sparse": [("s", 1.0)]},
        {"question": 1, "said": "a", "ok": False, "f": 2.5, "g": 2, "sparse": []},
        {"question": 2, "said": "c", "ok": False, "f": 3.5, "g": 3, "sparse": [("t", 2.0)]},
    ]
    schema = {"question": pa.int64(), "said": pa.string(), "ok": pa.bool_(), "f": pa.float64(), "g": pa.int64()}
    schema["sparse"] = pa.map_(pa.string(), pa.float64())
    parquet.write_table(pa.Table.from_pylist(rows, pa.schema(list(schema.items()))), tmp_path / "x.parquet")
    corpus = read(tmp_path / "x.parquet", id="question", text="said", gain="ok", features="f,g")
    assert corpus.ids == ("1", "2")
    assert list(corpus.texts or ()) == ["a", "b", "c"]
    assert corpus.gains is not None
    assert corpus.gains.tolist() == [0, 1, 0]
    assert corpus.features.tolist() == [[2.5, 2], [1.5, 1], [3.5, 3]]
    assert corpus.sparse_names == ("s", "t")
    options = ("--option", "id=question", "--option", "text=said", "--option", "features=f")
    assert main(["convert", str(tmp_path / "x.parquet"), str(tmp_path / "y.jsonl"), *options, "-q"]) == 0
    assert read(tmp_path / "y.jsonl").feature_names == ("f",)


def test_parquet_knows_the_same_names(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [
        {"utt": "u", "hyp": "a", "ref": "r", "src": "s", "f": 1.5},
        {"utt": "u", "hyp": "b", "ref": "r", "src": "s", "f": 2.0},
    ]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    corpus = read(tmp_path / "x.parquet")
    assert corpus.ids == ("u",)
    assert list(corpus.texts or ()) == ["a", "b"]
    assert corpus.references == (("r",),)
    assert corpus.sources == ("s",)
    assert corpus.feature_names == ("f",)


@pytest.mark.parametrize("word", ["-inf", "NaN", "nan", "NA", "Infinity"])
@pytest.mark.parametrize("row", [0, 1])
def test_a_column_of_numbers_is_not_lost_for_a_word_in_it(word: str, row: int, tmp_path: Path) -> None:
    cells = ["-2.5", "-1"]
    cells[row] = word
    (tmp_path / "x.csv").write_text("id,text,lp,lm\n" + "".join(f"u1,t{i},{cell},1\n" for i, cell in enumerate(cells)))
    with pytest.raises(FormatError, match=f"x.csv:{row + 2}: .*lp.*{word}"):
        read(tmp_path / "x.csv")


def test_blanks_after_commas_and_commas_in_numbers(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('id, text, am\nu1, a b, -1.5\nu1, "c, d", 2\n')
    lists = read(tmp_path / "x.csv")
    assert list(lists.texts or ()) == ["a b", "c, d"]
    assert lists.column("am").tolist() == [-1.5, 2]
    (tmp_path / "y.csv").write_text("id;text;am\nu1;a, b;-1,5\nu1;c;2\n")
    lists = read(tmp_path / "y.csv")
    assert list(lists.texts or ()) == ["a, b", "c"]
    assert lists.column("am").tolist() == [-1.5, 2]


def test_a_document_is_no_segment(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("doc_id,sentence_id,text,am\nd1,0,a,1\nd1,0,b,2\nd1,1,c,1\n")
    lists = read(tmp_path / "d.csv")
    assert lists.ids == ("0", "1")
    assert lists.feature_names == ("am",)


def test_texts_that_look_like_numbers(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("utt,hyp,score\nu1,12,0.5\nu1,13,0.25\n")
    lists = read(tmp_path / "x.csv")
    assert list(lists.texts or ()) == ["12", "13"]
    assert lists.feature_names == ("score",)


def test_commas_of_texts_stay_where_numbers_have_decimal_commas(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id;text;am\n1,2;1,5;-0,5\n1,2;2,5;3\n")
    lists = read(tmp_path / "x.csv")
    assert (lists.ids, list(lists.texts or ()), lists.column("am").tolist()) == (("1,2",), ["1,5", "2,5"], [-0.5, 3])


def test_a_column_of_texts_may_begin_with_a_word_like_nan(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,text,comment,lm\nu,a,NA,1\nu,b,good one,2\nu,c,nan,3\n")
    assert read(tmp_path / "x.csv").feature_names == ("lm",)


@pytest.mark.parametrize(("cells", "message"), [(("1.5", "0"), "whole number"), (("0", "0"), "is there twice")])
def test_an_index_that_is_none(cells: tuple[str, str], message: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f"id,index,text\nu,{cells[0]},a\nu,{cells[1]},b\n")
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "x.csv")


def test_places_with_gaps_are_said(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,sample,text\nu,3,c\nu,0,a\nu,2,b\n")
    with pytest.warns(FormatWarning, match="the numbers in 'sample' have gaps"):
        lists = read(tmp_path / "x.csv")
    assert list(lists.texts or ()) == ["a", "b", "c"]
    assert lists.feature_names == ()
