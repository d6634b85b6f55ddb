from __future__ import annotations

import numpy as np
import pytest

from nbest.corpus.texts import Texts
from nbest.decisions import mbr
from nbest.metrics import BLEU
from nbest.metrics.pairwise import expected_losses
from nbest.model.loglinear import LogLinear
from nbest.objectives.backends import computing_with
from nbest.objectives.cuda import CudaBackend
from nbest.testing import toy_lists


@pytest.mark.parametrize("metric", [BLEU(), BLEU(max_ngram_order=2, lowercase=True, normalize="nfkc")])
@pytest.mark.parametrize("evidence", [None, 3])
def test_expected_losses_are_those_of_the_metric(device: str, metric: BLEU, evidence: int | None) -> None:
    rng = np.random.default_rng(4)
    words = np.array(["a", "b", "A", "c", "the"])
    texts = Texts.of([" ".join(rng.choice(words, rng.integers(0, 9))) for _ in range(30)])
    offsets, posterior = np.array([0, 12, 12, 13, 30]), rng.random((30, 2))
    expected = expected_losses(metric, texts, offsets, posterior, evidence=evidence)
    found = expected_losses(metric, texts, offsets, posterior, evidence=evidence, device=device)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-10)


def test_mbr_chooses_the_same(backend: CudaBackend) -> None:
    lists = toy_lists(5, segments_=6)
    model = LogLinear(dict.fromkeys(lists.feature_names, 0.4))
    expected = mbr(model, lists)
    with computing_with(backend):
        assert (mbr(model, lists) == expected).all()
        assert (mbr(model, lists, gain="wer") == mbr(model, lists, gain="wer")).all()


def test_long_matrices_go_by_columns(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbest.compute.cuda import pairs

    texts = Texts.of([f"a b c {word} {word} d" for word in "uvwxyz"])
    offsets, posterior = np.array([0, 6]), np.full(6, 1 / 6)
    expected = expected_losses(BLEU(), texts, offsets, posterior)
    monkeypatch.setattr(pairs, "_CELLS", 12)
    np.testing.assert_allclose(expected_losses(BLEU(), texts, offsets, posterior, device=device), expected)
