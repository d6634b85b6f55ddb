"""The bundled lists, and a run over every kernel."""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib import resources
from typing import Any

import numpy as np

from nbest import formats
from nbest.corpus import NBest, Texts, prune
from nbest.decisions import consensus, mbr
from nbest.errors import ConvergenceWarning, look_up
from nbest.features import apply_recipes, fit_recipes
from nbest.forests.derivations import forests_of
from nbest.forests.oracle import forest_oracle
from nbest.forests.pruning import prune as prune_forests
from nbest.forests.sampling import sample
from nbest.metrics import BLEU, METRICS, External, make_metric
from nbest.systems.converter_text import Sentence
from nbest.systems.converter_train import ConverterTraining
from nbest.systems.itg import Decoder
from nbest.systems.itg_options import SentenceOptions
from nbest.systems.ngram_estimate import KneserNey
from nbest.systems.tagger import Tagger
from nbest.trainers import MERT, TRAINERS, GridSearch, MaxCoBLEU, MaxLikelihood, MinRisk, RandomSearch, SoftBLEU

SETS = ("tune", "heldout", "test")


def lists(name: str) -> NBest:
    """Bundled lists, with references: "tune", "heldout" or "test". A real recogniser's, on synthesised speech."""
    look_up({key: key for key in SETS}, name, "bundled set")
    with resources.as_file(resources.files("nbest") / "data" / f"asr-{name}.jsonl.xz") as path:
        return formats.read(path, "jsonl")


def _exercise_forests(lists_: NBest) -> None:
    """The kernels of forests, on lists as forests."""
    metric = BLEU(max_ngram_order=2, tokenize="none")
    lists_ = replace(lists_, stats=None, metric=None).with_metric(metric)
    forests = forests_of(lists_)
    for trainer in (MERT(restarts=1, hops=0), MinRisk(t0=0.1, t1=0.1), MaxCoBLEU(iterations=3)):
        model = trainer.fit(forests)
    consensus(model, lists_, gain=metric, forests=forests)
    scores = model.edge_scores(forests)
    sample(forests, scores, 2)
    prune_forests(forests, scores, gap=1.0)
    forest_oracle(forests)
    lm = KneserNey(2).fit(Texts.of(["a b c", "b a"]))
    option = SentenceOptions.of(2, [(0, 1, [0], [0.0] * 5), (1, 2, [1], [0.0] * 5)])
    Decoder(lm, order=4).forests([option], [0.0] * 9, vocabulary=["a", "b"])


def _exercise_sparse(lists_: NBest) -> None:
    """The kernels of sparse features and of the systems that make lists for them."""
    kinds: list[dict[str, Any]] = [{"kind": "ngrams"}, {"kind": "ngrams", "tokens": "characters", "boundaries": True}]
    counted = apply_recipes(lists_, fit_recipes(lists_, kinds))
    for name in ("boosting", "mira", "msr2", "perceptron", "pro"):
        TRAINERS[name]().fit(counted)
    Tagger.train([["a", "b"]], [["X", "Y"]]).lists([["a", "c"]], 2)
    converter = ConverterTraining(order=2).fit([Sentence(("木", "の"), ("き", "の"))], [("気", "き")])
    converter.lists(converter.forests(["きの"]), 2)


def exercise() -> None:
    """Run every kernel once on small lists, so that all are compiled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _exercise()


def _exercise() -> None:
    texts = ["1:a 2:b 3:c 4:d 5:e", "1:a 2:b 3:c 5:e", "6:x", "1:a 2:b", "2:b 1:a", ""]  # arcs, for attachment scores
    features = np.random.default_rng(1).normal(size=(6, 3))
    references = (("1:a 2:b 3:c 4:d 5:e",), ("2:b 1:a",))
    for name in METRICS:
        if name == "external":
            continue
        corpus = NBest(np.array([0, 3, 6]), features, ("f", "g", "h"), ("0", "1"), Texts.of(texts))
        corpus = prune(corpus, 3).with_metric(make_metric(name), references)
        if name in ("bleu", "wer"):
            for trainer in (
                MERT(restarts=2, hops=1),
                MaxLikelihood(),
                MinRisk(t0=0.1, t1=0.1),
                GridSearch(points=3),
                RandomSearch(trials=2),
            ):
                mbr(trainer.fit(corpus), corpus, gain=name)
    external = replace(corpus, metric=External(), stats=External().stats_of(features[:, 0] * 1.5))
    SoftBLEU(iterations=5, optimiser="lbfgs").fit(external)
    MERT(restarts=1, hops=0).fit(external)
    apply_recipes(external, fit_recipes(external, [{"kind": "bins", "bins": 2}, {"kind": "gaussians", "kernels": 2}]))
    _exercise_forests(corpus)
    _exercise_sparse(corpus)
    lines = "".join(f"{h // 3} ||| {text} ||| F= 1 {h}.5\n" for h, text in enumerate(texts))
    formats.FORMATS["moses"].read("-", data=lines.encode())
