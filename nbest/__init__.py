"""nbest learns to pick the best of n: weights for candidate lists, by the metric that matters.

    dev = nbest.read("dev.nbest")
    dev = dev.with_metric(nbest.BLEU(), nbest.read_references("dev.ref", dev.ids))
    model = nbest.MERT().fit(dev)
    test = nbest.read("test.nbest")
    chosen = [test.texts[h] for h in model.predict(test)]

Names are imported when first used, so that `import nbest` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nbest.base.version import VERSION

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
