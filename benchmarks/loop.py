"""The outer loop over 2,000 segments x 200 best x 10 rounds: seconds and resident memory of each stage."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import nbest
from nbest.compute.segments import offsets_of
from nbest.corpus import NBest, Texts
from nbest.loop.loop import Inputs, Loop
from nbest.metrics import BLEU
from nbest.trainers.dense.mert import MERT

FEATURES = tuple(f"f{d}" for d in range(10))
_WORDS = np.array([f"w{i:04} " for i in range(5000)], "S6")  # of one length, so that texts are made fast
_LENGTH = 20


def references(count: int) -> list[tuple[str]]:
    """One text of 20 words a segment."""
    rng = np.random.default_rng(1)
    return [(b"".join(rng.choice(_WORDS, _LENGTH)).decode().strip(),) for _ in range(count)]


@dataclass
class Decoder:
    """Noisy copies of the references, other ones in each round; the worse a copy, the worse its features."""

    k: int = 200
    start: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(FEATURES, 0.1))
    rounds: int = 0
    memory: list[tuple[float, float]] = field(default_factory=list)  # now and at most, before each call, MB

    def decode(self, weights: Mapping[str, float], inputs: Sequence[tuple[str]]) -> NBest:
        """New candidates in every call, in the order of the weights."""
        self.memory.append((resident(), most()))
        self.rounds += 1
        rng = np.random.default_rng(self.rounds)
        total = len(inputs) * self.k
        wrong = rng.random((total, _LENGTH)) < rng.uniform(0.05, 0.6, (total, 1))
        worse = -wrong.sum(axis=1)[:, None] * np.linspace(0, 0.3, len(FEATURES))
        values = worse + rng.normal(size=(total, len(FEATURES)))
        scores = (values @ np.array([weights[name] for name in FEATURES])).reshape(-1, self.k)
        rows = (np.argsort(-scores, axis=1) + np.arange(len(inputs))[:, None] * self.k).ravel()
        truth = np.array([[f"{word} " for word in text.split()] for (text,) in inputs], _WORDS.dtype)
        words = np.where(wrong, rng.choice(_WORDS, wrong.shape), np.repeat(truth, self.k, axis=0))[rows]
        starts = np.arange(total) * _LENGTH * _WORDS.itemsize
        texts = Texts(words.view(np.uint8).ravel(), starts, starts + _LENGTH * _WORDS.itemsize - 1)
        sizes = np.full(len(inputs), self.k)
        ids = tuple(str(i) for i in range(len(inputs)))
        return NBest(offsets_of(sizes), values[rows], FEATURES, ids, texts=texts)


def resident() -> float:
    """Memory that this process holds now, in MB."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
    except OSError:
        return float("nan")


def most() -> float:
    """The most memory that this process ever held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def run(segments: int, rounds: int) -> None:
    """The loop on disk, with its seconds and memory."""
    texts = references(segments)
    decoder = Decoder()
    before = resident()
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        loop = Loop(decoder, MERT(restarts=2), BLEU(tokenize="none"), Path(folder) / "run", rounds=rounds)
        loop.run(Inputs(texts, texts))
        seconds = time.perf_counter() - begin
        print(f"{segments} segments x {decoder.k} best x {rounds} rounds: {seconds:.0f} s")
        print("round   new  decode s  load s  train s  MB before it  MB at most so far")
        for number, (now, peak) in enumerate(decoder.memory, 1):
            found, trained = loop.place.decoded(number), loop.place.trained(number)
            assert found is not None
            load, train = trained["seconds"].values() if trained else (float("nan"), float("nan"))
            took = found["dev"]["seconds"]
            print(f"{number:5} {found['new']:6} {took:8.1f} {load:7.1f} {train:8.1f} {now:13.0f} {peak:18.0f}")
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    pool = segments * decoder.k * rounds * (len(FEATURES) + 10) * 8 / 1e6
    print(f"on disk {size / 1e6:.0f} MB; features and statistics of all rounds {pool:.0f} MB")
    print(f"before the loop {before:.0f} MB, at most {most():.0f} MB, at the end {resident():.0f} MB")


def run_in_memory(segments: int, rounds: int) -> None:
    """The plain way: all lists are kept, and merged anew in each round."""
    texts, decoder, known = references(segments), Decoder(), None
    before, begin = resident(), time.perf_counter()
    weights = dict(decoder.start)
    for _ in range(rounds):
        found = decoder.decode(weights, texts).with_metric(BLEU(tokenize="none"), texts)
        known = found if known is None else nbest.merge(known, found)
        weights = dict(MERT(restarts=2, start=weights).fit(known).weights)
    seconds = time.perf_counter() - begin
    print(f"{segments} segments x {decoder.k} best x {rounds} rounds, merged in memory: {seconds:.0f} s")
    print(f"before {before:.0f} MB, at most {most():.0f} MB, at the end {resident():.0f} MB")


def main() -> None:
    """A tenth of the size with and without merging in memory, each in a process of its own; then the whole."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    for work, segments in ((run_in_memory, 200), (run, 200), (run, 2000)):
        process = context.Process(target=work, args=(segments, 10))
        process.start()
        process.join()


if __name__ == "__main__":
    main()
