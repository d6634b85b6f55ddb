"""Reranking the tagger's lists of one language for Jagarlamudi & Daume III (2012): each method, settings on dev."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from nbest.formats.conllu import Sentence
from nbest.metrics import TokenAccuracy
from nbest.model.loglinear import LogLinear, load
from nbest.papers.data import chosen_stats, find, treebank
from nbest.papers.jagarlamudi.treebanks import Treebank
from nbest.papers.run import Run
from nbest.systems.jackknife import jackknifed_lists
from nbest.systems.tagger.lattice import FEATURES
from nbest.systems.tagger.report import TagAccuracy, training_tags
from nbest.systems.tagger.system import TaggerTraining
from nbest.trainers.dense.risk import MinRisk
from nbest.trainers.lowdim.trainer import LowDim
from nbest.trainers.settings_grid import search
from nbest.trainers.sparse.boosting import Boosting

K = 10  # hypotheses a list (section 4)
_ROUNDS = 5  # of algorithm 1 (section 3.3)
PARTS = ("train", "dev", "test")
FEATURES_OF = ("pairs", "ngrams", "words", "both")
"""What boosting is tried on: pieces of words with tags; n-grams of tags; n-grams of tags and of words with tags; the
first two together."""
BASE = dict.fromkeys(FEATURES, 1.0)
"""Weights of the tagger's own score."""
_METRIC = TokenAccuracy()
Result = dict[str, Any]


