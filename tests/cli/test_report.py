"""`nbest report`: pages of lists and models and of directories, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nbest.model.loglinear import load
from tests.cli.conftest import Run

DEV = ("dev.nbest", "--refs", "dev.ref")
TEST = ("--test", "test.nbest", "--test-refs", "test.ref")
SECTIONS = ["Did it help?", "What counts", "The surface", "Training", "Segments", "How it was made"]


@pytest.fixture
def tuned(run: Run) -> Run:
    """With model.json beside the lists."""
    assert run("tune", *DEV, "-m", "wer", "-M", "likelihood", "-o", "model.json", "-q").code == 0
    return run


def test_one_file_with_all_sections(tuned: Run, folder: Path) -> None:
    done = tuned("report", *DEV, *TEST, "--model", "model.json", "--draws", "2", "-o", "report.html")
    assert done.code == 0, done.err
    assert done.err.endswith("wrote report.html\n")
    assert done.out == ""
    text = (folder / "report.html").read_text()
    places = [text.index(f">{title}</h2>") for title in SECTIONS]
    assert places == sorted(places)
    assert "WER|nrefs:1|case:mixed|unit:word" in text  # the model's own metric
    assert "nbest report dev.nbest --refs dev.ref --model model.json" in text
    assert "<svg" in text
    assert not list(folder.glob("*.svg"))


def test_markdown_and_standard_output(tuned: Run, folder: Path) -> None:
    done = tuned("report", *DEV, *TEST, "--model", "model.json", "--draws", "0", "-o", "r.md")
    assert done.code == 0, done.err
    assert "# Did it help?" in (folder / "r.md").read_text()
    assert (folder / "r-ladder.svg").is_file()
    done = tuned("report", *DEV, "--model", "model.json", "--draws", "0", "-o", "-")
    assert done.out.startswith("<!doctype html>")


def test_names_of_models(tuned: Run, folder: Path) -> None:
    (folder / "other").mkdir()
    load(folder / "model.json").save(folder / "other" / "model.json")
    models = ("--model", "model.json", "--model", "other/model.json", "--model", "mine=other/model.json")
    done = tuned("report", *DEV, *models, "--metric", "wer", "--draws", "0", "-o", "r.md")
    assert done.code == 0, done.err
    text = (folder / "r.md").read_text()
    for name in (f"{folder.name}/model", "other/model", "mine"):
        assert f"| dev (tuned on) | {name} |" in text.replace("\\", "")
    twice = tuned("report", *DEV, "--model", "a=model.json", "--model", "a=other/model.json", "-o", "r.md")
    assert "two models are called 'a'" in twice.err


def test_curves_and_warnings(tuned: Run, folder: Path) -> None:
    given = ("--model", "model.json", "--draws", "0", "--curves", "best-of,calibration", "--right", "20")
    done = tuned("report", *DEV, "--test", "dev.nbest", "--test-refs", "dev.ref", *given, "-o", "r.md")
    assert done.code == 0, done.err
    assert "60 of 60 test segments are also in dev" in done.err
    text = (folder / "r.md").read_text()
    assert "## Best of k" in text.replace("### ", "## ")
    assert "r-curve-calibration.svg" in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((*DEV, "-o", "r.html"), "needs --model"),
        ((*DEV, "--model", "model.json"), "say where to write"),
        ((*DEV, "--model", "model.json", "-o", "r.pdf"), "must end in one of"),
        ((*DEV, "--model", "model.json", "-o", "model.json"), "which is read"),
        ((*DEV, "--model", "model.json", "-o", "no/r.html"), "make it first"),
        ((*DEV, "--model", "model.json", "-o", "r.html", "--curves", "best"), "--curves must be of best-of"),
        ((*DEV, "--model", "model.json", "-o", "r.html", "--serve"), "not both"),
        ((*DEV, "--model", "model.json", "-o", "r.html", "--ordr", "2"), "unknown option --ordr"),
        ((*DEV, "--model", "no.json", "-o", "r.html"), "no.json: cannot be read"),
        (
            (*DEV, "--model", "dev.nbest", "-o", "r.html"),
            "dev.nbest: this is lists (format moses), not a model of nbest",
        ),
        (("model.json", "--model", "model.json", "-o", "r.html"), "model.json: this is a model of nbest, not lists"),
        (
            (*DEV, "--model", "model.json", "--test", "test.nbest", "-o", "r.html"),
            "test.nbest: WER needs references and these lists carry none; give them (in Python to with_metric, on the "
            "command line with --test-refs)",
        ),
        (
            (*DEV, "--model", "model.json", "--heldout", "test.nbest", "-o", "r.html"),
            "test.nbest: WER needs references and these lists carry none; give them (in Python to with_metric, on the "
            "command line with --heldout-refs)",
        ),
        ((".", "-o", "r.html"), "compare (results.json), loop (loop.json) or reproduce (run.json)"),
    ],
)
def test_errors_say_what_to_do(tuned: Run, folder: Path, given: tuple[str, ...], said: str) -> None:
    done = tuned("report", *given)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not list(folder.glob("r.*"))


def test_a_model_of_no_metric_needs_one(run: Run, folder: Path) -> None:
    (folder / "moses.ini").write_text("[weight]\nam= 1\nlm= 1\nnoise= 0\n")
    done = run("report", *DEV, "--model", "moses.ini", "-o", "r.html")
    assert "say which metric to report with --metric: the model file names none" in done.err
    assert run("report", *DEV, "--model", "moses.ini", "-m", "bleu", "--draws", "0", "-o", "r.html").code == 0


def test_options_of_the_metric_that_a_signature_cannot_tell(run: Run) -> None:
    assert run("tune", *DEV, "-m", "bleu", "--smooth-method", "floor", "-M", "likelihood", "-o", "m.json").code == 0
    done = run("report", *DEV, "--model", "m.json", "-o", "r.html")
    assert "say the metric and its options with --metric: the model was tuned for BLEU" in done.err
    args = ("--model", "m.json", "-m", "bleu", "--smooth-method", "floor", "--draws", "0", "-o", "r.html")
    assert run("report", *DEV, *args).code == 0


def test_a_comparison_is_written_and_reported(run: Run, folder: Path) -> None:
    args = ("compare", *DEV, "-m", "wer", *TEST, "--methods", "likelihood,risk", "-o", "compared")
    done = run(*args, "--json")
    assert done.code == 0, done.err
    told, kept = json.loads(done.out), json.loads((folder / "compared" / "results.json").read_text())
    assert {key: kept[key] for key in told} == told
    assert load(folder / "compared" / "models" / "risk.json").weights == told["rows"][3]["weights"]
    assert "| risk |" in (folder / "compared" / "report.md").read_text()
    assert run("report", "compared", "-o", "r.html").code == 0
    for more in (("--model", "model.json"), TEST, ("--metric", "bleu", "--seed", "3"), ("--refs", "dev.ref")):
        done = run("report", "compared", *more, "-o", "r.html")
        assert done.code == 2
        assert f"compared is a directory of compare, loop or reproduce, whose page has no use for {more[0]}" in done.err
    text = (folder / "r.html").read_text()
    best = next(row for row in told["rows"] if row["name"] == told["best"])
    assert f"Best on held-out lists: {told['best']}. On test it has WER {best['test']:.2f} against" in text
    assert "(lower is better)" in text
    assert f"nbest report DEV --model compared/models/{told['best']}.json --test TEST" in text
    assert "blank: nothing was trained or tested there" in text
    assert "Scores on test" in text
    assert "MinRisk" in text
    assert run(*args[:-3], "likelihood", "-o", "compared").code == 0  # takes the place of the old one
    assert not (folder / "compared" / "models" / "risk.json").exists()


def test_a_comparison_takes_no_other_place(run: Run, folder: Path) -> None:
    args = ("compare", *DEV, "-m", "wer", *TEST, "--methods", "likelihood", "-o")
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.txt").write_text("x")
    for output, said in (
        ("mine", "holds no comparison"),
        (".", "which is read"),
        ("a/b", "make it first"),
        ("dev.ref", ""),
    ):
        done = run(*args, output)
        assert done.code == 2
        assert said in done.err
    assert (folder / "mine" / "thesis.txt").is_file()


def test_damaged_results(run: Run, folder: Path) -> None:
    (folder / "odd").mkdir()
    (folder / "odd" / "results.json").write_text("{}")
    done = run("report", "odd", "-o", "r.html")
    assert done.code == 2
    assert "odd/results.json" in done.err


def test_the_demo_writes_its_report(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbest.cli.demonstrating._METHODS", ("likelihood", "risk"))
    done = run("demo")
    assert done.code == 0, done.err
    assert "wrote nbest-demo.html" in done.err
    assert ">Did it help?</h2>" in (folder / "nbest-demo.html").read_text()
    (folder / "nbest-demo.html").unlink()
    assert run("demo", "--json", "-q").code == 0
    assert not list(folder.glob("*.html"))
    assert run("demo", "-o", "none/x.html").code == 2


def test_lists_without_a_feature_of_the_model_are_named(tuned: Run, folder: Path) -> None:
    (folder / "bare.nbest").write_text((folder / "test.nbest").read_text().replace("am=", "other="))
    done = tuned("report", *DEV, "--model", "model.json", "--test", "bare.nbest", *TEST[2:], "-o", "r.html")
    assert done.code == 2
    assert "nbest: bare.nbest: " in done.err
    assert "'am'" in done.err


def test_reports_of_one_folder_keep_their_pictures(tuned: Run, folder: Path) -> None:
    for name in ("a.md", "b.tex", "c d.md"):
        assert tuned("report", *DEV, "--model", "model.json", "--draws", "0", "-o", name).code == 0
    assert {"a-ladder.svg", "b-ladder.svg", "c-d-ladder.svg"} <= {path.name for path in folder.glob("*.svg")}
    assert "c-d-ladder.svg" in (folder / "c d.md").read_text()
    assert "ladder.svg" not in {path.name for path in folder.glob("*.svg")}


def test_curves_that_cannot_be_drawn_are_said(tuned: Run, folder: Path) -> None:
    given = ("--model", "model.json", "--draws", "0", "--curves", "calibration,coverage", "-o", "r.md")
    done = tuned("report", *DEV, *given)
    assert done.code == 0
    for name in ("calibration", "coverage"):
        assert done.err.count(f"warning: --curves {name} cannot be shown for these lists: ") == 1
    assert (folder / "r.md").read_text().count("This cannot be shown for these lists") == 2


def test_progress_has_one_total(tuned: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(
        "nbest.cli.console._Bar.update", lambda bar, *at: seen.append(at) if bar.what == "report" else None
    )
    given = ("--model", "model.json", "--draws", "2", "--curves", "best-of,learning", "-o", "r.md")
    assert tuned("report", *DEV, *given).code == 0
    assert {of for _, of in seen} == {100}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (100, 100)
