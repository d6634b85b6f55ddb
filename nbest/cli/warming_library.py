"""Kernels that no command on small data reaches: of large corpora, and of the library alone."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import ConvergenceWarning
from nbest.corpus import Texts, intern
from nbest.forests.derivations import forests_of
from nbest.forests.edge_stats import bleu_edge_stats
from nbest.forests.expectations import derivatives, expectations
from nbest.forests.pruning import prune
from nbest.forests.sampling import sample
from nbest.forests.semirings import SEMIRINGS, outside, totals
from nbest.formats import read
from nbest.formats.forests.slf import FORMAT as SLF
from nbest.lm.file import load_lm
from nbest.metrics import BLEU
from nbest.model import loglinear
from nbest.objectives import forest_shard
from nbest.systems.translator.phrases.numbers import Numbers, PairCounts
from nbest.systems.translator.translator import Translator
from nbest.testing.corpora import toy_lists
from nbest.testing.forests import toy_forests
from nbest.trainers import MSR, MSR2, MaxLikelihood, MinRisk, SoftBLEU
from nbest.trainers.dense import cobleu

_MANY = 5000  # more than the first tables hold
_HOLES = """\\data\\
ngram 1=4
ngram 2=1
ngram 3=1

\\1-grams:
-1 <s> -0.3
-1 </s>
-1 a -0.3
-1 b -0.3

\\2-grams:
-0.5 a b -0.2

\\3-grams:
-0.4 a b a

\\end\\
"""


def of_forests() -> None:
    """Semirings, samples, pruning, derivatives, nodes that are split, and lattices that are read."""
    forests = toy_forests(2)
    scores = np.random.default_rng(1).normal(size=forests.edges)
    for semiring in SEMIRINGS.values():
        _semiring(semiring(), forests, scores)
    sample(forests, scores, 2)
    prune(forests, scores, gap=1.0)
    derivatives(forests, scores, scores)
    expectations(forests, scores, forests.features)
    bleu_edge_stats(forests, BLEU(max_ngram_order=2, tokenize="none"))
    for name, text in SLF.example.items():
        SLF.read(name, data=text.encode())


def _semiring(semiring: Any, forests: Any, scores: Any) -> None:
    width = len(semiring.one())
    edges = np.tile(scores[:, None], width)
    totals(semiring, forests, edges)
    outside(semiring, forests, edges)


def of_columns() -> None:
    """Dense features one at a time, on lists from which much is learnt."""
    MSR().fit(toy_lists(1))
    MSR2().fit(toy_lists(1))


def of_large_corpora() -> None:
    """Features in single precision, and tables that grow."""
    forest_shard.SINGLE = cobleu.SINGLE = loglinear.KERNEL = 0  # in this process, which ends soon
    lists = read("dev.jsonl").with_metric(BLEU(max_ngram_order=2, tokenize="none"))
    for kind in (np.float32, np.float64):
        loglinear.LogLinear({}).scores(replace(lists, features=lists.features.astype(kind)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for trainer in (MinRisk(t0=0.1, t1=0.1), SoftBLEU(iterations=3), MaxLikelihood()):
            for corpus in (lists, forests_of(lists)):
                trainer.fit(corpus)
        cobleu.MaxCoBLEU(iterations=3).fit(forests_of(lists))
    intern(Texts.of([" ".join(f"w{k}" for k in range(_MANY))]))
    places = np.arange(_MANY, dtype=np.int32)
    numbers, counts = Numbers(places), PairCounts()
    for _ in range(2):
        numbers.of(places, np.ones_like(places))
        counts.add(places, places, places.astype(np.float32), places.astype(np.float32))


def of_systems() -> None:
    """A language model with holes, and the phrases of some texts."""
    Path("holes.arpa").write_text(_HOLES, encoding="utf-8")
    load_lm("holes.arpa")
    table = Translator.load("translator").table
    words, _ = intern(Texts.of([" ".join(table.source_words)]))
    table.filter(words[0])
