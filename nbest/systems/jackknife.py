"""Jackknifed lists: each item decoded by a base system that was not trained on it, so that training lists look like
test lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.randomness import generator
from nbest.base.types import Ints
from nbest.compute.executors import current
from nbest.compute.parallel import counter
from nbest.corpus import NBest
from nbest.corpus.operations import join
from nbest.systems.base import Training

Item = TypeVar("Item")
Decode = Callable[[Sequence[Item], Sequence[Item]], NBest]
"""Train a base system on the first items and decode the second: one list for each, in their order, no id twice."""


def fold_indices(count: int, folds: int = 10, *, shuffle: bool = False, seed: int = 1) -> Iterator[tuple[Ints, Ints]]:
    """For each fold, which of `count` items to train on and which to decode, both rising.

    Folds differ in size by at most one; they are contiguous, which keeps a document together, or random if `shuffle`.
    """
    if folds < 2:
        raise ParameterError(f"'folds' of jackknife must be >= 2, got {folds}")
    if folds > count:
        raise ParameterError(f"'folds' of jackknife must be at most the number of items, got {folds} for {count} items")
    order = generator(seed).permutation(count) if shuffle else np.arange(count)
    for part in np.array_split(order, folds):
        test = np.sort(part)
        yield np.setdiff1d(np.arange(count), test, assume_unique=True), test


def jackknife(
    items: Sequence[Item],
    decode: Decode[Item],
    folds: int = 10,
    *,
    shuffle: bool = False,
    seed: int = 1,
    progress: Callable[[int, int], Any] | None = None,
) -> NBest:
    """Lists of all items, in their order: fold after fold, `decode(other items, items of the fold)`; side by side where
    the executor has workers of its own.

    A reranker trained on lists that its base system decoded from its own training data would trust that system's
    features too much. Nguyen, Mahajan & He (2007), section 4.2: base models are trained on 9/10 and decode the tenth,
    and one reranker is trained on the lists of all ten systems.

    `decode` returns one list (perhaps empty) for each item of the fold, in their order, with the same dense features in
    every fold and ids that differ over all folds. Statistics are kept if every fold has them for one metric. An error
    of `decode` is passed on with a note that names the fold; `progress(done, folds)` is called after each.
    Cost: `folds` trainings of the base system; each item is decoded once.
    """
    tests = [test for _, test in fold_indices(len(items), folds, shuffle=shuffle, seed=seed)]
    work = _FoldWork(items, decode, folds)
    parts: list[NBest] = []
    seen: dict[str, int] = {}
    tell = counter(progress, folds)
    for number, found in enumerate(_each_fold(work, tests, tell), 1):
        _check(found, len(tests[number - 1]), number, parts, seen)
        parts.append(found.only_features(parts[0].feature_names) if parts else found)
    return join(parts).select(np.argsort(np.concatenate(tests)))


def _each_fold(work: _FoldWork[Any], tests: Sequence[Ints], tell: Callable[[int], Any]) -> Iterator[NBest]:
    """What is found for each fold: by all workers where the executor has some, else one after the other."""
    folds = list(enumerate(tests, 1))
    if current().apart:
        yield from current().map(work, folds, tell)
        return
    for fold in folds:
        yield work(fold)
        tell(1)  # when what was found has been checked


@dataclass(frozen=True)
class _FoldWork(Generic[Item]):
    """What is done for a fold, given its number and which items it decodes."""

    items: Sequence[Item]
    decode: Decode[Item]
    folds: int

    def __call__(self, fold: tuple[int, Ints]) -> NBest:
        number, test = fold
        train = np.setdiff1d(np.arange(len(self.items)), test, assume_unique=True)
        try:
            return self.decode([self.items[i] for i in train], [self.items[i] for i in test])
        except Exception as error:
            error.add_note(f"in fold {number} of {self.folds} of jackknife")
            raise


def jackknifed_lists(
    training: Training[Any], items: Sequence[Any], k: int, folds: int = 10, *, shuffle: bool = False, seed: int = 1,
    threads: int | None = None, progress: Callable[[int, int], Any] | None = None,
) -> NBest:  # fmt: skip
    """The k best hypotheses of each item by a system of the other folds; references are those that items carry.

    `shuffle` and `seed` are those of `fold_indices`.
    """
    decode = partial(_fitted, training, k, None if current().apart else threads)
    return jackknife(list(enumerate(items)), decode, folds, shuffle=shuffle, seed=seed, progress=progress)


def _fitted(
    training: Training[Any],
    k: int,
    threads: int | None,
    train: Sequence[tuple[int, Any]],
    test: Sequence[tuple[int, Any]],
) -> NBest:
    """Lists of some items, by a system of others."""
    system = training.fit([item for _, item in train], threads=threads)
    return system.lists([item for _, item in test], k, ids=[str(i) for i, _ in test], threads=threads)


def _check(found: Any, size: int, fold: int, parts: Sequence[NBest], seen: dict[str, int]) -> None:
    """One list an item, features as before, ids never seen; the fold is named."""
    if not isinstance(found, NBest):
        raise ParameterError(f"fold {fold} of jackknife: decode must return an NBest, got {type(found).__name__}")
    if len(found) != size:
        raise ParameterError(
            f"fold {fold} of jackknife: decode must return a list for each item, {size}, got {len(found)}"
        )
    if parts:
        odd = sorted(set(found.feature_names) ^ set(parts[0].feature_names))
        if odd:
            raise ParameterError(
                f"fold {fold} of jackknife: folds must have the same features; {odd[0]!r} is not in all"
            )
        if (found.texts is None) != (parts[0].texts is None):
            raise ParameterError(f"fold {fold} of jackknife: all folds must have texts, or none of them")
    for name in found.ids:
        if name in seen:
            raise ParameterError(
                f"fold {fold} of jackknife: the id {name!r} was used in fold {seen[name]} already; "
                "decode must give every item an id of its own"
            )
    seen.update(dict.fromkeys(found.ids, fold))
