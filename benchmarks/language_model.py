"""Training and querying n-gram language models; against kenlm where it is installed.

Text: `mt/europarl` of NBEST_DATA, else synthetic sentences of the same size.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.lists import best_of
from nbest.compute.compilation import kernel
from nbest.corpus import Texts, intern
from nbest.lm.arpa_read import read_arpa
from nbest.lm.arpa_write import write_arpa
from nbest.lm.count import read_word_lines
from nbest.lm.estimate import KneserNey
from nbest.lm.file import load_lm, write_nlm
from nbest.lm.model import LanguageModel
from nbest.lm.query import lm_arrays, word_logprob

T = TypeVar("T")


def main() -> None:
    """Print seconds, sizes, perplexities and queries a second."""
    for order in (3, 4, 5):
        subprocess.run([sys.executable, "-m", "benchmarks.language_model", str(order)], check=True)
    train, test = _texts()
    model = KneserNey(4).fit(train)
    _prune(train, test)
    with tempfile.TemporaryDirectory() as folder:
        _files(model, Path(folder))
        _queries(model, test, Path(folder))


def _texts() -> tuple[Texts, Texts]:
    given = os.environ.get("NBEST_DATA")
    if given:
        folder = Path(given) / "mt" / "europarl"
        return read_word_lines([folder / "train.en.xz"]), read_word_lines([folder / "test.en.xz"])
    rng = np.random.default_rng(1)
    ranks = np.minimum(rng.zipf(1.2, size=4_000_000), 80_000)
    lines = [" ".join(f"w{r}" for r in ranks[at : at + 22]) for at in range(0, len(ranks), 22)]
    return Texts.of(lines[2000:]), Texts.of(lines[:2000])


def _train(order: int) -> None:
    """One order in a process of its own, whose peak memory is then that of training."""
    train, test = _texts()
    KneserNey(order).fit(Texts.of(["a b", "b a"]))
    begin, busy = time.perf_counter(), time.process_time()
    model = KneserNey(order).fit(train)
    seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    scores = model.score(test)
    print(
        f"order {order}: {seconds:.1f} s ({busy:.1f} s of processor), peak {peak:.0f} MB, "
        f"n-grams {model.sizes}, {_megabytes(model):.0f} MB; "
        f"test perplexity {scores.perplexity():.2f}, of known words {scores.perplexity(unknown=False):.2f}, "
        f"{int(scores.unknown.sum())} unknown"
    )


def _megabytes(model: LanguageModel) -> float:
    return sum(array.nbytes for array in lm_arrays(model)) / 1e6


def _prune(train: Texts, test: Texts) -> None:
    for cutoffs, threshold in (((1, 1, 2), 0.0), ((1,), 1e-9), ((1,), 1e-8), ((1,), 1e-7), ((1, 1, 2), 1e-8)):
        begin = time.perf_counter()
        model = KneserNey(4, cutoffs, threshold).fit(train)
        seconds = time.perf_counter() - begin
        perplexity = model.score(test).perplexity()
        print(
            f"order 4, cut-offs {cutoffs}, threshold {threshold:g}: {seconds:.1f} s, {sum(model.sizes)} n-grams, "
            f"perplexity {perplexity:.2f}"
        )


def _files(model: LanguageModel, folder: Path) -> None:
    for name, write, read in (
        ("m.arpa", write_arpa, read_arpa),
        ("m.nlm", write_nlm, load_lm),
    ):
        begin = time.perf_counter()
        write(model, folder / name)
        middle = time.perf_counter()
        back = read(folder / name)
        end = time.perf_counter()
        same = all(np.array_equal(a, b) for a, b in zip(lm_arrays(model), lm_arrays(back), strict=True))
        size = (folder / name).stat().st_size / 1e6
        print(f"{name}: {size:.0f} MB, written in {middle - begin:.2f} s, read in {end - middle:.2f} s, equal: {same}")
    seconds, _ = best_of(lambda: load_lm(folder / "m.nlm", verify=False))
    print(f"m.nlm without its checksum: {seconds:.3f} s")


def _busy(function: Callable[[], T], repeats: int = 7) -> tuple[float, T]:
    """The least processor time of a call, which other work on the machine does not lengthen much; what it returned."""
    result, best = function(), float("inf")
    for _ in range(repeats):
        begin = time.thread_time()
        result = function()
        best = min(best, time.thread_time() - begin)
    return best, result


@kernel
def _ask(arrays, contexts, words, out):
    for k in range(len(words)):
        out[k] = word_logprob(arrays, contexts[k], contexts.shape[1], words[k])


def _queries(model: LanguageModel, test: Texts, folder: Path) -> None:
    (words,), vocabulary = intern(test)
    ids = model.ids(vocabulary)[words.ids]
    grams = np.lib.stride_tricks.sliding_window_view(ids, model.order)
    grams = np.ascontiguousarray(np.tile(grams, (20, 1)))
    out = np.empty(len(grams))
    seconds, _ = _busy(lambda: _ask(lm_arrays(model), grams[:, :-1], grams[:, -1], out))
    print(
        f"word_logprob, order {model.order}, one thread: {len(grams) / seconds / 1e6:.2f} M queries/s on running text"
    )
    rng = np.random.default_rng(1)
    mixed = np.ascontiguousarray(rng.permutation(grams))
    seconds, _ = _busy(lambda: _ask(lm_arrays(model), mixed[:, :-1], mixed[:, -1], out))
    print(f"  the same queries in random order: {len(grams) / seconds / 1e6:.2f} M/s")
    strange = np.ascontiguousarray(rng.permuted(grams, axis=0))
    seconds, _ = _busy(lambda: _ask(lm_arrays(model), strange[:, :-1], strange[:, -1], out))
    print(f"  words in random order, which back off: {len(grams) / seconds / 1e6:.2f} M/s")
    seconds, scores = _busy(lambda: model.score(test, threads=1))
    tokens = len(words.ids) + len(test)
    print(f"whole texts: {tokens / seconds / 1e6:.2f} M words/s with splitting them")
    _peer(folder, test, tokens, scores.logprobs)


def _peer(folder: Path, test: Texts, tokens: int, ours: np.ndarray) -> None:
    try:
        import kenlm
    except ImportError:
        return
    other = kenlm.Model(str(folder / "m.arpa"))
    lines = [" ".join(text.split()) for text in test]
    seconds, theirs = _busy(lambda: [other.score(line) for line in lines])
    gap = np.abs(np.array(theirs) * np.log(10) - ours).max()
    print(f"kenlm from Python, whole texts: {tokens / seconds / 1e6:.2f} M words/s; largest difference {gap:.1e}")


if __name__ == "__main__":
    _train(int(sys.argv[1]))
