"""What type checkers see of the names that are imported late: read by them, never run (`test_types.py`)."""

from types import ModuleType
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import nbest
from nbest.base.registry import Registry

dev = nbest.read("dev.nbest")
assert_type(dev, nbest.NBest)
assert_type(dev.with_metric(nbest.BLEU(), nbest.read_references("dev.ref", dev.ids)), nbest.NBest)
assert_type(nbest.MinRisk().fit(dev), nbest.LogLinear)
assert_type(nbest.load("model.json"), nbest.LogLinear)
assert_type(nbest.load("model.json").predict(dev), npt.NDArray[np.integer[Any]])
assert_type(nbest.mbr(nbest.load("model.json"), dev), npt.NDArray[np.integer[Any]])
assert_type(nbest.TRAINERS, Registry[type])
assert_type(nbest.ParameterError("no"), nbest.ParameterError)
stopping: ModuleType = nbest.stopping
nbest.MinRisk(folds="five")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
nothing = nbest.no_such_name  # type: ignore[attr-defined]  # pyright: ignore
