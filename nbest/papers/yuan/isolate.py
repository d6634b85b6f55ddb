"""Why minimum sample risk gains less in these news than in those of Yuan, Gao & Bu (2007): one change a row.

Rows are pairs or triples that differ in one thing: training lists of other documents or of the same, sentences whose
readings a dictionary confirms or any, more lists, a weaker converter, errors counted against the best hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from nbest.base.types import Ints
from nbest.corpus import NBest, merge
from nbest.decisions import first, oracle
from nbest.features import apply_recipes, fit_recipes
from nbest.papers.yuan.lists import METRIC, Kana
from nbest.papers.yuan.train import ALPHAS, against
from nbest.systems.converter.converter import Converter
from nbest.systems.converter.system import ConverterTraining
from nbest.systems.converter.text import ReadSentence, is_kana
from nbest.trainers import TRAINERS
from nbest.trainers.settings_grid import search

METHODS = {"msr2": "MSR-II", "boosting": "boosting", "mira": "MIRA"}
"""What each row is trained with: alpha of MSR-II is chosen on dev, the others have their default settings."""


@dataclass(frozen=True)
class Three:
    """Lists to train on, to choose on and to test on."""

    train: NBest
    dev: NBest
    test: NBest


@dataclass(frozen=True)
class Isolated:
    """A row of the table, and which steps leave the lists it is made of."""

    title: str
    lists: Callable[[Kana], Three]
    sets: tuple[str, ...] = ("jackknife",)


def isolate(kana: Kana, name: str) -> dict[str, Any]:
    """A step: base rate and what methods reach on the lists of a row."""
    three = ROWS[name].lists(kana)
    recipes = fit_recipes(three.train, [{"kind": "ngrams", "order": 2}])
    train, dev, test = (apply_recipes(each, recipes) for each in (three.train, three.dev, three.test))
    found: dict[str, Any] = {}
    for method in METHODS:
        grid = {"alpha": (0.8, 1.0) if kana.run.quick else ALPHAS} if method == "msr2" else {}
        make = partial(TRAINERS[method], threads=kana.run.threads)
        model = search(make, grid, train, dev)[0] if grid else make().fit(train, dev)
        scores = {"train": model.scores_["dev"], "dev": model.scores_["heldout"]}
        found[method] = {**scores, **against(test, model.predict(test))}
    base = {part: each.score(first(None, each)) for part, each in (("train", train), ("dev", dev), ("test", test))}
    sizes = {"lists": len(train), "dev": len(dev), "test": len(test), "columns": len(train.sparse_names)}
    return {**sizes, "base": base, "oracle": test.score(oracle(test)), "methods": found}


# number of lists --------------------------------------------------------------------------------------------------


def _pool(kana: Kana) -> NBest:
    """All training lists of the jackknife."""
    return merge(*(kana.read(f"jackknife-train-{number}") for number in range(kana.sizes.parts["jackknife"])))


def _first(kana: Kana, share: float) -> Three:
    pool = _pool(kana)
    return Three(pool.select(range(int(share * len(pool)))), kana.read("jackknife-dev"), kana.read("jackknife-test"))


# the same documents -----------------------------------------------------------------------------------------------


def _documents(kana: Kana, *, same: bool) -> Three:
    return _by_documents(_pool(kana), same=same)


def _by_documents(pool: NBest, *, same: bool) -> Three:
    """Test and dev are every third sentence of the last two sixths of the lists. Of as many training lists for both,
    the other two thirds of those sixths are a part (`same`) or are not; a document never lies in two of the sixths
    but at their edges."""
    sixth = len(pool) // 6
    dev, test = (np.arange(begin, begin + sixth) for begin in (4 * sixth, 5 * sixth))
    beside = np.concatenate([part[np.arange(sixth) % 3 != 0] for part in (dev, test)])
    others = np.arange(4 * sixth)
    train = np.concatenate([others[len(beside) :], beside]) if same else others
    return Three(*(pool.select(part) for part in (train, dev[::3], test[::3])))


# readings ---------------------------------------------------------------------------------------------------------


def confirmed(sentences: Sequence[ReadSentence], pairs: set[tuple[str, str]]) -> Ints:
    """Which sentences have only words whose reading the dictionary has; words of kana, digits and letters need none."""

    def is_sure(surface: str, reading: str) -> bool:
        return (surface, reading) in pairs or surface == reading or all(map(is_kana, surface))

    own = [all(map(is_sure, each.surfaces, each.readings)) for each in sentences]
    return np.flatnonzero(own)


def _readings(kana: Kana, *, sure: bool) -> Three:
    """Dev and test of confirmed readings; to train on the confirmed ones, or as many of all, evenly drawn."""
    pairs = set(kana.dictionary)
    pool, train = _pool(kana), confirmed(kana.news.train, pairs)
    if not sure:
        train = np.arange(len(train)) * len(pool) // max(len(train), 1)
    dev, test = (
        kana.read(f"jackknife-{part}").select(confirmed(getattr(kana.news, part), pairs)) for part in ("dev", "test")
    )
    return Three(pool.select(train), dev, test)


# base models ------------------------------------------------------------------------------------------------------


def converter_of_share(kana: Kana, share: float, tokens: str = "pair") -> Converter:
    """A converter of the first sentences of the news."""
    some = kana.news.train[: max(1, int(share * len(kana.news.train)))]
    return ConverterTraining(order=3, tokens=tokens).fit(some, kana.dictionary, threads=kana.run.threads)


def _weaker(kana: Kana, share: float, tokens: str = "pair") -> Three:
    """The sentences of the disjoint lists, converted by a model of fewer sentences, or of words without readings."""
    parts, sizes, converter = kana.parts("disjoint"), kana.sizes, converter_of_share(kana, share, tokens)
    held = (kana.decoded(converter, part, sizes.test_k) for part in (parts.dev, parts.test))
    return Three(kana.decoded(converter, parts.train, sizes.train_k), *held)


def _both(kana: Kana, share: float) -> Three:
    """The last two thirds of the news, converted by a model of the first sentences; a third of the training lists are
    of the documents of dev and test."""
    last = kana.news.train[len(kana.news.train) // 3 :]
    return _by_documents(kana.decoded(converter_of_share(kana, share), last, kana.sizes.train_k), same=True)


def _disjoint(kana: Kana) -> Three:
    parts = (kana.read(f"disjoint-train-{number}") for number in range(kana.sizes.parts["disjoint"]))
    return Three(merge(*parts), kana.read("disjoint-dev"), kana.read("disjoint-test"))


def _best_as_reference(kana: Kana) -> Three:
    """Training errors against the best hypothesis of each list, as the paper counts them."""
    three = _disjoint(kana)
    texts, best = list(three.train.texts or ()), oracle(three.train)
    own = [(texts[at] if at >= 0 else "",) for at in best.tolist()]
    return Three(three.train.with_metric(METRIC, own), three.dev, three.test)


ROWS = {
    "documents-other": Isolated("lists of other documents", partial(_documents, same=False)),
    "documents-same": Isolated("as many, a third of the documents of dev and test", partial(_documents, same=True)),
    "readings-any": Isolated("test of sure readings; as many lists, any readings", partial(_readings, sure=False)),
    "readings-sure": Isolated("test of sure readings; lists of sure readings", partial(_readings, sure=True)),
    "lists-10000": Isolated("10,000 lists", partial(_first, share=10_000 / 35_776)),
    "lists-20000": Isolated("20,000 lists", partial(_first, share=20_000 / 35_776)),
    "lists-all": Isolated("all lists", partial(_first, share=1.0)),
    "base-two-thirds": Isolated("converter of two thirds of the news", _disjoint, ("disjoint",)),
    "base-third": Isolated("of a third", partial(_weaker, share=1 / 3), ("disjoint",)),
    "base-twelfth": Isolated("of a twelfth", partial(_weaker, share=1 / 12), ("disjoint",)),
    "base-surface": Isolated(
        "of two thirds, words without readings", partial(_weaker, share=2 / 3, tokens="surface"), ("disjoint",)
    ),
    "both-third": Isolated("of a third, and a third of the same documents", partial(_both, share=1 / 3), ()),
    "both-twelfth": Isolated("of a twelfth, and a third of the same documents", partial(_both, share=1 / 12), ()),
    "reference-best": Isolated("errors against the best of the list", _best_as_reference, ("disjoint",)),
}
"""Rows by the end of their steps' names."""
