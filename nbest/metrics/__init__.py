"""Metrics: additive statistics of hypotheses, and the score of their totals.

Adding a metric is one file and one line of `METRICS`; `nbest.testing.check_metric` tests it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from nbest.base.errors import ParameterError, _known, look_up
from nbest.base.registry import Registry
from nbest.metrics.accuracy import Exact, TokenAccuracy
from nbest.metrics.attachment import LAS, UAS
from nbest.metrics.bleu import BLEU
from nbest.metrics.chrf import CHRF, CHRFPlusPlus
from nbest.metrics.edit import CER, WER
from nbest.metrics.elements import F1, Precision, Recall
from nbest.metrics.external import External
from nbest.metrics.sentence_bleu import SentenceBLEU
from nbest.metrics.ter import TER

METRICS: Registry[type] = Registry(
    "metric",
    {
        "bleu": BLEU,
        "sentence-bleu": SentenceBLEU,
        "chrf": CHRF,
        "chrf++": CHRFPlusPlus,
        "ter": TER,
        "wer": WER,
        "cer": CER,
        "exact": Exact,
        "accuracy": TokenAccuracy,
        "precision": Precision,
        "recall": Recall,
        "f1": F1,
        "las": LAS,
        "uas": UAS,
        "external": External,
    },
    group="nbest.metrics",
    room=__name__,
)
"""Metrics by the name used on the command line."""


def make_metric(name: str, **options: Any) -> Any:
    """The metric called `name` with these options; unknown names and options list the known ones."""
    kind = look_up(METRICS, name, "metric")
    known = [field.name for field in fields(kind)]
    for option in options:
        if option not in known:
            raise ParameterError(f"unknown option {option!r} of metric {name!r}; {_known(known, option)}")
    return kind(**options)


__all__ = [
    "BLEU",
    "CER",
    "CHRF",
    "F1",
    "LAS",
    "METRICS",
    "TER",
    "UAS",
    "WER",
    "CHRFPlusPlus",
    "Exact",
    "External",
    "Precision",
    "Recall",
    "SentenceBLEU",
    "TokenAccuracy",
    "make_metric",
]
