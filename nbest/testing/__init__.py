"""Checks of the contracts: put your own corpus, metric, format, objective, renderer, semiring or trainer through that
of its family.

Each `check_*` raises an `AssertionError` that says which part of the contract is broken.
"""

from nbest.testing.backends import check_backend
from nbest.testing.corpora import in_other_order, toy_lists, with_scaled
from nbest.testing.corpus import QUESTIONS, check_corpus
from nbest.testing.executors import check_executor
from nbest.testing.forest_formats import check_forest_format
from nbest.testing.forests import enumerate_derivations, toy_forests
from nbest.testing.formats import check_format
from nbest.testing.metrics import check_metric
from nbest.testing.objectives import check_objective
from nbest.testing.pictures import check_picture
from nbest.testing.renderers import check_renderer
from nbest.testing.semirings import check_semiring
from nbest.testing.systems import check_system
from nbest.testing.trainers import check_trainer

__all__ = [
    "QUESTIONS",
    "check_backend",
    "check_corpus",
    "check_executor",
    "check_forest_format",
    "check_format",
    "check_metric",
    "check_objective",
    "check_picture",
    "check_renderer",
    "check_semiring",
    "check_system",
    "check_trainer",
    "enumerate_derivations",
    "in_other_order",
    "toy_forests",
    "toy_lists",
    "with_scaled",
]
