"""nbest learns to pick the best of n: weights for candidate lists, by the metric that matters.

    dev = nbest.read("dev.nbest")
    dev = dev.with_metric(nbest.BLEU(), nbest.read_references("dev.ref", dev.ids))
    model = nbest.MERT().fit(dev)
    test = nbest.read("test.nbest")
    chosen = test.texts_of(model.predict(test))

Names are imported when first used, so that `import nbest` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbest.base.version import VERSION

if TYPE_CHECKING:  # for type checkers and editors; a test compares it with what is imported late
    from nbest.base.errors import CapabilityError as CapabilityError
    from nbest.base.errors import ConvergenceWarning as ConvergenceWarning
    from nbest.base.errors import DecoderError as DecoderError
    from nbest.base.errors import FormatError as FormatError
    from nbest.base.errors import FormatWarning as FormatWarning
    from nbest.base.errors import NbestError as NbestError
    from nbest.base.errors import ParameterError as ParameterError
    from nbest.base.errors import WorkerError as WorkerError
    from nbest.compute.executors import Threads as Threads
    from nbest.compute.executors import using as using
    from nbest.compute.ray_executor import Ray as Ray
    from nbest.corpus import Forests as Forests
    from nbest.corpus import NBest as NBest
    from nbest.corpus import Texts as Texts
    from nbest.corpus import dedupe as dedupe
    from nbest.corpus import merge as merge
    from nbest.corpus import prune as prune
    from nbest.corpus import split as split
    from nbest.decisions import DECISIONS as DECISIONS
    from nbest.decisions import best_of_majority as best_of_majority
    from nbest.decisions import consensus as consensus
    from nbest.decisions import corpus_oracle as corpus_oracle
    from nbest.decisions import mbr as mbr
    from nbest.decisions import oracle as oracle
    from nbest.decisions import stopping as stopping
    from nbest.decisions import vote as vote
    from nbest.decisions.choose import choose as choose
    from nbest.decoders import CommandDecoder as CommandDecoder
    from nbest.evaluation.significance import Comparison as Comparison
    from nbest.features import FEATURES as FEATURES
    from nbest.formats import FOREST_FORMATS as FOREST_FORMATS
    from nbest.formats import FORMATS as FORMATS
    from nbest.formats import read as read
    from nbest.formats import read_any as read_any
    from nbest.formats import read_forests as read_forests
    from nbest.formats import read_references as read_references
    from nbest.formats import write as write
    from nbest.formats import write_forests as write_forests
    from nbest.formats.joining import join_scores as join_scores
    from nbest.formats.objects import from_ctranslate2 as from_ctranslate2
    from nbest.formats.objects import from_generate as from_generate
    from nbest.formats.objects import from_vllm as from_vllm
    from nbest.formats.records import from_pandas as from_pandas
    from nbest.formats.records import from_records as from_records
    from nbest.loop import Loop as Loop
    from nbest.metrics import BLEU as BLEU
    from nbest.metrics import CER as CER
    from nbest.metrics import CHRF as CHRF
    from nbest.metrics import F1 as F1
    from nbest.metrics import LAS as LAS
    from nbest.metrics import METRICS as METRICS
    from nbest.metrics import TER as TER
    from nbest.metrics import UAS as UAS
    from nbest.metrics import WER as WER
    from nbest.metrics import External as External
    from nbest.metrics import make_metric as make_metric
    from nbest.metrics.function import metric as metric
    from nbest.model import LogLinear as LogLinear
    from nbest.model import load as load
    from nbest.objectives import CoBLEU as CoBLEU
    from nbest.objectives.backends import computing_on as computing_on
    from nbest.pages.base import Judged as Judged
    from nbest.pages.base import Subject as Subject
    from nbest.pages.page import report_page as report_page
    from nbest.systems.decoder import SystemDecoder as SystemDecoder
    from nbest.systems.jackknife import jackknife as jackknife
    from nbest.trainers import MERT as MERT
    from nbest.trainers import MIRA as MIRA
    from nbest.trainers import MSR as MSR
    from nbest.trainers import MSR2 as MSR2
    from nbest.trainers import PRO as PRO
    from nbest.trainers import TRAINERS as TRAINERS
    from nbest.trainers import Auto as Auto
    from nbest.trainers import AveragedPerceptron as AveragedPerceptron
    from nbest.trainers import Boosting as Boosting
    from nbest.trainers import GridSearch as GridSearch
    from nbest.trainers import LowDim as LowDim
    from nbest.trainers import MaxCoBLEU as MaxCoBLEU
    from nbest.trainers import MaxLikelihood as MaxLikelihood
    from nbest.trainers import MinRisk as MinRisk
    from nbest.trainers import RandomSearch as RandomSearch
    from nbest.trainers import SoftBLEU as SoftBLEU
    from nbest.trainers import VoteLikelihood as VoteLikelihood
    from nbest.trainers import WeakSupervision as WeakSupervision
    from nbest.trainers.calibrate import calibrate as calibrate
    from nbest.trainers.pipeline import Pipeline as Pipeline
    from nbest.trainers.validate import validate as validate

__version__ = VERSION

_HOME = {
    "Auto": "trainers",
    "AveragedPerceptron": "trainers",
    "BLEU": "metrics",
    "Boosting": "trainers",
    "CER": "metrics",
    "CHRF": "metrics",
    "CapabilityError": "base.errors",
    "CoBLEU": "objectives",
    "CommandDecoder": "decoders",
    "Comparison": "evaluation.significance",
    "ConvergenceWarning": "base.errors",
    "DECISIONS": "decisions",
    "DecoderError": "base.errors",
    "F1": "metrics",
    "FEATURES": "features",
    "FOREST_FORMATS": "formats",
    "FORMATS": "formats",
    "Forests": "corpus",
    "External": "metrics",
    "FormatError": "base.errors",
    "FormatWarning": "base.errors",
    "GridSearch": "trainers",
    "LAS": "metrics",
    "LogLinear": "model",
    "Loop": "loop",
    "LowDim": "trainers",
    "MERT": "trainers",
    "METRICS": "metrics",
    "MIRA": "trainers",
    "MSR": "trainers",
    "MSR2": "trainers",
    "MaxCoBLEU": "trainers",
    "MaxLikelihood": "trainers",
    "MinRisk": "trainers",
    "NBest": "corpus",
    "NbestError": "base.errors",
    "PRO": "trainers",
    "ParameterError": "base.errors",
    "Pipeline": "trainers.pipeline",
    "RandomSearch": "trainers",
    "Judged": "pages.base",
    "Ray": "compute.ray_executor",
    "SoftBLEU": "trainers",
    "Subject": "pages.base",
    "SystemDecoder": "systems.decoder",
    "TER": "metrics",
    "TRAINERS": "trainers",
    "Texts": "corpus",
    "Threads": "compute.executors",
    "UAS": "metrics",
    "VoteLikelihood": "trainers",
    "WER": "metrics",
    "WeakSupervision": "trainers",
    "WorkerError": "base.errors",
    "best_of_majority": "decisions",
    "calibrate": "trainers.calibrate",
    "choose": "decisions.choose",
    "computing_on": "objectives.backends",
    "consensus": "decisions",
    "corpus_oracle": "decisions",
    "dedupe": "corpus",
    "from_ctranslate2": "formats.objects",
    "from_generate": "formats.objects",
    "from_pandas": "formats.records",
    "from_records": "formats.records",
    "from_vllm": "formats.objects",
    "jackknife": "systems.jackknife",
    "join_scores": "formats.joining",
    "load": "model",
    "make_metric": "metrics",
    "mbr": "decisions",
    "merge": "corpus",
    "metric": "metrics.function",
    "oracle": "decisions",
    "prune": "corpus",
    "read": "formats",
    "read_any": "formats",
    "read_forests": "formats",
    "read_references": "formats",
    "report_page": "pages.page",
    "split": "corpus",
    "using": "compute.executors",
    "validate": "trainers.validate",
    "vote": "decisions",
    "write": "formats",
    "write_forests": "formats",
}

_MODULES = {"stopping": "decisions.stopping"}

__all__ = ["__version__", *sorted((*_HOME, *_MODULES))]


if not TYPE_CHECKING:  # or any name would be there, of any type

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            value = import_module(f"nbest.{_MODULES[name]}")
        elif name in _HOME:
            value = getattr(import_module(f"nbest.{_HOME[name]}"), name)
        else:
            raise AttributeError(f"module 'nbest' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return list(__all__)
