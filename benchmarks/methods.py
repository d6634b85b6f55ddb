"""Every method on the bundled lists and, where NBEST_DATA has them, on LibriSpeech lists: scores, p-values, seconds."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbest
from nbest.decisions import first
from nbest.evaluation.significance import permutation
from nbest.features import Bins, GaussianKernels, apply_recipes, seed_weights
from nbest.formats import bundled as demo

Sets = tuple[nbest.NBest, nbest.NBest, nbest.NBest]

METHODS: dict[str, Callable[[], Any]] = {
    "mert, 1 start": lambda: nbest.MERT(restarts=1, hops=0),
    "mert, 5 starts": lambda: nbest.MERT(restarts=5, hops=0),
    "mert, 10 starts": lambda: nbest.MERT(restarts=10, hops=0),
    "mert (default)": lambda: nbest.MERT(),
    "likelihood": lambda: nbest.MaxLikelihood(),
    "risk, temperature": lambda: nbest.MinRisk(),
    "risk, first order": lambda: nbest.MinRisk(order=1),
    "risk, gamma": lambda: nbest.MinRisk(schedule="gamma"),
    "risk, both": lambda: nbest.MinRisk(schedule="both"),
    "risk, 5 folds": lambda: nbest.MinRisk(folds=5),
    "soft (expected WER)": lambda: nbest.SoftBLEU(),
    "soft with entropy": lambda: nbest.SoftBLEU(entropy=0.1),
}


def main() -> None:
    """Print a table for each corpus, without and with held-out lists given to the trainer."""
    warnings.simplefilter("ignore")
    _table("bundled lists", _bundled())
    data = os.environ.get("NBEST_DATA")
    if data:
        _table("LibriSpeech, tuned on 3/4 of dev-other, tested on test-other", _librispeech(Path(data)))


def _bundled() -> Sets:
    tune, heldout, test = (demo.lists(name).with_metric(nbest.WER()) for name in demo.SETS)
    return tune, heldout, test


def _librispeech(data: Path) -> Sets:
    def lists(name: str) -> nbest.NBest:
        place = data / "nbest" / "librispeech-10best"
        corpus = nbest.read(place / f"{name}.nbest.xz")
        corpus = corpus.with_metric(nbest.WER(), nbest.read_references(place / f"{name}.ref.xz", corpus.ids))
        return apply_recipes(corpus, [{"kind": "length"}, {"kind": "frequency"}])

    tune, heldout = nbest.split(lists("dev_other"), 0.75, 1)
    return tune, heldout, lists("test_other")


def _table(title: str, sets: Sets) -> None:
    print(f"{title}: WER of tune / held-out / test, p on test against the first hypotheses, seconds")
    shown = [corpus.score(first(None, corpus)) for corpus in sets]
    print(f"{'first hypothesis':24} " + " / ".join(f"{value:.2f}" for value in shown))
    for name, make in METHODS.items():
        _row(name, make, sets)
    tune = sets[0]
    linear = nbest.MinRisk().fit(tune, sets[1])
    binned = Bins(bins=20).fit(tune)
    _row("bins, from linear", lambda: nbest.MinRisk(start=seed_weights(binned, linear.weights), t0=0.1), sets, binned)
    _row("bins, from 0", lambda: nbest.MinRisk(), sets, binned)
    kernels = GaussianKernels()
    start = dict(linear.weights)
    for recipe, label in (
        (kernels.fit_ml(tune, 64), "64 ML kernels"),
        (kernels.fit_perceptron(tune, linear), "perceptron kernels"),
    ):
        _row(label, lambda: nbest.MinRisk(start=start, t0=0.1), sets, recipe)
        _row(f"{label}, prior", lambda: nbest.MinRisk(start=start, t0=0.1, schedule="both", variance=0.1), sets, recipe)
    oracle = [corpus.score(nbest.corpus_oracle(corpus)) for corpus in sets]
    print(f"{'oracle':24} " + " / ".join(f"{value:.2f}" for value in oracle))


def _row(name: str, make: Callable[[], Any], sets: Sets, recipe: Mapping[str, Any] | None = None) -> None:
    tune, heldout, test = sets if recipe is None else tuple(apply_recipes(corpus, [recipe]) for corpus in sets)
    cells = []
    for given in (None, heldout):
        trainer = make()
        if given is not None and getattr(trainer, "folds", 0):
            continue  # folds choose already
        begin = time.perf_counter()
        model = trainer.fit(tune, given)
        seconds = time.perf_counter() - begin
        scores = [corpus.score(model.predict(corpus)) for corpus in (tune, heldout, test)]
        p = permutation(test.metric, test.stats[first(None, test)], test.stats[model.predict(test)]).p
        cells.append(" / ".join(f"{value:.2f}" for value in scores) + f"  p {p:.4f} {seconds:5.2f} s")
    print(f"{name:24} " + "   with held-out: ".join(cells), flush=True)
