"""Converters and lists for the reproduction of Yuan, Gao & Bu (2007).

A *set* is a choice of training, dev and test lists: "disjoint" (a converter of two thirds of the news, lists of the
rest), "jackknife" (each part of the news by a converter of the others; dev and test by one of all), and the domains
(converter of all news). Its lists are work/SET-dev.jsonl.gz, SET-test.jsonl.gz and SET-train-0.jsonl.gz and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.corpus import NBest, merge
from nbest.decisions import first, oracle
from nbest.features import apply_recipes, fit_recipes
from nbest.formats import read, write
from nbest.metrics import CER
from nbest.papers.data import to_train
from nbest.papers.run import Run
from nbest.papers.yuan import text
from nbest.papers.yuan.text import Parts
from nbest.systems.converter.converter import Converter
from nbest.systems.converter.files import save
from nbest.systems.converter.system import ConverterTraining
from nbest.systems.converter.text import ReadSentence
from nbest.systems.jackknife import fold_indices

METRIC = CER(spaces=False)
NEWS = ("disjoint", "jackknife")
GOLD = {"kuwiki": "kuwiki", "ruby": "ROHAN4600, ITA"}
_BLOCK = 500  # sentences whose forests are in memory at once


@dataclass(frozen=True)
class YuanSizes:
    """How much of everything; less where the data have less."""

    held: int  # sentences of the news for dev, and for test
    news: int  # others of them
    parts: dict[str, int]  # into how many files the training lists of a set are divided
    gold: int  # sentences of each gold set
    test: int  # of a domain
    dev: int
    adapt: dict[str, tuple[int, ...]]  # sentences to adapt to, by domain
    train_k: int  # hypotheses of a list that is trained on
    test_k: int  # of a dev, test or gold list
    limit: int  # features of the study of alpha
    marks: tuple[int, ...]  # numbers of features that its table shows
    why_li: tuple[str, ...]  # domains on which it is isolated why interpolation is strong


FULL = YuanSizes(
    held=2000, news=100_000, parts={"disjoint": 3, "jackknife": 10, "tanaka": 6, "aozora": 9, "jsquad": 1},
    gold=6000, test=2000, dev=1000,
    adapt={"tanaka": (800, 8000, 72_000), "aozora": (800, 8000, 72_000), "jsquad": (800, 8000)},
    train_k=20, test_k=100, limit=2000, marks=(100, 500, 1000, 2000), why_li=("tanaka", "aozora"),
)  # fmt: skip
QUICK = YuanSizes(
    held=300, news=3000, parts={"disjoint": 1, "jackknife": 3, "tanaka": 1}, gold=200, test=300, dev=300,
    adapt={"tanaka": (200, 2000)}, train_k=20, test_k=20, limit=300, marks=(10, 30, 100, 300), why_li=("tanaka",),
)  # fmt: skip


def sizes_of(run: Run) -> YuanSizes:
    """Those of the run."""
    return QUICK if run.quick else FULL


@dataclass(frozen=True)
class Prepared:
    """Lists of a set with counts of words and pairs of words, those of the training lists."""

    train: NBest
    dev: NBest
    test: NBest
    gold: dict[str, NBest]


class Kana:
    """Sentences, converters and lists of a run; what was used last stays in memory, because steps share it."""

    def __init__(self, run: Run) -> None:
        self.run, self.sizes = run, sizes_of(run)
        self.domain = lru_cache(maxsize=1)(self._domain)
        self.prepared = lru_cache(maxsize=1)(self._prepared)

    @cached_property
    def news(self) -> Parts:
        """The background text."""
        return text.news(self.run, self.sizes.held, self.sizes.news)

    @cached_property
    def dictionary(self) -> list[tuple[str, str]]:
        """Words with readings beside those of the news."""
        return text.dictionary(self.run)

    def _domain(self, name: str) -> Parts:
        return text.domain(self.run, name, self.sizes.test, self.sizes.dev, max(self.sizes.adapt[name]))

    def parts(self, name: str) -> Parts:
        """The sentences of a set; those of "disjoint" to train on are what its converter has not seen."""
        if name in NEWS:
            skip = self._converted(name) if name == "disjoint" else 0
            return replace(self.news, train=self.news.train[skip:])
        return self.domain(name)

    def gold(self, name: str) -> list[ReadSentence]:
        """A set with readings by hand."""
        found = {"kuwiki": text.kuwiki, "ruby": text.ruby}[name](self.run, self.sizes.gold)
        if not found:
            raise ParameterError(f"the texts of {GOLD[name]} in kana/gold have no sentence whose reading is given")
        return found

    # converters -----------------------------------------------------------------------------------------------------

    def _converted(self, name: str) -> int:
        """How many sentences of the news the converter of a set is trained on."""
        count = len(self.news.train)
        return count * 2 // 3 if name == "disjoint" else count

    def fit(self, sentences: Sequence[ReadSentence], adapt: Sequence[ReadSentence] = ()) -> Converter:
        """A trigram converter."""
        return ConverterTraining(order=3).fit(sentences, self.dictionary, adapt=adapt, threads=self.run.threads)

    def converter(self, name: str) -> Converter:
        """The converter of a set, trained unless the run's systems have it already."""
        count = self._converted(name)
        folder = self.run.base / f"news-{count}-seed-{self.run.seed}"
        with to_train(folder) as is_missing:
            if is_missing:
                self.run.say(f"training the converter {folder.name}")
                save(self.fit(self.news.train[:count]), folder)
        return Converter.load(folder)

    def train_converter(self, name: str) -> dict[str, Any]:
        """A step: the converter of a set."""
        words = len(self.converter(name).lm.vocabulary)
        return {"sentences": self._converted(name), "words": words}

    # lists ----------------------------------------------------------------------------------------------------------

    def count(self) -> dict[str, Any]:
        """A step: the sentences of every part, so that data that are missing are missed at once."""
        found: dict[str, Any] = {"dictionary": len(self.dictionary)}
        for name in (*NEWS, *self.sizes.adapt):
            parts = self.parts(name)
            found[name] = {"test": len(parts.test), "dev": len(parts.dev), "train": len(parts.train)}
        return found | {name: len(self.gold(name)) for name in GOLD}

    def decoded(self, converter: Converter, sentences: Sequence[ReadSentence], k: int, begin: int = 0) -> NBest:
        """Lists with the converter's own score as the only feature, and character errors; ids count from `begin`."""
        found = []
        for at in range(0, len(sentences), _BLOCK):
            some = sentences[at : at + _BLOCK]
            ids = [str(begin + at + i) for i in range(len(some))]
            forests = converter.forests([each.kana for each in some], ids=ids, threads=self.run.threads)
            lists = converter.best(forests, k, threads=self.run.threads)
            scores = lists.features @ np.array([forests.own_weights[name] for name in lists.feature_names])
            found.append(replace(lists, features=scores[:, None], feature_names=("score",), origins={}))
            self.run.progress(at + len(some), len(sentences))
        return merge(*found).with_metric(METRIC, [(each.text,) for each in sentences])

    def _kept(self, lists: NBest, name: str) -> dict[str, Any]:
        """Write lists for later steps; what they are like."""
        write(lists, self.run.work / f"{name}.jsonl.gz")
        reached = {"cer": lists.score(first(None, lists)), "oracle": lists.score(oracle(lists))}
        return {"segments": len(lists), "hypotheses": lists.hypotheses, **reached}

    def held_lists(self, name: str, part: str) -> dict[str, Any]:
        """A step: lists of the dev or test part of a set."""
        sentences: list[ReadSentence] = getattr(self.parts(name), part)
        return self._kept(self.decoded(self.converter(name), sentences, self.sizes.test_k), f"{name}-{part}")

    def gold_lists(self, name: str) -> dict[str, Any]:
        """A step: lists of a gold set, by the converter of all news."""
        lists = self.decoded(self.converter("jackknife"), self.gold(name), self.sizes.test_k)
        return self._kept(lists, name)

    def train_lists(self, name: str, number: int) -> dict[str, Any]:
        """A step: one part of the training lists of a set; "jackknife" trains a converter of the other parts."""
        sentences, parts = self.parts(name).train, self.sizes.parts[name]
        if name == "jackknife":
            others, own = list(fold_indices(len(sentences), parts))[number]
            by = self.fit([sentences[i] for i in others])
        else:
            own = np.array_split(np.arange(len(sentences)), parts)[number]
            by = self.converter(name)
        lists = self.decoded(by, [sentences[i] for i in own], self.sizes.train_k, int(own[0]))
        return self._kept(lists, f"{name}-train-{number}")

    def read(self, name: str) -> NBest:
        """Lists that a step made."""
        self.run.need(name)
        return read(self.run.work / f"{name}.jsonl.gz").with_metric(METRIC)

    def _prepared(self, name: str, count: int | None = None) -> Prepared:
        """The lists of a set, of its training lists the first `count`; gold ones with "jackknife"."""
        parts: list[NBest] = []
        for number in range(self.sizes.parts[name]):
            if count is None or sum(map(len, parts)) < count:
                parts.append(self.read(f"{name}-train-{number}"))
        train = merge(*parts)
        train = train if count is None else train.select(range(min(count, len(train))))
        recipes = fit_recipes(train, [{"kind": "ngrams", "order": 2}])
        names = {"dev": f"{name}-dev", "test": f"{name}-test"}
        names.update({gold: gold for gold in GOLD if name == "jackknife"})
        held = {key: apply_recipes(self.read(file), recipes) for key, file in names.items()}
        return Prepared(apply_recipes(train, recipes), held.pop("dev"), held.pop("test"), held)
