"""Settings of any trainer chosen on held-out lists by trying every combination."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, _known
from nbest.compute import parallel
from nbest.compute.executors import current, using
from nbest.compute.forks import apart, can_fork
from nbest.corpus.contract import Corpus
from nbest.model.loglinear import LogLinear
from nbest.objectives.backends import NUMBA, current_backend
from nbest.trainers.trainer import executor_for

_MOST = 10_000  # combinations
_MEMORY = 4 << 30  # bytes for all that are trained at a time
_COPIES = 5  # of its features that a trainer may make


def search(
    make_trainer: Callable[..., Any],
    values: Mapping[str, Sequence[Any]],
    corpus: Corpus,
    heldout: Corpus | None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[LogLinear, list[dict[str, Any]]]:
    """The model that is best on held-out lists, and a row `{name: value, ..., "dev": score, "heldout": score}` each.

    `make_trainer(**settings)` makes a trainer; the last name of `values` changes fastest. The first of equals is
    taken. Each combination is trained from scratch, several at a time: cost is their number times one training.
    """
    if heldout is None:
        raise CapabilityError("a grid of settings is chosen on held-out lists; give them (--heldout, or --split 0.2)")
    _check(make_trainer, values)
    metric = heldout.need_metric()
    sign = 1.0 if metric.higher_is_better else -1.0
    combinations = [dict(zip(values, each, strict=True)) for each in product(*values.values())]
    best_here = -np.inf  # of those that this process has trained

    def fit(settings: dict[str, Any]) -> tuple[dict[str, float], float, LogLinear | None]:
        """Scores and, where it may be the best one, the model."""
        nonlocal best_here
        model = make_trainer(**settings).fit(corpus, heldout)
        reached, scores = sign * model.scores_["heldout"], {name: float(s) for name, s in model.scores_.items()}
        kept = model if reached >= best_here else None  # several threads may be here
        best_here = max(best_here, reached)
        return scores, reached, kept

    with using(executor_for(make_trainer(**combinations[0]))):
        found = _each(fit, combinations, _size(corpus) + _size(heldout), progress)
    rows = [{**settings, **scores} for settings, (scores, _, _) in zip(combinations, found, strict=True)]
    _, best = max(((reached, model) for _, reached, model in found if model is not None), key=lambda pair: pair[0])
    return best, rows


def _each(
    fit: Callable[[Any], Any], combinations: list[Any], size: int, progress: Callable[[int, int], None] | None
) -> list[Any]:
    """The first before the others, as they share what it leaves, such as compiled kernels and what corpora keep of
    themselves; these side by side where there are cores or passes run elsewhere, and memory for copies of features of
    this size."""
    tell = partial(parallel.counter(progress, len(combinations)), 1)
    found, most = [fit(combinations[0])], _MEMORY // (1 + _COPIES * size)
    tell()
    if most > 1 and current_backend() is NUMBA and (current().apart or can_fork()):
        return found + apart(fit, combinations[1:], told=tell, most=most)
    for settings in combinations[1:]:
        found.append(fit(settings))
        tell()
    return found


def _size(corpus: Corpus) -> int:
    """Bytes of features."""
    return corpus.features.nbytes + (0 if corpus.sparse is None else corpus.sparse.data.nbytes)


def _check(make_trainer: Callable[..., Any], values: Mapping[str, Sequence[Any]]) -> None:
    if not values:
        raise ParameterError("a grid of settings needs at least one setting: NAME=VALUE,VALUE")
    empty = next((name for name, each in values.items() if len(each) == 0), None)
    if empty is not None:
        raise ParameterError(f"the setting {empty!r} of a grid has no values; give NAME=VALUE,VALUE")
    count = 1
    for each in values.values():
        count *= len(each)
    if count > _MOST:
        raise ParameterError(f"a grid of settings must have at most {_MOST} combinations, got {count}")
    known = [name for name in getattr(make_trainer, "__dataclass_fields__", {}) if not name.endswith("_")]
    odd = next((name for name in values if known and name not in known), None)
    if odd is not None:
        raise ParameterError(f"{make_trainer.__name__} has no setting {odd!r}; {_known(known, odd)}")
