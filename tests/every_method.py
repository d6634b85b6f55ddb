"""Methods and decisions on the same lists and forests, their models and choices written to a folder: a program for
`test_same_bytes.py`.

    python -m tests.every_method FOLDER THREADS "lists risk" ...
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import nbest
from nbest.base.errors import ConvergenceWarning
from nbest.features import apply_recipes, fit_recipes
from tests.cli.conftest import sausages

_WORDS = np.array(list("abcdefghijklmnopqr"))
_SPARSE = ("boosting", "mira", "msr", "msr2", "perceptron", "pro")
_FOREST = ("cobleu", "mert", "risk", "softbleu")
_KINDS = {"bins": {"bins": 3}, "gaussians": {"kernels": 4}, "ngrams": {}}
EVERY = [
    *(f"lists {name}" for name in sorted(nbest.TRAINERS) if name != "cobleu"),
    *(f"forests {name}" for name in _FOREST),
    *(f"ngrams {name}" for name in _SPARSE),
    *("gaussians risk", "bins risk", "lists mbr", "lists consensus"),
]


def lists(seed: int, segments: int = 80, size: int = 50, width: int = 14) -> nbest.NBest:
    """Noisy copies of random sentences with many correlated features, large enough for sums that vectorise."""
    rng = np.random.default_rng(seed)
    references, texts, errors = [], [], []
    for _ in range(segments):
        sentence = rng.choice(_WORDS, rng.integers(6, 14))
        references.append((" ".join(sentence),))
        for _ in range(size):
            wrong = rng.random(len(sentence)) < rng.uniform(0.05, 0.5)
            texts.append(" ".join(np.where(wrong, rng.choice(_WORDS, len(sentence)), sentence)))
            errors.append(wrong.sum())
    mixing = rng.normal(size=(3, width))
    features = -np.array(errors)[:, None] * rng.uniform(0, 0.1, width) + rng.normal(size=(len(texts), 3)) @ mixing
    return nbest.NBest(
        offsets=np.arange(segments + 1) * size,
        features=features + 0.3 * rng.normal(size=features.shape),
        feature_names=tuple(f"f{d}" for d in range(width)),
        ids=tuple(map(str, range(segments))),
        texts=nbest.Texts.of(texts),
        references=tuple(references),
        sources=tuple(" ".join(word * 4 for word in refs[0].split()) for refs in references),
    ).with_metric(nbest.BLEU(tokenize="none"))


def corpus_of(kind: str) -> Any:
    if kind == "forests":
        return sausages(3).with_metric(nbest.BLEU(max_ngram_order=2, tokenize="none"))
    corpus = lists(1)
    if kind in _KINDS:
        corpus = apply_recipes(corpus, fit_recipes(corpus, [{"kind": kind, **_KINDS[kind]}]))
    return corpus


def run(folder: Path, threads: int, task: str) -> None:
    kind, method = task.split()
    corpus, goal = corpus_of(kind), folder / task.replace(" ", "-")
    if method in nbest.DECISIONS:
        model = nbest.LogLinear(dict.fromkeys(corpus.feature_names, 0.7))
        np.savetxt(goal, nbest.DECISIONS[method](model, corpus, gain="bleu"), "%d")
        return
    trainer = nbest.TRAINERS[method]()
    if hasattr(trainer, "threads"):
        trainer.threads = threads
    replace(trainer.fit(corpus), versions={}).save(goal)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    for task in sys.argv[3:]:
        run(Path(sys.argv[1]), int(sys.argv[2]), task)
