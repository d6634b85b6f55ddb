"""Paper 5 from end to end on a made-up language pair: all steps, a run that stopped half-way, data that are missing."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any
from xml.etree import ElementTree

import pytest

import nbest
from nbest.base.errors import ParameterError
from nbest.base.json_values import json_value
from nbest.model.loglinear import LogLinear
from nbest.papers import paper
from nbest.papers.data import BLEU_OF_TOKENS
from nbest.papers.pauls.deciding import SHARPNESS, best_of
from nbest.papers.pauls.paper import PAPER, steps
from nbest.papers.pauls.report import BESIDE, METHODS, PAIRS
from nbest.papers.pauls.tuning import Pair
from nbest.papers.run import Run
from nbest.systems.translator.translator import Translator
from tests.papers.needs import check_needs
from tests.systems.test_translator import corpus

pytest.importorskip("sacremoses")
pytestmark = pytest.mark.filterwarnings("ignore::nbest.base.errors.ConvergenceWarning")  # tiny texts, flat objectives


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two source languages that are the same one; every tenth sentence of dev is too long."""
    data = tmp_path_factory.mktemp("data")
    europarl = data / "mt" / "europarl"
    europarl.mkdir(parents=True)
    for seed, (part, count) in enumerate({"train": 150, "dev": 20, "test": 12, "devtest": 15}.items(), 1):
        source, target = corpus(count, seed)
        if part == "dev":
            source = [f"{line} {'très ' * 30}" if at % 10 == 0 else line for at, line in enumerate(source)]
        for language, lines in (("fr", source), ("es", source), ("en", target)):
            (europarl / f"{part}.{language}").write_text("".join(f"{line}\n" for line in lines))
    return data


