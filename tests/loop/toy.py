"""The made-up translator of `toy_program.py` as a decoder in Python: lists, or lattices that were pruned."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nbest.compute.segments import offsets_of
from nbest.corpus import Forests, NBest, Texts
from nbest.loop import Inputs, Loop
from nbest.metrics import WER
from nbest.trainers.dense.mert import MERT
from tests.loop.toy_program import FEATURES, WORDS, candidates, options


def sentences(count: int, seed: int, longest: int = 5) -> tuple[list[str], list[tuple[str]]]:
    """Sources, and the references of each."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, rng.integers(2, longest + 1))) for _ in range(count)]
    return [" ".join(word[::-1] for word in text.split()) for text in texts], [(text,) for text in texts]


@dataclass
class Toy:
    """k best candidates; `calls` counts, and `fail` is called with its number before each."""

    k: int = 5
    start: Mapping[str, float] | None = field(default_factory=lambda: dict.fromkeys(FEATURES, 0.1))
    calls: list[dict[str, float]] = field(default_factory=list)

    def before(self) -> None:
        """Nothing; tests put failures here."""

    def decode(self, weights: Mapping[str, float], inputs: Sequence[str]) -> NBest | Forests:
        self.before()
        self.calls.append(dict(weights))
        found = [candidates(i, source, dict(weights), self.k) for i, source in enumerate(inputs)]
        flat = [each for one in found for each in one]
        return NBest(
            offsets=offsets_of(np.array([len(one) for one in found], np.int64)),
            features=np.array([values for _, values in flat]).reshape(-1, len(FEATURES)),
            feature_names=FEATURES,
            ids=tuple(str(i) for i in range(len(inputs))),
            texts=Texts.of(text for text, _ in flat),
            sources=tuple(inputs),
        )


@dataclass
class Lattices(Toy):
    """Lattices with the k best translations of each word."""

    def decode(self, weights: Mapping[str, float], inputs: Sequence[str]) -> Forests:
        self.before()
        self.calls.append(dict(weights))
        vocabulary = {word: at for at, word in enumerate(WORDS)}
        nodes, edges, tails, symbols, features = [], [], [], [], []
        for i, source in enumerate(inputs):
            words = source.split()
            nodes.append(len(words) + 1)
            edges.append(1)
            tails.append([])
            symbols.append([])
            features.append((0.0,) * len(FEATURES))
            for place, word in enumerate(words):
                scored = [(sum(weights.get(n, 0.0) * v for n, v in zip(FEATURES, values, strict=True)), text, values)
                          for text, values in options(i, place, word)]  # fmt: skip
                kept = sorted(scored, key=lambda each: (-each[0], each[1]))[: self.k]
                edges.append(len(kept))
                for _, text, values in kept:
                    tails.append([place])
                    symbols.append([-1, *(vocabulary[each] for each in text.split())])
                    features.append(values)
        return Forests(
            node_offsets=offsets_of(np.array(nodes, np.int64)),
            edge_offsets=offsets_of(np.array(edges, np.int64)),
            tail_offsets=offsets_of(np.array([len(each) for each in tails], np.int64)),
            tails=np.array([x for each in tails for x in each], np.int32),
            features=np.array(features),
            feature_names=FEATURES,
            ids=tuple(str(i) for i in range(len(inputs))),
            symbol_offsets=offsets_of(np.array([len(each) for each in symbols], np.int64)),
            symbols=np.array([x for each in symbols for x in each], np.int32),
            vocabulary=tuple(WORDS),
            sources=tuple(inputs),
        )


DEV, HELD = Inputs(*sentences(12, 1)), Inputs(*sentences(10, 2))


def loop(folder: Path, decoder: Any = None, trainer: Any = None, metric: Any = None, **options: Any) -> Loop:
    return Loop(decoder or Toy(k=3), trainer or MERT(restarts=2), metric or WER(), folder, **{"rounds": 3, **options})


def decoded(made: Loop) -> list[dict[str, Any]]:
    rows = (made.place.decoded(number) for number in itertools.count(1))
    return list(itertools.takewhile(lambda row: row is not None, rows))  # type: ignore[arg-type]
