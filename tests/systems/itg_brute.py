"""Plain twins for the ITG decoder: a small language model, and all derivations of a sentence by recursion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np

from nbest.corpus import Forests
from nbest.lm.model import SPECIAL, LanguageModel
from nbest.systems.translator.itg.options import SentenceOptions

Tree = tuple  # ("phrase", option) | ("monotone", left, right) | ("inverted", left, right)


def small_lm(words: int, order: int, rng: np.random.Generator) -> LanguageModel:
    """A model whose n-grams are drawn at random, some missing at every order; not normalised, which no test needs."""
    total = words + len(SPECIAL)
    grams: list[list[tuple[int, ...]]] = [[(w,) for w in range(total)]]
    for _ in range(order - 1):
        longer = [(w, *gram) for gram in grams[-1] for w in range(total) if rng.random() < 0.5]
        grams.append(longer)
    rows = [gram for level in grams for gram in level]
    levels = np.cumsum([0] + [len(level) for level in grams])
    place = {gram: at for at, gram in enumerate(rows)}
    inner = int(levels[-2])
    counts = np.zeros(inner, np.int64)
    for gram in rows[len(grams[0]) :]:
        counts[place[gram[1:]]] += 1
    children = len(grams[0]) + np.concatenate([[0], np.cumsum(counts)])
    return LanguageModel(
        (*SPECIAL, *(f"w{w}" for w in range(words))),
        levels,
        np.array([gram[0] for gram in rows], np.int32),
        children.astype(np.int32),
        rng.normal(-2, 1, len(rows)).astype(np.float32),
        rng.normal(-0.5, 0.3, inner).astype(np.float32),
    )


def text_logprob(lm: LanguageModel, words: Sequence[str]) -> float:
    """ln p(words </s> | <s>), word by word with the whole context."""
    row = ["<s>", *words, "</s>"]
    return sum(lm.logprob(row[:at], row[at]) for at in range(1, len(row)))


def random_options(rng: np.random.Generator, words: int, vocabulary: int, longest: int = 3) -> SentenceOptions:
    """One or two options for every word, some for longer phrases; targets of one to five words, now and then none."""
    rows = []
    for start in range(words):
        for end in range(start + 1, min(start + longest, words) + 1):
            count = rng.integers(1, 3) if end == start + 1 else rng.random() < 0.3
            for _ in range(count):
                size = 0 if rng.random() < 0.05 else int(rng.integers(1, 6 if rng.random() < 0.2 else 3))
                rows.append((start, end, rng.integers(vocabulary, size=size).tolist(), rng.normal(size=5).tolist()))
    rng.shuffle(rows)
    return SentenceOptions.of(words, rows)


def trees(sentence: SentenceOptions, limit: int, *, normal: bool) -> list[Tree]:
    """All derivations of a sentence by the grammar as it is written down, glue beyond the limit."""

    @cache
    def of(start: int, end: int) -> list[Tree]:
        found: list[Tree] = []
        if end - start <= limit:
            same = (sentence.starts == start) & (sentence.ends == end)
            found += [("phrase", int(p)) for p in np.flatnonzero(same)]
        for cut in range(start + 1, end):
            for kind in ("monotone", "inverted"):
                if end - start > limit and (kind == "inverted" or start > 0 or end - cut > limit):
                    continue
                pairs = product(of(start, cut), of(cut, end))
                found += [(kind, left, right) for left, right in pairs if not normal or right[0] != kind]
        return found

    return of(0, sentence.words)


def yield_of(tree: Tree, sentence: SentenceOptions) -> list[int]:
    """Target words of a derivation."""
    if tree[0] == "phrase":
        return sentence.targets[sentence.target_offsets[tree[1]] : sentence.target_offsets[tree[1] + 1]].tolist()
    left, right = yield_of(tree[1], sentence), yield_of(tree[2], sentence)
    return left + right if tree[0] == "monotone" else right + left


def phrases_of(tree: Tree) -> list[int]:
    """Options of a derivation, in target order."""
    if tree[0] == "phrase":
        return [tree[1]]
    left, right = phrases_of(tree[1]), phrases_of(tree[2])
    return left + right if tree[0] == "monotone" else right + left


def features_of(tree: Tree, sentence: SentenceOptions, lm: LanguageModel, vocabulary: Sequence[str]) -> np.ndarray:
    """[9] recomputed from the derivation and its string."""
    words = yield_of(tree, sentence)
    model = text_logprob(lm, [vocabulary[w] for w in words])
    phrases = sentence.features[phrases_of(tree)].astype(np.float64).sum(axis=0)
    return np.array([*phrases, model, len(words), *(_rewrites(tree, kind) for kind in ("monotone", "inverted"))])


def _rewrites(tree: Tree, kind: str) -> int:
    return 0 if tree[0] == "phrase" else (tree[0] == kind) + sum(_rewrites(part, kind) for part in tree[1:])


def read_out(forests: Forests, number: int = 0) -> Iterator[tuple[list[int], np.ndarray]]:
    """Target words and summed features of every derivation of a forest, in plain Python."""
    base, top = forests.node_offsets[number : number + 2]

    def of(node: int) -> Iterator[tuple[list[int], np.ndarray]]:
        for edge in range(forests.edge_offsets[base + node], forests.edge_offsets[base + node + 1]):
            tails = forests.tails[forests.tail_offsets[edge] : forests.tail_offsets[edge + 1]]
            row = forests.symbols[forests.symbol_offsets[edge] : forests.symbol_offsets[edge + 1]]
            for parts in product(*(list(of(t)) for t in tails)):
                words = [w for s in row for w in ([int(s)] if s >= 0 else parts[-1 - s][0])]
                yield words, forests.features[edge].astype(np.float64) + sum(part[1] for part in parts)

    yield from of(int(top - base) - 1)
