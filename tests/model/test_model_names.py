"""Which weights may find no feature: sparse ones that a set lacks, never misspelt ones."""

from dataclasses import replace

import numpy as np
import pytest

import nbest
from nbest.base.errors import ParameterError
from nbest.formats import FOREST_FORMATS, read_forests
from nbest.model.loglinear import LogLinear

LISTS = """0 ||| a b ||| LM0= -1 TM0= -2 -3 pp_a= 1 ||| 0
0 ||| b ||| LM0= -2 TM0= -1 -1 ||| 0
"""


@pytest.fixture
def sparse_lists(tmp_path):
    (tmp_path / "x.nbest").write_text(LISTS)
    corpus = nbest.read(tmp_path / "x.nbest")
    assert corpus.sparse_names == ("pp_a",)
    return corpus


@pytest.mark.parametrize("name", ["LM", "lm0", "Length", "TM0", "TM_0", "TM0_O"])
def test_a_misspelt_weight_is_refused_beside_sparse_features(sparse_lists, name):
    weights = {"LM0": 1.0, "TM0_0": 1.0, "TM0_1": 1.0}
    near = {"LM": "LM0", "lm0": "LM0", "TM0": "TM0_0", "TM_0": "TM0_0", "TM0_O": "TM0_0"}.get(name)
    weights.pop(near, None)
    with pytest.raises(ParameterError, match=f"a weight for {name!r} and these lists do not; they have LM0") as caught:
        LogLinear({**weights, name: 1.0}).scores(sparse_lists)
    if near is not None and name != "lm0":
        assert "did you mean" in str(caught.value)


@pytest.mark.parametrize("name", ["pp_b", "dw_x", "pp_a_b"])
def test_a_sparse_feature_that_no_hypothesis_has_counts_nothing(sparse_lists, name):
    plain = LogLinear({"LM0": 1.0, "pp_a": 2.0})
    more = LogLinear({"LM0": 1.0, "pp_a": 2.0, name: 5.0})
    assert more.scores(sparse_lists).tolist() == plain.scores(sparse_lists).tolist() == [1.0, -2.0]


def test_sparse_names_of_another_kind(sparse_lists):
    matrix = sparse_lists.sparse
    corpus = replace(sparse_lists, sparse=matrix, sparse_names=("2:a b",))
    assert LogLinear({"LM0": 1.0, "2:c d": 1.0}).scores(corpus).tolist() == [-1.0, -2.0]
    with pytest.raises(ParameterError, match="a weight for '3:c d e'"):
        LogLinear({"LM0": 1.0, "3:c d e": 1.0}).scores(corpus)


def example(name, tmp_path):
    path, text = next(iter(FOREST_FORMATS[name].example.items()))
    (tmp_path / path).write_text(text)
    return read_forests(tmp_path / path, name)


@pytest.mark.parametrize("name", ["cdec", "moses-hypergraph", "travatar"])
def test_forests_whose_format_says_that_absent_is_0(name, tmp_path):
    forests = example(name, tmp_path)
    known = forests.feature_names[0]
    model = LogLinear({known: 1.0, "Tuned_only": 3.0})
    np.testing.assert_array_equal(model.edge_scores(forests), forests.column(known))
    np.testing.assert_array_equal(model.edge_scores(model.complete(forests)), forests.column(known))
    assert model.complete(forests).feature_names == (*forests.feature_names, "Tuned_only")
    with pytest.raises(ParameterError, match="a weight for 'Tuned_only' and the forests do not"):
        LogLinear({"Tuned_only": 3.0}).edge_scores(forests)  # nothing in common
    with pytest.raises(ParameterError, match="a weight for 'Tuned_only'"):  # what was left out on purpose is not 0
        model.edge_scores(forests.only_features([known]) if len(forests.feature_names) > 1 else replace(
            forests, absent_is_zero=False))  # fmt: skip


@pytest.mark.parametrize("name", ["forests", "slf"])
def test_forests_of_other_formats_are_refused(name, tmp_path):
    forests = example(name, tmp_path)
    with pytest.raises(ParameterError, match="a weight for 'Tuned_only' and the forests do not"):
        LogLinear({forests.feature_names[0]: 1.0, "Tuned_only": 3.0}).edge_scores(forests)


def test_a_misspelt_weight_of_forests_is_refused(tmp_path):
    forests = example("cdec", tmp_path)
    first, *others = forests.feature_names
    assert others
    for wrong in (f"{first}0", f"{first}s", first.upper()):
        with pytest.raises(ParameterError, match=f"a weight for {wrong!r} and the forests do not"):
            LogLinear({**dict.fromkeys(others, 1.0), wrong: 1.0}).edge_scores(forests)


def test_features_of_one_kind_are_not_misspelt_ones(tmp_path):
    forests = example("cdec", tmp_path)
    names = tuple(f"Shape_{i}" if i else "lm" for i in range(len(forests.feature_names)))
    forests = replace(forests, feature_names=names, own_weights={}, origins={})
    scores = LogLinear({"lm": 1.0, "Shape_77": 1.0, "Shape_x": 2.0}).edge_scores(forests)
    np.testing.assert_array_equal(scores, forests.column("lm"))
