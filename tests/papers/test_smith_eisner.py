"""Paper 1 from end to end on a made-up language pair and a made-up treebank."""

from __future__ import annotations

import gzip
import json
import shutil
from itertools import combinations
from pathlib import Path
from time import strptime
from xml.etree import ElementTree

import numpy as np
import pytest

from nbest.base.errors import ParameterError
from nbest.metrics import BLEU, SentenceBLEU
from nbest.papers.run import Run
from nbest.papers.smith_eisner.methods import DRAWN, LARGE, METHODS, PARSING, VARIANTS, annealed, linear
from nbest.papers.smith_eisner.paper import PAPER, TREEBANKS
from nbest.papers.smith_eisner.report import NAMES, _Rows
from nbest.papers.smith_eisner.tasks import _drawn, _sentences, translation
from nbest.testing import toy_lists
from tests.papers.needs import check_needs
from tests.systems.test_translator import corpus

pytest.importorskip("sacremoses")
pytestmark = pytest.mark.filterwarnings("ignore::nbest.base.errors.ConvergenceWarning")  # tiny texts, flat objectives

NOUNS, VERBS, ADJECTIVES = ("dog", "cat", "owl", "fox"), ("sees", "hears", "likes"), ("old", "small", "grey")


def trees(count: int, seed: int) -> str:
    """Sentences "the (adjective) noun verb the (adjective) noun" as CoNLL-U."""
    rng = np.random.default_rng(seed)
    blocks = []
    for _ in range(count):
        rows: list[list[str]] = []

        def phrase(head: int, label: str, rows: list[list[str]] = rows) -> None:
            extra = rng.random() < 0.5
            noun = len(rows) + 2 + extra
            rows.append(["the", "DET", str(noun), "det"])
            if extra:
                rows.append([str(rng.choice(ADJECTIVES)), "ADJ", str(noun), "amod"])
            rows.append([str(rng.choice(NOUNS)), "NOUN", str(head), label])

        phrase(0, "nsubj")
        verb = len(rows) + 1
        rows[-1][2] = str(verb)
        rows.append([str(rng.choice(VERBS)), "VERB", "0", "root"])
        phrase(verb, "obj")
        lines = [
            f"{at}\t{w}\t{w}\t{pos}\t_\t_\t{head}\t{label}\t_\t_" for at, (w, pos, head, label) in enumerate(rows, 1)
        ]
        blocks.append("\n".join(lines) + "\n\n")
    return "".join(blocks)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("data")
    (data / "mt" / "fi-en").mkdir(parents=True)
    for seed, (part, count) in enumerate({"train": 150, "dev": 40, "test": 12}.items(), 1):
        for language, lines in zip(("fi", "en"), corpus(count, seed), strict=True):
            (data / "mt" / "fi-en" / f"{part}.{language}").write_text("".join(f"{line}\n" for line in lines))
    bank = data / "treebanks" / TREEBANKS["sl"]
    bank.mkdir(parents=True)
    for seed, (part, count) in enumerate({"train": 40, "dev": 130, "test": 10}.items(), 1):
        (bank / f"{part}.conllu").write_text(trees(count, seed))
    return data


