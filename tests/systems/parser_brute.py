"""All labelled projective trees of a short sentence, by trying every row of heads; and treebanks made up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from nbest.formats.conllu import Sentence
from nbest.systems.parser.trees import text_of

Tree = tuple[int, ...]


def is_tree(heads: Tree) -> bool:
    """One word below 0, and every word reaches 0."""
    for start in range(1, len(heads) + 1):
        at, steps = start, 0
        while at and steps <= len(heads):
            at, steps = heads[at - 1], steps + 1
        if at:
            return False
    return heads.count(0) == (1 if heads else 0)


def is_projective(heads: Tree) -> bool:
    """No two arcs cross, drawn above the words with the root to their left."""
    arcs = [(min(h, d), max(h, d)) for d, h in enumerate(heads, 1)]
    return not any(a < c < b < d for (a, b), (c, d) in itertools.product(arcs, arcs))


def trees(n: int) -> Iterator[Tree]:
    """All projective trees of n words with one root word."""
    for heads in itertools.product(range(n + 1), repeat=n):
        if is_tree(heads) and is_projective(heads):
            yield heads


def labelled(n: int, labels: dict[tuple[int, int], list[str]]) -> Iterator[tuple[Tree, tuple[str, ...]]]:
    """All of them with each of the `labels` that an arc may have."""
    for heads in trees(n):
        for names in itertools.product(*(labels[h, d] for d, h in enumerate(heads, 1))):
            yield heads, names


def sentence(rng: np.random.Generator, n: int, *, labels: str = "xyz") -> Sentence:
    """A sentence of random words, with a random tree that need not be projective."""
    forms = [str(rng.choice(["run", "Dogs", "a", "of", "cats", "1st"])) for _ in range(n)]
    upos = [str(rng.choice(["N", "V", "P"])) for _ in range(n)]
    order = rng.permutation(n) + 1
    heads = [0] * n
    for at in range(1, n):
        heads[order[at] - 1] = int(order[rng.integers(at)])
    deprels = ["root" if head == 0 else str(rng.choice(list(labels))) for head in heads]
    rows = [
        "\t".join([str(i), form, "_", tag, "_", "_", str(head), deprel, "_", "_"])
        for i, (form, tag, head, deprel) in enumerate(zip(forms, upos, heads, deprels, strict=True), 1)
    ]
    return Sentence(tuple(forms), tuple(upos), ("_",) * n, tuple(heads), tuple(deprels), tuple(rows), tuple(range(n)))


def treebank(seed: int, sentences: int = 12, longest: int = 6) -> list[Sentence]:
    """Random sentences of 1 to `longest` words."""
    rng = np.random.default_rng(seed)
    return [sentence(rng, int(rng.integers(1, longest + 1))) for _ in range(sentences)]


def texts(found: Iterator[tuple[Tree, tuple[str, ...]]]) -> list[str]:
    """Trees as texts."""
    return [text_of(*tree) for tree in found]
