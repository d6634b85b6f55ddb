"""`nbest rerank --top`: lists of the best hypotheses, best first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbest
from nbest.cli.main import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng, rows = np.random.default_rng(3), []
    for i in range(20):
        hypotheses = [
            {
                "text": f"it is {rng.integers(3)}",
                "features": {"a": float(rng.integers(-2, 3)), "b": rng.normal()},
                "sparse": {f"s_{k}": 1},
                "score": k % 2,
                "system": f"m{k}",
            }
            for k in range(i % 6)
        ]
        rows.append(
            {"id": f"q{i}", "source": f"? {i}", "references": ["1"], "group": f"g{i % 3}", "hypotheses": hypotheses}
        )
    Path("lists.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    nbest.LogLinear({"a": 1.0, "s_1": 0.5}, dense=("a",)).save("model.json")
    return tmp_path


def reranked(*options: str, output: str = "out.jsonl") -> nbest.NBest:
    assert main(["rerank", "lists.jsonl", "--model", "model.json", *options, "-o", output]) == 0
    return nbest.read(output)


OPTIONS = [
    [],
    ["--decision", "vote", "--answer", "last-number"],
    ["--decision", "vote", "--pool", "scores"],
    ["--decision", "best-of-majority", "--share", "1"],
    ["--decision", "first"],
    ["--decision", "mbr", "--gain", "exact"],
]


@pytest.mark.parametrize("options", OPTIONS)
def test_what_is_chosen_comes_first(folder: Path, options: list[str]) -> None:
    lists = reranked("--top", "3", *options)
    assert main(["rerank", "lists.jsonl", "--model", "model.json", "--json", "-q", "-o", "chosen.jsonl", *options]) == 0
    chosen = {row["id"]: row for row in map(json.loads, Path("chosen.jsonl").read_text().splitlines())}
    old = nbest.read("lists.jsonl")
    assert lists.ids == old.ids
    assert lists.lengths.tolist() == np.minimum(old.lengths, 3).tolist()
    for i, name in enumerate(lists.ids):
        row, first = chosen[name], lists.offsets[i]
        if row["index"] is not None:
            assert lists.systems is not None
            assert lists.systems[first] == f"m{row['index']}"
            assert lists.column("model_score")[first] == row["score"]


def by_plain_loop(old: nbest.NBest, i: int, kind: str) -> list[int]:
    """The order of a list: by score, or by the probability of the answer and then the score."""
    rows = range(old.offsets[i], old.offsets[i + 1])
    scores = nbest.load("model.json").scores(old)
    mass = {}
    for h in rows:
        mass[old.texts[h]] = mass.get(old.texts[h], 0.0) + np.exp(scores[h])  # type: ignore[index]
    first = {h: mass[old.texts[h]] if kind == "vote" else 0.0 for h in rows}  # type: ignore[index]
    return sorted(rows, key=lambda h: (-first[h], -scores[h], h))


@pytest.mark.parametrize("kind", ["1best", "vote"])
def test_the_order_is_that_of_a_plain_loop(folder: Path, kind: str) -> None:
    lists, old = reranked("--top", "9", "--decision", kind), nbest.read("lists.jsonl")
    for i in range(len(old)):
        rows = by_plain_loop(old, i, kind)
        found = [lists.systems[h] for h in range(lists.offsets[i], lists.offsets[i + 1])]  # type: ignore[index]
        assert found == [old.systems[h] for h in rows]  # type: ignore[index]
    if kind == "vote":
        totals = np.array([lists.column("model_probability")[lists.offsets[i]] for i in range(1, 6)])
        assert ((totals > 0) & (totals <= 1)).all()


def test_all_that_lists_carry_is_kept(folder: Path) -> None:
    lists, old = reranked("--top", "9"), nbest.read("lists.jsonl")
    assert (lists.groups, lists.sources, lists.references) == (old.groups, old.sources, old.references)
    assert lists.feature_names == (*old.feature_names, "model_score")
    assert lists.answers is None
    assert lists.gains is not None
    assert old.gains is not None
    order = [
        int(lists.systems[h][1:]) + low
        for low, high in zip(old.offsets, old.offsets[1:], strict=False)
        for h in range(low, high)
    ]  # type: ignore[index]
    assert lists.gains.tolist() == old.gains[order].tolist()
    assert lists.features[:, :2].tolist() == old.features[order].tolist()
    assert nbest.load("model.json").scores(lists).tolist() == lists.column("model_score").tolist()


def test_reranked_again_columns_are_replaced(folder: Path) -> None:
    first = reranked("--top", "9", "--decision", "vote")
    assert main(["rerank", "out.jsonl", "--weights", "b=1", "--top", "9", "-o", "again.jsonl"]) == 0
    again = nbest.read("again.jsonl")
    assert again.feature_names == ("a", "b", "model_score")
    assert again.column("model_score").tolist() == again.column("b").tolist() != first.column("b").tolist()


def test_the_suffix_or_the_option_says_the_format(folder: Path, capsys) -> None:
    assert reranked("--top", "2", output="out.nbest").hypotheses == nbest.read("lists.jsonl").lengths.clip(max=2).sum()
    assert "moses does not keep" in capsys.readouterr().err
    assert main(["rerank", "lists.jsonl", "--model", "model.json", "--top", "1", "--to", "moses", "-q"]) == 0
    assert capsys.readouterr().out.startswith("q1 ||| ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--top", "2", "--json"], "--json says nothing"),
        (["--top", "2", "--ids"], "--ids says nothing"),
        (["--top", "2", "--abstain-below", "0.5"], "--abstain-below says nothing"),
        (["--to", "csv"], "--to is the format of lists"),
        (["--top", "2", "--to", "slf"], "slf holds forests"),
        (["--top", "0"], "--top"),
        (["--top", "2", "-o", "lists.jsonl"], "is the same file as"),
        (["--top", "2", "--weights", "c=1", "-o", "none.jsonl"], "weight for 'c'"),
    ],
)
def test_what_makes_no_sense_is_refused(folder: Path, capsys, options: list[str], message: str) -> None:
    model: list[Any] = [] if "--weights" in options else ["--model", "model.json"]
    assert main(["rerank", "lists.jsonl", *model, *options]) == 2
    assert message in capsys.readouterr().err
    assert not Path("none.jsonl").exists()
