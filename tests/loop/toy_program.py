"""A made-up translator: words are spelt backwards, and each has some wrong translations beside the right one.

    python toy_program.py WEIGHTS.json INPUT K OUTPUT [SECONDS [alone]]

A candidate takes one translation of each word; its features are the sums of theirs, and depend on the number of the
segment unless every line is to be treated `alone`. The k best are exact. Only the standard library is used, so that it
starts at once; it is a command for `nbest loop`, and `tests/loop/toy.py` calls it.
"""

from __future__ import annotations

import json
import random
import sys
import time
from functools import cache

FEATURES = ("am", "lm", "noise", "words")
WORDS = ("ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibex", "jay")


@cache
def options(segment: int, place: int, source: str) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Translations of one word with their features; the right one is the best by am + lm more often than not."""
    rng = random.Random(f"{segment} {place} {source}")
    wrong = rng.sample([word for word in WORDS if word != source[::-1]], 2)
    found = []
    for text in (source[::-1], *wrong, "", f"{source[::-1]} {wrong[0]}"):
        error = float(text != source[::-1])
        am, lm = rng.gauss(-0.8 * error, 1.0), rng.gauss(-0.8 * error, 1.0)
        found.append((text, (round(am, 3), round(lm, 3), round(rng.gauss(0, 2), 3), float(len(text.split())))))
    return tuple(found)


def candidates(segment: int, source: str, weights: dict[str, float], k: int) -> list[tuple[str, tuple[float, ...]]]:
    """The k best (text, features) of a source; of equal texts the best only. Ties go to the first in the alphabet."""
    best = {"": (0.0, (0.0,) * len(FEATURES))}
    for place, word in enumerate(source.split()):
        longer: dict[str, tuple[float, tuple[float, ...]]] = {}
        for text, (_, values) in best.items():
            for more, extra in options(segment, place, word):
                both = f"{text} {more}".strip()
                summed = tuple(round(a + b, 3) for a, b in zip(values, extra, strict=True))
                score = sum(weights.get(name, 0.0) * value for name, value in zip(FEATURES, summed, strict=True))
                if both not in longer or (score, summed) > longer[both]:
                    longer[both] = (score, summed)
        ranked = sorted(longer.items(), key=lambda item: (-item[1][0], item[0]))
        best = dict(ranked[:k])
    return [(text, values) for text, (_, values) in best.items()]


def main(weight_file: str, source_file: str, k: str, output: str, seconds: str = "0", alone: str = "") -> None:
    """Read weights and sources, write lists as JSON lines; `seconds` of sleep make moments to be killed in."""
    with open(weight_file, encoding="utf-8") as file:
        weights = json.load(file)["weights"]
    with open(source_file, encoding="utf-8") as file:
        sources = file.read().splitlines()
    time.sleep(float(seconds) / 2)
    with open(output, "w", encoding="utf-8") as file:
        for at, source in enumerate(sources):
            found = candidates(0 if alone else at, source, weights, int(k))
            rows = [{"text": text, "features": dict(zip(FEATURES, values, strict=True))} for text, values in found]
            file.write(json.dumps({"id": str(at), "hypotheses": rows}) + "\n")
            if at == len(sources) // 2:
                file.flush()
                time.sleep(float(seconds) / 2)


if __name__ == "__main__":
    main(*sys.argv[1:])
