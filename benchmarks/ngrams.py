"""N-gram features and models of sparse weights, at the size of the MSR paper: 80,000 lists x 20 hypotheses."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from nbest.corpus import NBest, Texts, intern
from nbest.evaluation.model_inspection import inspect_model
from nbest.features import apply_recipes, fit_recipes
from nbest.model.loglinear import LogLinear, load

T = TypeVar("T")
_VOCABULARY = 40_000


def main(segments: int = 80_000, size: int = 20, length: int = 20) -> None:
    """Print seconds (of the clock and of the processor), sizes and peak memory."""
    segments = int(os.environ.get("NBEST_BENCH_SEGMENTS", segments))
    _compile()
    corpus = _lists(segments, size, length)
    print(f"{segments} lists x {size} hypotheses x {length} words; {_peak():.0f} MB so far")
    assert corpus.texts is not None
    texts = corpus.texts
    _timed("splitting the texts into words", intern, texts)
    for order, minimum in ((2, 1), (2, 2), (3, 2)):
        _one(corpus, order, minimum)


def _one(corpus: NBest, order: int, minimum: int) -> None:
    want = [{"kind": "ngrams", "order": order, "minimum": minimum}]
    recipes = _timed(f"order {order}, minimum {minimum}: fitted and applied", fit_recipes, corpus, want)
    wide = _timed("  applied again", apply_recipes, corpus, recipes)
    assert wide.sparse is not None
    print(f"  {wide.sparse.shape[1]} columns, {wide.sparse.nnz} entries; peak {_peak():.0f} MB")
    if minimum == 1:
        _timed("  half of the lists", wide.select, np.arange(len(corpus) // 2))
        names = wide.sparse_names
        del wide
        _models(corpus, recipes, names)


def _compile() -> None:
    corpus = _lists(10, 3, 5)
    apply_recipes(corpus, fit_recipes(corpus, [{"kind": "ngrams"}]))


def _lists(segments: int, size: int, length: int) -> NBest:
    """Lists whose hypotheses differ from each other in about one word in 16, words by Zipf's law."""
    rng = np.random.default_rng(1)
    words = [f"w{k}" for k in range(_VOCABULARY)]
    lines = []
    for _ in range(segments):
        ranks = np.tile(_zipf(rng, length), (size, 1))
        changed = rng.random(ranks.shape) < 1 / 16
        ranks[changed] = _zipf(rng, int(changed.sum()))
        lines += [" ".join([words[r] for r in row]) for row in ranks.tolist()]
    return NBest(
        offsets=np.arange(segments + 1) * size,
        features=rng.normal(size=(segments * size, 1)).astype(np.float32),
        feature_names=("lm",),
        ids=tuple(str(i) for i in range(segments)),
        texts=Texts.of(lines),
    )


def _zipf(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.minimum(rng.zipf(1.3, count), _VOCABULARY) - 1


def _models(corpus: NBest, recipes: tuple[dict[str, Any], ...], names: tuple[str, ...]) -> None:
    """Weights for 2,000 of the n-grams and for all of them."""
    rng = np.random.default_rng(1)
    for count in (2000, len(names)):
        chosen = [names[k] for k in np.sort(rng.choice(len(names), min(count, len(names)), replace=False))]
        weights = {"lm": 1.0, **dict(zip(chosen, rng.normal(size=len(chosen)).tolist(), strict=True))}
        model = LogLinear(weights, features=recipes, dense=("lm",))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            _timed(f"  a model of {len(chosen)} n-grams: saved", model.save, path)
            again = _timed("    loaded", load, path)
            size = sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e6
        few = corpus.select(np.arange(min(100, len(corpus))))
        _timed(f"    {size:.1f} MB; scores of 100 lists", again.scores, few)
        _timed("    scores of all lists", again.scores, corpus)
        _timed("    inspected", inspect_model, again)


def _timed(what: str, function: Callable[..., T], *arguments: Any) -> T:
    begin, busy = time.perf_counter(), time.process_time()
    result = function(*arguments)
    print(f"{what}: {time.perf_counter() - begin:.2f} s ({time.process_time() - busy:.2f} s of processor)", flush=True)
    return result


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    main()