@dataclass(frozen=True)
class Language:
    """A language of a run, and what methods find on its lists. Each method returns accuracies on dev and test."""

    run: Run
    code: str
    bank: Treebank

    # lists -------------------------------------------------------------------------------------------------------

    def make_lists(self) -> Result:
        """Tag train by jackknife, dev and test by the tagger of train; accuracies of the tagger and of the oracle."""
        sentences = {part: self.sentences(part) for part in PARTS}
        words = {part: [sentence.forms for sentence in each] for part, each in sentences.items()}
        lists = {"train": self.jackknifed(sentences["train"])}
        tagger = self._training.fit(sentences["train"])
        for part in PARTS[1:]:
            lists[part] = tagger.lists(sentences[part], K, **self._watched)
        for part, made in lists.items():
            write(made, self._path(f"{part}.jsonl.gz"))
        tagged = tagger.tag(words["test"], threads=self.run.threads)
        right = training_tags(self._file("test"), sentences["test"], self.bank.column)
        accuracy = TagAccuracy.of(tagger, words["test"], right, tagged).percentages()
        measured = {part: found.with_metric(_METRIC) for part, found in lists.items()}
        return {
            "sentences": {part: len(rows) for part, rows in words.items()},
            "words": {part: sum(map(len, rows)) for part, rows in words.items()},
            "tags": len(tagger.tags),
            "folds": self._folds(sentences["train"]),
            "tagger": {part: found.score(first(None, found)) for part, found in measured.items()},
            "oracle": {part: found.score(corpus_oracle(found)) for part, found in measured.items()},
            "known": accuracy["known"],
            "unknown": accuracy["unknown"],
        }

    def sentences(self, part: str) -> list[Sentence]:
        """Those of a part, all with tags; in a quick run the first 1,000 to train on."""
        found = treebank(self.run, self.bank.folder, part)[: 1000 if self.run.quick and part == "train" else None]
        training_tags(self._file(part), found, self.bank.column)
        return found

    def jackknifed(self, sentences: list[Sentence], seed: int | None = None) -> NBest:
        """Training lists; folds are contiguous, or drawn at random by a seed."""
        drawn: dict[str, Any] = {} if seed is None else {"shuffle": True, "seed": seed}
        return jackknifed_lists(self._training, sentences, K, self._folds(sentences), **drawn, **self._watched)

    def _folds(self, sentences: list[Sentence]) -> int:
        folds = min(self.run.size(10, 5), len(sentences))
        if folds < 2:
            raise ParameterError(f"treebanks/{self.bank.folder}: the train part needs at least two sentences")
        return folds

    @property
    def _training(self) -> TaggerTraining:
        return TaggerTraining(tags=self.bank.column)

    @property
    def _watched(self) -> dict[str, Any]:
        return {"threads": self.run.threads, "progress": self.run.progress}

    def _file(self, part: str) -> Path:
        return find(self.run, "treebanks", self.bank.folder, f"{part}.conllu")

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
        """Boosting over the tagger's score, on a kind of features; rounds and penalty chosen on dev."""
        return self.boosted(self.lists["train"], features, penalties(self.run) if regularised else (0.0,))

    def boosted(self, lists: NBest, features: str, tried: Sequence[float]) -> Result:
        """The same on given training lists, with these penalties."""
        train = _one_score(lists)
        recipes = fit_recipes(train, self._features(features))
        train, dev, test = (apply_recipes(_one_score(each), recipes) for each in (lists, *self._held))

        def trainer(penalty: float) -> Boosting:
            return Boosting(penalty=penalty, patience=1000, rounds=5000, threads=self.run.threads)

        model, rows = search(trainer, {"penalty": tried}, train, dev, progress=self.run.progress)
        best = max(rows, key=lambda row: row["heldout"])
        weighed = sum(weight != 0 for weight in model.weights.values()) - 1
        chosen = {"penalty": best["penalty"], "features": weighed, "columns": len(train.sparse_names)}
        return {**self.measure({"dev": model.predict(dev), "test": model.predict(test)}), "chosen": chosen}

    def _features(self, kind: str) -> list[dict[str, Any]]:
        """Recipes of a kind of `FEATURES_OF`; what is in one list only is left out."""
        pairs = {"kind": "pairs", "minimum": 2, "pieces": self.bank.pieces}
        words = {"kind": "pairs", "minimum": 2, "pieces": "word"}
        tags = {"kind": "ngrams", "minimum": 2, "boundaries": True}
        two, three = {**tags, "order": 2}, {**tags, "order": 3}
        return {"pairs": [pairs], "ngrams": [two], "words": [three, words], "both": [pairs, two]}[kind]

    @property
    def _held(self) -> tuple[NBest, NBest]:
        return self.lists["dev"], self.lists["test"]

    # low-dimensional ---------------------------------------------------------------------------------------------

    def trainer(self, kind: str) -> LowDim:
        """A trainer over the tagger's score."""
        grid = self.bank.grid
        return LowDim(
            kind=kind, inputs=self.bank.inputs, start=BASE, tolerance=grid.tolerance, rounds=_ROUNDS,
            seed=self.run.seed, threads=self.run.threads, progress=self.run.progress,
        )  # fmt: skip

    def lowdim(self, kind: str) -> Result:
        """A low-dimensional model, settings by a grid on dev; and the same projections without the tagger's score."""
        train, dev, test = (self.lists[part] for part in PARTS)
        model, rows = self._searched(kind, train, dev)
        model.save(self._path(f"{kind}.json"))
        best = max(rows, key=lambda row: row["heldout"])  # the first of equals, as the grid takes it
        alone = {part: _alone(model, lists) for part, lists in (("dev", dev), ("test", test))}
        return {
            **self.measure({"dev": model.predict(dev), "test": model.predict(test)}),
            "alone": self.measure(alone),
            "chosen": {name: best[name] for name in ("tau", "lam", "k", "w") if name in best},
            "rows": rows,
        }

    def _searched(self, kind: str, train: NBest, dev: NBest) -> tuple[LogLinear, list[dict[str, Any]]]:
        """The best model of the grid, and its rows. The rounds of the discriminative kind depend on k, so that one
        solve does not serve all: it tries every tau and lambda at the middle k, then every k at the best of these."""
        grid, trainer = self.bank.grid, self.trainer(kind)
        if kind == "generative":
            return trainer.grid(train, dev, tau=grid.tau, k=grid.k)
        if kind == "softened":
            return trainer.grid(train, dev, tau=grid.tau, lam=grid.lam, k=grid.k)
        middle, rows = trainer.grid(train, dev, tau=grid.tau, lam=grid.lam, k=[grid.middle])
        best = max(rows, key=lambda row: row["heldout"])
        others = [k for k in grid.k if k != grid.middle]
        model, more = trainer.grid(train, dev, tau=[best["tau"]], lam=[best["lam"]], k=others)
        is_middle = best["heldout"] >= max(row["heldout"] for row in more)
        return middle if is_middle else model, [*rows, *more]

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
        """Figure 1: accuracy on dev against tau or lambda, the other settings as the discriminative model has them."""
        best = self.run.need(f"{self.code}-discriminative")["chosen"]
        values = self.bank.grid.curve_tau if setting == "tau" else self.bank.grid.curve_lam
        tried: dict[str, Any] = {name: [best[name]] for name in ("tau", "lam", "k")} | {setting: values}
        _, rows = self.trainer("discriminative").grid(self.lists["train"], self.lists["dev"], **tried)
        return {"rows": rows}

    # draws of the jackknife --------------------------------------------------------------------------------------

    @property
    def seeds(self) -> range:
        """Those of the draws: all differ from run to run with other seeds."""
        count = self.run.size(5, 2)
        return range(count * (self.run.seed - 1) + 1, count * self.run.seed + 1)

    def drawn(self, seed: int) -> Result:
        """Training lists whose folds are drawn by a seed: what methods reach with the settings chosen before; rounds
        and w are chosen on dev again."""
        lists = self.jackknifed(self.sentences("train"), seed)
        train = lists.with_metric(_METRIC)
        found = {"tagger": {"train": train.score(first(None, train))}}
        for step in DRAWN:
            name, _, features = step.partition("-")
            chosen = self.run.need(f"{self.code}-{step}")["chosen"]
            if features:
                found[step] = self.boosted(train, features, (chosen["penalty"],))
            else:
                fixed = {key: chosen[key] for key in ("tau", "lam", "k")}
                model = replace(self.trainer(name), **fixed).fit(train, self.lists["dev"])
                found[step] = self.measure({part: model.predict(self.lists[part]) for part in PARTS[1:]})
        return found


DRAWN = ("regularised-pairs", "regularised-words", "softened", "discriminative")
"""Steps whose methods are trained again on other draws of the folds; the generative kind does not look at lists."""


def penalties(run: Run) -> tuple[float, ...]:
    """Penalties of regularised boosting that are tried."""
    return (1e-5, 1e-4) if run.quick else (1e-6, 1e-5, 1e-4)


def _one_score(lists: NBest) -> NBest:
    """Lists whose only dense feature is the tagger's score."""
    return replace(lists, features=lists.features.sum(axis=1, keepdims=True), feature_names=("tagger",))


def _alone(model: LogLinear, lists: NBest) -> Ints:
    """What the projections choose by themselves."""
    return segments.argmax(model.prepare(lists).column(NAME), lists.offsets)
