"""Reranking the tagger's lists of one language for Jagarlamudi & Daume III (2012): each method, settings on dev."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from nbest.base.errors import ParameterError
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.decisions import corpus_oracle, first
from nbest.evaluation.significance import permutation
from nbest.features import apply_recipes, fit_recipes
from nbest.features.lowdim.feature import NAME
from nbest.formats import read, write
from nbest.metrics import TokenAccuracy
from nbest.model.loglinear import LogLinear, load
from nbest.papers.data import chosen_stats, find, treebank
from nbest.papers.run import Run
from nbest.studies.curves import curves
from nbest.systems.jackknife import jackknifed_lists
from nbest.systems.tagger.lattice import FEATURES
from nbest.systems.tagger.report import TagAccuracy, training_tags
from nbest.systems.tagger.system import TaggerTraining
from nbest.trainers.dense.risk import MinRisk
from nbest.trainers.lowdim.trainer import LowDim
from nbest.trainers.settings_grid import search
from nbest.trainers.sparse.boosting import Boosting

K = 10  # hypotheses a list (section 4)
PARTS = ("train", "dev", "test")
BASE = dict.fromkeys(FEATURES, 1.0)
"""Weights of the tagger's own score."""
_METRIC = TokenAccuracy()
Result = dict[str, Any]


@dataclass(frozen=True)
class Grid:
    """Settings of low-dimensional reranking to try, how exactly to solve, and the values of the curves."""

    tau: tuple[float, ...] = (0.8, 0.95, 0.99)
    lam: tuple[float, ...] = (0.1, 0.3, 0.6)
    k: tuple[int, ...] = (10, 25, 50, 75, 100, 150)
    tolerance: float = 1e-3
    rounds: int = 5
    curve_tau: tuple[float, ...] = (0.7, 0.8, 0.9, 0.95, 0.99)
    curve_lam: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class Treebank:
    """A language: where its treebank is, which tags it has, and what is tried on it."""

    name: str  # English
    folder: str
    column: str = "xpos"
    inputs: str = "suffixes"  # view of the words
    pieces: str = "suffix"  # of words, in pairs with tags
    grid: Grid = Grid()


