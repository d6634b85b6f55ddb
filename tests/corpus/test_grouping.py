"""Groups stay together; without groups the draws are those of single segments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nbest
from nbest.base.errors import ParameterError
from nbest.base.randomness import generator
from nbest.corpus.grouping import in_folds, split, units
from nbest.testing import toy_lists


def grouped(count: int = 7, segments: int = 40):
    lists = toy_lists(segments_=segments)
    return replace(lists, groups=tuple(f"doc {i % count}" for i in range(segments)))


def test_units_number_groups_as_they_appear():
    lists = replace(toy_lists(segments_=4), groups=("b", "a", "b", "c"))
    assert units(lists).tolist() == [0, 1, 0, 2]
    assert units(replace(lists, groups=None)).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(20))
def test_a_split_never_parts_a_group_and_is_the_nearest_to_the_share(seed: int):
    lists = grouped()
    first, second = split(lists, 0.3, seed)
    assert not set(first.groups or ()) & set(second.groups or ())
    assert sorted(first.ids + second.ids) == sorted(lists.ids)
    sizes = np.bincount(units(lists))
    assert abs(len(first) - 12) <= sizes.max() / 2 + 0.5
    assert [lists.ids.index(name) for name in first.ids] == sorted(lists.ids.index(name) for name in first.ids)


def test_without_groups_single_segments_are_drawn():
    lists = toy_lists(segments_=20)
    order = generator(5).permutation(20)
    assert split(lists, 0.25, 5)[0].ids == tuple(lists.ids[i] for i in np.sort(order[:5]))
    assert in_folds(lists, 4, 5).tolist() == (order % 4).tolist()


def test_one_group_cannot_be_split():
    with pytest.raises(ParameterError, match="cannot split 1 groups"):
        split(grouped(count=1), 0.5)


def test_folds_go_by_group():
    lists = grouped(count=6)
    folds = in_folds(lists, 3, seed=2)
    by_group = {
        name: {int(fold) for fold, own in zip(folds, lists.groups, strict=True) if own == name} for name in lists.groups
    }
    assert all(len(each) == 1 for each in by_group.values())
    assert set(folds.tolist()) == {0, 1, 2}


def test_min_risk_leaves_out_whole_groups():
    lists = grouped(count=3)
    with pytest.raises(ParameterError, match=r"between 2 and the number of groups \(3\), got 4"):
        nbest.MinRisk(folds=4).fit(lists)
    one = nbest.MinRisk(folds=3).fit(lists)
    assert one.weights == nbest.MinRisk(folds=3).fit(lists).weights
