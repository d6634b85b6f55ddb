"""`nbest tune` settles the decision of its model where there is something to settle it on, and says what it tried."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nbest
from nbest.cli import beside, comparing
from nbest.cli.settling import words
from nbest.model.settled import Settled, TriedDecision, settled_of
from nbest.testing import toy_lists
from tests.cli.conftest import Run

TUNE = ("tune", "lists.jsonl", "--metric", "wer", "--method", "likelihood", "--features", "third")


@pytest.fixture
def lists(folder: Path) -> nbest.NBest:
    """Corrupted copies of references and a feature that tells nothing: the midst of a list is better."""
    found = toy_lists(1, segments_=120)
    nbest.write(found, "lists.jsonl")
    return found


def test_the_decision_is_settled_said_kept_and_used(run: Run, lists: nbest.NBest) -> None:
    ran = run(*TUNE, "--split", "0.6", "-o", "m.json", "--json")
    assert ran.code == 0, ran.err
    summary, model = json.loads(ran.out), nbest.load("m.json")
    kind = model.decision["kind"]
    assert kind in ("mbr", "consensus")
    assert summary["settled"]["decision"] == model.decision
    assert {name: summary["settled"][name] for name in model.settled} == model.settled
    tried = {each["kind"]: each for each in model.settled["tried"]}
    assert list(tried) == ["1best", "mbr", "consensus"]
    assert summary["heldout"] == pytest.approx(tried[kind]["score"]) == pytest.approx(summary["evidence"]["tuned"])
    said = (
        f"decision: {kind} (gamma {tried[kind]['gamma']:g}, among 10), {tried[kind]['score']:.2f} on held-out lists, "
        f"{model.settled['segments']} segments, better than {tried['1best']['score']:.2f} of 1best (p "
    )
    assert said in ran.err
    assert said in run("inspect", "m.json").out
    assert json.loads(run("inspect", "m.json", "--json").out)["settled"] == model.settled
    by_model = run("rerank", "lists.jsonl", "--model", "m.json").out
    options = ("--gamma", str(model.decision["gamma"]), "--among", "10")
    assert by_model == run("rerank", "lists.jsonl", "--model", "m.json", "--decision", kind, *options).out
    assert by_model != run("rerank", "lists.jsonl", "--model", "m.json", "--decision", "1best").out


def test_what_is_said_holds(run: Run, lists: nbest.NBest) -> None:
    ran = run(*TUNE, "--split", "0.6", "--decision", "1best", "-o", "m.json")
    assert "decision:" not in ran.err
    assert (nbest.load("m.json").decision, nbest.load("m.json").settled) == ({}, {})
    assert run(*TUNE, "-o", "m.json").code == 0
    assert nbest.load("m.json").decision == {}, "nothing to settle it on"
    assert run(*TUNE, "--split", "0.6", "-o", "m.ini").code == 0, "a Moses weight file holds no decision"
    ran = run(*TUNE, "--decision", "mbr", "-o", "m.ini")
    assert ran.code == 2
    assert "cannot hold a decision" in ran.err
    ran = run(*TUNE, "--decision", "mbt")
    assert ran.code == 2
    assert "did you mean 'mbr'" in ran.err


def test_where_nothing_is_better_it_says_what_was_tried(run: Run, lists: nbest.NBest) -> None:
    ran = run(*TUNE[:-1], "first,second", "--split", "0.6", "-o", "m.json")
    assert "decision: 1best, " in ran.err
    assert "; not surely better: mbr " in ran.err
    assert nbest.load("m.json").decision == {}


def test_a_calibrated_model_is_of_the_settled_decision(run: Run, lists: nbest.NBest) -> None:
    ran = run(*TUNE, "--split", "0.6", "--right", "20", "-o", "m.json")
    assert ran.code == 0, ran.err
    model = nbest.load("m.json")
    assert model.decision
    assert model.confidence["decision"] == model.decision


def test_scores_are_by_the_decision_that_is_said(run: Run, lists: nbest.NBest) -> None:
    ran = run(*TUNE, "--decision", "mbr", "-o", "m.json", "--json")
    model = nbest.load("m.json")
    measured = nbest.read("lists.jsonl").with_metric(nbest.WER())
    assert json.loads(ran.out)["dev"] == pytest.approx(measured.score(nbest.choose(model, measured).chosen))


def test_python_and_the_command_line_settle_alike(run: Run, lists: nbest.NBest) -> None:
    assert run("tune", "lists.jsonl", "--metric", "wer", "--features", "third", "-o", "m.json").code == 0
    tuned = nbest.load("m.json")
    measured = nbest.read("lists.jsonl").with_metric(nbest.WER()).without_features(["first", "second"])
    fitted = nbest.Auto().fit(measured)
    for name in ("weights", "decision", "settled", "scores_", "gamma", "trainer"):
        assert getattr(tuned, name) == getattr(fitted, name), name
    assert tuned.settled


def test_a_comparison_chooses_as_a_tuned_model_does(run: Run, lists: nbest.NBest) -> None:
    held, test = (toy_lists(seed, segments_=80) for seed in (2, 3))
    nbest.write(held, "held.jsonl")
    nbest.write(test, "test.jsonl")
    assert run(*TUNE, "--heldout", "held.jsonl", "--variance", "1.0", "-o", "m.json").code == 0
    model = nbest.load("m.json")
    measured = nbest.read("test.jsonl").with_metric(nbest.WER())
    compare = ("compare", "lists.jsonl", "--heldout", "held.jsonl", "--test", "test.jsonl", "--metric", "wer")
    ran = run(*compare, "--features", "third", "--methods", "likelihood", "--json")
    row = next(row for row in json.loads(ran.out)["rows"] if row["name"] == "likelihood")
    assert row["decisions"] == [model.decision["kind"]]
    assert row["test"] == pytest.approx(measured.score(nbest.choose(model, measured).chosen))
    shown = run(*compare, "--features", "third", "--methods", "likelihood").out
    assert "decision" in shown
    said = run(*compare, "--features", "third", "--methods", "likelihood", "--decision", "1best")
    assert "decision" not in said.out
    assert f"{measured.score(model.predict(measured)):.2f}" in said.out
    assert "did you mean 'mbr'" in run(*compare, "--decision", "mbt").err


def test_methods_are_compiled_before_they_are_timed(
    run: Run, lists: nbest.NBest, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    tried, compared = beside._try, comparing.compare
    monkeypatch.setattr(beside, "apart", lambda function, items: [function(each) for each in items])
    monkeypatch.setattr(beside, "_try", lambda name, few, metric: order.append(name) or tried(name, few, metric))
    monkeypatch.setattr(comparing, "compare", lambda *a, **k: order.append("compare") or compared(*a, **k))
    methods = ("--methods", "likelihood,mert", "--repeats", "1")
    assert run("compare", "lists.jsonl", "--test", "lists.jsonl", "--metric", "wer", *methods).code == 0
    assert order == ["likelihood", "mert", "compare"]


VOTE, ONE = TriedDecision("vote", 75.0, pool="scores"), TriedDecision("1best", 65.0, p=1.0)


@pytest.mark.parametrize(
    ("tried", "decision", "said"),
    [
        (
            (VOTE, ONE, TriedDecision("vote", 71.25, gamma=0.0, p=0.5)),
            {"kind": "vote", "pool": "scores"},
            "decision: vote by scores, 75.00 across 5 folds, 80 segments; not surely better: 1best 65.00 (p 1.0000), "
            "plurality vote 71.25 (p 0.5000)",
        ),
        (
            (VOTE, ONE, TriedDecision("vote", 79.0, gamma=2.0, p=0.01)),
            {"kind": "vote", "gamma": 2.0},
            "decision: vote by posteriors (gamma 2), 79.00 across 5 folds, 80 segments, better than 75.00 of vote by "
            "scores (p 0.0100); 1best 65.00 (p 1.0000)",
        ),
    ],
)
def test_votes_are_told_apart(tried: tuple[TriedDecision, ...], decision: dict[str, object], said: str) -> None:
    known = Settled("5 folds", 80, tried)
    assert words(known, decision) == said
    assert settled_of(known.content()) == known


def test_a_learned_vote_is_called_so(run: Run, lists: nbest.NBest) -> None:
    with open("samples.jsonl", "w") as out:
        for i in range(60):
            texts = (("1", "1", "2"), ("2", "1", "1"), ("1", "2", "2"))[i % 3]
            samples = [{"text": text, "answer": text, "features": {"k": k % 2}} for k, text in enumerate(texts)]
            print(json.dumps({"id": f"q{i}", "references": ["1"], "hypotheses": samples}), file=out)
    tune = ("tune", "samples.jsonl", "--metric", "exact", "--method", "vote", "--split", "0.5")
    ran = run(*tune, "-o", "m.json")
    assert ran.code == 0, ran.err
    assert nbest.load("m.json").settled["tried"][0]["pool"] == "scores"
    assert "decision: vote by scores, " in ran.err
