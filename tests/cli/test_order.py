"""One rule for all commands: what `inspect` says of the first hypotheses is what `rerank` and `score` say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import nbest

from .conftest import Run, sausages

TEXTS = {"0": "one small house", "1": "two mice", "2": "three big old cats", "3": "four"}
REFS = {"0": "one small house", "1": "two blind mice", "2": "three cats", "3": "five"}
SHUFFLED = ("2", "0", "3", "1")


def _moses(names: list[str]) -> dict[str, str]:
    return {"x.nbest": "".join(f"{n} ||| {TEXTS[n[-1]]} ||| a= 1 b= 2 ||| 3\n" for n in names)}


def _moses_by_hand(names: list[str]) -> dict[str, str]:  # another form than the fast reader takes
    return {"x.nbest": "".join(f"{n} ||| {TEXTS[n[-1]]} ||| -3 ||| a=1 b=2\n" for n in names)}


def _jsonl(names: list[str]) -> dict[str, str]:
    rows = [{"id": n, "hypotheses": [{"text": TEXTS[n[-1]], "features": {"a": 1}}]} for n in names]
    return {"x.jsonl": "".join(json.dumps(row) + "\n" for row in rows)}


def _fairseq(names: list[str]) -> dict[str, str]:
    return {"x.fairseq": "".join(f"H-{n}\t-1\t{TEXTS[n]}\n" for n in names)}


def _espnet(names: list[str]) -> dict[str, str]:
    place = "x/output.1/1best_recog"
    return {
        f"{place}/text": "".join(f"{n} {TEXTS[n[-1]]}\n" for n in names),
        f"{place}/score": "".join(f"{n} -1\n" for n in names),
    }


def _kaldi(names: list[str]) -> dict[str, str]:
    files = {"words_text": "", "acwt": ""}
    for n in names:
        files["words_text"] += f"{n}-1 {TEXTS[n[-1]]}\n"
        files["acwt"] += f"{n}-1 1\n"
    return {f"x/{name}": text for name, text in files.items()}


def _wenet(names: list[str]) -> dict[str, str]:
    return {"x.wenet": "".join(f"wav {n}\ncandidate -1 {TEXTS[n[-1]]}\n" for n in names)}


MAKERS = {
    "moses": _moses,
    "moses by hand": _moses_by_hand,
    "jsonl": _jsonl,
    "fairseq": _fairseq,
    "espnet": _espnet,
    "kaldi": _kaldi,
    "wenet": _wenet,
}


def first_score(run: Run, *arguments: str) -> float:
    """What `inspect` says of the first hypotheses."""
    found = run("inspect", *arguments, "-m", "wer", "--json")
    assert found.code == 0, found.err
    return float(json.loads(found.out)["scores"]["first"])


def output_score(run: Run, lists: list[str], refs: str, *options: str) -> float:
    """What `score` says of what `rerank` writes of the first hypotheses."""
    done = run("rerank", *lists, "--decision", "first", "-o", "out", *options)
    assert done.code == 0, done.err
    scored = run("score", "out", "--refs", refs, "-m", "wer", "--json")
    assert scored.code == 0, scored.err
    return float(json.loads(scored.out)[0]["score"])


def put(names: list[str], make: Callable[[list[str]], dict[str, str]]) -> str:
    """The files of lists with these ids in this order; the path to read them from."""
    for name, text in make(names).items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    return Path(next(iter(make(names)))).parts[0]


def expected() -> float:
    """By pairs of texts and references, whatever their order."""
    from nbest.corpus import Texts
    from nbest.metrics import make_metric

    metric = make_metric("wer")
    stats = metric.stats(Texts.of(TEXTS[n] for n in TEXTS), range(5), [(REFS[n],) for n in TEXTS])
    return float(metric.score(stats.sum(axis=0)))


@pytest.mark.parametrize("options", [(), ("--ids",), ("--json",)], ids=["lines", "ids", "json"])
@pytest.mark.parametrize("name", MAKERS)
def test_numbered_segments_in_any_order(run: Run, name: str, options: tuple[str, ...]) -> None:
    lists = put(list(SHUFFLED), MAKERS[name])
    Path("lines").write_text("".join(f"{REFS[n]}\n" for n in sorted(REFS)))
    Path("tabs").write_text("".join(f"{n}\t{REFS[n]}\n" for n in ("3", "1", "2", "0")))
    Path("blanks").write_text("".join(f"{n} {REFS[n]}\n" for n in ("1", "3", "0", "2")))
    for refs in ("lines", "tabs", "blanks"):
        assert first_score(run, lists, "--refs", refs) == pytest.approx(expected())
        assert output_score(run, [lists], refs, *options) == pytest.approx(expected())


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "fairseq"])
def test_named_segments_in_any_order(run: Run, name: str) -> None:
    names = [f"utt-{n}" for n in SHUFFLED]
    lists = put(names, MAKERS[name])
    Path("tabs").write_text("".join(f"utt-{n}\t{REFS[n]}\n" for n in ("3", "1", "2", "0")))
    Path("blanks").write_text("".join(f"utt-{n} {REFS[n]}\n" for n in ("1", "3", "0", "2")))
    for refs in ("tabs", "blanks"):
        assert first_score(run, lists, "--refs", refs) == pytest.approx(expected())
        for option in ("--ids", "--json"):
            assert output_score(run, [lists], refs, option) == pytest.approx(expected())
        assert run("rerank", lists, "--decision", "first", "-o", "out").code == 0
        refused = run("score", "out", "--refs", refs, "-m", "wer")
        assert refused.code == 2
        assert "nbest rerank --ids" in refused.err
    Path("lines").write_text("".join(f"{REFS[n]}\n" for n in SHUFFLED))  # in the order of the lists
    assert first_score(run, lists, "--refs", "lines") == pytest.approx(expected())
    for options in ((), ("--ids",), ("--json",)):
        assert output_score(run, [lists], "lines", *options) == pytest.approx(expected())


def test_the_log_of_the_issue(run: Run) -> None:
    Path("log").write_text("T-1\ttwo\nH-1\t-1\tone\nT-0\tone\nH-0\t-1\ttwo\n")
    Path("refs").write_text("one\ntwo\n")
    assert first_score(run, "log", "--refs", "refs") == 100.0
    assert output_score(run, ["log"], "refs") == 100.0


def test_merged_lists(run: Run) -> None:
    for path, names in (("x.nbest", ["2", "0"]), ("y.nbest", ["3", "1"])):
        Path(path).write_text(_moses(names)["x.nbest"])
    Path("lines").write_text("".join(f"{REFS[n]}\n" for n in sorted(REFS)))
    assert first_score(run, "x.nbest", "y.nbest", "--refs", "lines") == pytest.approx(expected())
    assert output_score(run, ["x.nbest", "y.nbest"], "lines") == pytest.approx(expected())


def test_forests_in_any_order(run: Run, folder: Path) -> None:
    forests = sausages(3, 4)
    lines = [refs[0] for refs in forests.references or ()]
    shuffled = nbest.Forests.select(forests, [2, 0, 3, 1])
    object.__setattr__(shuffled, "ids", SHUFFLED)
    object.__setattr__(shuffled, "references", None)
    nbest.formats.write_forests(shuffled, folder / "f.forests.jsonl")
    Path("refs").write_text("".join(f"{line}\n" for line in lines))
    found = run("inspect", "f.forests.jsonl", "--refs", "refs", "-m", "wer", "--json")
    own = json.loads(found.out)["scores"]["own weights"]
    assert output_score(run, ["f.forests.jsonl"], "refs") == pytest.approx(own)


def test_missing_segments(run: Run) -> None:
    """Plain lines stay in step with the references; with ids the score is that of inspect, and all of it is said."""
    lists = put(["3", "0", "1"], _moses)
    Path("lines").write_text("".join(f"{REFS[n]}\n" for n in sorted(REFS)))
    done = run("rerank", lists, "--decision", "first")
    assert done.out.splitlines() == [TEXTS["0"], TEXTS["1"], "", TEXTS["3"]]
    assert "1 segments are missing (the first is 2): empty lines stand for them" in done.err
    inspected = run("inspect", lists, "--refs", "lines", "-m", "wer", "--json")
    assert "1 segments have references but no hypotheses; they are left out" in inspected.err
    wanted = first_score(run, lists, "--refs", "lines")
    for option in ("--ids", "--json"):
        assert output_score(run, [lists], "lines", option) == pytest.approx(wanted)
        assert "1 segments have references but no output; they are left out" in run("score", "out", "-r", "lines").err
    assert output_score(run, [lists], "lines") != pytest.approx(wanted)  # the empty line counts, as rerank said


def test_numbers_that_are_no_lines(run: Run) -> None:
    lists = put(["2003", "1000", "1001"], _moses)
    done = run("rerank", lists, "--decision", "first")
    assert done.out.splitlines() == [TEXTS["0"], TEXTS["1"], TEXTS["3"]]
    assert re.search(r"2001 segments are missing .*not in step with references; --ids", done.err)


def test_ids_that_cannot_stand_before_a_tab(run: Run) -> None:
    Path("x.jsonl").write_text(json.dumps({"id": "a\tb", "hypotheses": [{"text": "x"}]}) + "\n")
    done = run("rerank", "x.jsonl", "--decision", "first", "--ids")
    assert done.code == 2
    assert "use --json" in done.err


def test_empty_lists_are_left_out_by_json(run: Run) -> None:
    rows = [{"id": 0, "hypotheses": []}, {"id": 1, "hypotheses": [{"text": "two mice", "features": {"a": 1}}]}]
    Path("x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("refs").write_text("one\ntwo blind mice\n")
    wanted = first_score(run, "x.jsonl", "--refs", "refs")
    assert output_score(run, ["x.jsonl"], "refs", "--json") == pytest.approx(wanted)
    done = run("rerank", "x.jsonl", "--decision", "first")
    assert "1 segments have nothing to choose from, and their lines are empty" in done.err


def test_names_are_spoken_of(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.nbest").write_text("beta ||| two ||| f= 1 ||| 0\nalpha ||| one ||| f= 1 ||| 0\n")
    assert "--ids writes them" in run("rerank", "x.nbest", "-d", "first", "-o", "out").err
    assert "--ids" not in run("rerank", "x.nbest", "-d", "first", "-o", "out", "--ids").err
