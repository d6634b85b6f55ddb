"""`--add auto` of tune, compare and study."""

import json

from tests.cli.conftest import Run

TUNE = ("tune", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--method", "likelihood")


def test_tune_tells_what_was_tried(run: Run, folder) -> None:
    ran = run(*TUNE, "--add", "auto", "--json", "-o", "m.json")
    assert ran.code == 0, ran.err
    assert "--add auto: tried in 2 x 5 folds of" in ran.err
    tried = {each["feature"]: each for each in json.loads(ran.out)["added"]}
    assert list(tried) == ["length", "frequency", "rank", "agreement", "posterior", "standardised", "places"]
    assert all(name in ran.err for name in tried)
    content = json.loads((folder / "m.json").read_text())
    assert {each["feature"]: each for each in content["trainer"]["added"]} == tried
    assert {recipe["kind"] for recipe in content["features"]} == {name for name, each in tried.items() if each["kept"]}
    assert run("inspect", "m.json").code == 0
    assert run("rerank", "test.nbest", "--model", "m.json").code == 0


def test_tune_says_nothing_without_it(run: Run, folder) -> None:
    ran = run(*TUNE, "--add", "length", "--json", "-o", "m.json")
    assert "auto" not in ran.err
    assert "added" not in json.loads(ran.out)


def test_compare_and_study_take_it(run: Run, folder) -> None:
    sets = ("--test", "test.nbest", "--test-refs", "test.ref", "--methods", "likelihood")
    compared = run("compare", *TUNE[1:6], *sets, "--add", "auto,length")
    assert compared.code == 0, compared.err
    assert "--add auto: tried" in compared.err
    studied = run("study", "ladder", *TUNE[1:6], "--methods", "likelihood", "--add", "auto", "-o", "l.svg")
    assert studied.code == 0, studied.err


def test_what_cannot_be_tried_is_refused(run: Run, folder) -> None:
    for add, words in (("auto:folds=3", "'auto' has no options"), ("autos", "unknown feature 'autos'")):
        ran = run(*TUNE, "--add", add, "-o", "m.json")
        assert ran.code == 2
        assert words in ran.err
    ran = run(*TUNE, "--add", "auto", "-o", "m.ini")
    assert ran.code == 2
    ran = run("tune", "dev.nbest", "--method", "weak", "--add", "auto", "-o", "m.json")
    assert ran.code == 2
    assert "give a metric, or name the features to add" in ran.err
