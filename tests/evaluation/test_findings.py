"""Findings of `inspect` about scores: what they catch, and where they must keep quiet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nbest.corpus import NBest, Texts
from nbest.evaluation.findings import case_findings, leaked_labels
from nbest.evaluation.inspection import inspect
from nbest.metrics import BLEU, make_metric

WORDS = np.array(["the", "cat", "sat", "on", "a", "mat", "near", "old", "river", "house"])


def lists(seed: int = 1, count: int = 60, size: int = 6, metric: str = "wer") -> NBest:
    """Lists with up to four words wrong; `model` knows something of it, `noise` and `length` nothing."""
    rng = np.random.default_rng(seed)
    texts, references, wrong = [], [], []
    for _ in range(count):
        truth = rng.choice(WORDS, rng.integers(8, 14))
        references.append((" ".join(truth),))
        for _ in range(size):
            words, errors = truth.copy(), int(rng.integers(0, 5))
            places = rng.choice(len(words), errors, replace=False)
            words[places] = "xyz"
            texts.append(" ".join(words[: len(words) - int(rng.integers(0, 2))]))
            wrong.append(errors)
    model = -np.array(wrong) + rng.normal(0, 1.5, len(wrong))
    length = np.array([len(text.split()) for text in texts], float)
    corpus = NBest(
        offsets=size * np.arange(count + 1),
        features=np.stack([model, rng.normal(size=len(wrong)), length], axis=1),
        feature_names=("model", "noise", "length"),
        ids=tuple(map(str, range(count))),
        texts=Texts.of(texts),
    )
    return corpus.with_metric(make_metric(metric), references)


COPIES = {
    "the loss": lambda losses: losses,
    "its negative": lambda losses: -losses,
    "rounded": lambda losses: np.round(-losses, 4),
    "another scale": lambda losses: 3.0 - 0.01 * losses**3,
    "exponential": lambda losses: np.exp(-losses / 50),
}


@pytest.mark.parametrize("metric", ["wer", "bleu", "chrf", "exact"])
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_of_the_metric_is_found(metric: str, how: str) -> None:
    corpus = lists(metric=metric)
    stats, kind = corpus.need_stats()
    leaky = corpus.with_features(["label"], COPIES[how](kind.losses(stats)))
    assert leaked_labels(leaky) == ["label"]
    findings = inspect(leaky).findings
    assert any("'label' orders all hypotheses exactly as" in each for each in findings), findings
    assert not any("cost" in each for each in findings)
    assert leaked_labels(corpus) == []


def test_a_rate_a_list_is_found() -> None:
    """The error rate is no function of the number of errors, but within lists it is."""
    corpus = lists()
    stats, _ = corpus.need_stats()
    assert leaked_labels(corpus.with_features(["rate"], stats[:, 0] / stats[:, 1])) == ["rate"]


def test_what_is_no_copy() -> None:
    corpus = lists()
    stats, metric = corpus.need_stats()
    losses = metric.losses(stats)
    swapped = losses.copy()
    low = np.flatnonzero(np.diff(losses) != 0)[7]
    swapped[[low, low + 1]] = swapped[[low + 1, low]]
    rng = np.random.default_rng(3)
    near = losses + rng.normal(0, 0.3, len(losses))
    assert leaked_labels(corpus.with_features(["swapped", "near"], np.stack([swapped, near], axis=1))) == []
    few = corpus.select([0, 1]).with_features(["label"], losses[:12])  # a dozen may be so by chance
    assert leaked_labels(few) == []


def test_a_feature_as_good_as_the_oracle_is_asked_about() -> None:
    corpus = lists()
    stats, metric = corpus.need_stats()
    losses = metric.losses(stats).reshape(60, 6)
    right = (losses == losses.min(axis=1, keepdims=True)).astype(float).ravel()
    findings = inspect(corpus.with_features(["right"], right + np.random.default_rng(1).uniform(0, 0.5, 360))).findings
    assert any("'right' alone chooses as well as the oracle" in each for each in findings)
    assert not any("oracle" in each for each in inspect(corpus).findings)


@pytest.mark.parametrize("metric", ["wer", "bleu", "chrf", "cer", "exact"])
def test_upper_case_is_found(metric: str) -> None:
    corpus = lists(metric=metric)
    assert case_findings(corpus) == []
    shouted = replace(corpus, texts=Texts.of(text.upper() for text in corpus.texts or ()))
    measured = shouted.with_metric(make_metric(metric))
    (finding,) = case_findings(measured)
    without = corpus.score(np.arange(60) * 6)
    assert "(100 and 0 % of their letters are capitals)" in finding
    assert finding.endswith(f"and {without:.2f} with --lowercase")
    assert finding in inspect(measured).findings
    assert case_findings(shouted.with_metric(make_metric(metric, lowercase=True))) == []


def test_texts_in_mixed_case_are_left_alone() -> None:
    corpus = lists(metric="bleu")
    upper = Texts.of(text.capitalize() for text in corpus.texts or ())
    references = [(refs[0].capitalize(),) for refs in corpus.references or ()]
    assert case_findings(replace(corpus, texts=upper).with_metric(BLEU(), references)) == []
    none = replace(corpus, texts=Texts.of(["7 8 9"] * corpus.hypotheses)).with_metric(BLEU(), [("7 8",)] * 60)
    assert case_findings(none) == []


@pytest.mark.parametrize("seed", range(8))
def test_costs_and_only_costs(seed: int) -> None:
    corpus = lists(seed)
    costly = corpus.with_features(["cost"], -corpus.column("model"))
    found = [each.split("'")[1] for each in inspect(costly).findings if "looks like a cost" in each]
    assert found == ["cost"]


def test_repeats_are_not_said_to_be_useless() -> None:
    corpus = lists()
    texts = [text for i in range(60) for text in [corpus.texts[6 * i]] * 6]
    findings = inspect(replace(corpus, texts=Texts.of(texts)).with_metric(make_metric("wer"))).findings
    (said,) = [each for each in findings if "repeat a text" in each]
    assert "repeats are votes, keep them" in said
