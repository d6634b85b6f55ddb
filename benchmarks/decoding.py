"""The ITG decoder: sentences a second and forest edges by beam and length, on made-up text.

The text is a chain: words follow Zipf's law and each has some followers of its own, so that a language model of it
knows many n-grams, as of real text. A phrase of one word has 20 options, longer ones (up to five words) are known with
falling probability and have fewer; one option is the words of the text, the others are taken from elsewhere in it.
"""

from __future__ import annotations

import time

import numpy as np

from nbest.corpus import Texts
from nbest.lm.estimate import KneserNey
from nbest.lm.model import LanguageModel
from nbest.systems.translator.itg.decoder import FEATURES, ItgDecoder
from nbest.systems.translator.itg.options import SentenceOptions

WEIGHTS = dict(zip(FEATURES, (0.2, 0.2, 0.2, 0.2, 0.1, 0.5, 0.3, -0.1, -0.6), strict=True))
_SOURCES = (1.0, 0.8, 0.4, 0.2, 0.1)  # how many phrases of one to five words are known
_OPTIONS = (20, 20, 10, 5, 3)


def main(tokens: int = 1_000_000, sentences: int = 8) -> None:
    """Print a table."""
    stream, lm = text(tokens)
    print(f"language model: {tokens} tokens, {'/'.join(map(str, lm.sizes))} n-grams; {sentences} sentences, 1 thread")
    vocabulary = [f"w{w}" for w in range(_WORDS)]
    print("words  beam  sentences/s  s/sentence  nodes/sentence  edges/sentence  edges/s  best score")
    for words in (10, 20, 25, 30, 40):
        rows = [options(stream, words, seed) for seed in range(sentences)]
        for beam in (10, 30, 100, 300):
            print(f"{words:5} {beam:5}", _row(ItgDecoder(lm, beam=beam), rows, vocabulary))


def _row(decoder: ItgDecoder, rows: list[SentenceOptions], vocabulary: list[str]) -> str:
    from nbest.forests.kbest import kbest

    values = np.array(list(WEIGHTS.values()))
    decoder.forests(rows[:1], values, vocabulary=vocabulary, threads=1)
    begin = time.perf_counter()
    forests = decoder.forests(rows, values, vocabulary=vocabulary, threads=1)
    seconds = time.perf_counter() - begin
    size = len(rows)
    scores = forests.features @ values
    best = kbest(forests, scores, 1).sums(scores).mean()
    return (
        f"{size / seconds:12.2f} {seconds / size:11.3f} {forests.nodes / size:15.0f} {forests.edges / size:15.0f} "
        f"{forests.edges / seconds:8.0f} {best:11.2f}"
    )


_WORDS = 20_000


def text(tokens: int, seed: int = 1) -> tuple[np.ndarray, LanguageModel]:
    """Word numbers of a chain, and a language model of order 4 of it in sentences of 25 words."""
    rng = np.random.default_rng(seed)
    chances = 1.0 / np.arange(1, _WORDS + 1)
    draws = rng.choice(_WORDS, size=tokens, p=chances / chances.sum())
    followers = rng.choice(_WORDS, size=(_WORDS, 20), p=chances / chances.sum())
    own = np.where(rng.random(tokens) < 0.7, np.minimum(rng.geometric(0.25, tokens) - 1, 19), -1)
    stream = draws.copy()
    for at in range(1, tokens):
        if own[at] >= 0:
            stream[at] = followers[stream[at - 1], own[at]]
    lines = [" ".join(f"w{w}" for w in stream[a : a + 25]) for a in range(0, tokens, 25)]
    return stream, KneserNey(4).fit(Texts.of(lines))


def options(stream: np.ndarray, words: int, seed: int) -> SentenceOptions:
    """Options of a sentence of the text."""
    rng = np.random.default_rng(seed)
    at = int(rng.integers(len(stream) - words))
    sentence = stream[at : at + words]
    rows = []
    for start in range(words):
        for size in range(1, min(len(_SOURCES), words - start) + 1):
            if rng.random() >= _SOURCES[size - 1]:
                continue
            chances = np.sort(rng.dirichlet(np.full(_OPTIONS[size - 1], 0.5)) + 1e-3)[::-1]
            for rank, chance in enumerate(chances):
                length = max(1, size + int(rng.integers(-1, 2)))
                other = int(rng.integers(len(stream) - length))
                target = sentence[start : start + size] if rank == rng.integers(3) else stream[other : other + length]
                logs = np.log(chance) + rng.normal(0, [0, 1, 0.5, 1])
                rows.append((start, start + size, target.tolist(), [*logs.tolist(), 1.0]))
    return SentenceOptions.of(words, rows)


if __name__ == "__main__":
    main()
