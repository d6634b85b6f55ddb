"""Every metric keeps the contract, and the check rejects metrics that break it."""

import re
from dataclasses import dataclass

import numpy as np
import pytest

from nbest.base.errors import ParameterError
from nbest.compute import parallel
from nbest.corpus.texts import Texts
from nbest.metrics import METRICS, External, make_metric
from nbest.testing.metrics import check_metric

VARIANTS = [
    ("bleu", {"tokenize": "none", "smooth_method": "add-k"}),
    ("bleu", {"max_ngram_order": 2, "smooth_method": "none", "lowercase": True}),
    ("bleu", {"smooth_method": "floor", "effective_order": True, "tokenize": "intl"}),
    ("chrf", {"eps_smoothing": True, "whitespace": True}),
    ("chrf", {"lowercase": True, "word_order": 1, "beta": 1}),
    ("cer", {"spaces": False, "lowercase": True}),
    ("ter", {"normalized": True, "no_punct": True}),
    ("f1", {"beta": 2.0}),
    ("external", {"label": "comet"}),
    ("external", {"higher_is_better": False}),
]


@pytest.mark.parametrize("name", METRICS)
def test_contract(name):
    check_metric(make_metric(name))


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_contract_with_options(name, options):
    check_metric(make_metric(name, **options))


@dataclass(frozen=True)
class Good:
    """Share of texts that equal a reference, in plain Python: keeps the contract."""

    lowercase: bool = False
    name = "good"
    higher_is_better = True
    stat_names = ("correct", "total")

    def stats(self, texts, offsets, references):
        owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        rows = [(text in references[i], 1.0) for text, i in zip(texts, owners, strict=True)]
        return np.array(rows, np.float64).reshape(-1, 2)

    def score(self, totals):
        return 100 * totals[..., 0] / np.where(totals[..., 1] > 0, totals[..., 1], 1)

    def losses(self, stats):
        return stats[:, 1] - stats[:, 0]

    def signature(self, references=1):
        return f"nrefs:{references}|lowercase:{self.lowercase}"


class ModifiesTotals(Good):
    def score(self, totals):
        totals += 1
        return super().score(totals)


class ModifiesStatsInLosses(Good):
    def losses(self, stats):
        stats[:, 0] = stats[:, 1] - stats[:, 0]
        return stats[:, 0]


class ModifiesReferences(Good):
    def stats(self, texts, offsets, references):
        out = super().stats(texts, offsets, references)
        references[0].append("more")
        return out


class ModifiesOffsets(Good):
    def stats(self, texts, offsets, references):
        out = super().stats(texts, offsets, references)
        offsets[-1] += 1
        return out


class OrderDependent(Good):
    def stats(self, texts, offsets, references):
        out = super().stats(texts, offsets, references)
        out[:1, 0] = 1 - out[:1, 0]
        return out


class NotAdditive(Good):
    def stats(self, texts, offsets, references):
        return super().stats(texts, offsets, references) * len(references)


class NanAtZero(Good):
    def score(self, totals):
        with np.errstate(all="ignore"):
            return 100 * totals[..., 0] / totals[..., 1]


class WarnsAtZero(Good):
    def score(self, totals):
        return np.nan_to_num(100 * np.asarray(totals[..., 0]) / np.asarray(totals[..., 1]))


class NotVectorised(Good):
    def score(self, totals):
        return super().score(totals.reshape(-1, 2).sum(axis=0)) + np.zeros(totals.shape[:-1])


class LosesDimensions(Good):
    def score(self, totals):
        return super().score(totals).ravel()


class WrongWay(Good):
    higher_is_better = False


class LossOfPerfect(Good):
    def losses(self, stats):
        return super().losses(stats) + 1


class NegativeLoss(Good):
    def losses(self, stats):
        return -super().losses(stats)


class SilentOption(Good):
    def signature(self, references=1):
        return f"nrefs:{references}"


class SilentReferences(Good):
    def signature(self, references=1):
        return f"lowercase:{self.lowercase}"


class EmptySignature(Good):
    def signature(self, references=1):
        return ""


class ThreadDependent(Good):
    def stats(self, texts, offsets, references):
        return super().stats(texts, offsets, references) * parallel.thread_count(None)


class RefusesEmpty(Good):
    def stats(self, texts, offsets, references):
        assert len(texts), "no texts"
        return super().stats(texts, offsets, references)


class Raises(Good):
    def losses(self, stats):
        return super().losses(stats) + 0 * stats[0, 0]


class WrongWidth(Good):
    def stats(self, texts, offsets, references):
        return super().stats(texts, offsets, references)[:, :1]


class Constant(Good):
    def score(self, totals):
        return np.zeros(totals.shape[:-1])


class Forgetful(Good):
    calls: list = []  # noqa: RUF012

    def score(self, totals):
        self.calls.append(1)
        return super().score(totals) + len(self.calls)


REASONS = {
    ModifiesTotals: "score modifies its input",
    ModifiesStatsInLosses: "losses modifies its input",
    ModifiesReferences: "stats modifies references",
    ModifiesOffsets: "stats modifies texts or offsets",
    OrderDependent: "stats of hypotheses in another order",
    NotAdditive: "stats of a corpus given twice",
    NanAtZero: "score of all-zero totals must be finite",
    WarnsAtZero: "score must not warn",
    NotVectorised: "score of many totals and of each alone",
    LosesDimensions: "score of totals [M] must be one number",
    WrongWay: "perfect hypotheses must score best",
    LossOfPerfect: "must have no loss",
    NegativeLoss: "losses must be >= 0",
    SilentOption: "signature must tell the option 'lowercase'",
    SilentReferences: "signature must tell the number of references",
    EmptySignature: "signature must not be empty",
    ThreadDependent: "stats differ with the number of threads",
    RefusesEmpty: "no texts",
    Raises: "check_empty of good: IndexError",
    WrongWidth: "stats must have shape",
    Constant: "perfect hypotheses must score better than bad ones",
    Forgetful: "score differs when called again",
}


def test_the_good_one_passes():
    check_metric(Good())


@pytest.mark.parametrize("broken", Good.__subclasses__())
@pytest.mark.filterwarnings("ignore:invalid value")
def test_broken_ones_are_rejected(broken):
    with pytest.raises(AssertionError, match=re.escape(REASONS[broken])):
        check_metric(broken())


def test_make_metric():
    assert make_metric("external", label="comet") == External(label="comet")
    with pytest.raises(ParameterError, match=r"unknown metric 'blue'; known: accuracy, .*did you mean 'bleu'"):
        make_metric("blue")
    with pytest.raises(ParameterError, match=r"unknown option 'lower' of metric 'wer'; known: lowercase"):
        make_metric("wer", lower=True)


@pytest.mark.parametrize("name", [name for name in METRICS if name != "external"])
@pytest.mark.parametrize(
    ("references", "message"),
    [
        ([["a"]], "'references' must have one entry for each of the 2 segments, got 1"),
        ([["a"], []], "every segment needs at least one reference; segment number 1 has none"),
        (["a", "b"], "'references' must be a sequence of texts for each segment, got 'a'"),
    ],
)
def test_bad_references(name, references, message):
    with pytest.raises(ParameterError, match=message):
        make_metric(name).stats(Texts.of(["a", "b"]), np.array([0, 1, 2]), references)
