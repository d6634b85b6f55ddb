"""Steps that compare with linear interpolation on the same lists, and adapt to later news."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.decisions import first, oracle
from nbest.features import apply_recipes, fit_recipes
from nbest.papers.data import chosen_stats
from nbest.papers.yuan import text
from nbest.papers.yuan.interpolation import fit_fixed, surface_of, token_lists
from nbest.papers.yuan.lists import Kana
from nbest.papers.yuan.train import ADAPTING, METHODS, against, count_of
from nbest.systems.converter.converter import Converter
from nbest.systems.converter.text import ReadSentence
from nbest.trainers import TRAINERS


def rescored(lists: NBest, spelt: NBest, converter: Converter, adapt: Sequence[ReadSentence]) -> tuple[Ints, float]:
    """What the interpolated model with a fixed vocabulary chooses from lists, and the weight of the background."""
    assert spelt.texts is not None
    mixture = fit_fixed(converter, adapt)
    mixed, own = mixture.scores(spelt.texts)
    scores = lists.column("score") + converter.weights["lm"] * (mixed - own)
    return segments.argmax(scores, lists.offsets), mixture.weight


def with_tokens(kana: Kana, converter: Converter, sentences: Sequence[ReadSentence], lists: NBest, k: int) -> NBest:
    """The hypotheses of the k best lists of sentences in words with their readings."""
    spelt = token_lists(converter, [each.kana for each in sentences], k, kana.run.threads)
    plain = [" ".join(map(surface_of, each.split())) for each in spelt.texts or ()]
    if plain != list(lists.texts or ()):
        raise FormatError(kana.run.work, None, "these test lists are not those of the converter; make both again")
    return spelt


def compare_fixed(kana: Kana, name: str) -> dict[str, Any]:
    """A step: linear interpolation on the test lists of a domain, and MSR-II against it, for each size."""
    lists, converter, parts = kana.read(f"{name}-test"), kana.converter(name), kana.parts(name)
    spelt = with_tokens(kana, converter, parts.test, lists, kana.sizes.test_k)
    found: dict[str, Any] = {}
    for size in kana.sizes.adapt[name]:
        count = count_of(kana, name, size)
        if count:
            choice, weight = rescored(lists, spelt, converter, parts.train[:count])
            prepared = kana.prepared(name, count)
            model = TRAINERS["msr2"](threads=kana.run.threads).fit(prepared.train, prepared.dev)
            own = against(lists, model.predict(prepared.test), chosen_stats(lists, choice))
            found[str(size)] = {**against(lists, choice), "weight": weight, "msr2": own}
    return {"sizes": found}


# later news -------------------------------------------------------------------------------------------------------


def later(kana: Kana) -> dict[str, Any]:
    """A step: a converter of the earlier news adapted to the later ones, as the paper adapts Nikkei to Yomiuri."""
    sizes, run = kana.sizes, kana.run
    parts, earlier = text.later_news(run, sizes.test, sizes.dev, max(LATER_SIZES))
    converter = kana.fit(earlier)
    test, dev = (kana.decoded(converter, part, sizes.test_k) for part in (parts.test, parts.dev))
    train = kana.decoded(converter, parts.train, sizes.train_k)
    spelt = with_tokens(kana, converter, parts.test, test, sizes.test_k)
    found = {}
    for size in LATER_SIZES:
        if size == LATER_SIZES[0] or len(parts.train) > LATER_SIZES[0]:
            adapt = parts.train[:size]
            lists = (train.select(np.arange(len(adapt))), dev, test)
            found[str(size)] = _adapted(
                kana, converter, earlier=earlier, adapt=adapt, lists=lists, spelt=spelt, sentences=parts.test
            )
    base = {"cer": test.score(first(None, test)), "oracle": test.score(oracle(test))}
    counts = {"earlier": len(earlier), "test": len(test), "dev": len(dev), "train": len(train)}
    return {**base, **counts, "sizes": found}


LATER_SIZES = (800, 8000)
"""Sentences to adapt to, or as many as there are."""


def _adapted(
    kana: Kana,
    converter: Converter,
    earlier: Sequence[ReadSentence],
    adapt: Sequence[ReadSentence],
    lists: tuple[NBest, NBest, NBest],
    spelt: NBest,
    sentences: Sequence[ReadSentence],
) -> dict[str, Any]:
    """Both kinds of interpolation and the methods, with their default settings."""
    test = lists[2]
    base = chosen_stats(test, first(None, test))
    anew = kana.decoded(kana.fit(earlier, adapt), sentences, 1)
    choice, weight = rescored(test, spelt, converter, adapt)
    fixed = chosen_stats(test, choice)
    recipes = fit_recipes(lists[0], [{"kind": "ngrams", "order": 2}])
    train, dev, wide = (apply_recipes(part, recipes) for part in lists)
    found = each_method(kana, train, dev, wide, fixed)
    both = {"li": against(anew, first(None, anew), base), "fixed": {**against(test, choice), "weight": weight}}
    return {"sentences": len(adapt), **both, "methods": found}


def each_method(kana: Kana, train: NBest, dev: NBest, test: NBest, fixed: Floats) -> dict[str, Any]:
    """What the methods reach with their default settings; `p_fixed` is against these stats [N, 2]."""
    found = {}
    for method in ADAPTING:
        model = TRAINERS[METHODS[method].trainer](threads=kana.run.threads).fit(train, dev)
        own = model.predict(test)
        found[method] = {**against(test, own), "p_fixed": against(test, own, fixed)["p"]}
    return found
