"""Settings of any trainer chosen on held-out lists by trying every combination."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from nbest.base.errors import CapabilityError, ParameterError, _known
from nbest.corpus.contract import Corpus
from nbest.model.loglinear import LogLinear

_MOST = 10_000  # combinations


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
    taken. Each combination is trained from scratch: cost is their number times one training.
    """
    if heldout is None:
        raise CapabilityError("a grid of settings is chosen on held-out lists; give them (--heldout, or --split 0.2)")
    _check(make_trainer, values)
    metric = heldout.need_metric()
    sign = 1.0 if metric.higher_is_better else -1.0
    combinations = [dict(zip(values, each, strict=True)) for each in product(*values.values())]
    rows: list[dict[str, Any]] = []
    best: tuple[float, LogLinear] | None = None
    for settings in combinations:
        model = make_trainer(**settings).fit(corpus, heldout)
        rows.append({**settings, **{name: float(score) for name, score in model.scores_.items()}})
        reached = sign * model.scores_["heldout"]
        if best is None or reached > best[0]:
            best = reached, model
        if progress is not None:
            progress(len(rows), len(combinations))
    assert best is not None
    return best[1], rows


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
