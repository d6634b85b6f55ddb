"""Paths of training: rows follow from the trainers they tell of."""

from __future__ import annotations

import numpy as np
import pytest

import nbest
from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import Forests
from nbest.forests.kbest import kbest
from nbest.model.loglinear import LogLinear
from nbest.studies.path import path
from nbest.testing import toy_forests
from nbest.trainers import MaxCoBLEU

pytestmark = pytest.mark.filterwarnings("ignore::nbest.base.errors.ConvergenceWarning")


def forests() -> Forests:
    made = toy_forests(3, forests=12, lattices=True)
    made = made.select(np.flatnonzero(np.diff(kbest(made, np.zeros(made.edges), 1).offsets)))
    first = kbest(made, LogLinear({made.feature_names[0]: 1.0}).edge_scores(made), 1).lists()
    assert first.texts is not None
    return made.with_metric(nbest.BLEU(tokenize="none"), [(text,) for text in first.texts])


def test_rows_are_rounds_of_mert_and_steps_of_cobleu() -> None:
    corpus = forests()
    found = path(corpus, k=3, rounds=4, iterations=8)
    mert, cobleu = found.chosen(method="mert"), found.chosen(method="cobleu")
    assert [row["step"] for row in mert] == list(range(len(mert)))
    assert mert[-1]["relative"] == cobleu[-1]["relative"] == 1.0
    assert mert[-1]["metric"] > mert[0]["metric"]
    assert mert[1]["objective"] >= mert[0]["objective"]  # tuned on the lists of step 0
    zero = kbest(corpus, np.zeros(corpus.edges), 1).lists()
    assert mert[0]["metric"] == pytest.approx(zero.score(zero.offsets[:-1]))
    trainer = MaxCoBLEU(iterations=8)
    trainer.fit(corpus)
    assert trainer.result_ is not None
    assert cobleu[-1]["objective"] == pytest.approx(trainer.result_.history[-1]["cobleu"], rel=0.02)  # less a penalty


def test_lists_that_no_longer_grow_end_the_rounds() -> None:
    corpus = forests()
    found = path(corpus, k=10_000, rounds=9, iterations=2)
    assert [row["step"] for row in found.chosen(method="mert")] == [0, 1]  # everything was there at once


def test_the_largest_fall_is_from_a_peak_to_what_follows() -> None:
    found = path(forests(), k=3, rounds=4, iterations=8)
    heights = (0.5, 0.9, 0.6, 1.0)
    rows = tuple({"method": "mert", "step": at, "relative": height} for at, height in enumerate(heights))
    assert type(found)(found.metric, True, found.settings, rows).largest_fall("mert") == pytest.approx(0.3)
    assert found.largest_fall("cobleu") == pytest.approx(0.0, abs=1e-9)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ParameterError, match="'k' and 'rounds'"):
        path(forests(), k=0)
    with pytest.raises(CapabilityError, match="BLEU only"):
        path(forests().with_metric(nbest.WER()), k=3, rounds=1)