@pytest.fixture(scope="module")
def done(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = Run(tmp_path_factory.mktemp("run") / "out", folder, quick=True)
    run.reproduce(PAPER)
    return run


def test_the_whole_run(done: Run) -> None:
    content = json.loads((done.folder / "report.json").read_text())
    assert all(step["seconds"] is not None for step in content["steps"])
    tables = {table["title"]: table for table in content["tables"]}
    beside = {METHODS[name] for name in BESIDE}  # of one pair in a quick run
    for pair, language in PAIRS.items():
        for decision in ("consensus", "Viterbi (1-best)"):
            table = tables[f"{language} to English, {decision} decoding, BLEU"]
            assert [row[0] for row in table["rows"]] == list(METHODS.values())
            table["rows"] = [row for row in table["rows"] if row[0] not in beside or row[1:] != [None] * len(row[1:])]
            assert len(table["rows"]) == len(METHODS) - (len(beside) if pair == "es-en" else 0)
            for name, tune, test, drop, brevity, p, *_ in table["rows"]:
                assert 0 < tune <= 100
                assert 0 < test <= 100
                assert drop == pytest.approx(test - tune)
                assert 0 < float(brevity) <= 1
                assert (p is None) == (name in ("default weights", "MERT on lists"))
                assert p is None or 0 < float(p) <= 1
            tuned = [row[1] for row in table["rows"][1:]]
            assert max(tuned) >= table["rows"][0][1] - 1e-9
            assert table["paper"]["rows"]
    assert [round(row[2], 2) for row in tables["Worked example (figure 1)"]["rows"]] == [0.67, 0.24, 0.09]
    assert "0.33; in the paper" in (done.folder / "report.md").read_text()
    names = [figure["file"] for figure in content["figures"]]
    assert names == ["figure-2.svg", *(f"figure-6-{which}.svg" for which in ("es-en", "fr-en", "fr-en-ascent"))]
    for name in names:
        ElementTree.parse(done.folder / name)
    assert {row["method"] for row in content["figures"][1]["rows"]} == {"mert", "cobleu"}


def test_sizes_are_what_the_data_give(done: Run) -> None:
    for pair in PAIRS:
        assert done.need(f"{pair}-translator")["sentences"] == {"dev": 18, "test": 12}
        assert (done.base / f"{pair}-8000" / "manifest.json").is_file()
    first, second = (done.need(f"{pair}-default") for pair in PAIRS)
    assert first == second  # the same texts under other names


def test_results_are_those_of_the_weights(done: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a step reports is what decoding both parts with its weights gives."""
    pair, used = Pair(done, "fr-en"), []
    forests = Translator.forests

    def spy(self: Translator, texts: Any, **options: Any) -> Any:
        used.append((len(texts), options["weights"]))
        return forests(self, texts, **options)

    monkeypatch.setattr(Translator, "forests", spy)
    for method in ("mert-forests", "cobleu"):
        found = done.need(f"fr-en-{method}")
        used.clear()
        again = json_value(pair.measure(method, LogLinear(found["weights"])))
        assert used == [(18, found["weights"]), (12, found["weights"])]
        assert again == {key: value for key, value in found.items() if key != "history"}
        best = best_of(pair.decode("test", found["weights"]), found["weights"], 1, None)
        assert best.score(best.offsets[:-1]) == pytest.approx(found["1-best"]["test"])


def test_consensus_decoding_by_each_rule_of_sharpness(done: Run) -> None:
    """gamma 1 and a best one are decided with and reported beside the rule, each with its own p."""
    pair, found = Pair(done, "fr-en"), done.need("fr-en-cobleu")
    assert found["gammas"]["consensus-one"] == 1.0
    assert set(found["p"]) == {*SHARPNESS, "1-best"}
    assert found["consensus-fine"]["dev"] >= found["consensus-one"]["dev"] - 1e-9
    model, forests = LogLinear(found["weights"]), pair.decode("test", found["weights"])
    lists = best_of(forests, found["weights"], 500, None)
    for rule, gamma in found["gammas"].items():
        choice = nbest.consensus(model, lists, forests=forests, gain=BLEU_OF_TOKENS, gamma=gamma)
        assert lists.score(choice) == pytest.approx(found[rule]["test"])
    tables = {table["title"]: table for table in json.loads((done.folder / "report.json").read_text())["tables"]}
    row = dict(zip(METHODS, tables["French to English, consensus decoding by sharpness, BLEU"]["rows"], strict=True))
    assert row["cobleu"][6:8] == [found["consensus-one"]["dev"], found["consensus-one"]["test"]]


def test_draws_are_of_dev_and_devtest(done: Run) -> None:
    first, *others = (Pair(done, "fr-en", draw).parts for draw in (1, 2, 3))
    for parts in others:
        assert parts["test"] == first["test"]
        assert len(parts["dev"].sources) == len(first["dev"].sources)
        assert parts["dev"] != first["dev"]
    tables = {table["title"]: table for table in json.loads((done.folder / "report.json").read_text())["tables"]}
    title = "French to English, Viterbi (1-best) decoding, draws of sentences to tune on: BLEU on test"
    rows = {row[0]: row for row in tables[title]["rows"]}
    tests = [done.need(f"fr-en-{draw}cobleu")["1-best"]["test"] for draw in ("", "draw2-", "draw3-")]
    other = [done.need(f"fr-en-{draw}mert-lists")["1-best"]["test"] for draw in ("", "draw2-", "draw3-")]
    assert rows["CoBLEU from 0"][1:] == [*tests, *(pytest.approx(f(tests)) for f in (fmean, stdev))]
    assert rows["CoBLEU from 0 less MERT on lists"][4] == pytest.approx(fmean(tests) - fmean(other))


def test_mert_from_zero_decodes_with_zero_first(done: Run) -> None:
    begun = json.loads((done.work / "fr-en-mert-zero" / "rounds" / "01" / "decoded.json").read_text())
    assert set(begun["weights"].values()) == {0.0}
    assert begun["weights"].keys() == done.need("fr-en-default")["weights"].keys()
    assert any(done.need("fr-en-mert-zero")["weights"].values())


def test_lists_and_forests_are_left_in_work(done: Run) -> None:
    pair = Pair(done, "fr-en")
    weights = done.need("fr-en-mert-lists")["weights"]
    kept, decoded = pair.kept("mert-lists"), pair.decode("dev", weights)
    assert kept.edges == decoded.edges
    assert kept.references == decoded.references
    grown = [entry["hypotheses"] for entry in done.need("fr-en-mert-lists")["history"]]
    assert grown == sorted(grown)
    assert nbest.read(done.work / "fr-en-mert-lists.dev.jsonl.gz").hypotheses == grown[-1]


def test_resuming_runs_nothing_again(done: Run) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in (done.folder / "steps").iterdir()}
    said: list[str] = []
    replace(done, say=said.append).reproduce(PAPER, resume=True)
    assert {path.name: path.stat().st_mtime_ns for path in (done.folder / "steps").iterdir()} == before
    assert said[0].startswith(f"{len(before)} of {len(before)} steps")


def test_a_half_done_run_reports_and_goes_on(done: Run, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    shutil.copytree(done.folder, folder)
    for name in ("mert-lists", "mert-cobleu", "path"):
        (folder / "steps" / f"fr-en-{name}.json").unlink()
    run = replace(done, folder=folder)
    with pytest.raises(ParameterError, match="'fr-en-mert-lists' has to be run first"):
        run.reproduce(PAPER, resume=True, only=["fr-en-mert-cobleu"])
    content = json.loads((folder / "report.json").read_text())
    rows = {row[0]: row for row in content["tables"][3]["rows"]}
    assert set(rows["MERT on lists"][1:]) == {None}
    assert rows["CoBLEU from 0"][1] is not None
    assert len(content["figures"]) == 3
    run.reproduce(PAPER, resume=True, only=["fr-en-mert-*"])
    for name in ("mert-lists", "mert-cobleu"):
        assert run.need(f"fr-en-{name}") == done.need(f"fr-en-{name}")


def test_a_run_without_any_step_reports(tmp_path: Path, folder: Path) -> None:
    for quick in (True, False):
        run = Run(tmp_path / str(quick), folder, quick=quick)
        text = PAPER.report(run).page({"citation": "", "quick": quick, "seed": 1, "steps": [], "versions": {}}).render()
        assert "| CoBLEU from 0 | - |" in text
        names = [step.name for step in steps(run)]
        assert (
            len(names)
            == len(set(names))
            == (1 + (1 + 6 + 1) + (1 + 10 + 2 + 2 * 5) if quick else 1 + 2 * (1 + 10 + 2 + 2 * 5))
        )


def test_what_is_missing_is_said(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(ParameterError, match=r"the data have no mt/europarl/dev\.es"):
        Run(tmp_path / "a", tmp_path, quick=True).reproduce(PAPER)
    data = tmp_path / "long"
    shutil.copytree(folder, data)
    (data / "mt" / "europarl" / "test.fr").write_text("mot " * 40 + "\n")
    (data / "mt" / "europarl" / "test.en").write_text("word " * 40 + "\n")
    with pytest.raises(ParameterError, match="no sentence of test of fr-en has 1 to 25 words"):
        Run(tmp_path / "b", data, quick=True).reproduce(PAPER, only=["fr-en-translator"])


def test_it_is_found_by_its_name() -> None:
    assert paper("pauls-2009") is PAPER


def test_steps_need_what_they_say(tmp_path: Path, done: Run) -> None:
    check_needs(done, PAPER, tmp_path)
