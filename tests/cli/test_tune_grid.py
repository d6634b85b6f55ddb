"""`nbest tune --grid`, `--method lowdim` and its score as one feature among others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import nbest
from nbest.base.parameters import parameters_of
from nbest.cli.further import settable
from nbest.cli.tune import Tune
from nbest.trainers import TRAINERS
from tests.cli.conftest import Run, write_lists, write_sources

TUNE = ("tune", "dev.jsonl", "--metric", "wer")
HELD = ("--heldout", "held.jsonl")


@pytest.fixture(autouse=True)
def _files(folder: Path) -> None:
    write_lists(folder, "held", 40, seed=3)
    for name in ("dev", "held", "test"):
        write_sources(folder, name)


def score(model: str, lists: str) -> float:
    corpus = nbest.read(lists).with_metric(nbest.WER())
    return corpus.score(nbest.load(model).predict(corpus))


def test_lowdim_is_saved_and_used(run: Run, folder: Path) -> None:
    ran = run(*TUNE, *HELD, "--method", "lowdim", "--k", "10", "--tau", "0.5", "--json", "-o", "model.json")
    assert ran.code == 0, ran.err
    summary, model = json.loads(ran.out), nbest.load("model.json")
    assert set(model.weights) == {"am", "lm", "noise", "lowdim"}
    assert model.trainer["tau"] == 0.5
    assert summary["heldout"] == score("model.json", "held.jsonl")
    chosen = run("rerank", "test.jsonl", "--model", "model.json")
    assert chosen.code == 0, chosen.err
    test = nbest.read("test.jsonl")
    assert chosen.out.splitlines() == [test.texts[h] for h in model.predict(test)]


def test_lowdim_without_input_texts_is_refused(run: Run) -> None:
    ran = run("tune", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--method", "lowdim")
    assert ran.code == 2
    assert "needs the input text of each segment" in ran.err
    assert run(*TUNE, "--method", "lowdim", "--k", "10", "-o", "model.json").code == 0
    ran = run("rerank", "test.nbest", "--model", "model.json")
    assert ran.code == 2
    assert "needs the input text of each segment" in ran.err


def test_too_large_a_k_is_a_message(run: Run) -> None:
    ran = run(*TUNE, "--method", "lowdim", "--k", "500", "-o", "model.json")
    assert ran.code == 0
    assert "'k' of LowDim is 500 and the rank" in ran.err


def test_grid_of_lowdim(run: Run) -> None:
    grid = ("--grid", "tau=0.1,0.9", "--grid", "k=2,5,10", "--grid", "lam=0.2,0.6")
    ran = run(*TUNE, *HELD, "--method", "lowdim", *grid, "--json", "-o", "model.json")
    assert ran.code == 0, ran.err
    rows = [line.split() for line in ran.err.splitlines() if line.split()[:1] == ["softened"]]
    assert len(rows) == 12
    reached = [float(row[-2]) for row in rows]  # kind, tau, lam, k, w, heldout, alone
    found = json.loads(ran.out)["heldout"]
    assert found == pytest.approx(min(reached), rel=1e-4)
    assert found == score("model.json", "held.jsonl")
    best = rows[reached.index(min(reached))]
    settings = nbest.load("model.json").trainer
    assert [f"{settings[name]:g}" for name in ("tau", "lam", "k", "w")] == best[1:5]
    single = ("--tau", best[1], "--lam", best[2], "--k", best[3])
    assert run(*TUNE, *HELD, "--method", "lowdim", *single, "-o", "single.json").code == 0
    assert score("single.json", "held.jsonl") == pytest.approx(found, abs=0.5)


@pytest.mark.parametrize(
    ("method", "grid"),
    [
        ("likelihood", ("--grid", "variance=0.01,1,inf")),
        ("boosting", ("--grid", "penalty=0,0.01", "--grid", "smoothing=0.01,0.1", "--rounds", "20")),
        ("lowdim", ("--grid", "cutoff=1,2", "--grid", "k=3,6")),
    ],
)
def test_grid_of_any_method(run: Run, method: str, grid: tuple[str, ...]) -> None:
    ran = run(*TUNE, *HELD, "--method", method, *grid, "--decision", "1best", "--json", "-o", "model.json")
    assert ran.code == 0, ran.err
    lines = ran.err.splitlines()
    head = next(at for at, line in enumerate(lines) if line.split()[-2:] == ["dev", "heldout"])
    rows = []
    for line in lines[head + 1 :]:
        try:
            rows.append([float(part) for part in line.split()])
        except ValueError:
            if rows:
                break
    count = 3 if method == "likelihood" else 4
    assert len(rows) == count
    assert json.loads(ran.out)["heldout"] == pytest.approx(min(row[-1] for row in rows), rel=1e-4)


WRONG = {
    "no such setting": (("--grid", "tua=0.1,0.5", *HELD), "LowDim has no setting 'tua'; .*tau"),
    "no values": (("--grid", "tau=", *HELD), "--grid must be NAME=VALUE,VALUE"),
    "only commas": (("--grid", "tau=,", *HELD), "must have values"),
    "no name": (("--grid", "0.1,0.5", *HELD), "--grid must be NAME=VALUE,VALUE"),
    "not a number": (("--grid", "tau=0.1,much", *HELD), "--tau of LowDim must be a number, got 'much'"),
    "a value out of range": (("--grid", "tau=0.5,1.5", *HELD), "'tau' of LowDim must be from 0 to 1, got 1.5"),
    "twice": (("--grid", "tau=0.1", "--grid", "tau=0.5", *HELD), "--grid names 'tau' twice"),
    "given as well": (("--grid", "tau=0.1,0.5", "--tau", "0.9", *HELD), "--tau is given and also in --grid"),
    "nothing held out": (("--grid", "tau=0.1,0.5"), "chosen on held-out lists; give them"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_grids_are_refused(run: Run, folder: Path, what: str) -> None:
    arguments, message = WRONG[what]
    ran = run(*TUNE, "--method", "lowdim", *arguments, "-o", "model.json")
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert re.search(message, ran.err), ran.err
    assert not (folder / "model.json").exists()


def test_lowdim_among_other_features(run: Run, folder: Path) -> None:
    add = ("--add", "lowdim:style=softened:k=20:tau=0.5")
    ran = run(*TUNE, *HELD, "--method", "risk", *add, "--json", "-o", "stacked.json")
    assert ran.code == 0, ran.err
    model = nbest.load("stacked.json")
    assert set(model.weights) == {"am", "lm", "noise", "lowdim"}
    assert model.weights["lowdim"] != 0
    assert json.loads(ran.out)["heldout"] == score("stacked.json", "held.jsonl")
    chosen = run("rerank", "test.jsonl", "--model", "stacked.json")
    assert chosen.code == 0, chosen.err
    test = nbest.read("test.jsonl")
    assert chosen.out.splitlines() == [test.texts[h] for h in model.predict(test)]
    ran = run("rerank", "test.nbest", "--model", "stacked.json")
    assert ran.code == 2
    assert "needs the input text" in ran.err
    assert run(*TUNE, "--add", "lowdim:style=softer").code == 2


def test_settings_of_methods_can_be_given_and_are_not_hidden_by_options_of_tune() -> None:
    own = set(parameters_of(Tune)) - {"threads"}
    readable = (int, float, bool, str, type(None))
    for kind in TRAINERS.values():
        assert not own & set(settable(kind)), kind
        for name, each in settable(kind).items():
            for hint in each.kinds:
                assert hint in readable or getattr(hint, "__origin__", None) in (dict, tuple), (kind, name)
