"""`nguyen-2007` from end to end on a made-up language pair; folds against the whole base system."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from nbest.base.errors import ParameterError
from nbest.papers import paper
from nbest.papers.nguyen import lists as nguyen_lists
from nbest.papers.nguyen.lists import NguyenSizes, base, jackknifed, kept, tuned, without_fold
from nbest.papers.nguyen.paper import PAPER, steps
from nbest.papers.nguyen.report import PAPER_TABLE, report
from nbest.papers.nguyen.rows import lists_of, try_starts
from nbest.papers.run import Run
from nbest.systems.translator.phrases.table import pairs_of
from tests.papers.needs import check_needs

pytest.importorskip("sacremoses")

NOUNS = {"chien": "dog hound", "chat": "cat", "arbre": "tree", "fleuve": "river stream", "jardin": "garden yard"}
ADJECTIVES = {"rouge": "red", "petit": "small little", "vieux": "old aged", "vert": "green"}
VERBS = {"voit": "sees watches", "aime": "likes loves", "quitte": "leaves"}


def corpus(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Adjectives change sides, and many words have two translations, so that lists have something to choose from."""
    rng = np.random.default_rng(seed)

    def word(table: dict[str, str]) -> tuple[str, str]:
        source = rng.choice(list(table))
        return source, rng.choice(table[source].split())

    def phrase() -> tuple[str, str]:
        (noun, nouns), (adjective, adjectives) = word(NOUNS), word(ADJECTIVES)
        return f"le {noun} {adjective}", f"the {adjectives} {nouns}"

    source, target = [], []
    for _ in range(count):
        (a, b), (c, d), (verb, verbs) = phrase(), phrase(), word(VERBS)
        source.append(f"L{a[1:]} {verb} {c}.")
        target.append(f"T{b[1:]} {verbs} {d}.")
    return source, target


def write_data(folder: Path) -> Path:
    place = folder / "mt" / "europarl"
    place.mkdir(parents=True)
    for seed, (part, count) in enumerate([("train", 300), ("dev", 30), ("devtest", 25), ("test", 40)], 1):
        for side, lines in zip(("fr", "en"), corpus(count, seed), strict=True):
            (place / f"{part}.{side}").write_text("".join(f"{line}\n" for line in lines))
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("nguyen")
    run = Run(folder / "run", write_data(folder / "data"), quick=True, threads=1)
    run.reproduce(PAPER)
    return run


def test_the_report_has_every_row_and_the_papers_own(finished: Run) -> None:
    assert paper("nguyen-2007") is PAPER
    content = json.loads((finished.folder / "report.json").read_text())
    assert all(step["seconds"] is not None for step in content["steps"])
    table = next(each for each in content["tables"] if "jackknifed" in each["title"])
    assert table["paper"]["rows"] == [list(row) for row in PAPER_TABLE]
    assert len(table["rows"]) == 1 + 2 * 9 - 1 + 2  # MERT has no prior, re-estimated kernels nothing else
    top = dict(zip(table["columns"], table["rows"][0], strict=True))
    for cells in table["rows"][1:]:
        row = dict(zip(table["columns"], cells, strict=True))
        for part in ("jackknifed", "dev", "test"):
            assert 0 < row[part] <= top[part] + 1e-9, (row, part)  # no row beats the oracle of its lists
        assert (row["variance"] is None) == row["system"].endswith("no prior")
        assert "Baseline, soft BLEU; no" in row["system"] or 0 < float(row["Wilcoxon p"]) <= 1
    text = (finished.folder / "report.md").read_text()
    assert "What differs" in text
    assert "GMM-PCP-300k-unreg | 13.00 | - | -" in text
    for figure in content["figures"]:
        assert ElementTree.parse(finished.folder / figure["file"]).getroot().tag.endswith("svg")
    assert {figure["file"] for figure in content["figures"]} == {
        f"fr-en-{name}.svg" for name in ("starts", "bins", "curve")
    }
    curve = next(each for each in content["tables"] if "as lists grow" in each["title"])
    assert {row[2] for row in curve["rows"]} == {200, 400}
    assert len(curve["rows"]) == 2 * 2 * 4
    speed = next(each for each in content["tables"] if each["title"] == "fr-en: speed")
    assert all(row[1] > 0 and row[2] > 0 for row in speed["rows"])
    assert speed["rows"][0][2] == 1.0
    tried = next(each for each in content["tables"] if "did not try" in each["title"])
    assert len(tried["rows"]) == 2 * 3 + 2


