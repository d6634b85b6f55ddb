"""`nbest inspect` on model files, and n-grams from tuning to reranking."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.evaluation.model_inspection import inspect_model, is_model
from nbest.model.loglinear import LogLinear
from tests.cli.conftest import Run

TUNE = ("tune", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--method", "likelihood")
NGRAMS = ("--add", "ngrams:order=2:minimum=2:boundaries=true", "-o", "m.json", "-q")


def sparse_model(count: int = 30) -> LogLinear:
    """Weights 1, -1, 2, -2, ... for sparse features, one 0, and two dense features."""
    sparse = {f"ngram:w{k} [b]": float((k // 2 + 1) * (-1) ** k) for k in range(count)}
    return LogLinear(
        {"am": 0.5, "lm": -0.25, **sparse, "ngram:none": 0.0},
        features=({"kind": "ngrams", "order": 2}, {"kind": "length"}),
        dense=("am", "lm"),
        metric="WER|nrefs:1",
        trainer={"name": "MSR2", "alpha": 0.8, "start": {str(k): 1.0 for k in range(50)}},
        scores_={"dev": 12.345, "heldout": 13.5},
        seed=4,
    )


def test_ngrams_from_tuning_to_reranking(run: Run, folder: Path) -> None:
    assert run(*TUNE, "--split", "0.25", *NGRAMS).code == 0
    ran = run("inspect", "m.json")
    assert ran.code == 0, ran.err
    assert "trained by MaxLikelihood" in ran.out
    assert "adds ngrams (order=2, lowest=1, tokens=words, boundaries=True, minimum=2" in ran.out
    assert "weights: 3 dense" in ran.out
    chosen = run("rerank", "test.nbest", "--model", "m.json").out.splitlines()
    model, test = nbest.load("m.json"), nbest.read("test.nbest")
    assert chosen == [test.texts[h] for h in model.predict(test)]
    alone = [test.select([i]).texts[int(model.predict(test.select([i]))[0])] for i in range(5)]
    assert chosen[:5] == alone  # a list gets the same columns whatever others are with it


def test_ngrams_that_cannot_be(run: Run, folder: Path) -> None:
    for options, message in (
        ("order=0", "needs 1 <= lowest <= order, got lowest 1 and order 0"),
        ("minimum=100000", "lower 'minimum'"),
        ("tokens=letters", "must be 'words' or 'characters'"),
        ("size=3", "has no option"),
    ):
        ran = run(*TUNE, "--add", f"ngrams:{options}")
        assert ran.code == 2
        assert message in ran.err, ran.err
        assert "Traceback" not in ran.err


def test_a_model_is_shown(run: Run, folder: Path) -> None:
    sparse_model().save("m.json")
    out = run("inspect", "m.json", "--top", "3").out
    assert "trained by MSR2 (alpha=0.8, start: 50 entries)" in out
    assert "WER|nrefs:1: dev 12.35, heldout 13.50" in out or "dev 12.34, heldout 13.50" in out
    assert "adds ngrams (order=2)\nadds length\n" in out
    assert "weights: 2 dense, 31 sparse (1 of them 0)" in out
    rows = [line.split() for line in out.splitlines()]
    assert ["am", "0.5"] in rows
    assert [row[-1] for row in rows if row and row[0].startswith("ngram:")] == ["15", "14", "13", "-15", "-14", "-13"]
    assert "ngram:w28 [b]" in out  # brackets are no markup


def test_a_model_as_json(run: Run, folder: Path) -> None:
    sparse_model().save("m.json.gz")
    found = json.loads(run("inspect", "m.json.gz", "--json", "--top", "2").out)
    assert found["positive"] == [["ngram:w28 [b]", 15.0], ["ngram:w26 [b]", 14.0]]
    assert found["negative"] == [["ngram:w29 [b]", -15.0], ["ngram:w27 [b]", -14.0]]
    assert found["dense"] == [["am", 0.5], ["lm", -0.25]]
    assert (found["sparse_weights"], found["sparse_zeros"], found["seed"]) == (31, 1, 4)
    assert found["scores"] == {"dev": 12.345, "heldout": 13.5}
    assert json.loads(run("inspect", "m.json.gz", "--json", "--top", "0").out)["positive"] == []


def test_ties_and_many_weights() -> None:
    """Equal weights in the order of the model; a model with very many weights that names no dense ones."""
    model = LogLinear({f"f{k}": float(k % 3) - 1 for k in range(2000)})
    found = inspect_model(model, 2)
    assert found.dense == ()
    assert found.positive == (("f2", 1.0), ("f5", 1.0))
    assert found.negative == (("f0", -1.0), ("f3", -1.0))
    assert inspect_model(LogLinear({}), 2).dense == ()


def test_weights_of_moses_are_a_model(run: Run, folder: Path) -> None:
    for text in ("# mine\n[weight]\nLM0= 0.5\nTM0= 0.1 -2e-1\n", "LM0= 0.5\nTM0= 0.1 -2e-1\n"):
        (folder / "moses.ini").write_text(text)
        out = run("inspect", "moses.ini").out
        assert "trained by Moses weight file" in out
        assert "weights: 3 dense, 0 sparse" in out


def test_lists_are_no_models(run: Run, folder: Path) -> None:
    (folder / "lists.jsonl").write_text('{"id": "0", "hypotheses": [{"text": "a", "features": {"format": 1}}]}\n')
    (folder / "broken.gz").write_bytes(b"\x1f\x8bxx")
    (folder / "empty").write_text("")
    for name in ("dev.nbest", "lists.jsonl", "broken.gz", "empty", "nowhere", ".", "-"):
        assert not is_model(name)
    assert run("inspect", "dev.nbest").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("m.json", "m.json"), "a model file is inspected alone"),
        (("m.json", "--metric", "wer"), "--metric is for lists and forests, and m.json is a model file"),
        (("m.json", "--refs", "dev.ref"), "--refs is for lists and forests"),
        (("m.json", "--against-refs", "dev.ref"), "--against-refs is for lists and forests"),
        (("m.json", "--wide", "3"), "unknown option --wide"),
        (("dev.nbest", "--top", "3"), "--top is for the features of a model file, and dev.nbest is none"),
        (("cut.json",), "cut.json:"),
        (("later.json",), "expected a model with 'format': 'nbest-model/1', got 'nbest-model/9'"),
        (("damaged.json",), ".npz: belongs to another model than damaged.json, or is damaged"),
    ],
)
def test_refusals(run: Run, folder: Path, arguments: tuple[str, ...], message: str) -> None:
    sparse_model().save("m.json")
    text = (folder / "m.json").read_text()
    (folder / "cut.json").write_text(text[: len(text) // 2])
    (folder / "later.json").write_text(text.replace("nbest-model/1", "nbest-model/9"))
    sparse_model(11_000).save("damaged.json")
    (side,) = folder.glob("damaged.json.*.npz")
    data = np.frombuffer(side.read_bytes(), np.uint8).copy()
    data[len(data) // 2] ^= 1
    side.write_bytes(data.tobytes())
    ran = run("inspect", *arguments)
    assert ran.code == 2
    assert message in ran.err, ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""


def test_a_model_says_how_it_chooses(run: Run, folder: Path) -> None:
    assert run(*TUNE, "--decision", "mbr", "-o", "m.json", "-q").code == 0
    assert "\nchooses by mbr\n" in run("inspect", "m.json").out
    assert json.loads(run("inspect", "m.json", "--json").out)["decision"] == {"kind": "mbr"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--decision", "mbr", "-o", "m.ini"), "a Moses weight file cannot hold a decision"),
        (("--decision", "first", "-o", "m.json"), "--decision first needs no model, so there is nothing to tune"),
        (("--decision", "mbt", "-o", "m.json"), "unknown decision 'mbt'"),
    ],
)
def test_decisions_that_no_model_can_keep(run: Run, folder: Path, given: tuple[str, ...], message: str) -> None:
    ran = run(*TUNE, *given)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert message in ran.err


def test_what_a_decision_gets_from_the_command_is_no_option(run: Run, folder: Path) -> None:
    (folder / "m.ini").write_text("am= 1\nlm= 0\nnoise= 0\n")
    for name in ("progress", "forests"):
        ran = run("rerank", "test.nbest", "--model", "m.ini", "--decision", "mbr", f"--{name}", "none")
        assert (ran.code, f"unknown option --{name}" in ran.err) == (2, True)
        assert "see --help" in ran.err
