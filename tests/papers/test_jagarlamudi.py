"""Paper 4 from end to end on made-up treebanks: all steps, a run that stopped half-way, and data that are missing."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from nbest.base.errors import FormatError, ParameterError
from nbest.model.loglinear import load
from nbest.papers import paper
from nbest.papers.jagarlamudi.paper import PAPER, TREEBANKS, languages, steps
from nbest.papers.jagarlamudi.rerank import DRAWN
from nbest.papers.jagarlamudi.treebanks import QUICK
from nbest.papers.run import Run
from tests.papers.needs import check_needs

pytestmark = pytest.mark.filterwarnings(
    "ignore::nbest.base.errors.ConvergenceWarning"
)  # fewer directions than asked for

WORDS = {
    "DET": ["le", "la", "un", "une"],
    "NOUN": ["chat", "chien", "porte", "marche", "ferme", "garde", "lumière", "nation"],
    "VERB": ["porte", "marche", "ferme", "garde", "chantait", "dormait"],
    "ADJ": ["rouge", "ferme", "petit", "grandiose"],
    "ADV": ["vite", "souvent", "fort", "rarement"],
    "ADP": ["dans", "sur", "vers"],
}
SHAPES = (
    ("DET", "NOUN", "VERB"),
    ("DET", "ADJ", "NOUN", "VERB", "ADV"),
    ("DET", "NOUN", "ADJ", "VERB", "ADP", "DET", "NOUN"),
    ("ADV", "DET", "NOUN", "VERB", "DET", "NOUN", "ADJ"),
)
FOLDER = TREEBANKS["fr"].folder


def conllu(count: int, seed: int) -> str:
    """Sentences of words most of which have two tags."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(count):
        shape = SHAPES[rng.integers(len(SHAPES))]
        rows = [f"{at}\t{rng.choice(WORDS[tag])}\t_\t{tag}\t_\t_\t{at - 1}\t_\t_\t_" for at, tag in enumerate(shape, 1)]
        sentences.append("\n".join(rows) + "\n\n")
    return "".join(sentences)


def make_data(data: Path) -> Path:
    bank = data / "treebanks" / FOLDER
    bank.mkdir(parents=True)
    for seed, (part, count) in enumerate({"train": 60, "dev": 25, "test": 25}.items()):
        (bank / f"{part}.conllu").write_text(conllu(count, seed))
    return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def done(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = Run(tmp_path_factory.mktemp("run") / "out", folder, quick=True)
    run.reproduce(PAPER)
    return run


def test_the_whole_run(done: Run) -> None:
    content = json.loads((done.folder / "report.json").read_text())
    assert all(step["seconds"] is not None for step in content["steps"])
    tables = {table["title"]: table for table in content["tables"]}
    for part in ("test", "dev"):
        rows = dict(tables[f"Accuracy of tags on {part}, percent"]["rows"])
        assert all(0 < score <= 100 for score in rows.values())
        assert max(rows.values()) == rows["best of 10 (oracle)"]
    dev = dict(tables["Accuracy of tags on dev, percent"]["rows"])
    for kind in (
        "generative",
        "softened",
        "boosting, n-grams of words and tags",
    ):  # w = 0 and no rounds are the tagger itself
        assert dev[kind] >= dev["tagger, 1-best"]
    assert len(dict(tables["Accuracy on test without the tagger's score"]["rows"])) == 3
    assert all(0 < float(p) <= 1 for _, p in tables["p against the tagger"]["rows"])
    assert all(None not in row for table in content["tables"] for row in table["rows"])
    assert len(content["differences"]) > 3
    assert "97.53" in (done.folder / "report.md").read_text()  # the paper's, French
    for figure in content["figures"]:
        ElementTree.parse(done.folder / figure["file"])
        assert [row["value"] for row in figure["rows"]] == sorted(row["value"] for row in figure["rows"])
    assert len(content["figures"]) == 4
    assert all("±" in cell for _, cell in tables["Accuracy on test over draws of the jackknife's folds"]["rows"])


def test_sizes_are_what_the_data_give(done: Run) -> None:
    found = done.need("fr-lists")
    assert found["sentences"] == {"train": 60, "dev": 25, "test": 25}
    assert found["folds"] == 5
    assert found["tags"] == len(WORDS)


def test_results_are_those_of_the_parts(done: Run) -> None:
    """The accuracies that a step reports are those of the model that it left; curves agree with the grid."""
    (language,) = languages(done)
    for kind in ("generative", "softened", "discriminative"):
        found, model = done.need(f"fr-{kind}"), load(done.work / f"fr-{kind}.json")
        for part in ("dev", "test"):
            lists = language.lists[part]
            assert found[part] == pytest.approx(lists.score(model.predict(lists)))
            alone = replace(model, weights={**dict.fromkeys(model.weights, 0.0), "lowdim": 1.0})
            assert found["alone"][part] == pytest.approx(lists.score(alone.predict(lists)))
        assert found["dev"] == pytest.approx(max(row["heldout"] for row in found["rows"]))
    best = done.need("fr-discriminative")
    curve = {row["lam"]: row["heldout"] for row in done.need("fr-curve-lam")["rows"]}
    assert curve[best["chosen"]["lam"]] == pytest.approx(best["dev"], abs=1.0)


def test_the_discriminative_model_has_a_grid_of_its_own(done: Run) -> None:
    """Every tau and lambda at the middle k, then every k at the best of these; the best of all is what is reported."""
    rows, chosen = done.need("fr-discriminative")["rows"], done.need("fr-discriminative")["chosen"]
    middle = [row for row in rows if row["k"] == QUICK.middle]
    assert {(row["tau"], row["lam"]) for row in middle} == set(product(QUICK.tau, QUICK.lam))
    best = max(middle, key=lambda row: row["heldout"])
    others = [row for row in rows if row["k"] != QUICK.middle]
    assert {(row["tau"], row["lam"]) for row in others} == {(best["tau"], best["lam"])}
    assert {row["k"] for row in rows} == set(QUICK.k)
    assert chosen["tau"] == best["tau"]


def test_draws_of_the_jackknife(done: Run) -> None:
    """Other folds, other lists; the same settings. A seed gives the same lists again."""
    (language,) = languages(done)
    sentences = language.sentences("train")
    first, second, again = (language.jackknifed(sentences, seed) for seed in (1, 2, 1))
    assert list(first.texts or ()) == list(again.texts or ())
    assert not np.array_equal(first.features, second.features)
    assert len(first) == len(sentences)
    found = done.need("fr-jackknife-1")
    assert {*found} == {"tagger", *DRAWN}
    assert all(0 < found[name][part] <= 100 for name in DRAWN for part in ("dev", "test"))


def test_resuming_runs_nothing_again(done: Run) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in (done.folder / "steps").iterdir()}
    said: list[str] = []
    again = replace(done, say=said.append)
    again.reproduce(PAPER, resume=True)
    assert {path.name: path.stat().st_mtime_ns for path in (done.folder / "steps").iterdir()} == before
    assert said[0].startswith(f"{len(before)} of {len(before)} steps")


