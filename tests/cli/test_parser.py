"""`nbest train parser` and `nbest decode parser`, with a tuning between them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.formats.conllu import Sentence, read_conllu, sentence_of, write_conllu
from nbest.systems.parser.parser import Parser
from nbest.systems.parser.trees import text_of
from tests.cli.conftest import Run

_SMALL = ("--epochs", "2", "--arc-bits", "10", "--label-bits", "8")
_NOUNS, _VERBS = ["dog", "cat", "tree", "car"], ["saw", "liked", "met"]


def sentence(rng: np.random.Generator) -> Sentence:
    """Subject, verb, object, perhaps a phrase that hangs on the verb or on the object, a full stop."""
    words = ["the", str(rng.choice(_NOUNS)), str(rng.choice(_VERBS)), "a", str(rng.choice(_NOUNS))]
    tags, heads = ["D", "N", "V", "D", "N"], [2, 3, 0, 5, 3]
    labels = ["det", "nsubj", "root", "det", "obj"]
    if rng.random() < 0.6:
        preposition = str(rng.choice(["with", "of"]))
        to_noun = (preposition == "of") != (rng.random() < 0.2)
        words += [preposition, "the", str(rng.choice(_NOUNS))]
        tags += ["P", "D", "N"]
        heads += [8, 8, 5 if to_noun else 3]
        labels += ["case", "det", "nmod:of" if to_noun else "obl"]
    out = sentence_of([*words, "."]).with_column("upos", [*tags, "."]).with_column("xpos", [*tags, "."])
    return out.with_column("head", [*heads, 3]).with_column("deprel", [*labels, "punct"])


def without_trees(sentences: list[Sentence]) -> list[Sentence]:
    blank = [s.with_column("head", [-1] * len(s)).with_column("deprel", ["_"] * len(s)) for s in sentences]
    return [s.with_column("head", ["_"] * len(s)) for s in blank]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, count, seed in (("train", 60, 1), ("dev", 25, 2), ("test", 25, 3)):
        rng = np.random.default_rng(seed)
        write_conllu([sentence(rng) for _ in range(count)], f"{name}.conllu")
    return tmp_path


@pytest.fixture
def trained(run: Run, folder: Path) -> Path:
    ran = run("train", "parser", "train.conllu", "-o", "m", *_SMALL, "-q")
    assert ran.code == 0, ran.err
    assert ran.err == ""
    return folder


def scores(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.startswith("LAS ")]


def test_train_decode_tune(run: Run, folder: Path) -> None:
    ran = run(
        "train", "parser", "train.conllu", "-o", "m", *_SMALL, "--lists", "train.jsonl", "--folds", "3", "--k", "4"
    )
    assert ran.code == 0, ran.err
    assert "m: 60 sentences" in ran.err
    assert "train.jsonl: 60 lists" in ran.err
    lists = nbest.read("train.jsonl")
    gold = read_conllu("train.conllu")
    assert lists.lengths.max() == 4
    assert lists.feature_names == Parser.load("m").names
    assert lists.references == tuple((text_of(s.heads, s.deprels),) for s in gold)
    assert lists.sources == tuple(" ".join(s.forms) for s in gold)
    ran = run("decode", "parser", "m", "dev.conllu", "-o", "dev.jsonl.gz", "--k", "20", "--json")
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    assert report["words"] == sum(map(len, read_conllu("dev.conllu")))
    dev = nbest.read("dev.jsonl.gz")
    assert report["uas"] >= report["las"] > 60
    for name in ("las", "uas"):
        measured = dev.with_metric(nbest.METRICS[name]())
        assert measured.score(dev.offsets[:-1]) == pytest.approx(report[name])
    ran = run("tune", "dev.jsonl.gz", "--metric", "las", "--method", "risk", "-o", "model.json")
    assert ran.code == 0, ran.err
    tuned = nbest.load("model.json")
    ran = run("decode", "parser", "m", "test.conllu", "--model", "model.json", "-o", "test.forests.jsonl.gz")
    assert ran.code == 0, ran.err
    forests = nbest.read_forests("test.forests.jsonl.gz")
    assert len(forests) == 25
    assert forests.own_weights == pytest.approx(dict(tuned.weights))
    said = scores(ran.err)
    ran = run("decode", "parser", "m", "test.conllu", "--model", "model.json", "-o", "test.conllu.gz")
    assert scores(ran.err) == said
    assert len(said) == 1
    narrow = ("--labels-an-arc", "1", "--arc-floor", "0.1")
    assert run("decode", "parser", "m", "test.conllu", "-o", "few.forests.jsonl", *narrow).code == 0
    assert nbest.read_forests("few.forests.jsonl").edges < forests.edges
    ran = run("tune", "few.forests.jsonl", "--metric", "uas", "--method", "mert", "-o", "forests.json")
    assert ran.code == 0, ran.err


def test_every_output_has_the_same_best_trees(run: Run, trained: Path) -> None:
    test = read_conllu("test.conllu")
    ran = run("decode", "parser", "m", "test.conllu")
    assert ran.code == 0, ran.err
    assert "LAS" in ran.err
    Path("out").write_text(ran.out)
    parsed = read_conllu("out")
    assert [s.forms for s in parsed] == [s.forms for s in test]
    assert [s.xpos for s in parsed] == [s.xpos for s in test]
    trees = [text_of(s.heads, s.deprels) for s in parsed]
    assert run("decode", "parser", "m", "test.conllu", "-o", "out.conllu").code == 0
    assert Path("out.conllu").read_text() == ran.out
    assert run("decode", "parser", "m", "test.conllu", "--to", "text", "-o", "trees").code == 0
    assert Path("trees").read_text().splitlines() == trees
    assert run("decode", "parser", "m", "test.conllu", "-o", "lists.jsonl", "--k", "3").code == 0
    lists = nbest.read("lists.jsonl")
    assert lists.texts is not None
    assert [lists.texts[h] for h in lists.offsets[:-1]] == trees
    assert lists.references == tuple((text_of(s.heads, s.deprels),) for s in test)


def test_sentences_without_trees(run: Run, trained: Path) -> None:
    with_trees = run("decode", "parser", "m", "test.conllu").out
    bare = without_trees(read_conllu("test.conllu"))
    write_conllu(bare, "bare.conllu")
    ran = run("decode", "parser", "m", "bare.conllu")
    assert ran.code == 0, ran.err
    assert "LAS" not in ran.err
    assert ran.out == with_trees
    assert run("decode", "parser", "m", "bare.conllu", "-o", "bare.jsonl").code == 0
    assert nbest.read("bare.jsonl").references is None
    write_conllu([*bare[:1], *read_conllu("test.conllu")[1:]], "part.conllu")
    ran = run("decode", "parser", "m", "part.conllu", "-o", "part.jsonl")
    assert f"{len(bare[0])} words have no HEAD or no DEPREL" in ran.err
    assert nbest.read("part.jsonl").references is None
    ran = run("train", "parser", "part.conllu", "-o", "n", *_SMALL)
    assert ran.code == 2
    assert "part.conllu:1: the word has no head" in ran.err
    assert not Path("n").exists()


def test_words_without_tags_are_parsed_with_a_warning(run: Run, trained: Path) -> None:
    blank = [s.with_column("upos", ["_"] * len(s)) for s in read_conllu("test.conllu")]
    write_conllu(blank, "blank.conllu")
    ran = run("decode", "parser", "m", "blank.conllu", "-o", "out.conllu", "-q")
    assert ran.code == 0, ran.err
    assert f"{sum(map(len, blank))} words have a UPOS that the parser was not trained on, such as _" in ran.err
    assert all(s.heads.count(0) == 1 for s in read_conllu("out.conllu"))


def test_what_is_wrong_is_said(run: Run, trained: Path) -> None:
    Path("bad.conllu").write_text("1\ta\t_\t_\tX\t_\t_\t_\t_\t_\n1\tb\n")
    Path("file").write_text("mine")
    Path("mine").mkdir()
    Path("mine/thing").write_text("mine")
    nbest.LogLinear({"odd": 1.0}).save("odd.json")
    for words, message in (
        (("train", "parser", "train.conllu"), "nothing to make"),
        (("train", "parser", "-", "-", "-o", "n"), "only one treebank"),
        (("train", "parser", "train.conllu", "--folds", "900", "--lists", "l.jsonl"), "at most the number"),
        (("train", "parser", "train.conllu", "--lists", "l.forests.jsonl"), "holds forests"),
        (
            ("train", "parser", "train.conllu", "--lists", "no/l.jsonl"),
            "no/l.jsonl: cannot be written: there is no folder",
        ),
        (("train", "parser", "train.conllu", "-o", "no/n"), "no/n: cannot be written: there is no folder no"),
        (("train", "parser", "train.conllu", "-o", "n", "--rate", "0"), "--rate must be > 0"),
        (("train", "parser", "bad.conllu", "-o", "n"), "bad.conllu:2: expected 10 fields"),
        (("train", "parser", "train.conllu", "-o", "file"), "is a file"),
        (("train", "parser", "train.conllu", "-o", "mine"), "is no parser"),
        (("train", "parser", "nowhere.conllu", "-o", "n"), "cannot be read"),
        (("decode", "parser", "nowhere", "dev.conllu"), "is no parser"),
        (("decode", "parser", "m", "nowhere.conllu"), "cannot be read"),
        (("decode", "parser", "m", "file"), "file:1: expected 10 fields"),
        (("decode", "parser", "m", "dev.conllu", "-o", "no/out.conllu"), "there is no folder no"),
        (("decode", "parser", "m", "dev.conllu", "-o", "mine", "--to", "conllu"), "it is a directory"),
        (("decode", "parser", "m", "dev.conllu", "--to", "word"), "unknown format"),
        (("decode", "parser", "m", "dev.conllu", "--to", "kaldi"), "kaldi can only be read"),
        (("decode", "parser", "m", "dev.conllu", "--json"), "name a file"),
        (("decode", "parser", "m", "dev.conllu", "--model", "odd.json"), "no expert 'odd'"),
        (
            ("decode", "parser", "m", "dev.conllu", "--to", "jsonl", "--arc-floor", "1"),
            "--arc-floor must be >= 0 and < 1",
        ),
    ):
        ran = run(*words)
        assert ran.code == 2, ran.err
        assert message in ran.err, ran.err
        assert ran.err.count("\n") <= 2
    assert not Path("n").exists()
    assert not Path("no").exists()
    next(Path("m").glob("*.np*")).write_bytes(b"cut")
    ran = run("decode", "parser", "m", "dev.conllu")
    assert ran.code == 2
    assert "train it again" in ran.err
