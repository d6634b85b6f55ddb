"""Test sets of mt-metrics-eval as lists, and its segment scores as tables."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.base.errors import FormatError, ParameterError
from nbest.base.files import read_lines
from nbest.formats import FORMATS, read
from nbest.formats.joining import join_scores

FILES = dict(FORMATS["mt-metrics"].example)


def put(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_all_of_it(tmp_path: Path) -> None:
    corpus = read(put(tmp_path, {**FILES, "system-outputs/de-en/refA.txt": "a house\ngreen\n"}))
    assert corpus.ids == ("0", "1")
    assert list(corpus.texts or ()) == ["a house", "one house", "gréen", "green"]
    assert corpus.sources == ("ein Haus", "grün")
    assert corpus.references == (("a house",), ("green",))
    assert corpus.groups == ("news d1", "news d2")
    assert corpus.feature_names == ("QE",)
    assert corpus.column("QE").tolist() == [0.9, 0.5, 0.1, 0.1]
    assert corpus.gains is not None
    assert corpus.gains.tolist() == [0, -1, -5, 0]


def test_options_and_what_was_not_rated(tmp_path: Path) -> None:
    more = {
        "system-outputs/de-en/C.txt": "c\nd\n",
        "system-outputs/de-fr/C.txt": "c\nd\n",
        "metric-scores/de-en/QE-src.seg.score": "C 1\nC 2\nA 3\nA 4\nB 5\nB 6\n",
        "metric-scores/de-en/COMET-refA.seg.score": "A 3\nA 4\nB 5\nB 6\nC 7\nC 8\n",
        "human-scores/de-en.wmt-z.seg.score": "A 1\nA 2\nB None\nB 4\n",
    }
    root = put(tmp_path, {**FILES, **more})
    with pytest.raises(FormatError, match="say which languages with pair=; it has de-en, de-fr"):
        read(root)
    corpus = read(root, pair="de-en", gain="wmt-z", metrics=["COMET-refA"])
    assert corpus.lengths.tolist() == [1, 2]
    assert corpus.column("COMET-refA").tolist() == [3, 4, 6]
    corpus = read(root, pair="de-en", systems=["C", "B"], gain="mqm")
    assert list(corpus.texts or ()) == ["one house", "green"]  # C was not rated
    for options, message in (
        ({"pair": "de-en", "systems": ["D"]}, "there is no system 'D' for de-en; known: A, B, C"),
        (
            {"pair": "de-en", "metrics": ["BLEU-refA"]},
            "no segment scores of 'BLEU-refA' for de-en; known: COMET-refA, QE",
        ),
        ({"pair": "de-en", "gain": "da"}, "there are no human scores 'da' for de-en; known: mqm, wmt-z"),
    ):
        with pytest.raises(ParameterError, match=message):
            read(root, **options)


WRONG = {
    "metric-scores/de-en/QE-src.seg.score": {
        "A\t0.9\nA\t0.1\nB\t0.5\n": ":3: 1 scores of 'B', and 2 of 'A'; every system needs one for each segment",
        "A\t0.9\nA\tx\nB\t0.5\nB\t1\n": ":2: a score must be a finite number, got 'x'",
        "A\t0.9\nA\tNone\nB\t0.5\nB\t1\n": ":2: None, where a metric must have a score",
        "A\t0.9\nA\n": ":2: expected 'system score', got 'A'",
        "A\t1\nA\t1\n": ": there are no scores of the system 'B'",
        "A 1\nA 1\nA 1\nB 1\nB 1\nB 1\n": ": 3 scores of each system, and there are 2 segments",
    },
    "system-outputs/de-en/B.txt": {"one\n": ": 1 lines, and there are 2 segments"},
    "references/de-en.refA.txt": {"one\ntwo\nthree\n": ": 3 lines, and there are 2 segments"},
    "documents/de-en.docs": {"\nnews d2\n": ":1: expected 'DOMAIN DOCUMENT' for every segment"},
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, each in WRONG.items() for text in each])
def test_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(put(tmp_path, {**FILES, name: text}))
    assert str(caught.value) == f"{tmp_path / name}{WRONG[name][text]}"


def test_segment_scores_are_a_table(tmp_path: Path) -> None:
    corpus = read(put(tmp_path, FILES))
    file = tmp_path / "COMET-refA.seg.score"
    file.write_text("B\t3\nB\t4\nA\t1\nA\tNone\n")
    with pytest.raises(FormatError, match=r"score:4: 'COMET-refA' is empty"):
        join_scores(corpus, file)
    assert join_scores(corpus, file, missing="0").column("COMET-refA").tolist() == [1, 3, 0, 4]
    file.write_text("B\t3\nB\t4\nA\t1\nA\t2\nC\t1\nC\t2\n")
    assert join_scores(corpus, file).column("COMET-refA").tolist() == [1, 3, 2, 4]  # C is not in the lists
    bare = replace(corpus, systems=None)
    with pytest.raises(FormatError, match=r"score:5: there is no hypothesis 2: segment '0' has 2 hypotheses"):
        join_scores(bare, file)
    turned = corpus.reorder(np.array([1, 0, 3, 2]))
    assert join_scores(turned, file).column("COMET-refA").tolist() == [3, 1, 4, 2]


@pytest.mark.skipif("NBEST_DATA" not in os.environ, reason="needs the lists of NBEST_DATA")
def test_the_lists_of_a_real_test_set(tmp_path: Path) -> None:
    """Lists that were made of wmt23 he-en by another script, laid out as the test set was, are read as they are."""
    path = Path(os.environ["NBEST_DATA"]) / "bestofn" / "wmt23-he-en.jsonl.xz"
    if not path.is_file():
        pytest.skip("no best-of-n lists")
    rows = [json.loads(line) for line in read_lines(path)[:100]]
    systems = sorted({each["system"] for row in rows for each in row["hypotheses"]})
    pair, files, metrics = "he-en", dict[str, list[str]](), list(rows[0]["hypotheses"][0]["features"])
    for row in rows:
        files.setdefault(f"sources/{pair}.txt", []).append(row["source"])
        files.setdefault(f"documents/{pair}.docs", []).append(row["doc"])
        for k, text in enumerate(row["references"]):
            files.setdefault(f"references/{pair}.ref{'AB'[k]}.txt", []).append(text)
    for system in systems:
        own = [{each["system"]: each for each in row["hypotheses"]}.get(system) for row in rows]
        files[f"system-outputs/{pair}/{system}.txt"] = [each["text"] if each else "-" for each in own]
        human = files.setdefault(f"human-scores/{pair}.mqm.seg.score", [])
        human += [f"{system}\t{each['score'] if each else None}" for each in own]
        for name in metrics:
            scores = files.setdefault(f"metric-scores/{pair}/{name}-src.seg.score", [])
            scores += [f"{system}\t{each['features'][name] if each else 0}" for each in own]
    found = read(put(tmp_path, {name: "\n".join(lines) + "\n" for name, lines in files.items()}))
    known = nbest.read(path).select(range(100))
    assert list(found.texts or ()) == list(known.texts or ())
    assert (found.only_features(known.feature_names).features == known.features).all()
    assert found.gains is not None
    assert known.gains is not None
    assert (found.gains == known.gains).all()
    assert found.references == known.references
    assert len(set(found.groups or ())) == len(set(known.groups or ()))
