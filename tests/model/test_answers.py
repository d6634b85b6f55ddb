"""A model that compares answers finds them again in other lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nbest
from nbest.base.errors import CapabilityError, FormatError
from nbest.features import apply_recipes, fit_recipes
from nbest.metrics import Exact

RECIPE = [{"kind": "agreement", "metric": "exact"}]


def lists(seed: int, answers: bool = False) -> nbest.NBest:
    """Samples whose answers repeat while their texts do not."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(40):
        right = int(rng.integers(100))
        for k in range(6):
            said = right if rng.random() < 0.5 else right + int(rng.integers(1, 9))
            own = {"answer": str(said)} if answers else {}
            text = f"sample {i} {k}: \\boxed{{{said}}}"
            rows.append({"id": i, "text": text, "references": str(right), "f": rng.normal(), **own})
    return nbest.from_records(rows)


def tuned(dev: nbest.NBest) -> nbest.LogLinear:
    dev = apply_recipes(dev.with_metric(Exact()), fit_recipes(dev, RECIPE))
    return nbest.MaxLikelihood().fit(dev)


def test_the_rule_is_kept_and_used(tmp_path: Path):
    model = tuned(lists(1).with_answers("boxed"))
    assert model.answer == "boxed"
    model.save(tmp_path / "m.json")
    again = nbest.load(tmp_path / "m.json")
    assert again.answer == "boxed"
    test = lists(2)
    expected = test.with_answers("boxed")
    assert again.scores(test).tolist() == model.scores(expected).tolist()
    assert (again.predict(test) == again.predict(expected)).all()
    for gamma in (0.0, 1.0):
        chosen = nbest.mbr(again, test, gain="exact", gamma=gamma)
        assert (chosen == nbest.mbr(again, expected, gain="exact", gamma=gamma)).all()
    plain = replace(again, answer="")
    assert plain.scores(test).tolist() != again.scores(test).tolist()


def test_own_answers_must_be_there_again():
    model = tuned(lists(1, answers=True))
    assert model.answer == "own"
    assert len(model.scores(lists(2, answers=True)))
    with pytest.raises(CapabilityError, match="compares answers, which its lists carried, and these lists carry none"):
        model.scores(lists(2))
    assert len(model.scores(lists(2).with_answers("boxed")))


def test_other_answers_that_are_given_count():
    model = tuned(lists(1).with_answers("boxed"))
    other = lists(2).with_answers("last-number")
    assert model.answered(other) is other


def test_a_model_without_answers_says_nothing(tmp_path: Path):
    model = nbest.MaxLikelihood().fit(lists(1).with_metric(nbest.CER()))
    model.save(tmp_path / "m.json")
    assert '"answer"' not in (tmp_path / "m.json").read_text()


@pytest.mark.parametrize("answer", ["7", '"("', '"boxd"'])
def test_a_rule_in_a_file_that_is_none(answer: str, tmp_path: Path):
    tuned(lists(1).with_answers("boxed")).save(tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    (tmp_path / "m.json").write_text(text.replace('"answer": "boxed"', f'"answer": {answer}'))
    with pytest.raises(FormatError, match="'answer'"):
        nbest.load(tmp_path / "m.json")


def test_a_rule_that_speaks_of_functions():
    model = tuned(lists(1).with_answers(r"(?:function)?.*boxed\{(.*?)\}"))
    assert model.answer == r"(?:function)?.*boxed\{(.*?)\}"


def test_empty_lists_have_nothing_to_answer():
    model = tuned(lists(1, answers=True))
    empty = replace(lists(2).keep(np.zeros(240, bool)), answers=None)
    assert model.scores(empty).tolist() == []
