"""The best derivations that could be chosen, knowing the references or the losses of edges."""

from __future__ import annotations

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats
from nbest.corpus import Forests
from nbest.forests.derivations import Derivations
from nbest.forests.kbest import kbest
from nbest.forests.oracle.beam import beam_oracle
from nbest.forests.oracle.errors import is_lattice, oracle_errors
from nbest.metrics.edit import WER


def oracle(forests: Forests, losses: Floats) -> Derivations:
    """The derivation of each forest with the smallest sum of edge losses [E]; exact. +inf excludes an edge."""
    losses = np.asarray(losses, np.float64)
    if losses.shape != (forests.edges,) or np.isnan(losses).any() or (losses == -np.inf).any():
        raise ParameterError(
            f"'losses' of oracle must be numbers above -infinity, one for each of {forests.edges} edges"
        )
    return kbest(forests, -losses, 1)


def forest_oracle(forests: Forests, *, beam: int = 50) -> Derivations:
    """A derivation of each forest with a small loss by the metric of the forests, each segment alone.

    Exact (the smallest loss) for WER of texts as they are where all forests are lattices, see `oracle_errors`.
    Otherwise a beam, see `beam_oracle`: the loss is at least the smallest. Forests without derivation give none.
    """
    metric = forests.need_metric()
    if isinstance(metric, WER) and metric.by_word and is_lattice(forests):
        return oracle_errors(forests, lowercase=metric.lowercase)[0]
    return beam_oracle(forests, beam=beam)
