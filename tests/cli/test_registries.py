"""What is added to a dict of a family is known to the command line: docs/extending.md says so."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import nbest
from nbest.decisions import DECISIONS
from nbest.features import FEATURES
from nbest.formats import FORMATS
from nbest.formats.lists.jsonl import FORMAT
from nbest.metrics import METRICS, WER
from nbest.trainers import TRAINERS, GridSearch

TUNE = ("tune", "dev.nbest", "--refs", "dev.ref", "-q", "-o", "m.json")


def last(model, corpus, *, gamma=1.0, order=1):
    """The last hypothesis of each list (or the one `order` before the last)."""
    return np.where(corpus.lengths > 0, corpus.offsets[1:] - order, -1)


def test_a_decision(run, folder, monkeypatch):
    monkeypatch.setitem(DECISIONS, "last", last)
    (folder / "m.ini").write_text("am= 1\nlm= 0\nnoise= 0\n")
    corpus = nbest.read("dev.nbest")
    ran = run("rerank", "dev.nbest", "--model", "m.ini", "--decision", "last")
    assert ran.out.splitlines() == [corpus.texts[h] for h in last(None, corpus)]
    ran = run("rerank", "dev.nbest", "--model", "m.ini", "--decision", "last", "--order", "3", "--gamma", "2")
    assert ran.out.splitlines() == [corpus.texts[h] for h in last(None, corpus, order=3)]
    ran = run("rerank", "dev.nbest", "--model", "m.ini", "--decision", "last", "--gain", "wer")
    assert "--gain is for --decision consensus or mbr, not for last" in ran.err
    assert "needs --model" in run("rerank", "dev.nbest", "--decision", "last").err
    assert "consensus, first, last, mbr" in run("rerank", "dev.nbest", "--decision", "lats").err


def test_a_decision_that_needs_no_model(run, folder, monkeypatch):
    def second(model: None, corpus):
        return np.where(corpus.lengths > 1, corpus.offsets[:-1] + 1, -1)

    monkeypatch.setitem(DECISIONS, "second", second)
    ran = run("rerank", "dev.nbest", "--decision", "second")
    assert (ran.code, len(ran.out.splitlines())) == (0, 60)


def test_a_decision_gets_several_strings_of_a_forest(run, folder, monkeypatch):
    from tests.cli.conftest import sausages

    seen = []

    def longest(model, corpus, *, forests=None):
        seen.append((corpus.lengths.max(), forests is not None))
        return corpus.offsets[:-1]

    monkeypatch.setitem(DECISIONS, "longest", longest)
    nbest.write_forests(sausages(1), "dev.forests.jsonl")
    (folder / "m.ini").write_text("am= 1\nlm= 0\nx= 0\n")
    Path("w.json").write_text(json.dumps({"format": "nbest-model/1", "kind": "loglinear", "weights": {"am": 1.0}}))
    assert run("rerank", "dev.forests.jsonl", "--model", "w.json", "--decision", "longest", "--k", "5").code == 0
    assert seen == [(5, True)]


def test_a_metric(run, folder, monkeypatch):
    @dataclass(frozen=True)
    class Halved(WER):
        name = "halved"

        def score(self, totals):
            return super().score(totals) / 2

    monkeypatch.setitem(METRICS, "halved", Halved)
    whole, half = (run("score", "dev.first", "--refs", "dev.ref", "-m", name, "--json") for name in ("wer", "halved"))
    assert json.loads(half.out)[0]["score"] == json.loads(whole.out)[0]["score"] / 2
    assert run(*TUNE, "--metric", "halved", "--lowercase", "--method", "grid").code == 0


def test_a_trainer(run, folder, monkeypatch):
    @dataclass
    class Coarse(GridSearch):
        points: int = 3
        further: int = field(default=1)

    monkeypatch.setitem(TRAINERS, "coarse", Coarse)
    assert run(*TUNE, "--metric", "wer", "--method", "coarse", "--further", "2").code == 0
    assert nbest.load("m.json").trainer["further"] == 2


def test_a_feature(run, folder, monkeypatch):
    def parity(corpus, by: int = 2):
        place = np.arange(corpus.hypotheses) - np.repeat(corpus.offsets[:-1], corpus.lengths)
        return corpus.with_features(["parity"], (place % by).astype(float))

    monkeypatch.setitem(FEATURES, "parity", parity)
    ran = run(*TUNE, "--metric", "wer", "--method", "likelihood", "--add", "parity:by=3")
    assert ran.code == 0, ran.err
    assert nbest.load("m.json").features == ({"kind": "parity", "by": 3},)
    assert run("rerank", "test.nbest", "--model", "m.json").code == 0


def test_a_format(run, folder, monkeypatch):
    monkeypatch.setitem(
        FORMATS, "mine", replace(FORMAT, name="mine", suffixes=(".mine",), sniff=lambda path, head: False)
    )
    assert run("convert", "dev.nbest", "dev.mine").code == 0
    assert run("convert", "dev.mine", "again.nbest").code == 0
    assert nbest.read("again.nbest").hypotheses == nbest.read_any("dev.mine").hypotheses == 480
    assert run("inspect", "dev.mine", "--format", "mine").code == 0
