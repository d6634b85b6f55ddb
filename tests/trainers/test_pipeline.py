"""A model is a pipeline: fitted alike from Python and the command line, and kept whole in its file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.base.errors import CapabilityError, FormatError, ParameterError
from nbest.cli.main import main
from nbest.formats.bundled import lists
from nbest.testing.forests import toy_forests

ADD = "length,agreement:metric=wer"


def some() -> nbest.NBest:
    """A third of the lists: comparing all pairs of hypotheses is most of the work here."""
    return nbest.split(lists("tune"), 0.34)[0]


def dev() -> nbest.NBest:
    return some().with_metric(nbest.WER())


def test_the_command_line_fits_what_python_does(tmp_path: Path) -> None:
    nbest.write(some(), tmp_path / "dev.jsonl")
    for decision in (None, "mbr"):
        pipeline = nbest.Pipeline(trainer=nbest.MERT(seed=3), add=ADD, drop=("lm",), decision=decision)
        pipeline.fit(dev()).save(tmp_path / "python.json")
        options = ["--metric", "wer", "--method", "mert", "--seed", "3", "--add", ADD, "--drop", "lm", "--quiet"]
        said = [] if decision is None else ["--decision", decision]
        assert main(["tune", str(tmp_path / "dev.jsonl"), *options, *said, "-o", str(tmp_path / "command.json")]) == 0
        assert (tmp_path / "python.json").read_bytes() == (tmp_path / "command.json").read_bytes()
        assert ("decision" in json.loads((tmp_path / "python.json").read_text())) == (decision is not None)


def test_held_out_lists_do_not_shape_the_features() -> None:
    corpus, heldout = nbest.split(dev(), 0.5)
    pipeline = nbest.Pipeline(trainer=nbest.MERT(), add="ngrams:order=1", decision="consensus")
    prepared = pipeline.prepare(corpus, heldout)
    assert prepared[0].sparse_names == prepared[1].sparse_names
    alone = nbest.Pipeline(trainer=nbest.MERT(), add="ngrams:order=1").prepare(corpus)
    assert alone[0].sparse_names == prepared[0].sparse_names


@pytest.mark.parametrize(
    "decision", ["mbr", {"kind": "consensus", "order": 2}, {"kind": "mbr", "gain": "wer", "gamma": 2.0}]
)
def test_the_decision_is_kept_and_used(tmp_path: Path, decision: object) -> None:
    corpus = dev()
    model = nbest.Pipeline(trainer=nbest.MERT(), decision=decision).fit(corpus)
    model.save(tmp_path / "model.json")
    loaded = nbest.load(tmp_path / "model.json")
    assert loaded.decision == model.decision
    kind = decision if isinstance(decision, str) else decision["kind"]  # type: ignore[index]
    options = {} if isinstance(decision, str) else {k: v for k, v in decision.items() if k != "kind"}  # type: ignore[attr-defined]
    want = getattr(nbest, kind)(model, corpus, **({"gain": "wer"} if kind == "mbr" else {}) | options)
    found = nbest.choose(loaded, corpus)
    assert np.array_equal(found.chosen, want)
    assert found.texts == [corpus.texts[h] if h >= 0 else "" for h in want]
    assert not np.array_equal(found.chosen, model.predict(corpus)), "a decision that changes nothing shows nothing"
    assert np.array_equal(nbest.choose(loaded, corpus, "1best").chosen, model.predict(corpus))


def test_rerank_chooses_as_the_model_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = dev()
    nbest.write(corpus, tmp_path / "dev.jsonl")
    model = nbest.Pipeline(trainer=nbest.MERT(), decision="mbr").fit(corpus)
    model.save(tmp_path / "model.json")
    arguments = ["rerank", str(tmp_path / "dev.jsonl"), "--model", str(tmp_path / "model.json"), "--quiet"]
    written = {}
    for said in ([], ["--decision", "mbr"], ["--decision", "1best"]):
        assert main([*arguments, *said]) == 0
        written[" ".join(said)] = capsys.readouterr().out
    assert written[""] == written["--decision mbr"] != written["--decision 1best"]


def test_forests_are_chosen_from_too() -> None:
    forests = toy_forests(3, limit=50)
    model = nbest.LogLinear(dict.fromkeys(forests.feature_names, 1.0))
    found = nbest.choose(model, forests)
    assert len(found.texts) == len(forests)
    with pytest.raises(CapabilityError, match="whole texts"):
        nbest.Pipeline(trainer=nbest.MERT(), add="length").prepare(forests)


@pytest.mark.parametrize(
    ("decision", "message"), [("mbt", "did you mean 'mbr'"), ({"kind": "1best", "gain": "wer"}, "gain")]
)
def test_wrong_decisions_are_told_before_the_work(decision: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        nbest.Pipeline(trainer=None, decision=decision).fit(dev())


@pytest.mark.parametrize("decision", [7, {"order": 2}, {"kind": 3}, {"kind": "mbr", "gain": ["wer"]}])
def test_a_file_with_a_wrong_decision_is_refused(tmp_path: Path, decision: object) -> None:
    path = tmp_path / "model.json"
    nbest.LogLinear({"a": 1.0}).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"decision": decision}))
    with pytest.raises(FormatError, match="decision"):
        nbest.load(path)


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        ({"kind": "mbr", "gamma": "x"}, "'gamma' of mbr must be a number"),
        ({"kind": "mbr", "gain": 5}, "'gain' of mbr must be a word or Metric, got 5"),
        ({"kind": "mbr", "evidence": 1.5}, "'evidence' of mbr must be a whole number"),
        ({"kind": "mbr", "evidence": 10**12}, "'evidence' of mbr must be <= 2147483647"),
        ({"kind": "consensus", "order": "a"}, "'order' of consensus must be a whole number"),
        ({"kind": "mbr", "progress": 1}, "'progress' is no option of the decision mbr"),
    ],
)
def test_options_of_a_model_file_that_no_decision_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], decision: object, message: str
) -> None:
    """They were written by hand, or damaged: one line, no traceback."""
    content = {"format": "nbest-model/1", "kind": "loglinear", "weights": {"f": 1.0}, "decision": decision}
    (tmp_path / "model.json").write_text(json.dumps(content))
    (tmp_path / "test.nbest").write_text("0 ||| a b ||| f= 1\n0 ||| a c ||| f= 2\n")
    assert main(["rerank", str(tmp_path / "test.nbest"), "--model", str(tmp_path / "model.json")]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1
