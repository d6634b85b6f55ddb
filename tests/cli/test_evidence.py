"""What `nbest tune` says of the worth of its model, and keeps in its file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nbest
from tests.cli.conftest import Run
from tests.trainers.test_calibrate import voters

TUNE = ("tune", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--method", "likelihood")


@pytest.mark.parametrize(("options", "how"), [(("--split", "0.4"), "held-out lists"), (("--validate", "4"), "4 folds")])
def test_evidence_is_said_kept_and_shown(run: Run, folder: Path, options: tuple[str, ...], how: str) -> None:
    ran = run(*TUNE, *options, "-o", "m.json", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)["evidence"]
    assert found["how"] == how
    assert found["verdict"] == "helped"
    assert found["oracle"] < found["tuned"]
    assert found["low"] <= found["tuned"] <= found["high"] < found["first"]
    assert found["p"] < 0.05
    kept = json.loads(Path("m.json").read_text())["evidence"]
    assert {**kept, "verdict": "helped"} == found
    said = f"tuning helped: {found['tuned']:.2f} (95 % from {found['low']:.2f} to {found['high']:.2f})"
    assert said in ran.err
    assert "warning" not in ran.err
    assert "flattering" not in ran.err
    assert "p against first" in ran.err
    assert said in run("inspect", "m.json").out
    assert json.loads(run("inspect", "m.json", "--json").out)["evidence"] == found
    assert run("rerank", "test.nbest", "--model", "m.json").code == 0


def test_folds_of_all_that_is_tuned(run: Run, folder: Path) -> None:
    """The recipes of added features, too, are fitted without the fold that is scored."""
    ran = run(*TUNE, "--add", "length,ngrams:order=1:minimum=2", "--validate", "3", "--json")
    assert ran.code == 0, ran.err
    dev = nbest.read("dev.nbest")
    dev = dev.with_metric(nbest.WER(), nbest.read_references("dev.ref", dev.ids))
    pipeline = nbest.Pipeline(trainer=nbest.MaxLikelihood(), add="length,ngrams:order=1:minimum=2")
    wanted = nbest.validate(nbest.LogLinear({}), dev, trainer=pipeline, folds=3).validation
    assert json.loads(ran.out)["evidence"]["tuned"] == pytest.approx(wanted.tuned)


def test_folds_calibrate_as_well(run: Run, folder: Path) -> None:
    """Models that were fitted without a fold tell how sure choices are, too, and are not fitted again."""
    dev = voters(100, 3)
    nbest.write(dev, "votes.jsonl")
    ran = run(
        "tune", "votes.jsonl", "--metric", "external", "--method", "likelihood", "--validate", "5", "-o", "m.json"
    )
    assert ran.code == 0, ran.err
    model = nbest.load("m.json")
    again = nbest.calibrate(replace(model, confidence={}), dev, trainer=nbest.MaxLikelihood(), folds=5)
    assert dict(model.confidence) == dict(again.confidence)
    assert again.confidence["how"] == model.evidence["how"] == "5 folds"
    assert model.validation == nbest.validate(model, dev, trainer=nbest.MaxLikelihood(), folds=5).validation


def test_scores_of_dev_alone_are_flattering(run: Run, folder: Path) -> None:
    ran = run(*TUNE, "--json")
    summary = json.loads(ran.out)
    assert "evidence" not in summary
    assert summary["oracle"] < summary["dev"] < summary["equal"] < summary["first"]
    assert "scores of the lists that were tuned on are flattering; --validate 5" in ran.err
    assert "equal weights" in ran.err
    assert "p against first" not in ran.err


def test_the_default_keeps_first_hypotheses_that_are_better(run: Run, folder: Path) -> None:
    spoil("dev.jsonl", 1, 0)
    ran = run("tune", "dev.jsonl", "--metric", "external", "-o", "m.json", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["evidence"]["tuned"] == json.loads(ran.out)["evidence"]["first"]
    said = "tuning did not help, and the first hypotheses are kept: 1.00 (95 % from 1.00 to 1.00) across 5 folds"
    assert f"warning: {said}" in ran.err
    assert "all weights are 0" not in ran.err  # said once
    assert said in run("inspect", "m.json").out


def test_the_default_tells_its_folds_for_nothing(run: Run, folder: Path) -> None:
    ran = run("tune", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "-o", "m.json", "--json")
    found = json.loads(ran.out)["evidence"]
    dev = nbest.read("dev.nbest")
    dev = dev.with_metric(nbest.WER(), nbest.read_references("dev.ref", dev.ids))
    trainer = nbest.Auto()
    trainer.fit(dev)
    assert found["tuned"] == pytest.approx(dev.score(trainer.crossed_.chosen))
    assert found["how"] == "5 folds"
    assert found["verdict"] == "helped"


def spoil(name: str, seed: int, first: int) -> None:
    """Lists in which the first hypothesis is right and features tell nothing."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(first, first + 40):
        worth = [1.0, 0.0, 0.0, 0.0]
        hypotheses = [
            {"text": f"t{k}", "score": worth[k], "features": {"a": rng.normal(), "b": rng.normal()}} for k in range(4)
        ]
        rows.append(json.dumps({"id": f"s{i}", "hypotheses": hypotheses}))
    Path(name).write_text("\n".join(rows) + "\n")