@pytest.fixture(scope="module")
def done(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = Run(tmp_path_factory.mktemp("run") / "out", folder, quick=True)
    run.reproduce(PAPER)
    return run


def test_the_whole_run(done: Run) -> None:
    content = json.loads((done.folder / "report.json").read_text())
    assert all(step["seconds"] is not None for step in content["steps"])
    first, second, draws, fixed, loops = content["tables"]
    assert [row[0] for row in first["rows"]][: len(METHODS)] == [NAMES[name] for name in METHODS]
    assert [row[0] for row in second["rows"]][:2] == ["maximum likelihood", "minimum error, 1 start"]
    for table in (first, second):
        for row in table["rows"]:
            assert all(0 <= row[column] <= 100 for column in (2, 3, 4))
        assert table["paper"]["rows"]
    assert len(loops["rows"]) == len(METHODS) + len(PARSING) + 2 * len(DRAWN)
    assert len(draws["rows"]) == len(DRAWN) + 3
    assert len(fixed["rows"]) == len(VARIANTS) + 4
    names = [figure["file"] for figure in content["figures"]]
    assert names == [f"fi-en-figure{number}.svg" for number in (1, 2, 3, 4)]
    for name in names:
        ElementTree.parse(done.folder / name)


def test_settings_are_chosen_by_held_out_scores(done: Run) -> None:
    settings = [f"{kind}{t0}" for kind in ("risk", "cold") for t0 in (100, 200, 1000)]
    scores = {name: done.need(f"fi-en-{name}") for name in settings}
    best = max(scores, key=lambda name: scores[name]["heldout"])
    *_, error, row, penalty = json.loads((done.folder / "report.json").read_text())["tables"][0]["rows"]
    assert row[2:] == [*(scores[best][part] for part in ("dev", "heldout", "test")), f"({NAMES[best]})"]
    chosen = max(("error1", "error5", "error10"), key=lambda name: done.need(f"fi-en-{name}")["heldout"])
    assert error[5] == f"{done.need('fi-en-tests')[f'{chosen} {best}']:.3f} ({NAMES[chosen]})"
    penalties = [f"{kind}{variance}" for kind in ("both", "gamma") for variance in ("0.5", "1", "2")]
    assert penalty[3] == max(done.need(f"fi-en-{name}")["heldout"] for name in penalties)


def test_draws_are_other_sentences_and_mean_and_spread_are_of_them(done: Run, folder: Path) -> None:
    found = [translation(done, "fi-en", draw=draw) for draw in (1, 2, 3)]
    for task in found[1:]:
        assert task.test.segments == found[0].test.segments
        assert not set(task.dev.segments) & set(task.heldout.segments)
    for one, other in combinations([_drawn(2000, 200, draw, 1) for draw in (2, 3)], 2):
        everything = [*one[0], *one[1], *other[0], *other[1]]
        assert len(set(everything)) == 800
        assert min(everything) >= 200
    row = json.loads((done.folder / "report.json").read_text())["tables"][2]["rows"][0]
    tests = [done.need(f"fi-en-{draw}likelihood")["test"] for draw in ("", "draw2-", "draw3-")]
    assert row[1:] == [*tests, pytest.approx(np.mean(tests)), pytest.approx(np.std(tests, ddof=1))]


def test_p_is_found_for_draws_and_sizes_of_their_own(done: Run) -> None:
    rows = _Rows(done, "draw2-", DRAWN)
    best = rows.best("fi-en", rows.risks)
    p = done.need("fi-en-draw2-tests")
    assert [rows.p("fi-en", name) for name in DRAWN] == [
        None if name == best else p.get(f"{name} {best}", p.get(f"{best} {name}")) for name in DRAWN
    ]
    assert rows.p("fi-en", "likelihood") is not None


def test_variants_on_fixed_lists_take_both_points_of_the_path(done: Run) -> None:
    found = done.need("fi-en-variants")
    assert [row["variant"] for row in found["rows"]] == ["error10", "likelihood", "likelihood-y*", "linear", *VARIANTS]
    pool = done.need("fi-en-error10")["curve"][-2]["pool"]
    assert found["sizes"]["dev"]["hypotheses"] == pool
    rows = {row["variant"]: row for row in found["rows"]}
    for name in VARIANTS:
        assert rows[name]["best"]["heldout"] >= rows[name]["last"]["heldout"] - 1e-9
        assert all(0 <= score <= 100 for point in ("last", "best") for score in rows[name][point].values())
        assert (rows[name]["entropy"] is None) == ("gamma" in name)
    for stop in ("0.01", "0.001"):  # what is summed has cooled less
        assert rows[f"sum-200-{stop}"]["entropy"] > rows[f"mean-200-{stop}"]["entropy"]


def test_annealed_risk_is_the_papers() -> None:
    """Its end is taken without regard to held-out lists; in parsing temperatures are errors a nat."""
    assert {METHODS[name].held for name in ("error10", "risk100", "risk200", "risk1000", "cold200")} == {"round"}
    trainer = METHODS["risk200"].trainer(20.0)
    assert (trainer.t0, trainer.t1, trainer.entropy, trainer.take) == (200.0, 0.01, "mean", "last")
    assert np.isinf(trainer.variance)
    parsing = PARSING["risk200"].trainer(20.0)
    assert (parsing.t0, parsing.t1) == (10.0, 0.0005)


def test_linearised_bleu_is_the_sum_of_the_bleu_of_sentences() -> None:
    """Of texts, not of the statistics that the lists have; scores are of the corpus."""
    lists = toy_lists(3, metric=BLEU(), noise=0.5)
    found, direct = linear().fit(lists), annealed(200.0, 0.01).fit(lists.with_metric(SentenceBLEU()))
    assert found.weights == pytest.approx(direct.weights, rel=1e-6)
    assert not np.allclose(list(annealed(200.0).fit(lists).weights.values()), list(found.weights.values()), rtol=0.01)
    assert found.scores_ == {}


def test_each_round_is_in_the_curve(done: Run) -> None:
    for name in METHODS:
        found = done.need(f"fi-en-{name}")
        assert [row["round"] for row in found["curve"]] == list(range(1, found["rounds"] + 2))
        assert found["heldout"] == max(row["heldout"] for row in found["curve"])
        assert 0 <= found["chosen"] <= found["rounds"] <= 3


def test_candidates_are_not_kept(done: Run) -> None:
    assert not [*done.work.glob("*/rounds/*/dev"), *done.work.glob("*/rounds/*/heldout")]
    assert (done.work / "fi-en-risk" / "model.json").is_file()


def test_resuming_does_nothing_again(done: Run) -> None:
    before = {path: path.stat().st_mtime_ns for path in (done.folder / "steps").iterdir()}
    Run(done.folder, done.data, quick=True).reproduce(PAPER, resume=True)
    assert before == {path: path.stat().st_mtime_ns for path in (done.folder / "steps").iterdir()}


def test_steps_that_are_missing_are_named(done: Run, tmp_path: Path) -> None:
    run = Run(tmp_path / "out", done.data, quick=True)
    for only, wanted in (("fi-en-risk", "fi-en-translator"), ("sl-risk", "sl-parser"), ("fi-en-tests", "fi-en-like")):
        with pytest.raises(ParameterError, match=rf"'{wanted}.*has to be run first"):
            run.reproduce(PAPER, resume=True, only=[only])
    shared = Run(tmp_path / "shared", done.data, quick=True, systems=done.base)
    with pytest.raises(ParameterError, match="'fi-en-risk' has to be run first"):
        shared.reproduce(PAPER, only=["fi-en-figures"])


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_training_sentences_are_those_of_the_training_part(folder: Path, tmp_path: Path, suffix: str) -> None:
    """Packed or not; only Bulgarian may have none."""
    bank = tmp_path / "treebanks"
    shutil.copytree(folder / "treebanks", bank)
    train = bank / TREEBANKS["sl"] / "train.conllu"
    content = train.read_bytes()
    shutil.copytree(bank / TREEBANKS["sl"], bank / TREEBANKS["bg"], dirs_exist_ok=True)
    (bank / TREEBANKS["bg"] / "train.conllu").unlink()
    train.unlink()
    run = Run(tmp_path / "out", tmp_path, quick=True)
    with pytest.raises(ParameterError, match=r"train\.conllu"):
        _sentences(run, "sl")
    Path(f"{train}{suffix}").write_bytes(gzip.compress(content) if suffix else content)
    assert [len(part) for part in _sentences(run, "sl").values()] == [40, 60, 60, 10]
    assert [len(part) for part in _sentences(run, "bg").values()] == [10, 60, 60, 10]


def test_the_report_says_how_large_the_run_was(done: Run) -> None:
    content = json.loads((done.folder / "report.json").read_text())
    assert "40 dev, 40 held-out and 100 test" in content["tables"][0]["title"]
    assert content["differences"][0].startswith("This quick run")
    assert all(strptime(step["ended"], "%Y-%m-%d %H:%M:%S %z") for step in content["steps"])
    assert f"seed 1, of {content['steps'][0]['ended'][:10]}" in (done.folder / "report.md").read_text()
    loops = {tuple(row[:3]): row[-1] for row in content["tables"][-1]["rows"]}
    found = done.need("fi-en-risk")
    rounds = sum(row["decode_seconds"] + (row["train_seconds"] or 0.0) for row in found["curve"])
    assert loops["fi-en", "", NAMES["risk"]] == round(rounds)


def test_missing_data_are_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"train\.fi"):
        Run(tmp_path / "out", tmp_path, quick=True).reproduce(PAPER)


def test_the_full_run_has_all_tasks(tmp_path: Path) -> None:
    names = [step.name for step in PAPER.steps(Run(tmp_path, tmp_path))]
    for pair in ("fi-en", "fr-en", "de-en"):
        assert {f"{pair}-{name}" for name in METHODS} | {f"{pair}-large-{name}" for name in LARGE} <= set(names)
        assert {f"{pair}-draw{draw}-{name}" for draw in (2, 3) for name in (*DRAWN, "variants")} <= set(names)
    assert {f"{language}-{name}" for language in TREEBANKS for name in PARSING} <= set(names)


@pytest.mark.slow
def test_steps_need_what_they_say(tmp_path: Path, done: Run) -> None:
    check_needs(done, PAPER, tmp_path)