@dataclass(frozen=True)
class Language:
    """A language of a run, and what methods find on its lists. Each method returns accuracies on dev and test."""

    run: Run
    code: str
    bank: Treebank

    # lists -------------------------------------------------------------------------------------------------------

    def make_lists(self) -> Result:
        """Tag train by jackknife, dev and test by the tagger of train; accuracies of the tagger and of the oracle."""
        sentences, words, tags = {}, {}, {}
        for part in PARTS:
            path = find(self.run, "treebanks", self.bank.folder, f"{part}.conllu")
            found = treebank(self.run, self.bank.folder, part)
            sentences[part] = found[: 1000 if self.run.quick and part == "train" else None]
            words[part] = [sentence.forms for sentence in sentences[part]]
            tags[part] = training_tags(path, sentences[part], self.bank.column)
        folds = min(self.run.size(10, 5), len(words["train"]))
        if folds < 2:
            raise ParameterError(f"treebanks/{self.bank.folder}: the train part needs at least two sentences")
        options: dict[str, Any] = {"threads": self.run.threads, "progress": self.run.progress}
        training = TaggerTraining(tags=self.bank.column)
        lists = {"train": jackknifed_lists(training, sentences["train"], K, folds, **options)}
        tagger = training.fit(sentences["train"])
        for part in PARTS[1:]:
            lists[part] = tagger.lists(sentences[part], K, **options)
        for part, made in lists.items():
            write(made, self._path(f"{part}.jsonl.gz"))
        tagged = tagger.tag(words["test"], threads=self.run.threads)
        accuracy = TagAccuracy.of(tagger, words["test"], tags["test"], tagged).percentages()
        measured = {part: found.with_metric(_METRIC) for part, found in lists.items()}
        return {
            "sentences": {part: len(rows) for part, rows in words.items()},
            "words": {part: sum(map(len, rows)) for part, rows in words.items()},
            "tags": len(tagger.tags),
            "folds": folds,
            "tagger": {part: found.score(first(None, found)) for part, found in measured.items()},
            "oracle": {part: found.score(corpus_oracle(found)) for part, found in measured.items()},
            "known": accuracy["known"],
            "unknown": accuracy["unknown"],
        }

    @cached_property
    def lists(self) -> dict[str, NBest]:
        """The lists of all parts, as they were written."""
        self.run.need(f"{self.code}-lists")
        return {part: read(self._path(f"{part}.jsonl.gz")).with_metric(_METRIC) for part in PARTS}

    def _path(self, name: str) -> Path:
        return self.run.work / f"{self.code}-{name}"

    def measure(self, choices: Mapping[str, Ints]) -> Result:
        """Accuracies of what was chosen from dev and test lists, and p against the tagger on test."""
        test = self.lists["test"]
        samples = self.run.size(5000, 1000)
        own, base = (chosen_stats(test, choice) for choice in (choices["test"], first(None, test)))
        p = permutation(_METRIC, base, own, samples=samples, seed=self.run.seed).p
        return {**{part: self.lists[part].score(choice) for part, choice in choices.items()}, "p": p}

    # boosting ----------------------------------------------------------------------------------------------------

    def boosting(self, features: str, *, regularised: bool) -> Result:
        """Boosting over the tagger's score, on pairs, n-grams of tags or both; rounds and penalty chosen on dev."""
        pairs = {"kind": "pairs", "minimum": 2, "pieces": self.bank.pieces}
        ngrams = {"kind": "ngrams", "order": 2, "minimum": 2, "boundaries": True}
        wanted = {"pairs": [pairs], "ngrams": [ngrams], "both": [pairs, ngrams]}[features]
        plain = {part: _one_score(lists) for part, lists in self.lists.items()}
        recipes = fit_recipes(plain["train"], wanted)
        train, dev, test = (apply_recipes(plain[part], recipes) for part in PARTS)
        tried = penalties(self.run) if regularised else (0.0,)

        def trainer(penalty: float) -> Boosting:
            return Boosting(penalty=penalty, patience=1000, rounds=5000, threads=self.run.threads)

        model, rows = search(trainer, {"penalty": tried}, train, dev, progress=self.run.progress)
        best = max(rows, key=lambda row: row["heldout"])
        weighed = sum(weight != 0 for weight in model.weights.values()) - 1
        chosen = {"penalty": best["penalty"], "features": weighed, "columns": len(train.sparse_names)}
        return {**self.measure({"dev": model.predict(dev), "test": model.predict(test)}), "chosen": chosen}

    # low-dimensional ---------------------------------------------------------------------------------------------

    def trainer(self, kind: str) -> LowDim:
        """A trainer over the tagger's score."""
        grid = self.bank.grid
        return LowDim(
            kind=kind, inputs=self.bank.inputs, start=BASE, tolerance=grid.tolerance, rounds=grid.rounds,
            seed=self.run.seed, threads=self.run.threads, progress=self.run.progress,
        )  # fmt: skip

    def lowdim(self, kind: str) -> Result:
        """A low-dimensional model, settings by a grid on dev; and the same projections without the tagger's score."""
        train, dev, test = (self.lists[part] for part in PARTS)
        model, rows = self.trainer(kind).grid(train, dev, **self._settings(kind))
        model.save(self._path(f"{kind}.json"))
        best = max(rows, key=lambda row: row["heldout"])  # the first of equals, as the grid takes it
        alone = {part: _alone(model, lists) for part, lists in (("dev", dev), ("test", test))}
        return {
            **self.measure({"dev": model.predict(dev), "test": model.predict(test)}),
            "alone": self.measure(alone),
            "chosen": {name: best[name] for name in ("tau", "lam", "k", "w") if name in best},
            "rows": rows,
        }

    def _settings(self, kind: str) -> dict[str, Any]:
        """The grid; the discriminative kind, slow to solve, is tried around what the softened one chose."""
        grid = self.bank.grid
        if kind == "generative":
            return {"tau": grid.tau, "k": grid.k}
        if kind == "softened":
            return {"tau": grid.tau, "lam": grid.lam, "k": grid.k}
        best = self.run.need(f"{self.code}-softened")["chosen"]
        at = grid.lam.index(best["lam"])
        return {"tau": [best["tau"]], "lam": grid.lam[max(at - 1, 0) : at + 2], "k": [best["k"]]}

    def stacked(self) -> Result:
        """The tagger's two scores and the softened one, and only the two, weighed by minimum risk on folds of dev."""
        self.run.need(f"{self.code}-softened")
        model = load(self._path("softened.json"))
        found = {}
        for name, lists in (
            ("stacked", {part: model.prepare(self.lists[part]) for part in PARTS[1:]}),
            ("two", {part: self.lists[part] for part in PARTS[1:]}),
        ):
            folds = min(5, len(lists["dev"]))
            weighed = MinRisk(folds=folds, seed=self.run.seed, threads=self.run.threads).fit(lists["dev"])
            choices = {part: weighed.predict(each) for part, each in lists.items()}
            found[name] = {**self.measure(choices), "weights": dict(weighed.weights)}
        return found

    def curve(self, setting: str) -> Result:
        """Figure 1: accuracy on dev against tau or lambda, the other settings as the softened model has them."""
        best = self.run.need(f"{self.code}-softened")["chosen"]
        fixed = {name: best[name] for name in ("tau", "lam", "k") if name != setting}
        own = {"kind": "softened", "inputs": self.bank.inputs, "start": BASE, "tolerance": self.bank.grid.tolerance}
        values = self.bank.grid.curve_tau if setting == "tau" else self.bank.grid.curve_lam
        study = curves(
            self.lists["train"], self.lists["dev"], {setting: values}, method="lowdim", settings={**own, **fixed},
            seed=self.run.seed, threads=self.run.threads, progress=self.run.progress,
        )  # fmt: skip
        return asdict(study)


def penalties(run: Run) -> tuple[float, ...]:
    """Penalties of regularised boosting that are tried."""
    return (1e-5, 1e-4) if run.quick else (1e-6, 1e-5, 1e-4)


def _one_score(lists: NBest) -> NBest:
    """Lists whose only dense feature is the tagger's score."""
    return replace(lists, features=lists.features.sum(axis=1, keepdims=True), feature_names=("tagger",))


def _alone(model: LogLinear, lists: NBest) -> Ints:
    """What the projections choose by themselves."""
    return segments.argmax(model.prepare(lists).column(NAME), lists.offsets)
