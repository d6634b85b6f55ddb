"""Why interpolation is as good as reranking here and not in Yuan, Gao & Bu (2007): one change a row.

The second model of the interpolation sees trigrams of words with their readings, the trainers pairs of words. Rows take
away what only one side has, on lists of the same sentences: weaker converters, models of words without readings, and
trainers with the n-grams that the model has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from nbest.decisions import first, oracle
from nbest.features import apply_recipes, fit_recipes
from nbest.papers.data import chosen_stats
from nbest.papers.yuan.isolate import converter_of_share
from nbest.papers.yuan.lists import Kana
from nbest.papers.yuan.same_lists import each_method, rescored, with_tokens
from nbest.papers.yuan.train import against, count_of
from nbest.systems.converter.converter import Converter

SIZE = 8000
"""Sentences to adapt to, or the most below it that a run has."""


@dataclass(frozen=True)
class Change:
    """What is changed of adaptation on the same lists."""

    title: str
    share: float = 1.0  # of the news that the converter is trained on
    tokens: str = "pair"  # of its language model: words with their readings or, "surface", without
    order: int = 2  # of the trainers' n-grams
    read: bool = False  # n-grams of words with their readings


ROWS = {
    "same": Change("as in table 2"),
    "third": Change("converter of a third of the news", share=1 / 3),
    "twelfth": Change("of a twelfth", share=1 / 12),
    "surface": Change("models of words without readings", tokens="surface"),
    "trigrams": Change("trainers with trigrams, too", order=3),
    "readings": Change("trainers with n-grams of words with readings, up to trigrams", order=3, read=True),
}
"""Rows by the end of their steps' names."""


def isolate_li(kana: Kana, domain: str, name: str) -> dict[str, Any]:
    """A step: interpolation and the methods, with their default settings, on the same lists of a domain."""
    row, parts, sizes = ROWS[name], kana.parts(domain), kana.sizes
    converter = converter_of(kana, row)
    size = max(each for each in sizes.adapt[domain] if each <= SIZE)
    adapt = parts.train[: count_of(kana, domain, size)]
    every = []
    for sentences, k in ((adapt, sizes.train_k), (parts.dev, sizes.test_k), (parts.test, sizes.test_k)):
        lists = kana.decoded(converter, sentences, k)
        every.append((lists, with_tokens(kana, converter, sentences, lists, k)))
    test, spelt = every[2]
    choice, weight = rescored(test, spelt, converter, adapt)
    seen = [replace(lists, texts=own.texts) if row.read else lists for lists, own in every]
    recipes = fit_recipes(seen[0], [{"kind": "ngrams", "order": row.order}])
    train, dev, wide = (apply_recipes(each, recipes) for each in seen)
    found = each_method(kana, train, dev, wide, chosen_stats(test, choice))
    base = {"cer": test.score(first(None, test)), "oracle": test.score(oracle(test))}
    counts = {"sentences": len(adapt), "columns": len(train.sparse_names)}
    return {**base, **counts, "li": {**against(test, choice), "weight": weight}, "methods": found}


def converter_of(kana: Kana, row: Change) -> Converter:
    """The converter of all news, or one of fewer sentences or other words."""
    if row.share == 1.0 and row.tokens == "pair":
        return kana.converter("jackknife")
    return converter_of_share(kana, row.share, row.tokens)
