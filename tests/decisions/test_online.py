"""One list at a time: the same choices as in a batch, with little imported."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nbest
from nbest.base.errors import CapabilityError, FormatError, NbestError, ParameterError
from nbest.decisions import online
from nbest.decisions.choose import choose
from nbest.model.abstention import by_coverage
from nbest.model.quick import QuickScores

DECISIONS: list[dict[str, Any]] = [
    {},
    {"kind": "first"},
    {"kind": "vote"},
    {"kind": "vote", "pool": "scores"},
    {"kind": "vote", "gamma": 0.0},
    {"kind": "best-of-majority"},
    {"kind": "best-of-majority", "share": 1.0},
]
NAMES = ("a", "b", "c")
numbers = st.sampled_from([0.0, 1.0, -1.0, 0.1, 0.3, -0.7, 2 / 3, -0.0, 1e3])  # posteriors seldom 0 or 1
words = st.sampled_from(["4", "so 4", "it is 5.0", "5", "", "\ud800", "4 \U0001f600"])


@st.composite
def models(draw) -> nbest.LogLinear:
    weights = {name: draw(numbers) for name in draw(st.permutations(NAMES))}
    sparse, recipes = draw(st.booleans()), draw(st.sampled_from([(), ("answered",), ("rank", "answered"), ("rank",)]))
    if sparse:
        weights |= {f"s_{k}": draw(numbers) for k in range(3)}
    weights |= {name: draw(numbers) for name in recipes}
    return nbest.LogLinear(
        weights,
        features=tuple({"kind": name} for name in recipes),
        dense=(*draw(st.permutations(NAMES)), *recipes) if sparse or draw(st.booleans()) else None,
        decision=draw(st.sampled_from(DECISIONS)),
        answer=draw(st.sampled_from(["", "last-number"])),
    )


@st.composite
def candidates(draw) -> list[dict[str, Any]]:
    order, answers, sparse = draw(st.permutations((*NAMES, "unused"))), draw(st.booleans()), draw(st.booleans())
    made: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(1, 6))):
        one: dict[str, Any] = {"text": draw(words), "features": {name: draw(numbers) for name in order}}
        if answers:
            one["answer"] = draw(st.sampled_from([None, "", "x", "y"]))
        if sparse:
            one["sparse"] = {
                f"s_{k}": draw(numbers) for k in draw(st.permutations(range(5)))[: draw(st.integers(0, 5))]
            }
        made.append(one)
    return made


def batch(model: nbest.LogLinear, lists: list[list[dict[str, Any]]]) -> nbest.decisions.choose.Choice:
    return choose(model, nbest.from_records([{"id": i, "hypotheses": each} for i, each in enumerate(lists)]))


@settings(max_examples=150, deadline=None)
@given(models(), candidates())
def test_a_list_alone_and_in_a_batch_give_the_same_bits(model: nbest.LogLinear, one: list[dict[str, Any]]) -> None:
    expected = batch(model, [one])
    found = model.choose(one)
    assert found.index == expected.chosen[0]
    assert found.text == expected.texts[0]
    assert found.score == expected.scores()[expected.chosen[0]]
    assert found.confidence == expected.confidence[0]


@settings(max_examples=40, deadline=None)
@given(models(), st.lists(candidates(), min_size=2, max_size=4), st.integers(0, 3))
def test_other_lists_of_a_batch_change_nothing(model: nbest.LogLinear, lists: list[Any], which: int) -> None:
    lists = [[{key: one[key] for key in ("text", "features")} for one in each] for each in lists]
    if model.dense is None:
        model = nbest.LogLinear(
            {name: weight for name, weight in model.weights.items() if not name.startswith("s_")},
            features=model.features, decision=model.decision, answer=model.answer,
        )  # fmt: skip
    which %= len(lists)
    expected = batch(model, lists)
    assert expected.lists.offsets[which] + (model.choose(lists[which]).index or 0) == expected.chosen[which]


def test_scores_are_added_up_in_the_order_of_the_model() -> None:
    weights = {"x": 1e16, "y": 1.0, "z": -1e16}
    one = [{"text": "t", "features": {"z": 1.0, "x": 1.0, "y": 3.0}}]
    assert nbest.LogLinear(weights).choose(one).score == (1e16 + 3.0) - 1e16 != 3.0
    assert batch(nbest.LogLinear(weights), [one]).scores()[0] == (1e16 + 3.0) - 1e16


def test_sparse_features_are_added_up_in_the_order_of_the_list() -> None:
    model = nbest.LogLinear({"b": 1e16, "c": -1e16, "a": 1.0}, dense=())
    one = [{"text": "t", "sparse": {"b": 1, "c": 1, "a": 3}, "features": {}}]
    assert model.choose(one).score == batch(model, [one]).scores()[0] == 3.0


def test_regular_lists_go_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("the long way")

    monkeypatch.setattr(online, "lists_of_one", refuse)
    one = [{"text": "4", "features": {"a": 1.0}, "sparse": {"s_1": 2}}, {"text": "5", "features": {"a": 2.0}}]
    assert nbest.LogLinear({"a": 1.0, "s_1": 1.0}, dense=("a",)).choose(one).score == 3.0
    assert nbest.LogLinear({"a": 1.0, "answered": 1.0}, features=({"kind": "answered"},)).choose(one).score == 3.0


def test_numbers_beside_the_text_are_features() -> None:
    model = nbest.LogLinear({"logprob": 1.0, "reward": 2.0})
    rows = [
        {"text": "a", "logprob": -1, "reward": 0.5, "index": 7},
        {"text": "b", "logprob": True, "reward": np.float32(1)},
    ]
    found = model.choose(rows)
    assert (found.index, found.text, found.score) == (1, "b", 3.0)
    assert found.score == batch(model, [[{"text": "b", "features": {"logprob": 1.0, "reward": 1.0}}]]).scores()[0]


def test_an_empty_list_has_nothing_to_choose() -> None:
    found = nbest.LogLinear({"a": 1.0}).choose([])
    assert (found.index, found.text, found.score, found.confidence, found.abstained) == (None, "", None, 0.0, False)
    assert nbest.LogLinear({"a": 1.0}).choose([], abstain=0.1).abstained


def test_below_a_confidence_it_abstains() -> None:
    model = nbest.LogLinear({"a": 1.0}, decision={"kind": "vote", "gamma": 0.0})
    one = [{"text": text, "a": 0.0} for text in "xxy"]
    sure = model.choose(one)
    assert sure.confidence == pytest.approx(2 / 3)
    assert not model.choose(one, abstain=0.6).abstained
    unsure = model.choose(one, abstain=0.7)
    assert unsure.abstained
    assert (unsure.index, unsure.confidence) == (sure.index, sure.confidence)


def test_confidence_is_calibrated_where_the_model_is() -> None:
    values = {"kind": "logistic", "slope": 2.0, "offset": 0.5, "floor": 0.01}
    curve = {"raw": [0.9, 0.5], "kept": [10, 20], "right": [9, 15]}
    content = {"decision": {"kind": "vote"}, "map": values, "curve": curve, "right": 1.0}
    model = nbest.LogLinear({"a": 1.0}, decision={"kind": "vote"}, confidence=content)
    one = [{"text": text, "features": {"a": value}} for text, value in (("x", 0.5), ("y", 0.0))]
    found, expected = model.choose(one, abstain=by_coverage(model.calibration, 0.5)), batch(model, [one])
    assert found.probability == expected.probability[0] < found.confidence == expected.confidence[0]
    assert found.abstained
    assert not model.choose(one, abstain=by_coverage(model.calibration, 1.0)).abstained
    assert replace(model, decision={"kind": "1best"}).choose(one).confidence == found.probability


@pytest.mark.parametrize("decision", [{"kind": "mbr", "gain": "exact"}, {"kind": "mbr", "gain": "wer"}])
def test_decisions_that_compare_texts_go_the_way_of_the_batch(decision: dict[str, Any]) -> None:
    model = nbest.LogLinear({"a": 1.0}, decision=decision)
    one = [{"text": text, "features": {"a": value}} for text, value in (("x y", 1.0), ("x z", 0.9), ("x z", 0.8))]
    assert model.choose(one).index == batch(model, [one]).chosen[0] == 1
    assert model.choose(one).confidence == batch(model, [one]).confidence[0]


def test_recipes_go_the_way_of_the_batch() -> None:
    model = nbest.LogLinear({"a": 1.0, "words": 0.5, "chars": 0.0}, features=({"kind": "length"},))
    one = [{"text": "x", "features": {"a": 1.0}}, {"text": "x y z", "features": {"a": 0.5}}]
    assert model.choose(one).index == 1
    assert model.choose(one).score == 2.0


OF_A = nbest.LogLinear({"a": 1.0})


@pytest.mark.parametrize(
    ("given_", "model", "message"),
    [
        ([{"text": "x", "features": {"b": 1.0}}], OF_A, "weight for 'a' and these lists do not; they have b"),
        ([{"text": "x", "a": 1.0}, {"text": "x", "b": 1.0}], OF_A, "candidates:2: feature 'a' is missing"),
        ([{"text": "x", "a": float("nan")}], OF_A, r"feature 'a' of candidates\[0\] must be a finite number, got nan"),
        ([{"text": "x", "features": {"a": "high"}}], OF_A, "candidates:1: feature 'a' must be a finite number"),
        ([{"features": {"a": 1.0}}], OF_A, "no texts to choose from"),
        ([{"text": 4, "features": {"a": 1.0}}], OF_A, '"text" must be a string'),
        ([{"text": "x", "features": {"a": 1e308}}], nbest.LogLinear({"a": 10.0}), "scores are not finite"),
        ({"text": "x"}, OF_A, "must be a list of dictionaries, one a hypothesis, got dict"),
        (["x"], OF_A, r"candidates\[0\]"),
        ([{"text": "x", "a": 1.0}], nbest.LogLinear({"a": 1.0}, decision={"kind": "best"}), "unknown decision 'best'"),
        ([{"text": "x", "a": 1.0}], nbest.LogLinear({"a": 1.0}, decision={"kind": "vote", "share": 1}), "no option"),
        (
            [{"text": "x", "a": 1.0}],
            nbest.LogLinear({"a": 1.0}, decision={"kind": "best-of-majority", "share": 7.0}),
            "'share' of best_of_majority",
        ),
        (
            [{"text": "x", "a": 1.0, "answer": 4}],
            nbest.LogLinear({"a": 1.0}, decision={"kind": "vote"}),
            '"answer" must be a string',
        ),
        (
            [{"text": "x", "a": 1.0}],
            nbest.LogLinear({"a": 1.0}, decision={"kind": "vote"}, answer="own"),
            "these lists carry none",
        ),
    ],
)
def test_what_is_wrong_is_said(given_: Any, model: nbest.LogLinear, message: str) -> None:
    with pytest.raises((ParameterError, FormatError, CapabilityError), match=message):
        model.choose(given_)


def test_a_threshold_is_a_probability() -> None:
    with pytest.raises(NbestError, match="'abstain_below' must be from 0 to 1, got 2"):
        OF_A.choose([{"text": "x", "a": 1.0}], abstain=2)


def test_a_model_that_has_chosen_can_be_copied() -> None:
    model = nbest.LogLinear({"a": 1.0}, decision={"kind": "vote"}, answer="last-number")
    one = [{"text": "x 4", "a": 1.0}, {"text": "y 5", "a": 2.0}]
    found = model.choose(one)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.choose(one) == found


def test_many_sets_of_names_are_not_all_remembered() -> None:
    quick = QuickScores(OF_A)
    for k in range(200):
        assert quick([{"features": {"a": 2.0, f"f{k}": 1.0}}], {}) is not None
    assert len(quick._known) <= 64


def test_nothing_but_numpy_is_imported(tmp_path) -> None:
    sparse = nbest.LogLinear({"a": 1.0, "s_1": 0.5}, dense=("a",), answer="last-number")
    recipes = tuple({"kind": kind} for kind in ("answered", "rank", "length"))
    weights = {"a": 1.0, "answered": 0.5, "rank": 0.1, "words": 0.2}
    adding = nbest.LogLinear(weights, features=recipes, answer="last-number")
    for k, decision in enumerate(DECISIONS):
        replace(sparse, decision=decision).save(tmp_path / f"{k}.sparse.json")
        replace(adding, decision=decision).save(tmp_path / f"{k}.adding.json")
    one = [{"text": f"so {k}", "features": {"a": 1.0 + k}} for k in range(3)]
    code = f"""
import pathlib, sys, nbest
for path in sorted(pathlib.Path(r"{tmp_path}").iterdir()):
    found = nbest.load(path).choose([each | ({{"sparse": {{"s_1": 1}}}} if "sparse" in path.name else {{}}) for each in {one}])
    assert found.confidence > 0
own = {{name.split(".")[0] for name in sys.modules}} - set(sys.stdlib_module_names) - {{"nbest", "numpy"}}
print([name for name in own if not name.startswith("_") and name not in ("cython_runtime", "sitecustomize")])
"""  # noqa: E501
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
