"""What a round keeps of what was decoded: new candidates, or forests, and what is to be said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.corpus import Forests, NBest
from nbest.decisions.chosen import best_lists
from nbest.decisions.onebest import first
from nbest.formats import write_forests
from nbest.loop.keys import keys_of
from nbest.loop.pool import aligned, assemble, new_ones, save_array, save_part
from nbest.model.loglinear import LogLinear

FORESTS = "forests.jsonl.gz"
_ROUNDING = 1e-6  # relative: scores of one candidate that differ by less are the same


def keep_lists(folder: Path, before: Sequence[Path], lists: NBest, weights: Mapping[str, float]) -> dict[str, Any]:
    """Write the candidates that no part of an earlier round has; sizes, and the score of the decoder's answers.

    `missed` counts search errors: segments whose answer scores below a candidate of an earlier round under the weights
    that were decoded with.
    """
    answers = _answers(lists)
    lists = aligned(lists, before[0]) if before else lists
    keys = keys_of(lists)
    mask = new_ones(keys, before)
    save_part(folder, lists.keep(mask), keys[mask])
    return {
        "score": lists.score(answers),
        "new": int(mask.sum()),
        "missed": _missed(lists, answers, before, weights),
        "segments": len(lists),
        "hypotheses": lists.hypotheses,
        "empty": int((answers < 0).sum()),
    }


def keep_forests(folder: Path, before: Sequence[Path], found: Forests, weights: Mapping[str, float]) -> dict[str, Any]:
    """Write forests as they are; what is new is told by their best strings."""
    best, _ = best_lists(found, LogLinear(dict(weights)), 1)
    answers = _answers(best)
    folder.mkdir()
    write_forests(replace(found, own_weights=dict(weights)), folder / FORESTS)
    keys = keys_of(replace(best, features=np.zeros((best.hypotheses, 0)), feature_names=()))
    save_array(folder / "hashes.npy", keys)
    return {
        "score": best.score(answers),
        "new": int(new_ones(keys, before).sum()),
        "segments": len(found),
        "nodes": found.nodes,
        "edges": found.edges,
        "empty": int((answers < 0).sum()),
    }


def _answers(lists: NBest) -> Ints:
    """[N] the decoder's answers, -1 where it has none."""
    if lists.hypotheses == 0:
        raise ParameterError("the decoder gave no hypothesis for any segment")
    return first(None, lists)


def _missed(lists: NBest, answers: Ints, before: Sequence[Path], weights: Mapping[str, float]) -> int:
    """How many answers score below a candidate of an earlier round."""
    model = LogLinear(dict(weights))
    own = dict(zip(lists.ids, model.scores(lists)[answers].tolist(), strict=True))
    has_none = {name for name, at in zip(lists.ids, answers, strict=True) if at < 0}
    found: set[str] = set()
    for part in before:
        known = assemble([part], lists.need_stats()[1])
        for name, best in zip(known.ids, segments.maxima(model.scores(known), known.offsets), strict=True):
            if name in own and name not in has_none and best > own[name] + _ROUNDING * max(1.0, abs(own[name])):
                found.add(name)
    return len(found)
