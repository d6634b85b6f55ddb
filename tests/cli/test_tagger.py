"""`nbest train tagger` and `nbest decode tagger`, with a tuning between them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.formats.conllu import read_conllu, sentence_of, write_conllu
from tests.cli.conftest import Run

_NEXT = {"": ["D", "P"], "D": ["A", "N"], "A": ["N"], "N": ["V", "N"], "V": ["D", "P", "."], "P": ["V"], ".": []}
_FORMS = {
    "D": ["the", "a"],
    "A": ["old", "red"],
    "N": ["walk", "dog", "cat"],
    "V": ["walk", "saw", "red"],
    "P": ["she"],
    ".": ["."],
}


def treebank(path: str, count: int, seed: int) -> None:
    """Sentences of a small grammar with ambiguous words and, one in ten, words never seen before."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(count):
        words, tags, tag = [], [], ""
        while tag != ".":
            tag = str(rng.choice(_NEXT[tag])) if len(tags) < 12 or tag != "V" else "."
            tags.append(tag)
            words.append(f"x{rng.integers(10**6)}{tag.lower()}" if rng.random() < 0.1 else str(rng.choice(_FORMS[tag])))
        sentences.append(sentence_of(words).with_column("xpos", tags))
    write_conllu(sentences, path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, count, seed in (("train", 200, 1), ("dev", 40, 2), ("test", 40, 3)):
        treebank(f"{name}.conllu", count, seed)
    return tmp_path


def test_train_decode_tune(run: Run, folder: Path) -> None:
    ran = run("train", "tagger", "train.conllu", "-o", "m", "--jackknife", "5", "--lists", "train.jsonl", "--k", "4")
    assert ran.code == 0, ran.err
    assert "200 sentences" in ran.err
    lists = nbest.read("train.jsonl")
    assert len(lists) == 200
    assert lists.lengths.max() == 4
    assert lists.feature_names == ("transition", "lexical")
    gold = read_conllu("train.conllu")
    assert lists.references == tuple((" ".join(sentence.xpos),) for sentence in gold)
    assert lists.sources == tuple(" ".join(sentence.forms) for sentence in gold)
    ran = run("decode", "tagger", "m", "dev.conllu", "-o", "dev.jsonl", "--k", "10", "--json")
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    assert report["accuracy"]["all"] > 80
    assert report["unknown_words"] > 0
    dev = nbest.read("dev.jsonl").with_metric(nbest.METRICS["accuracy"]())
    assert dev.score(dev.offsets[:-1]) == pytest.approx(report["accuracy"]["all"])
    ran = run("tune", "dev.jsonl", "--metric", "accuracy", "--method", "risk", "-o", "model.json")
    assert ran.code == 0, ran.err
    ran = run("decode", "tagger", "m", "test.conllu", "--model", "model.json", "-o", "test.forests.jsonl.gz")
    assert ran.code == 0, ran.err
    forests = nbest.read_forests("test.forests.jsonl.gz")
    assert len(forests) == 40
    assert forests.own_weights == pytest.approx(dict(nbest.load("model.json").weights))


def test_texts_and_treebanks_as_output(run: Run, folder: Path) -> None:
    assert run("train", "tagger", "train.conllu", "-o", "m", "-q").err == ""
    test = read_conllu("test.conllu")
    Path("test.txt").write_text("".join(f"{' '.join(s.forms)}\n" for s in test) + "\nthe\n")
    plain = run("decode", "tagger", "m", "test.txt")
    assert plain.code == 0, plain.err
    assert "accuracy" not in plain.err
    lines = plain.out.splitlines()
    assert len(lines) == 42
    assert [lines[40], lines[41]] == ["", "D"]
    ran = run("decode", "tagger", "m", "test.conllu")
    assert "accuracy" in ran.err
    Path("out").write_text(ran.out)
    assert [" ".join(s.xpos) for s in read_conllu("out")] == lines[:40]
    assert run("decode", "tagger", "m", "test.conllu", "-o", "out.conllu").code == 0
    assert Path("out.conllu").read_text() == ran.out
    assert run("decode", "tagger", "m", "test.conllu", "--to", "text", "-o", "tags").code == 0
    assert Path("tags").read_text().splitlines() == lines[:40]
    assert run("decode", "tagger", "m", "test.txt", "--to", "jsonl", "-o", "lists").code == 0
    assert nbest.read("lists").references is None


def test_unknown_and_missing_gold_tags(run: Run, folder: Path) -> None:
    assert run("train", "tagger", "train.conllu", "-o", "m").code == 0
    strange = [sentence_of(["the", "dog"]).with_column("xpos", ["D", "ODD"])]
    write_conllu(strange, "strange.conllu")
    ran = run("decode", "tagger", "m", "strange.conllu", "-o", "s.jsonl")
    assert ran.code == 0, ran.err
    assert "ODD (1)" in ran.err
    assert nbest.read("s.jsonl").references == (("D ODD",),)
    write_conllu([sentence_of(["the", "dog"]).with_column("xpos", ["D", "_"])], "part.conllu")
    ran = run("decode", "tagger", "m", "part.conllu", "-o", "s.jsonl")
    assert "1 words have no XPOS" in ran.err
    assert nbest.read("s.jsonl").references is None
    ran = run("train", "tagger", "part.conllu", "-o", "n")
    assert ran.code == 2
    assert "part.conllu:2: the word has no XPOS" in ran.err
    assert not Path("n").exists()


def test_what_is_wrong_is_said(run: Run, folder: Path) -> None:
    Path("bad.conllu").write_text("1\ta\t_\t_\tX\t_\t_\t_\t_\t_\n1\tb\n")
    Path("file").write_text("mine")
    assert run("train", "tagger", "train.conllu", "-o", "cut").code == 0
    Path("cut/arrays.npz").write_bytes(Path("cut/arrays.npz").read_bytes()[:500])
    for words, message in (
        (("train", "tagger", "train.conllu"), "nothing to make"),
        (("train", "tagger", "train.conllu", "-o", "n", "--tags", "lemma"), "--tags must be upos or xpos"),
        (("train", "tagger", "train.conllu", "-o", "n", "--tags", "upos"), "train.conllu:1: the word has no UPOS"),
        (("train", "tagger", "train.conllu", "-o", "n", "--jackknife", "5"), "go together"),
        (("train", "tagger", "train.conllu", "--jackknife", "1", "--lists", "l.jsonl"), "at least 2"),
        (("train", "tagger", "train.conllu", "--jackknife", "900", "--lists", "l.jsonl"), "at most the number"),
        (("train", "tagger", "train.conllu", "--jackknife", "5", "--lists", "l.forests.jsonl"), "holds forests"),
        (("train", "tagger", "bad.conllu", "-o", "n"), "bad.conllu:2: expected 10 fields"),
        (("train", "tagger", "train.conllu", "-o", "file"), "is a file"),
        (("train", "tagger", "nowhere.conllu", "-o", "n"), "cannot be read"),
        (("decode", "tagger", "nowhere", "dev.conllu"), "is no tagger"),
        (("decode", "tagger", "cut", "dev.conllu"), "cut short"),
        (("decode", "tagger", "cut", "dev.conllu", "--to", "word"), "unknown format"),
        (("decode", "tagger", "cut", "dev.conllu", "--json"), "name a file"),
    ):
        ran = run(*words)
        assert ran.code == 2, ran.err
        assert message in ran.err, ran.err
        assert ran.err.count("\n") <= 2
    assert not Path("n").exists()