@pytest.mark.parametrize("options", [("--validate", "5"), ("--split", "0.5"), ("--heldout", "held.jsonl")])
def test_tuning_that_hurt_is_warned_of(run: Run, folder: Path, options: tuple[str, ...]) -> None:
    spoil("dev.jsonl", 1, 0)
    spoil("held.jsonl", 2, 100)
    ran = run("tune", "dev.jsonl", "--metric", "external", "--method", "likelihood", *options, "-o", "m.json", "-q")
    assert ran.code == 0, ran.err
    assert "warning: tuning hurt: 0." in ran.err
    assert "against 1.00 of the first hypotheses" in ran.err
    assert "keep the first hypotheses, add features (--add), or give more lists" in ran.err
    assert "warning: tuning ended worse than the first hypotheses of the lists it was tuned on" in ran.err
    assert "tuning hurt" in run("inspect", "m.json").out


def test_equal_weights_that_are_better_are_named(run: Run, folder: Path) -> None:
    """Three features of which each tells the same, and too few lists to learn that."""
    rng = np.random.default_rng(5)
    for name, first, count in (("dev.jsonl", 0, 8), ("held.jsonl", 100, 60)):
        rows = []
        for i in range(first, first + count):
            worth = rng.normal(size=6)
            known = worth[:, None] + 2.0 * rng.normal(size=(6, 8))
            hypotheses = [
                {"text": f"t{k}", "score": worth[k], "features": {f"f{d}": known[k, d] for d in range(8)}}
                for k in range(6)
            ]
            rows.append(json.dumps({"id": f"s{i}", "hypotheses": hypotheses}))
        Path(name).write_text("\n".join(rows) + "\n")
    ran = run("tune", "dev.jsonl", "--metric", "external", "--method", "mert", "--heldout", "held.jsonl", "--json")
    found = json.loads(ran.out)["evidence"]
    assert found["equal"] > found["tuned"]
    assert f"warning: equal weights are better there: {found['equal']:.2f} against {found['tuned']:.2f}" in ran.err


def test_tuning_that_ended_below_the_first_hypotheses_is_never_unnoticed(run: Run, folder: Path) -> None:
    spoil("dev.jsonl", 1, 0)
    for method in ("likelihood", "mert", "risk", "random"):
        ran = run("tune", "dev.jsonl", "--metric", "external", "--method", method, "--json")
        summary = json.loads(ran.out)
        assert ("ended worse than the first" in ran.err) == (summary["dev"] < summary["first"]), method


def test_what_cannot_be_validated_is_refused_before_any_work(run: Run, folder: Path) -> None:
    for options, message in (
        (("--validate", "1"), "'validate' must be 0 or at least 2 folds, got 1"),
        (("--validate", "61"), "between 2 and the number of segments (60), got 61"),
        (("--validate", "5", "--split", "0.5"), "or --validate, not both"),
        (("--validate", "5", "--grid", "variance=1,2"), "leave out --validate"),
    ):
        ran = run(*TUNE, *options, "-o", "m.json")
        assert ran.code == 2
        assert message in ran.err, ran.err
        assert not Path("m.json").exists()
    ran = run("tune", "dev.nbest", "--answer", "last-number", "--method", "weak", "--validate", "5")
    assert ran.code == 2
    assert "--validate needs a metric" in ran.err
