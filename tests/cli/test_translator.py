"""`nbest train translator` and `nbest decode translator`, with a tuning between them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nbest
from tests.cli.conftest import Run
from tests.systems.test_translator import corpus

pytest.importorskip("sacremoses")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, count, seed in (("train", 300, 1), ("dev", 15, 2), ("test", 10, 3)):
        for side, lines in zip(("fr", "en"), corpus(count, seed), strict=True):
            Path(f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def test_train_tune_decode(run: Run, folder: Path) -> None:
    ran = run("train", "translator", "train.fr", "train.en", "-l", "fr-en", "--lm-order", "3", "-o", "fr-en")
    assert ran.code == 0, ran.err
    assert "phrase pairs" in ran.err
    again = run("train", "translator", "train.fr", "train.en", "-l", "fr-en", "--lm-order", "3", "-o", "fr-en")
    assert "nothing" in again.err
    beam = ("--beam", "20")
    for out in ("dev.forests.jsonl.gz", "dev.jsonl"):
        ran = run("decode", "translator", "fr-en", "dev.fr", "--refs", "dev.en", "-o", out, "--k", "20", *beam)
        assert ran.code == 0, ran.err
    assert nbest.read("dev.jsonl").lengths.max() == 20
    for lists, *options in (
        ("dev.forests.jsonl.gz", "--method", "cobleu"),
        ("dev.jsonl",),
        ("dev.jsonl", "--method", "risk"),
        ("dev.jsonl", "--method", "risk", "--folds", "5"),
    ):
        ran = run("tune", lists, "--metric", "bleu", "--tokenize", "none", *options, "-o", "model.json")
        assert ran.code == 0, ran.err
        for decision in ("1best", "consensus"):
            ran = run(
                "decode", "translator", "fr-en", "test.fr", "--model", "model.json", "-d", decision, *beam,
                "-o", "out.txt",
            )  # fmt: skip
            assert ran.code == 0, ran.err
            scored = run("score", "out.txt", "--refs", "test.en", "--metric", "bleu", "--json")
            assert json.loads(scored.out)[0]["score"] > 80
    raw = run("decode", "translator", "fr-en", "test.fr", "--raw", *beam)
    assert raw.out.splitlines()[0].endswith(" .")


def test_jackknifed_lists(run: Run, folder: Path) -> None:
    train = ("train", "translator", "train.fr", "train.en", "-l", "fr-en", "--lm-order", "2", "-o", "fr-en")
    lists = ("--jackknife", "2", "--lists", "train.jsonl", "--k", "5", "--fold-sentences", "6", "--beam", "10")
    ran = run(*train, *lists)
    assert ran.code == 0, ran.err
    assert "train.jsonl: 12 lists" in ran.err
    assert "bleu of the first" in ran.err.lower()
    found = nbest.read("train.jsonl")
    assert found.references is not None
    assert found.lengths.max() <= 5
    assert [int(name) < 150 for name in found.ids] == [True] * 6 + [False] * 6
    again = run(*train, *lists)  # all was done before
    assert again.code == 0, again.err
    assert nbest.read("train.jsonl") == found
    ran = run("tune", "train.jsonl", "--metric", "bleu", "--tokenize", "none", "--method", "risk", "-o", "model.json")
    assert ran.code == 0, ran.err
    for words, message in (
        ((*train, "--jackknife", "2"), "go together"),
        ((*train, "--lists", "x.jsonl"), "go together"),
        ((*train, "--jackknife", "1", "--lists", "x.jsonl"), "at least 2"),
        ((*train, "--jackknife", "900", "--lists", "x.jsonl"), "at most the number of sentences, 300"),
        ((*train[:6], *lists), "--output"),
    ):
        ran = run(*words)
        assert ran.code == 2
        assert message in ran.err


def test_what_is_wrong_is_said(run: Run, folder: Path) -> None:
    for words, message in (
        (("train", "translator", "train.fr", "dev.en", "-l", "fr-en", "-o", "x"), "lines and"),
        (("train", "translator", "train.fr", "train.en", "-l", "french", "-o", "x"), "two codes"),
        (("train", "translator", "-", "train.en", "-l", "fr-en", "-o", "x"), "standard input"),
        (("train", "translator", "train.fr", "train.en", "-l", "fr-en", "-o", "dev.fr"), "is a file"),
        (("decode", "translator", "nowhere", "dev.fr"), "is no translator"),
    ):
        ran = run(*words)
        assert ran.code == 2, ran.err
        assert message in ran.err
        assert ran.err.count("\n") <= 2
