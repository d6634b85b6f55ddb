"""Commands on forests: lattices and hypergraphs in place of lists."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.forests.derivations import forests_of
from nbest.forests.kbest import kbest
from nbest.formats import read_forests, write_forests
from nbest.model.loglinear import LogLinear
from nbest.testing import toy_lists
from tests.cli.conftest import Run, sausages


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, seed in (("dev", 1), ("test", 2)):
        forests = sausages(seed)
        write_forests(forests, f"{name}.forests.jsonl")
        Path(f"{name}.ref").write_text("".join(f"{refs[0]}\n" for refs in forests.references or ()))
    return tmp_path


@pytest.mark.parametrize(
    ("method", "metric"),
    [("mert", "wer"), ("risk", "wer"), ("likelihood", "wer"), ("softbleu", "wer"), ("grid", "wer"), ("random", "wer"),
     ("mert", "bleu"), ("risk", "bleu"), ("cobleu", "bleu")],
)  # fmt: skip
def test_every_method_tunes_on_forests(run: Run, method: str, metric: str) -> None:
    options = ["--restarts", "3", "--hops", "1"] if method == "mert" else []
    ran = run(
        "tune", "dev.forests.jsonl", "--metric", metric, "--method", method, *options,
        "--heldout", "test.forests.jsonl", "--json", "-o", "model.json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    summary = json.loads(ran.out)
    sign = -1.0 if metric == "wer" else 1.0
    assert sign * summary["first"] < sign * summary["dev"] <= sign * summary["oracle"]
    assert summary["edges"] == read_forests("dev.forests.jsonl").edges
    model = nbest.load("model.json")
    assert set(model.weights) == {"am", "lm", "noise"}
    for decision in ("1best", "mbr", "consensus"):
        ran = run("rerank", "test.forests.jsonl", "--model", "model.json", "--decision", decision, "--k", "50")
        assert ran.code == 0, ran.err
        assert len(ran.out.splitlines()) == 25
    ran = run("rerank", "test.forests.jsonl", "--model", "model.json", "-o", "out.txt")
    scored = run("score", "out.txt", "--refs", "test.ref", "--metric", metric, "--json")
    assert json.loads(scored.out)[0]["score"] == pytest.approx(summary["heldout"])


def test_the_best_strings_are_those_of_the_model(run: Run) -> None:
    LogLinear({"am": 1.0, "lm": 1.0}).save("model.json")
    ran = run("rerank", "test.forests.jsonl", "--model", "model.json")
    forests = read_forests("test.forests.jsonl")
    best = kbest(forests, forests.features @ np.array([1.0, 1.0, 0.0]), 1).texts()
    assert ran.out.splitlines() == list(best)
    assert "no weight for noise" in ran.err
    own = run("rerank", "test.forests.jsonl", "--decision", "first")
    assert own.out.splitlines() == list(kbest(forests, forests.features[:, 0], 1).texts())


def test_first_without_own_weights_is_refused(run: Run) -> None:
    write_forests(forests_of(toy_lists(1)), "plain.forests.jsonl")
    ran = run("rerank", "plain.forests.jsonl", "--decision", "first")
    assert ran.code == 2
    assert "--model" in ran.err


def test_inspect_forests(run: Run) -> None:
    ran = run("inspect", "dev.forests.jsonl", "--metric", "wer")
    assert ran.code == 0, ran.err
    assert "25 forests (lattices)" in ran.out
    assert "own weights" in ran.out
    assert "oracle 0.00" in ran.out
    found = json.loads(run("inspect", "dev.forests.jsonl", "--json").out)
    assert found["edges"] == read_forests("dev.forests.jsonl").edges
    assert found["features"][0]["own_weight"] == 1.0
    assert run("inspect", "dev.forests.jsonl", "--against", "test.forests.jsonl").code == 2


def test_convert_forests(run: Run) -> None:
    assert run("convert", "dev.forests.jsonl", "dev.cdec", "--to", "cdec").code == 0
    assert run("convert", "dev.forests.jsonl", "lists.jsonl", "--top", "5").code == 0
    lists = nbest.read("lists.jsonl")
    assert lists.lengths.max() == 5
    ran = run("convert", "lists.jsonl", "again.forests.jsonl")
    assert ran.code == 0, ran.err
    assert f"{lists.hypotheses} edges" in ran.err
    LogLinear({"am": 3.0, "lm": 3.0}).save("model.json")
    ran = run("convert", "dev.forests.jsonl", "small.forests.jsonl", "--prune", "0.3", "--model", "model.json")
    assert ran.code == 0, ran.err
    assert read_forests("small.forests.jsonl").edges < read_forests("dev.forests.jsonl").edges
    for wrong in (("dev.forests.jsonl", "x.nbest"), ("lists.jsonl", "x.jsonl", "--prune", "0.1"),
                  ("dev.forests.jsonl", "x.forests.jsonl", "--dedupe")):  # fmt: skip
        ran = run("convert", *wrong)
        assert ran.code == 2
        assert ran.err.startswith("nbest: ")


def test_pruning_by_own_weights_is_not_too_sharp(run: Run) -> None:
    """Weights of a recogniser are large: as they are, all but the best derivation would go."""
    forests = read_forests("dev.forests.jsonl")
    write_forests(replace(forests, own_weights={"am": 50.0, "lm": 50.0}), "own.forests.jsonl")
    for options, least in (((), 400), (("--gamma", "1"), 0)):
        ran = run("convert", "own.forests.jsonl", "x.forests.jsonl", "--prune", "0.01", *options)
        assert ran.code == 0, ran.err
        assert "edges are left" in ran.err
        assert read_forests("x.forests.jsonl").edges > least
    assert read_forests("x.forests.jsonl").edges < 300
    ran = run("convert", "dev.forests.jsonl", "x.forests.jsonl", "--model", "model.json")
    assert ran.code == 2
    assert "--top" in ran.err


def test_empty_forests_are_told(run: Run) -> None:
    line = '{"id": "none", "references": ["x y"], "features": ["am", "lm", "noise"], "root": null, "nodes": []}'
    lines = Path("dev.forests.jsonl").read_text().splitlines()
    Path("some.forests.jsonl").write_text("\n".join([*lines, line.replace('"root": null, ', "")]) + "\n")
    ran = run("tune", "some.forests.jsonl", "--metric", "wer", "--method", "likelihood", "-o", "model.json")
    assert ran.code == 0, ran.err
    assert "1 segments have nothing to choose from" in ran.err
    Path("none.forests.jsonl").write_text(line.replace('"root": null, ', "") + "\n")
    for method in ("risk", "likelihood", "mert"):
        ran = run("tune", "none.forests.jsonl", "--metric", "wer", "--method", method)
        assert ran.code == 2
        assert ran.err.startswith("nbest: ")


def test_lists_as_forests_keep_their_order(run: Run) -> None:
    write_forests(forests_of(toy_lists(1)), "plain.forests.jsonl")
    assert run("convert", "plain.forests.jsonl", "back.jsonl", "--top", "3").code == 0
    lists, back = toy_lists(1), nbest.read("back.jsonl")
    assert [back.texts[h] for h in back.offsets[:-1][back.lengths > 0]] == [
        lists.texts[h] for h in lists.offsets[:-1][lists.lengths > 0]
    ]


def test_options_of_formats_are_checked(run: Run) -> None:
    for option, message in (("floor=x", "a number"), ("fillers=7", "true or false"), ("nonsense=1", "no option")):
        ran = run("convert", "dev.forests.jsonl", "x.jsonl", "--from", "slf", "--option", option)
        assert ran.code == 2
        assert message in ran.err


def test_commands_of_lists_say_what_to_do(run: Run) -> None:
    ran = run("study", "surface", "dev.forests.jsonl", "--x", "am", "--y", "lm", "--metric", "wer")
    assert ran.code == 2
    assert "--top 100" in ran.err
    ran = run("tune", "dev.forests.jsonl", "--metric", "wer", "--add", "length")
    assert ran.code == 2
    assert "--add" in ran.err
    ran = run("tune", "dev.forests.jsonl", "test.forests.jsonl", "--metric", "wer")
    assert ran.code == 2
    assert "merged" in ran.err


def test_forests_without_derivations(run: Run, folder: Path) -> None:
    rows = [{"id": i, "features": ["am"], "references": ["a b"], "nodes": [], "weights": {"am": 1}} for i in range(2)]
    (folder / "empty.forests.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    inspected = run("inspect", "empty.forests.jsonl")
    assert inspected.code == 0, inspected.err
    assert "no derivations" in inspected.out
    assert "10^" not in inspected.out
    assert json.loads(run("inspect", "empty.forests.jsonl", "--json").out)["derivations"] is None
    (folder / "m.json").write_text(json.dumps({"format": "nbest-model/1", "kind": "loglinear", "weights": {"am": 1}}))
    ranked = run("rerank", "empty.forests.jsonl", "--model", "m.json")
    assert ranked.out == "\n\n"
    assert "2 segments have nothing to choose from, and their lines are empty" in ranked.err
