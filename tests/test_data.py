"""Real lists, where NBEST_DATA points to them: known figures, and that tuning helps on data it has not seen."""

from __future__ import annotations

from pathlib import Path

import pytest

import nbest
from nbest import decisions
from nbest.evaluation.significance import permutation
from nbest.features import apply_recipes

pytestmark = pytest.mark.data


def librispeech(data: Path, name: str) -> nbest.NBest:
    folder = data / "nbest" / "librispeech-10best"
    corpus = nbest.read(folder / f"{name}.nbest.xz")
    return corpus.with_metric(nbest.WER(), nbest.read_references(folder / f"{name}.ref.xz", corpus.ids))


@pytest.mark.parametrize(
    ("name", "first", "oracle"), [("dev_clean", 6.12, 4.04), ("dev_other", 16.76, 13.02), ("test_other", 17.04, 13.21)]
)
def test_first_and_oracle_word_error_rates(data: Path, name: str, first: float, oracle: float) -> None:
    corpus = librispeech(data, name)
    assert corpus.feature_names == ("ASR0", "BpeLen0")
    assert corpus.score(decisions.first(None, corpus)) == pytest.approx(first, abs=0.005)
    assert corpus.score(nbest.corpus_oracle(corpus)) == pytest.approx(oracle, abs=0.005)


@pytest.mark.parametrize("method", ["likelihood", "mert", "risk"])
def test_tuning_with_length_and_frequency_helps_on_other_data(data: Path, method: str) -> None:
    recipes = [{"kind": "length"}, {"kind": "frequency"}]
    dev, test = (apply_recipes(librispeech(data, name), recipes) for name in ("dev_other", "test_other"))
    model = nbest.TRAINERS[method]().fit(dev)
    assert test.stats is not None
    found = permutation(nbest.WER(), test.stats[decisions.first(None, test)], test.stats[model.predict(test)])
    assert found.difference < 0
    assert found.p < 0.05
