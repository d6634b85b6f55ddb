"""`nbest train converter` and `nbest decode converter`, with a tuning between them."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.metrics import CER
from tests.cli.conftest import Run

NOUNS = ["柿|かき", "牡蠣|かき", "花|はな", "鼻|はな", "橋|はし", "箸|はし", "雨|あめ", "飴|あめ"]
VERBS = ["食べる|たべる", "見る|みる", "着る|きる", "切る|きる", "買う|かう", "飼う|かう"]


def lines(count: int, seed: int) -> list[str]:
    """Sentences in which the verb goes with the noun, so that there is something to learn."""
    rng = np.random.default_rng(seed)
    out = []
    for i in range(count):
        noun = int(rng.integers(len(NOUNS)))
        out.append(f"s{i % 3}\t{NOUNS[noun]} を {VERBS[(noun + int(rng.integers(2))) % len(VERBS)]} 。")
    return out


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, count, seed in (("train", 200, 1), ("dev", 40, 2), ("more", 30, 3)):
        Path(f"{name}.tsv").write_text("".join(f"{line}\n" for line in lines(count, seed)), encoding="utf-8")
    Path("words.tsv.xz").write_bytes(lzma.compress("surface\treading\n皮\tカワ\n川\tカワ\n".encode()))
    Path("kana.txt").write_text("はなをみる。\n\nかわをきるZ9\n", encoding="utf-8")
    return tmp_path


def test_train_lists_tune_decode(run: Run, folder: Path) -> None:
    ran = run("train", "converter", "train.tsv", "--dictionary", "words.tsv.xz", "-o", "model")
    assert ran.code == 0, ran.err
    assert "words with readings" in ran.err
    for out in ("dev.jsonl", "dev.forests.jsonl.gz"):
        ran = run("decode", "converter", "model", "dev.tsv", "--input", "read", "-o", out, "--k", "20")
        assert ran.code == 0, ran.err
    lists = nbest.read("dev.jsonl")
    assert len(lists) == 40
    assert lists.references is not None
    measured = lists.with_metric(CER(spaces=False))
    assert measured.score(lists.offsets[:-1]) < 15
    assert measured.score(nbest.corpus_oracle(measured)) == 0
    options = ("--metric", "cer", "--spaces", "false")
    for source in ("dev.jsonl", "dev.forests.jsonl.gz"):
        ran = run("tune", source, *options, "--method", "mert", "-o", "tuned.json")
        assert ran.code == 0, ran.err
    ran = run("decode", "converter", "model", "kana.txt", "--model", "tuned.json")
    assert ran.code == 0, ran.err
    assert len(ran.out.splitlines()) == 3
    assert ran.out.splitlines()[1] == ""


def test_texts_words_and_references(run: Run, folder: Path) -> None:
    assert run("train", "converter", "train.tsv", "-o", "model", "--order", "2", "--tokens", "surface").code == 0
    plain = run("decode", "converter", "model", "kana.txt").out.splitlines()
    words = run("decode", "converter", "model", "kana.txt", "--words").out.splitlines()
    assert plain == ["".join(line.split()) for line in words]
    assert plain[2].endswith("Z9")
    for decision in ("consensus", "mbr"):
        ran = run("decode", "converter", "model", "kana.txt", "-d", decision, "--k", "10")
        assert ran.code == 0, ran.err
        assert len(ran.out.splitlines()) == 3
    Path("refs.txt").write_text("花を見る。\n\n川を切るZ9\n", encoding="utf-8")
    ran = run("decode", "converter", "model", "kana.txt", "--refs", "refs.txt", "-o", "out.jsonl", "--k", "5")
    assert ran.code == 0, ran.err
    lists = nbest.read("out.jsonl")
    assert lists.references == (("花を見る。",), ("",), ("川を切るZ9",))
    Path("empty.txt").write_text("")
    assert run("decode", "converter", "model", "empty.txt", "-o", "none.jsonl").code == 0


def test_a_model_of_lists_reranks(run: Run, folder: Path) -> None:
    assert run("train", "converter", "train.tsv", "-o", "model").code == 0
    assert run("decode", "converter", "model", "dev.tsv", "--input", "read", "-o", "dev.jsonl", "--k", "5").code == 0
    ran = run(
        "tune", "dev.jsonl", "--metric", "cer", "--spaces", "false", "--method", "likelihood", "--add", "length",
        "-o", "tuned.json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    ran = run("decode", "converter", "model", "kana.txt", "--model", "tuned.json", "--k", "5")
    assert ran.code == 0, ran.err
    assert len(ran.out.splitlines()) == 3
    refused = run("decode", "converter", "model", "kana.txt", "--model", "tuned.json", "-o", "out.jsonl")
    assert refused.code == 2
    assert "write lists without --model and use nbest rerank" in refused.err


def test_a_damaged_converter_can_be_trained_again_in_its_place(run: Run, folder: Path) -> None:
    assert run("train", "converter", "train.tsv", "-o", "model").code == 0
    Path("model/manifest.json").write_text("{")
    assert "cut short" in run("decode", "converter", "model", "kana.txt").err
    assert run("train", "converter", "train.tsv", "-o", "model").code == 0
    assert run("decode", "converter", "model", "kana.txt").code == 0


def test_adaptation(run: Run, folder: Path) -> None:
    ran = run("train", "converter", "train.tsv", "--adapt", "more.tsv", "-o", "adapted")
    assert ran.code == 0, ran.err
    assert "by EM" in ran.err
    ran = run("train", "converter", "train.tsv", "--adapt", "more.tsv", "--heldout", "dev.tsv", "-o", "adapted")
    assert ran.code == 0, ran.err
    assert run("decode", "converter", "adapted", "kana.txt").code == 0


def test_what_is_wrong_is_said(run: Run, folder: Path) -> None:
    assert run("train", "converter", "train.tsv", "-o", "model").code == 0
    Path("bad.tsv").write_text("柿|かき\n|かき\n", encoding="utf-8")
    Path("bad_words.tsv").write_text("柿\tかき\n木\n", encoding="utf-8")
    Path("empty.tsv").write_text("\n\n")
    Path("mine").mkdir()
    Path("mine/letter").write_text("dear")
    decode = ("decode", "converter", "model", "kana.txt")
    for words, message in (
        (("train", "converter", "bad.tsv", "-o", "x"), "bad.tsv:2"),
        (("train", "converter", "train.tsv", "--dictionary", "bad_words.tsv", "-o", "x"), "bad_words.tsv:2"),
        (("train", "converter", "empty.tsv", "-o", "x"), "has no words"),
        (("train", "converter", "train.tsv", "--heldout", "dev.tsv", "-o", "x"), "adapt"),
        (("train", "converter", "train.tsv", "--tokens", "kana", "-o", "x"), "--tokens must be pair or surface"),
        (("train", "converter", "train.tsv", "-o", "kana.txt"), "is a file"),
        (("train", "converter", "train.tsv", "-o", "."), "holds train.tsv, which is read"),
        (("train", "converter", "train.tsv", "-o", "mine"), "no converter"),
        (("decode", "converter", "nowhere", "kana.txt"), "no converter"),
        ((*decode, "--input", "x"), "--input"),
        ((*decode, "--refs", "train.tsv"), "more references than segments: 200 lines for 3"),
        ((*decode, "--input", "read", "--refs", "train.tsv"), "leave --refs out"),
        ((*decode, "--decision", "best"), "unknown decision"),
        ((*decode, "--to", "x"), "unknown format"),
    ):
        ran = run(*words)
        assert ran.code == 2, (words, ran.err)
        assert message in ran.err
        assert "Traceback" not in ran.err
    assert not Path("x").exists()