def test_the_prior_is_chosen_on_held_out_lists(finished: Run) -> None:
    for on in ("train", "dev"):
        for kind in ("baseline", "bins", "ml-small", "pcp-train"):
            row = finished.need(f"fr-en-{on}-{kind}")
            tried = [found for found in row["tried"] if found["variance"] is not None]
            assert row["prior"]["heldout"] == max(found["heldout"] for found in tried)
            assert [found["variance"] for found in tried] == list(NguyenSizes.of(finished).variances)
            assert all("test" not in found for found in row["tried"])


def test_lists_are_what_the_steps_say(finished: Run) -> None:
    sizes = NguyenSizes.of(finished)
    lists = lists_of(finished, "fr-en", "train")
    assert [len(part) for part in lists.parts().values()] == [300, 30, 40]  # no more than the data give
    assert max(lists.heldout.lengths) <= sizes.k
    assert max(jackknifed(finished, "fr-en", 200).lengths) <= sizes.fold_k
    assert len(jackknifed(finished, "fr-en", 200)) == 200
    rounds = [finished.need(f"fr-en-round-{i}") for i in range(1, sizes.rounds + 1)]
    assert [found["hypotheses"] for found in rounds] == sorted(found["hypotheses"] for found in rounds)
    best = max(rounds, key=lambda found: found["decoded"])
    assert tuned(finished, "fr-en") == best["before"]
    dev = kept(finished, "fr-en", "dev")  # decoded again with those weights, their first hypotheses are the same
    assert dev.score(dev.offsets[:-1]) == pytest.approx(best["decoded"])


def test_a_finished_run_runs_nothing_again(finished: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: path.stat().st_mtime_ns for path in (finished.folder / "steps").iterdir()}
    monkeypatch.setattr(nguyen_lists, "decoded", None)
    Run(finished.folder, finished.data, quick=True, threads=1).reproduce(PAPER, resume=True)
    assert {path: path.stat().st_mtime_ns for path in (finished.folder / "steps").iterdir()} == before


def test_a_step_done_again_finds_the_same(finished: Run) -> None:
    step = next(step for step in steps(finished) if step.name == "fr-en-train-pcp-train")
    again = json.loads(json.dumps(step.work()))
    assert again == finished.need(step.name)


def test_half_a_run_has_a_report(finished: Run, tmp_path: Path) -> None:
    run = Run(tmp_path / "half", finished.data, quick=True, threads=1)
    empty = report(run)
    assert all(cell is None for row in empty.tables[0].rows for cell in row[1:])
    (run.folder / "steps").mkdir(parents=True)
    for name in ("fr-en-train-baseline", "fr-en-train-bins", "fr-en-round-1", "fr-en-bins"):
        text = (finished.folder / "steps" / f"{name}.json").read_text()
        (run.folder / "steps" / f"{name}.json").write_text(text)
    half = report(run)
    rows = {str(row[0]): row for row in half.tables[0].rows}
    assert rows["Bins, 20 a feature; prior"][3] == finished.need("fr-en-train-bins")["prior"]["test"]
    assert rows["ML kernels, 64; prior"][3] is None
    assert [figure.name for figure in half.figures] == ["fr-en-bins"]
    with pytest.raises(ParameterError, match="fr-en-round-6"):
        try_starts(Run(tmp_path / "none", finished.data, quick=True), "fr-en")


def test_a_full_run_has_two_pairs_and_a_step_a_fold(finished: Run) -> None:
    names = [step.name for step in steps(Run(finished.folder, finished.data))]
    assert len(set(names)) == len(names)
    assert {f"{pair}-fold-{i}" for pair in ("fr-en", "de-en") for i in range(1, 11)} <= set(names)


def test_a_fold_left_out_is_not_known(finished: Run) -> None:
    system, folder = base(finished, "fr-en"), finished.base / "fr-en-8000"
    everything = without_fold(system, folder, np.arange(300), 1)
    assert pairs_of(everything.table) == pairs_of(system.table)
    assert everything.lm.logprob(["the", "red"], "dog") == system.lm.logprob(["the", "red"], "dog")

    lines = (folder / "work" / "source.txt").read_text().splitlines()
    rows = np.array([i for i, line in enumerate(lines) if "chien" not in line.split()])
    fewer = without_fold(system, folder, rows, 1)
    assert not fewer.table.look_up(["chien"])
    assert fewer.table.look_up(["chat"])
    assert fewer.lm.logprob(["the", "red"], "dog") < system.lm.logprob(["the", "red"], "dog")
    (folder / "work" / "links.txt").rename(folder / "work" / "elsewhere")
    try:
        with pytest.raises(ParameterError, match=r"links\.txt"):
            without_fold(system, folder, rows)
    finally:
        (folder / "work" / "elsewhere").rename(folder / "work" / "links.txt")


@pytest.mark.slow
def test_steps_need_what_they_say(tmp_path: Path, finished: Run) -> None:
    check_needs(finished, PAPER, tmp_path)
