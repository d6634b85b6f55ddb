"""The commands, through `main(argv)`."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from pathlib import Path

import pytest

import nbest
from nbest.testing import toy_lists
from tests.cli.conftest import Run, write_lists, write_sources

TUNE = ("tune", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--method", "mert")


def test_tune_writes_a_model_that_rerank_uses(run: Run, folder: Path) -> None:
    tuned = run(*TUNE, "--restarts", "3", "--hops", "1", "-o", "model.json")
    assert tuned.code == 0, tuned.err
    assert tuned.out == ""
    content = json.loads((folder / "model.json").read_text())
    assert content["format"] == "nbest-model/1"
    assert content["kind"] == "loglinear"
    assert set(content["weights"]) == {"am", "lm", "noise"}
    assert content["trainer"]["restarts"] == 3
    chosen = run("rerank", "test.nbest", "--model", "model.json")
    assert chosen.code == 0
    lines = chosen.out.splitlines()
    assert len(lines) == 60
    test = nbest.read("test.nbest").with_metric(nbest.WER(), nbest.read_references("test.ref", 60))
    predicted = nbest.load("model.json").predict(test)
    assert lines == [test.texts[h] for h in predicted]
    assert test.score(predicted) < test.score(test.offsets[:-1])


@pytest.mark.parametrize("method", sorted(set(nbest.TRAINERS) - {"cobleu"}))
def test_every_method_tunes(run: Run, folder: Path, method: str) -> None:
    write_sources(folder, "dev")
    ran = run("tune", "dev.jsonl", *TUNE[4:], "--method", method, "--split", "0.25", "--json", "-o", "model.json")
    assert ran.code == 0, ran.err
    summary = json.loads(ran.out)
    assert summary["method"] == method
    assert summary["segments"] == 45
    assert summary["heldout_segments"] == 15
    assert summary["oracle"] <= summary["dev"] < summary["first"]


def test_auto_is_the_default(run: Run) -> None:
    ran = run("tune", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--folds", "3", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["method"] == "auto"
    assert found["evidence"]["how"] == "3 folds"


def test_tune_is_the_same_for_any_number_of_threads(run: Run, folder: Path) -> None:
    for threads in ("1", "3"):
        assert run(*TUNE, "--threads", threads, "--restarts", "4", "-o", f"{threads}.json").code == 0
    assert (folder / "1.json").read_text() == (folder / "3.json").read_text()


def test_model_goes_to_stdout_without_an_output(run: Run) -> None:
    ran = run(*TUNE, "--method", "likelihood", "--quiet")
    assert json.loads(ran.out)["kind"] == "loglinear"
    assert ran.err == ""


def test_tune_options_reach_the_trainer(run: Run, folder: Path) -> None:
    ran = run(
        *TUNE, "--signs", "am=-", "--frozen", "noise", "--start", "am=-1,noise=0.5", "--restarts=2", "-o", "m.json"
    )
    assert ran.code == 0, ran.err
    weights = nbest.load("m.json").weights
    assert weights["am"] <= 0
    assert weights["noise"] == pytest.approx(0.5)


def test_added_features_are_kept_in_the_model(run: Run, folder: Path) -> None:
    assert run(*TUNE, "--add", "length,agreement:metric=cer,rank", "--drop", "noise", "-o", "m.json").code == 0
    model = nbest.load("m.json")
    assert {"words", "chars", "agreement", "rank"} < set(model.weights)
    assert "noise" not in model.weights
    assert run("rerank", "test.nbest", "--model", "m.json").code == 0


def test_fitted_features_are_kept_with_their_arrays(run: Run, folder: Path) -> None:
    ran = run(*TUNE, "--method", "risk", "--add", "bins:bins=4,gaussians:kernels=3", "--split", "0.3", "-o", "m.json")
    assert ran.code == 0, ran.err
    (side,) = folder.glob("m.json.*.npz")
    model = nbest.load("m.json")
    assert {"am", "lm:bin0", "kernel:2"} < set(model.weights)
    assert len(run("rerank", "test.nbest", "--model", "m.json").out.splitlines()) == 60
    side.unlink()
    assert run("rerank", "test.nbest", "--model", "m.json").code == 2


def test_moses_weight_files_in_and_out(run: Run, folder: Path) -> None:
    ran = run(*TUNE, "--method", "likelihood", "-o", "weights.ini")
    assert ran.code == 0
    assert "weights.ini holds weights alone: choices by it are 1-best" in ran.err
    assert (folder / "weights.ini").read_text().startswith("[weight]\n")
    ran = run("rerank", "test.nbest", "--model", "weights.ini")
    assert len(ran.out.splitlines()) == 60
    assert run(*TUNE, "--method", "likelihood", "--add", "length", "-o", "other.ini").code == 2
    assert not (folder / "other.ini").exists()


def test_external_scores_from_a_column_and_from_a_file(run: Run, folder: Path) -> None:
    one = run("tune", "dev.nbest", "--metric", "external", "--column", "am", "--method", "likelihood", "--json")
    assert one.code == 0, one.err
    assert "am" not in json.loads(one.out)["model"]["weights"]
    values = [line.split("am= ")[1].split()[0] for line in (folder / "dev.nbest").read_text().splitlines()]
    (folder / "dev.comet").write_text("\n".join(values) + "\n")
    two = run(
        "tune",
        "dev.nbest",
        "--metric",
        "external",
        "--scores",
        "dev.comet",
        "--drop",
        "am",
        "--method",
        "likelihood",
        "--json",
    )
    assert json.loads(two.out)["dev"] == pytest.approx(json.loads(one.out)["dev"])
    (folder / "dev.comet").write_text("1\n2\n")
    assert "480 hypotheses, got 2" in run("tune", "dev.nbest", "--metric", "external", "--scores", "dev.comet").err


def test_external_scores_follow_hypotheses_that_were_grouped(run: Run, folder: Path) -> None:
    lines = (folder / "dev.nbest").read_text().splitlines()
    mixed = lines[1::2] + lines[::2]
    (folder / "mixed.nbest").write_text("\n".join(mixed) + "\n")
    (folder / "mixed.scores").write_text("\n".join(line.split("am= ")[1].split()[0] for line in mixed) + "\n")
    by_file = run("inspect", "mixed.nbest", "--metric", "external", "--scores", "mixed.scores", "--json")
    scores = json.loads(by_file.out)["scores"]
    best = {f["name"]: f["score"] for f in json.loads(by_file.out)["features"]}["am"]
    assert best == pytest.approx(scores["oracle"])


def test_rerank_decides_by_mbr_and_writes_json(run: Run) -> None:
    assert run(*TUNE, "--method", "likelihood", "-o", "m.json").code == 0
    ran = run("rerank", "test.nbest", "--model", "m.json", "--decision", "mbr", "--gain", "wer", "--json", "-q")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert [row["id"] for row in rows] == [str(i) for i in range(60)]
    sharp = run("rerank", "test.nbest", "--model", "m.json", "--decision", "mbr", "--gain", "wer", "--gamma", "1e6")
    assert sharp.out == run("rerank", "test.nbest", "--model", "m.json").out


def test_the_first_hypotheses_need_no_model(run: Run, folder: Path) -> None:
    assert run("rerank", "test.nbest", "--decision", "first").out == (folder / "first.txt").read_text()


def test_an_added_feature_that_takes_the_place_of_another_is_warned_of(run: Run, folder: Path) -> None:
    ran = run(*TUNE, "--add", "length", "-o", "m.json")
    assert (ran.code, "anew" in ran.err) == (0, False)
    for name in ("dev", "test"):
        text = (folder / f"{name}.nbest").read_text()
        (folder / f"{name}.nbest").write_text(text.replace("noise=", "words="))
    ran = run(*TUNE, "--add", "length", "-o", "m.json")
    assert ran.code == 0
    assert "warning: --add made words anew, and the lists have other values there" in ran.err
    assert run("rerank", "test.nbest", "--model", "m.json").code == 0
    others = ("--methods", "likelihood", "--test", "dev.nbest", "--test-refs", "dev.ref")
    compared = run("compare", *TUNE[1:-2], "--add", "length", *others)
    assert "--add made words anew" in compared.err
    for name in ("dev", "test"):
        assert run("convert", f"{name}.nbest", f"less-{name}.nbest", "--drop", "words").code == 0
        (folder / f"less-{name}.nbest").rename(folder / f"{name}.nbest")
    assert "anew" not in run(*TUNE, "--add", "length", "-o", "m.json").err
    ran = run("convert", "test.nbest", "x.jsonl", "--drop", "nothing")
    assert (ran.code, "nothing" in ran.err) == (2, True)


def test_an_output_that_cannot_be_is_noticed_before_the_work(run: Run) -> None:
    assert "does not exist" in run(*TUNE, "-o", "nowhere/model.json").err


def test_an_empty_list_gives_an_empty_line(run: Run, folder: Path) -> None:
    rows = ['{"id": "a", "hypotheses": [{"text": "x", "features": {"f": 1}}]}', '{"id": "b", "hypotheses": []}']
    (folder / "two.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "w.ini").write_text("f= 1\n")
    assert run("rerank", "two.jsonl", "--model", "w.ini").out == "x\n\n"


def test_score_prints_signatures_and_tests_differences(run: Run, folder: Path) -> None:
    ran = run("score", "first.txt", "first.txt", "test.ref", "--refs", "test.ref", "--metric", "bleu,wer", "--json")
    rows = json.loads(ran.out)
    assert [row["name"] for row in rows] == ["BLEU", "BLEU", "WER", "WER"]  # a file named twice is one system
    assert rows[1]["score"] == pytest.approx(100.0)
    assert rows[1]["p"] < 0.01
    assert "tok:13a" in rows[0]["signature"]
    table = run(
        "score", "first.txt", "--refs", "test.ref", "--metric", "bleu", "--tokenize", "none", "--smooth-method", "floor"
    )
    assert "signature: BLEU|nrefs:1|case:mixed|eff:no|tok:none|smooth:floor" in table.out


def test_identical_systems_have_p_one(run: Run, folder: Path) -> None:
    (folder / "same.txt").write_text((folder / "first.txt").read_text())
    for test in ("permutation", "bootstrap", "wilcoxon"):
        ran = run("score", "first.txt", "same.txt", "--refs", "test.ref", "--metric", "wer", "--test", test, "--json")
        assert json.loads(ran.out)[1]["p"] == 1.0


def test_compare_reports_every_method_once(run: Run) -> None:
    ran = run(
        "compare", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--test", "test.nbest",
        "--test-refs", "test.ref", "--methods", "likelihood,random", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert [row["name"] for row in found["rows"]] == [
        "first hypothesis", "equal weights", "likelihood", "random", "oracle",
    ]  # fmt: skip
    assert found["best"] in ("likelihood", "random")
    assert "warning" not in ran.err


def test_compare_takes_methods_that_fit_sparse_features(run: Run) -> None:
    arguments = ("dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--test", "test.nbest", "--test-refs", "test.ref")
    ran = run("compare", *arguments, "--add", "ngrams:order=1", "--json")
    assert ran.code == 0, ran.err
    names = {row["name"] for row in json.loads(ran.out)["rows"]}
    assert {"risk", "mira", "boosting", "msr2"} <= names
    assert "mert" not in names


def test_compare_warns_when_test_was_tuned_on(run: Run) -> None:
    ran = run(
        "compare", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--test", "dev.nbest", "--test-refs", "dev.ref",
        "--methods", "likelihood",
    )  # fmt: skip
    assert "60 of 60 test segments are also in dev" in ran.err


def test_a_leaked_label_is_said(run: Run, folder: Path) -> None:
    corpus = nbest.read(folder / "dev.nbest")
    references = nbest.read_references(folder / "dev.ref", corpus.ids)
    stats, metric = corpus.with_metric(nbest.metrics.WER(), references).need_stats()
    nbest.write(corpus.with_features(["label"], -metric.losses(stats)), folder / "leaky.jsonl")
    asked = ("leaky.jsonl", "--refs", "dev.ref", "--metric", "wer")
    said = "feature 'label' orders all hypotheses exactly as WER does"
    assert said in run("inspect", *asked).out
    assert said in run("tune", *asked, "--method", "likelihood", "-q").err
    assert said not in run("tune", *asked, "--method", "likelihood", "-q", "--drop", "label").err


def test_held_out_lists_that_are_dev_are_said(run: Run) -> None:
    held = ("--heldout", "dev.nbest", "--heldout-refs", "dev.ref")
    ran = run("tune", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--method", "likelihood", *held, "-q")
    assert "60 of 60 held-out segments are also in dev: what is chosen on them is not held out" in ran.err
    ran = run(
        "compare", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--test", "test.nbest", "--test-refs",
        "test.ref", "--methods", "likelihood", *held,
    )  # fmt: skip
    assert "60 of 60 held-out segments are also in dev" in ran.err
    assert "test segments" not in ran.err


def test_inspect_finds_what_is_wrong(run: Run, folder: Path) -> None:
    rows = []
    for line in (folder / "dev.nbest").read_text().splitlines():
        head, text, features, _ = line.split(" ||| ")
        if head == "5":
            continue
        values = {n.rstrip("="): float(v) for n, v in zip(*[iter(features.split())] * 2, strict=True)}
        values["cost"] = -values["am"]
        values["mixed"] = 2 * values["am"] - values["lm"]
        values["constant"] = 3.0
        rows.append(f"{head} ||| {text} ||| " + " ".join(f"{n}= {v:.6f}" for n, v in values.items()))
    rows.append(rows[0])
    rows.append("61 ||| alone ||| am= 1 lm= 1 noise= 1 cost= 1 mixed= 1 constant= 3")
    (folder / "bad.nbest").write_text("\n".join(rows) + "\n")
    refs = (folder / "dev.ref").read_text().splitlines()
    (folder / "bad.ref").write_text("\n".join([*refs, refs[0], refs[0]]) + "\n")
    ran = run(
        "inspect",
        "bad.nbest",
        "--refs",
        "bad.ref",
        "--metric",
        "wer",
        "--against",
        "dev.nbest",
        "--against-refs",
        "dev.ref",
    )
    assert ran.code == 0, ran.err
    for finding in (
        "'constant' never differs",
        "'cost' looks like a cost",
        "'cost' is a mixture of am:",
        "'mixed' is a mixture of am, lm",
        "hypotheses repeat a text",
        "1 lists have only one hypothesis",
        "2 segments are missing (the first is 5)",
        "59 of 60 segments are also in the other lists",
    ):
        assert finding in ran.out, (finding, ran.out)


def test_inspect_finds_shifted_references(run: Run, folder: Path) -> None:
    refs = (folder / "dev.ref").read_text().splitlines()
    (folder / "shifted.ref").write_text("\n".join(refs[1:] + refs[:1]) + "\n")
    assert "do not line up" in run("inspect", "dev.nbest", "--refs", "shifted.ref", "--metric", "wer").out
    assert "do not line up" not in run("inspect", "dev.nbest", "--refs", "dev.ref", "--metric", "wer").out


def test_references_of_other_lines_stop_the_work(run: Run, folder: Path) -> None:
    """A heading, or a line too few: what would be learned is worth nothing."""
    refs = (folder / "dev.ref").read_text()
    (folder / "headed.ref").write_text(f"REFERENCE\n{refs}")
    for command in ("tune dev.nbest", "compare dev.nbest --test test.nbest --test-refs test.ref --methods likelihood"):
        ran = run(*command.split(), "--refs", "headed.ref", "--metric", "wer")
        assert ran.code == 2
        assert "references do not line up: outputs fit the reference of the line after better" in ran.err
        assert "is a line missing, or one too many?" in ran.err
    (folder / "test.headed").write_text("REFERENCE\n" + (folder / "test.ref").read_text())
    ran = run(
        "compare",
        "dev.nbest",
        "--refs",
        "dev.ref",
        "--metric",
        "wer",
        "--test",
        "test.nbest",
        "--test-refs",
        "test.headed",
    )
    assert (ran.code, "test.nbest: references do not line up" in ran.err) == (2, True)


def test_mistakes_are_told_by_what_was_meant(run: Run, folder: Path) -> None:
    ran = run("tune", "dev.nbest", "--refs", "dev.ref", "--metirc", "wer")
    assert (ran.code, "unknown option --metirc; did you mean 'metric'?" in ran.err) == (2, True)
    ran = run("tune", "dev.nbest", "--refs", "dev.ref", "--metric", "WER")
    assert (ran.code, "did you mean 'wer'?" in ran.err) == (2, True)
    ran = run("tune", "dev.nbest", "--refs", "dev.ref", "--metric", "COMET")
    assert (ran.code, "--metric external --scores FILE" in ran.err) == (2, True)
    ran = run("compare", "dev.nbest", "--refs", "dev.ref", "--metric", "wer", "--test", "test.nbest")
    assert ran.code == 2
    assert "test.nbest: " in ran.err
    assert "--test-refs" in ran.err
    ran = run("tun", "dev.nbest")
    assert (ran.code, "unknown command 'tun'; did you mean 'tune'?" in ran.err) == (2, True)
    ran = run("report", "absent", "-o", "page.html")
    assert (ran.code, "absent: no such file or directory" in ran.err) == (2, True)
    ran = run()
    assert (ran.code, "Tune and choose" in ran.out) == (2, True)


def test_merged_lists_and_written_models_are_said(run: Run, folder: Path) -> None:
    (folder / "again.nbest").write_text((folder / "dev.nbest").read_text())
    ran = run("tune", "dev.nbest", "again.nbest", "--refs", "dev.ref", "--metric", "wer", "-o", "model.json")
    assert "lists with the same id are merged: 60 segments" in ran.err
    assert "wrote model.json" in ran.err


def test_inspect_of_answers_without_their_rule(run: Run, folder: Path) -> None:
    rows = [f'{{"id": "{i}", "references": ["{i}"], "hypotheses": [{{"text": "It is {i}."}}, {{"text": "No {i}"}}]}}\n'
            for i in range(10, 40)]  # fmt: skip
    (folder / "answers.jsonl").write_text("".join(rows))
    assert "no hypothesis of any list is right" in run("inspect", "answers.jsonl", "--metric", "exact").out
    ran = run("inspect", "answers.jsonl", "--metric", "exact", "--answer", "last-number")
    assert "no hypothesis of any list is right" not in ran.out


def test_convert_round_trip(run: Run, folder: Path) -> None:
    assert run("convert", "dev.nbest", "dev.jsonl.xz", "--refs", "dev.ref").code == 0
    with lzma.open(folder / "dev.jsonl.xz") as file:
        assert json.loads(file.readline())["references"]
    assert run("convert", "dev.jsonl.xz", "back.nbest", "--top", "3", "--quiet").code == 0
    back = nbest.read(folder / "back.nbest")
    assert back.lengths.tolist() == [3] * 60
    assert run("convert", "dev.jsonl.xz", "-", "--to", "flat").out.startswith("NC=8")


def test_several_lists_are_merged(run: Run, folder: Path) -> None:
    write_lists(folder, "more", 60, seed=3)
    (folder / "more.ref").unlink()
    ran = run(
        "tune", "dev.nbest", "more.nbest", "--refs", "dev.ref", "--metric", "wer", "--method", "likelihood", "--json"
    )
    assert json.loads(ran.out)["hypotheses"] == 960


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tune", "nowhere.nbest", "--metric", "wer"), "nowhere.nbest: cannot be read"),
        (("tune", "dev.nbest", "--refs", "dev.ref"), "--metric, one of"),
        (("tune", "dev.nbest", "--metric", "wer"), "needs references"),
        ((*TUNE, "--method", "mret"), "did you mean 'mert'"),
        ((*TUNE, "--restarts", "many"), "must be a whole number, got 'many'"),
        ((*TUNE, "--restarts", "-1"), "'restarts' of MERT must be >= 0, got -1"),
        ((*TUNE, "--frozen", "lmm"), "did you mean 'lm'"),
        ((*TUNE, "--seed", "-1"), "'seed' must be >= 0, got -1"),
        ((*TUNE, "--split", "0.2", "--split-seed", "-1"), "'seed' must be >= 0, got -1"),
        ((*TUNE, "-k", "5"), "unknown option -k"),
        ((*TUNE, "--method", "risk", "--folds", "1"), "'folds' of MinRisk must be 0 or between 2"),
        ((*TUNE, "--method", "likelihood", "--iterations", "0"), "'iterations' of MaxLikelihood must be >= 1"),
        (("rerank", "test.nbest"), "needs --model FILE"),
        (("rerank", "test.nbest", "--decision", "first", "-o", "/dev/full"), "No space left on device"),
        (("score", "first.txt", "--refs", "test.ref", "--metric", ""), "--metric names none"),
        ((*TUNE, "--features", "amm"), "no feature 'amm'"),
        ((*TUNE, "--add", "lengths"), "did you mean 'length'"),
        ((*TUNE, "--tokenize", "13a"), "metric wer has no --tokenize"),
        ((*TUNE, "--split", "0.2", "--heldout", "test.nbest"), "not both"),
        (("tune", "dev.nbest", "--refs", "test.first", "--refs", "short.ref", "--metric", "wer"), "short.ref"),
        (("rerank", "test.nbest", "--model", "dev.ref"), "dev.ref:1: expected 'Name= value value'"),
        (("score", "first.txt", "short.ref", "--refs", "test.ref"), "has 1 lines while first.txt has 60"),
        (("convert", "dev.nbest", "out.what", "--to", "what"), "unknown format 'what'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(
    run: Run, folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    (folder / "short.ref").write_text("one line\n")
    before = sorted(path.name for path in folder.iterdir())
    ran = run(*arguments, *(("-o", "out.json") if arguments[0] == "tune" else ()))
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert ran.out == ""
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (("rerank", "test.nbest", "--model", "m.ini", "--decison", "mbr"), "decision"),
        (("tune", "dev.nbest", "--refs", "dev.ref", "-m", "wer", "-o", "m.json", "--methd", "mert"), "method"),
        (("inspect", "dev.nbest", "--jsn"), "json"),
        (("score", "dev.ref", "--refs", "dev.ref", "-m", "wer", "--tset", "wilcoxon"), "test"),
        (
            ("compare", "dev.nbest", "--refs", "dev.ref", "-m", "wer", "--test", "test.nbest", "--heldot", "x"),
            "heldout",
        ),
        (("study", "path", "dev.nbest", "--refs", "dev.ref", "-m", "wer", "--outptu", "x"), "output"),
    ],
)
def test_a_misspelt_option_of_the_command_is_recognised(
    run: Run, folder: Path, given: tuple[str, ...], meant: str
) -> None:
    """Options that a command passes on are not the only ones that may be meant."""
    (folder / "m.ini").write_text("am= 1\nlm= 0\nnoise= 0\n")
    ran = run(*given)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert f"did you mean {meant!r}?" in ran.err


def test_convert_splits_into_two_files_by_group(run: Run, tmp_path: Path) -> None:
    lists = replace(toy_lists(), groups=tuple(f"doc {i // 4}" for i in range(30)), stats=None, metric=None)
    whole, first, rest = (str(tmp_path / name) for name in ("all.jsonl", "part.jsonl", "rest.jsonl"))
    nbest.write(lists, whole)
    assert run("convert", whole, first, "--split", "0.4", "--rest", rest, "--split-seed", "3").code == 0
    parts = [nbest.read(path) for path in (first, rest)]
    assert parts == list(nbest.split(nbest.read(whole), 0.4, 3))
    assert not set(parts[0].groups or ()) & set(parts[1].groups or ())
    for odd in (["--split", "0.4"], ["--rest", rest]):
        assert "belong together" in run("convert", whole, first, *odd).err
    for same in (whole, first):
        assert run("convert", whole, first, "--split", "0.4", "--rest", same).code == 2
    assert nbest.read(first) == parts[0]


def test_convert_says_what_a_format_does_not_keep(run: Run, tmp_path: Path) -> None:
    lists = toy_lists()
    lists = replace(lists, groups=lists.ids, gains=lists.column("first"), sources=None, stats=None, metric=None)
    nbest.write(lists.select(range(2, 9)), tmp_path / "all.jsonl")
    whole, moses, forests = (str(tmp_path / name) for name in ("all.jsonl", "x.nbest", "x.forests.jsonl"))
    assert "moses does not keep gains, groups" in run("convert", whole, moses).err
    assert "does not keep" not in run("convert", whole, str(tmp_path / "x.store")).err
    assert run("convert", whole, forests).code == 0
    assert nbest.read_forests(forests).groups == lists.ids[2:9]


def test_tuning_without_labels_needs_no_metric(run: Run, folder: Path) -> None:
    ran = run("tune", "dev.nbest", "--method", "weak", "--json", "-o", "model.json")
    assert ran.code == 0, ran.err
    summary = json.loads(ran.out)
    assert not {"dev", "first", "oracle"} & set(summary)
    assert "no metric: the lists were not scored" in ran.err
    assert min(nbest.load("model.json").weights.values()) >= 0
    assert run(*TUNE[:-2], "--method", "weak", "-o", "other.json").code == 0
    assert nbest.load("other.json").weights == nbest.load("model.json").weights
    assert "say what to optimise" in run("tune", "dev.nbest", "--method", "mert").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--add", "length", "--add", "lm"], "--add is given twice; put all into one, with commas"),
        (["--features", "am", "--features", "lm"], "--features is given twice; put all into one, with commas"),
        (["--drop", "am", "--drop", "lm"], "--drop is given twice; put all into one, with commas"),
    ],
)
def test_an_option_of_names_that_is_given_twice_is_refused(run: Run, words: list[str], said: str) -> None:
    refused = run("tune", "dev.nbest", "--refs", "dev.ref", *words)
    assert refused.code == 2
    assert said in refused.err
    assert said in run("compare", "dev.nbest", "--refs", "dev.ref", *words).err


def test_options_that_may_come_again_may(run: Run, folder: Path) -> None:
    assert run(*TUNE, "--method", "likelihood", "-o", "m.json").code == 0
    assert nbest.load("m.json").trainer["name"] == "MaxLikelihood"
    (folder / "both.ref").write_text((folder / "dev.ref").read_text())
    scored = run("score", "dev.ref", "--refs", "dev.ref", "--refs", "both.ref", "--metric", "wer")
    assert scored.code == 0, scored.err


def test_the_weights_of_a_model_become_a_file_of_moses(run: Run, folder: Path) -> None:
    assert run(*TUNE, "-o", "m.json").code == 0
    done = run("convert", "m.json", "m.ini")
    assert (done.code, "weights alone: choices by it are 1-best" in done.err) == (0, True)
    by_model = run("rerank", "test.nbest", "--model", "m.json", "--decision", "1best").out
    assert run("rerank", "test.nbest", "--model", "m.ini").out == by_model
    for words, said in (
        (("dev.nbest", "x.ini"), "dev.nbest is no model"),
        (("m.json", "x.ini", "--top", "5"), "--top is for lists"),
        (("m.json", "m.json"), "same file"),
        (("none.json", "x.ini"), "cannot be read"),
    ):
        refused = run("convert", *words)
        assert refused.code == 2
        assert said in refused.err
    assert not (folder / "x.ini").exists()


def test_options_of_decisions_are_said_to_be_those_of_rerank(run: Run) -> None:
    refused = run(*TUNE, "--decision", "mbr", "--gain", "chrf", "-o", "m.json")
    assert (refused.code, "--gain is an option of decisions (consensus, mbr)" in refused.err) == (2, True)
    assert "unknown option --forests" in run(*TUNE, "--forests", "2").err
    assert "did you mean 'decision'" in run(*TUNE, "--decison", "mbr").err


def test_rerank_says_how_sharply_it_decides(run: Run) -> None:
    assert run(*TUNE, "-o", "m.json").code == 0
    gamma = nbest.load("m.json").gamma
    assert (
        f"mbr at gamma {gamma:g}, the model's own" in run("rerank", "test.nbest", "--model", "m.json", "-d", "mbr").err
    )
    assert "at gamma" not in run("rerank", "test.nbest", "--model", "m.json", "-d", "mbr", "--gamma", "2").err
