"""Trainers: each learns a model from lists with statistics.

Adding one is one file and one line of `TRAINERS`; `nbest.testing.check_trainer` tests it.
"""

from nbest.trainers.boosting import Boosting
from nbest.trainers.cobleu import MaxCoBLEU
from nbest.trainers.likelihood import MaxLikelihood
from nbest.trainers.lowdim import LowDim
from nbest.trainers.mert import MERT
from nbest.trainers.mira import MIRA
from nbest.trainers.msr import MSR, MSR2
from nbest.trainers.perceptron import AveragedPerceptron
from nbest.trainers.pro import PRO
from nbest.trainers.risk import MinRisk
from nbest.trainers.search import GridSearch, RandomSearch
from nbest.trainers.softbleu import SoftBLEU

TRAINERS: dict[str, type] = {
    "boosting": Boosting,
    "cobleu": MaxCoBLEU,
    "grid": GridSearch,
    "likelihood": MaxLikelihood,
    "lowdim": LowDim,
    "mert": MERT,
    "mira": MIRA,
    "msr": MSR,
    "msr2": MSR2,
    "perceptron": AveragedPerceptron,
    "pro": PRO,
    "random": RandomSearch,
    "risk": MinRisk,
    "softbleu": SoftBLEU,
}
"""Trainers by the name used on the command line."""

__all__ = [
    "MERT",
    "MIRA",
    "MSR",
    "MSR2",
    "PRO",
    "TRAINERS",
    "AveragedPerceptron",
    "Boosting",
    "GridSearch",
    "LowDim",
    "MaxCoBLEU",
    "MaxLikelihood",
    "MinRisk",
    "RandomSearch",
    "SoftBLEU",
]
