"""`nbest train lm`, `nbest features add-lm`, and the feature `lm` in a tuned model."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.base.errors import CapabilityError, FormatError, ParameterError
from nbest.corpus import Texts
from nbest.features import FEATURES, apply_recipes, fit_recipes
from nbest.lm.file import load_lm
from nbest.testing import toy_lists
from tests.cli.conftest import Run
from tests.doc_blocks import run_page

TRAIN = ("train", "lm", "dev.ref", "--order", "3")


def test_train_writes_models_and_says_the_perplexity(run: Run, folder: Path) -> None:
    for name in ("lm.arpa.gz", "lm.nlm"):
        ran = run(*TRAIN, "--cutoff", "1,1,2", "--prune", "1e-9", "--heldout", "test.ref", "-o", name, "--json")
        assert ran.code == 0, ran.err
        found = json.loads(ran.out)
        assert found["ngrams"][0] == 23
        assert "perplexity" in ran.err
        model = load_lm(name)
        assert list(model.sizes) == found["ngrams"]
        scores = model.score(Texts.of((folder / "test.ref").read_text().splitlines()))
        assert found["heldout"]["test.ref"]["perplexity"] == pytest.approx(scores.perplexity())
    assert load_lm("lm.nlm").logprobs.tolist() == load_lm("lm.arpa.gz").logprobs.tolist()


def test_the_model_may_go_to_standard_output(run: Run) -> None:
    ran = run(*TRAIN, "-o", "-", "--quiet")
    assert ran.code == 0
    assert ran.err == ""
    assert ran.out.startswith("\\data\\\nngram 1=23\n")


def test_empty_lines_are_left_out_and_said(run: Run, folder: Path) -> None:
    (folder / "gaps.txt").write_text("a b\n\n  \nb a\n")
    ran = run("train", "lm", "gaps.txt", "-o", "gaps.arpa")
    assert ran.code == 0
    assert "2 lines without words were left out" in ran.err
    assert "too few 2-grams to estimate discounts from; used 0.5, 1.0, 1.5" in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing.txt", "-o", "x.nlm"), "missing.txt: cannot be read"),
        (("dev.ref", "-o", "x.bin"), "a language model is written as .nlm"),
        (("dev.ref", "-o", "x.nlm", "--cutoff", "2,1"), "'cutoffs' of KneserNey must"),
        (("dev.ref", "-o", "x.nlm", "--cutoff", "2,a"), "--cutoff must be whole numbers"),
        (("dev.ref", "-o", "no/where/x.nlm"), "cannot be written"),
        (("empty.txt", "-o", "x.nlm"), "no words"),
        (("marks.txt", "-o", "x.nlm"), "marks.txt:2: <s> is a word of this corpus"),
        (("-", "-o", "x.nlm", "--heldout", "-"), "only one input"),
        (("dev.ref", "-o", "-", "--json"), "cannot both go to standard output"),
    ],
)
def test_bad_input_of_train(run: Run, folder: Path, arguments: tuple[str, ...], message: str) -> None:
    (folder / "empty.txt").write_text("\n\n")
    (folder / "marks.txt").write_text("a\n<s> b\n")
    ran = run("train", "lm", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert not (folder / "x.nlm").exists()


@pytest.mark.parametrize("target", ["out.jsonl", "out.nbest.gz"])
def test_lists_get_the_columns(run: Run, folder: Path, target: str) -> None:
    assert run(*TRAIN, "-o", "lm.nlm").code == 0
    ran = run("features", "add-lm", "test.nbest", target, "--lm", "lm.nlm", "--name", "news")
    assert ran.code == 0, ran.err
    before, after = nbest.read("test.nbest"), nbest.read(target)
    assert after.feature_names == (*before.feature_names, "news", "news_oov")
    model = load_lm("lm.nlm")
    np.testing.assert_allclose(after.column("news"), model.score(before.texts).logprobs, rtol=1e-6)
    assert (after.column("news_oov") == 0).all()
    again = run("features", "add-lm", target, "-", "--lm", "lm.nlm", "--name", "news", "--to", "jsonl", "--quiet")
    assert again.code == 0
    assert len(again.out.splitlines()) == 60


def test_a_model_of_other_texts_is_warned_of(run: Run, folder: Path) -> None:
    own, warning = (folder / "dev.ref").read_text(), "of the words of hypotheses are not in this language model"
    for name, text in (("upper", own.upper()), ("own", own)):
        (folder / f"{name}.txt").write_text(text)
        assert run("train", "lm", f"{name}.txt", "-o", f"{name}.nlm", "--quiet").code == 0
        added = run("features", "add-lm", "dev.nbest", f"{name}.jsonl", "--lm", f"{name}.nlm")
        tuned = run("tune", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--method", "likelihood", "--add",
                    f"lm:path={name}.nlm:name=other", "-o", f"{name}.json")  # fmt: skip
        for ran in (added, tuned):
            assert ran.code == 0, ran.err
            assert (f"{name}.nlm: 100 % {warning}" in " ".join(ran.err.split())) == (name == "upper")
    dropped = run("tune", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--method", "likelihood", "--add",
                  "lm:path=upper.nlm:name=other", "--drop", "other_oov", "-o", "dropped.json")  # fmt: skip
    assert dropped.code == 0, dropped.err


def test_bad_input_of_add_lm(run: Run, folder: Path) -> None:
    (folder / "bad.arpa").write_text("\\data\\\nngram 1=3\n")
    for arguments, message in (
        (("dev.nbest", "o.jsonl", "--lm", "none.arpa"), "none.arpa: cannot be read"),
        (("dev.nbest", "o.jsonl", "--lm", "bad.arpa"), "bad.arpa: the file is cut short"),
        (("dev.nbest", "o.forests.jsonl", "--lm", "bad.arpa"), "holds forests"),
        (("none.nbest", "o.jsonl", "--lm", "bad.arpa"), "none.nbest: cannot be read"),
    ):
        ran = run("features", "add-lm", *arguments)
        assert ran.code == 2
        assert message in ran.err
    assert not list(folder.glob("o.*"))


def test_a_tuned_model_remembers_its_language_model(run: Run, folder: Path) -> None:
    assert run(*TRAIN, "-o", "own.nlm").code == 0
    ran = run(
        "tune", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--method", "likelihood",
        "--add", "lm:path=own.nlm:name=own", "-o", "m.json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    model = nbest.load("m.json")
    assert {"own", "own_oov"} < set(model.weights)
    assert '"path": "own.nlm"' in (folder / "m.json").read_text()
    assert model.features[0]["path"] == str((folder / "own.nlm").resolve())
    assert run("rerank", "test.nbest", "--model", "m.json").code == 0
    assert run("train", "lm", "test.ref", "--order", "3", "-o", "own.nlm").code == 0
    other = run("rerank", "test.nbest", "--model", "m.json")
    assert other.code == 2
    assert "own.nlm: is another language model" in other.err
    (folder / "own.nlm").unlink()
    assert "own.nlm: cannot be read" in run("rerank", "test.nbest", "--model", "m.json").err


def test_the_recipe(run: Run) -> None:
    assert run(*TRAIN, "-o", "lm.arpa").code == 0
    corpus = toy_lists()
    (recipe,) = fit_recipes(corpus, [{"kind": "lm", "path": "lm.arpa"}])
    found = apply_recipes(corpus, [recipe])
    assert found.feature_names == (*corpus.feature_names, "lm", "lm_oov")
    np.testing.assert_array_equal(found.features[:, :3], corpus.features)
    unknown = [sum(w not in load_lm("lm.arpa").numbers for w in text.split()) for text in corpus.texts]
    assert found.column("lm_oov").tolist() == unknown
    with pytest.raises(ParameterError, match="needs the option 'path'"):
        fit_recipes(corpus, [{"kind": "lm"}])
    with pytest.raises(CapabilityError, match="the feature 'lm' needs the texts"):
        FEATURES["lm"](replace(corpus, texts=None), path="lm.arpa")
    with pytest.raises(FormatError, match="another language model"):
        FEATURES["lm"](corpus, path="lm.arpa", sha256="0")
    empty = corpus.keep(np.zeros(corpus.hypotheses, bool))
    assert FEATURES["lm"](empty, path="lm.arpa").feature_names == found.feature_names


def test_words_of_probability_zero_are_counted_and_left_out(run: Run, folder: Path) -> None:
    text = "\\data\\\nngram 1=3\n\n\\1-grams:\n-0.5 </s>\n-99 <s>\n-0.5 the\n\n\\end\\\n"
    (folder / "closed.arpa").write_text(text)
    ran = run("features", "add-lm", "dev.nbest", "o.jsonl", "--lm", "closed.arpa")
    assert ran.code == 0, ran.err
    found = nbest.read("o.jsonl")
    counts = [text.split().count("the") for text in found.texts]
    np.testing.assert_allclose(found.column("lm"), -0.5 * np.log(10) * (1 + np.array(counts)), rtol=1e-6)
    lengths = [len(text.split()) for text in found.texts]
    np.testing.assert_array_equal(found.column("lm_oov"), np.array(lengths) - counts)


@pytest.mark.parametrize("command", [("train", "lm"), ("features", "add-lm")])
def test_help_has_examples(command: tuple[str, ...]) -> None:
    ran = subprocess.run([sys.executable, "-m", "nbest", *command, "--help"], capture_output=True, check=True)
    assert b"Examples" in ran.stdout
    assert f"nbest {' '.join(command)}".encode() in ran.stdout


@pytest.mark.usefixtures("folder")
def test_the_examples_of_the_docs(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_page("docs/language-models.md", capfd) == 3
