"""A folder with small lists as a user would have them, and a way to run commands in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.cli.main import main
from nbest.compute import segments as segments_
from nbest.corpus import Forests

_WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "bird",
    "sat",
    "ran",
    "flew",
    "on",
    "over",
    "under",
    "house",
    "tree",
    "river",
    "then",
    "slowly",
    "quickly",
    "old",
    "young",
    "red",
]


def write_lists(folder: Path, name: str, segments: int, seed: int) -> None:
    """`name.nbest`, `name.ref` and `name.first`: noisy copies of random sentences; `am` knows the errors best."""
    for suffix, lines in made_lists(segments, seed).items():
        (folder / f"{name}.{suffix}").write_text("\n".join(lines) + "\n")


@cache
def made_lists(segments: int, seed: int) -> dict[str, list[str]]:
    """Lines of the files by suffix."""
    rng = np.random.default_rng(seed)
    lists, refs, first = [], [], []
    for i in range(segments):
        sentence = rng.choice(_WORDS, size=rng.integers(5, 10)).tolist()
        refs.append(" ".join(sentence))
        for k in range(8):
            errors = int(rng.integers(0, 4))
            words = list(sentence)
            for place in rng.choice(len(words), size=errors, replace=False):
                words[place] = str(rng.choice(_WORDS))
            am, lm, noise = -errors + rng.normal(), -0.5 * errors + rng.normal(), rng.normal()
            if k == 0:
                first.append(" ".join(words))
            text = " ".join(words)
            lists.append(f"{i} ||| {text} ||| am= {am:.4f} lm= {lm:.4f} noise= {noise:.4f} ||| {am + noise:.4f}")
    return {"nbest": lists, "ref": refs, "first": first}


def write_sources(folder: Path, name: str) -> None:
    """`name.jsonl`: the lists of `write_lists` with their references, which spelt backwards are the input texts."""
    lists = nbest.read(folder / f"{name}.nbest")
    references = nbest.read_references(folder / f"{name}.ref", len(lists))
    sources = tuple(" ".join(word[::-1] for word in refs[0].split()) for refs in references)
    nbest.write(replace(lists, references=references, sources=sources), folder / f"{name}.jsonl")


def sausages(seed: int, segments: int = 25) -> Forests:
    """Lattices of a chain of words, each right or wrong, with features that disagree about which."""
    rng = np.random.default_rng(seed)
    words = ("ant", "bee", "cat", "dog", "elk", "fox")
    nodes, edges, tails, symbols, features, references = [], [], [], [], [], []
    for _ in range(segments):
        truth = rng.integers(0, 6, rng.integers(4, 8))
        nodes.append(len(truth) + 1)
        edges.append(1)
        tails.append([])
        symbols.append([])
        features.append([0.0, 0.0, 0.0])
        for at, word in enumerate(truth):
            options = [word, *rng.choice(np.setdiff1d(np.arange(6), [word]), 2, replace=False)]
            edges.append(len(options))
            for option in options:
                wrong, misled = float(option != word), rng.normal(0.0, 0.7)
                tails.append([at])
                symbols.append([-1, option])
                features.append([-wrong / 2 + misled, -wrong / 2 - misled, rng.normal()])
        references.append((" ".join(words[w] for w in truth),))
    return Forests(
        node_offsets=segments_.offsets_of(np.array(nodes)),
        edge_offsets=segments_.offsets_of(np.array(edges)),
        tail_offsets=segments_.offsets_of(np.array([len(row) for row in tails])),
        tails=np.array([t for row in tails for t in row]),
        features=np.array(features),
        feature_names=("am", "lm", "noise"),
        ids=tuple(f"u{i}" for i in range(segments)),
        symbol_offsets=segments_.offsets_of(np.array([len(row) for row in symbols])),
        symbols=np.array([x for row in symbols for x in row]),
        vocabulary=words,
        references=tuple(references),
        own_weights={"am": 1.0},
    )


@dataclass(frozen=True)
class Ran:
    """Exit code and what a command wrote."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with dev and test lists of 60 segments."""
    write_lists(tmp_path, "dev", 60, seed=1)
    write_lists(tmp_path, "test", 60, seed=2)
    (tmp_path / "first.txt").write_text((tmp_path / "test.first").read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in the folder."""

    def call(*arguments: str) -> Ran:
        capfd.readouterr()
        code = main(list(arguments))
        captured = capfd.readouterr()
        return Ran(code, captured.out, captured.err)

    return call