def test_a_half_done_run_reports_and_goes_on(done: Run, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    shutil.copytree(done.folder, folder)
    for name in ("fr-softened", "fr-stacked", "fr-jackknife-1", "fr-boosting-pairs"):
        (folder / "steps" / f"{name}.json").unlink()
    run = replace(done, folder=folder)
    with pytest.raises(ParameterError, match="'fr-softened' has to be run first"):
        run.reproduce(PAPER, resume=True, only=["fr-stacked"])
    content = json.loads((folder / "report.json").read_text())
    rows = dict(content["tables"][1]["rows"])
    assert rows["softened"] is None
    assert rows["generative"] is not None
    run.reproduce(PAPER, resume=True, only=["fr-softened", "fr-boosting-pairs"])
    for name in ("fr-softened", "fr-boosting-pairs"):
        assert run.need(name) == done.need(name)


def test_a_run_without_any_step_reports(tmp_path: Path, folder: Path) -> None:
    for quick in (True, False):
        run = Run(tmp_path / str(quick), folder, quick=quick)
        head = {"citation": "", "quick": quick, "seed": 1, "steps": [], "versions": {}}
        text = PAPER.report(run).page(head).render()
        assert "| softened | - |" in text
        names = [step.name for step in steps(run)]
        assert len(names) == len(set(names)) == (17 if quick else 76)


def test_what_is_missing_is_said(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(ParameterError, match="the data have no treebanks/fr_sequoia"):
        Run(tmp_path / "a", tmp_path, quick=True).reproduce(PAPER)
    with pytest.raises(ParameterError, match="treebanks/en_ewt/train"):
        Run(tmp_path / "b", folder).reproduce(PAPER, only=["en-lists"])
    data = tmp_path / "odd"
    shutil.copytree(folder, data)
    (data / "treebanks" / FOLDER / "dev.conllu").write_text(conllu(3, 1).replace("\tNOUN\t", "\t_\t"))
    with pytest.raises(FormatError, match="has no UPOS"):
        Run(tmp_path / "c", data, quick=True).reproduce(PAPER)
    for name in ("train", "dev", "test"):
        (data / "treebanks" / FOLDER / f"{name}.conllu").write_text(conllu(1, 1))
    with pytest.raises(ParameterError, match="at least two sentences"):
        Run(tmp_path / "d", data, quick=True).reproduce(PAPER)


def test_it_is_found_by_its_name() -> None:
    assert paper("jagarlamudi-2012") is PAPER


def test_steps_need_what_they_say(tmp_path: Path, done: Run) -> None:
    check_needs(done, PAPER, tmp_path)
