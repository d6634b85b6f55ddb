"""Trainers: each learns a model from lists with statistics.

Adding one is one file and one line of `TRAINERS`; `nbest.testing.check_trainer` tests it.
"""

from nbest.base.registry import Registry
from nbest.trainers.dense.auto import Auto
from nbest.trainers.dense.cobleu import MaxCoBLEU
from nbest.trainers.dense.likelihood import MaxLikelihood
from nbest.trainers.dense.mert import MERT
from nbest.trainers.dense.risk import MinRisk
from nbest.trainers.dense.search import GridSearch, RandomSearch
from nbest.trainers.dense.softbleu import SoftBLEU
from nbest.trainers.dense.vote import VoteLikelihood
from nbest.trainers.dense.weak import WeakSupervision
from nbest.trainers.lowdim.trainer import LowDim
from nbest.trainers.online.mira import MIRA
from nbest.trainers.online.perceptron import AveragedPerceptron
from nbest.trainers.online.pro import PRO
from nbest.trainers.sparse.boosting import Boosting
from nbest.trainers.sparse.msr import MSR, MSR2

TRAINERS: Registry[type] = Registry(
    "method",
    {
        "auto": Auto,
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
        "vote": VoteLikelihood,
        "weak": WeakSupervision,
    },
    group="nbest.trainers",
    room=__name__,
)
"""Trainers by the name used on the command line."""

__all__ = [
    "MERT",
    "MIRA",
    "MSR",
    "MSR2",
    "PRO",
    "TRAINERS",
    "Auto",
    "AveragedPerceptron",
    "Boosting",
    "GridSearch",
    "LowDim",
    "MaxCoBLEU",
    "MaxLikelihood",
    "MinRisk",
    "RandomSearch",
    "SoftBLEU",
    "VoteLikelihood",
    "WeakSupervision",
]
