"""Commands over lists in blocks give what they give over the whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nbest.formats.lists import lines

from .conftest import Run

MODEL = {"format": "nbest-model/1", "kind": "loglinear", "weights": {"am": 1.0, "lm": 0.5, "noise": -0.1}}


@pytest.fixture
def both(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Run a command on whole files, then on files in blocks; both results."""
    (folder / "m.json").write_text(json.dumps(MODEL))

    def twice(*arguments: str, output: str | None = None) -> tuple[object, object]:
        got = []
        for piece in (2**23, 200):
            monkeypatch.setattr(lines, "PIECE", piece)
            result = run(*arguments)
            said = [line for line in result.err.splitlines() if not line.startswith("compiling kernels")]
            got.append((result.code, result.out, said, (folder / output).read_bytes() if output else b""))
        return got[0], got[1]

    return twice


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--ids"],
        ["--json"],
        ["--decision", "mbr", "--gain", "wer"],
        ["--decision", "consensus"],
        ["--decision", "first"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize(
    "lists", ["dev.nbest", "dev.jsonl", "names.nbest", "gaps.nbest", "wide.nbest", "falling.nbest"]
)
def test_rerank(options: list[str], lists: str, folder: Path, run: Run, both) -> None:  # type: ignore[no-untyped-def]
    rows = (folder / "dev.nbest").read_text().splitlines()
    if lists == "dev.jsonl":
        run("convert", "dev.nbest", "dev.jsonl")
    changed = {
        "names.nbest": [f"u{row}" for row in rows],
        "gaps.nbest": [row for row in rows if row.split()[0] not in ("3", "4", "7")],
        "wide.nbest": [f"{37 * int(row.split()[0])} {row.partition(' ')[2]}" for row in rows],
        "falling.nbest": rows[::-1],
    }
    if lists in changed:
        (folder / lists).write_text("\n".join(changed[lists]) + "\n")
    whole, blocks = both("rerank", lists, "--model", "m.json", *options, "-o", "out", output="out")
    assert whole == blocks
    assert whole[0] == 0


def test_rerank_with_a_model_of_other_features(both) -> None:  # type: ignore[no-untyped-def]
    folder_model = {**MODEL, "weights": {"am": 1.0, "nothing": 2.0}}
    Path("other.json").write_text(json.dumps(folder_model))
    whole, blocks = both("rerank", "dev.nbest", "--model", "other.json")
    assert whole == blocks
    assert whole[0] == 2
    assert "a weight for 'nothing' and these lists do not" in whole[2][-1]
    assert whole[1] == ""


def test_rerank_with_sparse_features_that_only_some_blocks_have(folder: Path, both) -> None:  # type: ignore[no-untyped-def]
    rows = []
    for i in range(30):
        some = {"features": {"am": float(i % 3)}, **({"sparse": {"s:x": 1.0}} if i == 20 else {})}
        rows.append({"hypotheses": [{"text": f"first of {i}", **some}, {"text": "second", "features": {"am": 1.0}}]})
    (folder / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "m.json").write_text(json.dumps({**MODEL, "weights": {"am": 1.0, "s:x": 2.0, "s:y": 9.0}}))
    whole, blocks = both("rerank", "some.jsonl", "--model", "m.json", "--json")
    assert whole == blocks
    assert whole[0] == 0


def test_sparse_scores_are_added_in_one_order(folder: Path, both) -> None:  # type: ignore[no-untyped-def]
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1, and either may be 0.6."""
    names, rows = ["a", "b", "c"], []
    for i in range(60):
        own = names[i % 3 :] + names[: i % 3]
        parts = {"text": "parts", "features": {"am": 0.0}, "sparse": dict.fromkeys(own, 1.0)}
        rows.append({"hypotheses": [parts, {"text": "sum", "features": {"am": 0.0}, "sparse": {"d": 1.0}}]})
    (folder / "tie.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    weights = {"am": 1.0, "a": 0.1, "b": 0.2, "c": 0.3, "d": 0.6}
    (folder / "m.json").write_text(json.dumps({**MODEL, "weights": weights}))
    whole, blocks = both("rerank", "tie.jsonl", "--model", "m.json")
    assert whole == blocks


@pytest.mark.parametrize("target", ["out.jsonl", "out.nbest", "out.jsonl.gz", "-"])
@pytest.mark.parametrize("options", [[], ["--dedupe", "--top", "3"], ["--refs", "dev.ref"]], ids=" ".join)
def test_convert(target: str, options: list[str], both) -> None:  # type: ignore[no-untyped-def]
    whole, blocks = both("convert", "dev.nbest", target, *options, output=None if target == "-" else target)
    assert whole == blocks
    assert whole[0] == 0


def test_what_is_wrong_at_the_end_leaves_nothing_on_standard_output(folder: Path, both) -> None:  # type: ignore[no-untyped-def]
    with open(folder / "dev.nbest", "a") as file:
        file.write("broken\n")
    for command in (["convert", "dev.nbest", "-"], ["rerank", "dev.nbest", "--decision", "first"]):
        for result in both(*command):
            assert (result[0], result[1]) == (2, "")


@pytest.mark.parametrize("metric", ["", "bleu", "wer", "external"])
@pytest.mark.parametrize(
    "lists", ["dev.nbest", "gaps.nbest", "sparse.jsonl", "empty.jsonl", "begins.jsonl", "falling.nbest"]
)
def test_inspect(metric: str, lists: str, folder: Path, both) -> None:  # type: ignore[no-untyped-def]
    rows = (folder / "dev.nbest").read_text().splitlines()
    (folder / "gaps.nbest").write_text("\n".join(row for row in rows if row.split()[0] not in ("3", "4")) + "\n")
    (folder / "falling.nbest").write_text("\n".join(rows[::-1]) + "\n")
    many = [
        {"hypotheses": [{"text": f"text {k}", "features": {"am": k + i / 7, "lm": i * k / 3}} for k in range(3)]}
        for i in range(60)
    ]
    many[50]["hypotheses"][0]["sparse"] = {"x": 1.0}  # type: ignore[index,assignment]
    (folder / "sparse.jsonl").write_text("".join(json.dumps(row) + "\n" for row in many))
    many[7], many[59] = {"hypotheses": []}, {"hypotheses": []}
    (folder / "empty.jsonl").write_text("".join(json.dumps(row) + "\n" for row in many))
    nothing = [{"hypotheses": []}] * 30
    (folder / "begins.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*nothing, *many[30:]]))
    how = {"": [], "external": ["-m", "external", "--column", "lm"]}.get(metric, ["--refs", "dev.ref", "-m", metric])
    whole, blocks = both("inspect", lists, *how)
    assert whole == blocks
    assert whole[0] == 0
    whole, blocks = both("inspect", lists, *how, "--json")
    assert _rounded(json.loads(whole[1])) == _rounded(json.loads(blocks[1]))


def _rounded(value):  # type: ignore[no-untyped-def]
    """Numbers to ten digits: sums of blocks are rounded otherwise."""
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


def test_a_feature_to_be_dropped_may_first_be_seen_in_a_later_block(folder: Path, both) -> None:  # type: ignore[no-untyped-def]
    rows = [{"id": f"s{i}", "hypotheses": [{"text": "x", "features": {"am": 1.0}}]} for i in range(40)]
    rows[30]["hypotheses"][0]["sparse"] = {"late": 1.0}  # type: ignore[index]
    (folder / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, code in (("late", 0), ("am", 0), ("never", 2)):
        whole, parts = both("convert", "some.jsonl", f"{name}.jsonl", "--drop", name, output="some.jsonl")
        assert whole == parts
        assert whole[0] == code
        assert (folder / f"{name}.jsonl").is_file() == (code == 0)
    assert "late" not in (folder / "late.jsonl").read_text()
