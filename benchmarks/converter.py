"""The kana-kanji converter: error rates, speed and sizes on the news text of NBEST_DATA.

Character error rates without spaces of the first text and of the best of a list, on sentences that training has not
seen: news of the same source, other domains with automatic readings, and an encyclopedia with readings by hand.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from nbest.base.files import read_lines
from nbest.decisions import corpus_oracle
from nbest.metrics import CER
from nbest.systems.converter.converter import Converter
from nbest.systems.converter.files import save
from nbest.systems.converter.system import ConverterTraining
from nbest.systems.converter.text import ReadSentence, fold, read_dictionary, read_sentences

HELD = 2000  # news sentences kept for testing; as many are left out before them, for tuning
TESTED = 500


def main() -> None:
    """Print the tables; needs NBEST_DATA."""
    given = os.environ.get("NBEST_DATA")
    if not given:
        print("NBEST_DATA does not point to a folder with real data", file=sys.stderr)
        return
    folder = Path(given) / "kana"
    news = read_sentences(folder / "auto" / "wikinews.read.tsv.xz")
    words = read_dictionary(folder / "dict" / "ipadic.tsv.xz")
    train, test = news[: -2 * HELD], news[-HELD :: HELD // TESTED]
    best = _settings(train, words, test)
    _beams(best, test)
    _domains(best, train, words, folder)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


def _settings(train: list[ReadSentence], words: list[tuple[str, str]], test: list[ReadSentence]) -> Converter:
    """Pairs or surfaces, orders, with the dictionary and without; the converter with the default settings."""
    print("tokens, order, dictionary: seconds of training; MB; CER; oracle of 20, of 100; lists of 100 a second")
    kept: Converter | None = None
    for tokens, order, more in (
        ("pair", 3, words),
        ("pair", 2, words),
        ("pair", 4, words),
        ("surface", 2, words),
        ("surface", 3, words),
        ("pair", 3, []),
    ):
        begin = time.perf_counter()
        converter = ConverterTraining(order, tokens).fit(train, more)
        spent = time.perf_counter() - begin
        print(f"{tokens} {order} {'with' if more else 'without'}: {spent:.1f} s; {_size(converter):.0f} MB; ", end="")
        print(_measured(converter, test), flush=True)
        kept = kept or converter
    assert kept is not None
    return kept


def _size(converter: Converter) -> float:
    with tempfile.TemporaryDirectory() as folder:
        save(converter, Path(folder) / "model")
        return sum(file.stat().st_size for file in (Path(folder) / "model").iterdir()) / 1e6


def _measured(
    converter: Converter, test: list[ReadSentence], beam: int | None = 20, margin: float | None = 20.0
) -> str:
    converter.best(converter.forests(["かな"], beam=beam, margin=margin), 1)
    begin = time.perf_counter()
    forests = converter.forests([sentence.kana for sentence in test], beam=beam, margin=margin)
    lists = converter.best(forests, 100)
    spent = time.perf_counter() - begin
    lists = lists.with_metric(CER(spaces=False), [(sentence.text,) for sentence in test])
    places = np.arange(lists.hypotheses) - np.repeat(lists.offsets[:-1], lists.lengths)
    twenty = lists.keep(places < 20)
    oracles = [part.score(corpus_oracle(part)) for part in (twenty, lists)]
    first = lists.score(lists.offsets[:-1])
    return (
        f"{first:.2f}; {oracles[0]:.2f}, {oracles[1]:.2f}; {len(test) / spent:.0f}/s; {forests.edges / len(test):.0f}"
    )


def _beams(converter: Converter, test: list[ReadSentence]) -> None:
    print("beam, margin: CER; oracle of 20, of 100; lists of 100 a second; edges a forest")
    for beam, margin in ((1, 20.0), (5, 20.0), (10, 20.0), (20, 20.0), (50, 10.0), (50, 20.0), (200, 20.0)):
        print(f"{beam}, {margin}: {_measured(converter, test, beam, margin)}", flush=True)


def _domains(converter: Converter, train: list[ReadSentence], words: list[tuple[str, str]], folder: Path) -> None:
    """Other texts, without adaptation and adapted to 800, 8,000 and all sentences."""
    print("text, adapted to: CER; oracle of 20, of 100; lists of 100 a second; weight of the news")
    gold = read_gold(folder / "gold" / "kuwiki.gold.tsv.xz")
    print(f"kuwiki (by hand), 0: {_measured(converter, gold[:: len(gold) // TESTED])}", flush=True)
    for name in ("aozora_fiction", "tanaka", "wikipedia_jsquad"):
        sentences = read_sentences(folder / "auto" / f"{name}.read.tsv.xz")
        cut = len(sentences) * 9 // 10
        test = sentences[cut :: max(1, (len(sentences) - cut) // TESTED)]
        print(f"{name}, 0: {_measured(converter, test)}", flush=True)
        for count in (800, 8000, cut):
            if count <= cut:
                adapted = ConverterTraining().fit(train, words, adapt=sentences[:cut][:: cut // count][:count])
                print(f"{name}, {count}: {_measured(adapted, test)}; {adapted.lm.weight:.3f}", flush=True)  # type: ignore[union-attr]


def read_gold(path: Path) -> list[ReadSentence]:
    """Sentences of lines `surface TAB reading ...`, each after a line `# id`.

    White space is left out; of readings `one/other` the last counts.
    """
    out: list[list[tuple[str, str]]] = []
    for line in read_lines(path):
        columns = line.split("\t")
        if line.startswith("# "):
            out.append([])
        elif len(columns) > 1 and columns[0].strip():
            reading = columns[1].rpartition("/")[2] or columns[1]
            out[-1].append((columns[0], fold(reading)))
    return [ReadSentence(tuple(s for s, _ in rows), tuple(r for _, r in rows)) for rows in out]


if __name__ == "__main__":
    main()
