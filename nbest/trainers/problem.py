"""A corpus ready for training: checked, with its features measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, _known
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus.answers import rule_of
from nbest.corpus.contract import C, Corpus, need_corpus
from nbest.corpus.metric import Metric
from nbest.decisions.chosen import oracle_totals, score_of, totals_of
from nbest.features import within_scale
from nbest.forests.edge_stats import additive
from nbest.forests.posteriors import filled
from nbest.model.loglinear import LogLinear
from nbest.objectives import scales
from nbest.objectives.backends import current_backend
from nbest.objectives.forest_shard import ForestShard, shards_of
from nbest.objectives.shard import Shard
from nbest.trainers.differing import losses_differ


@dataclass(frozen=True)
class Problem(Generic[C]):
    """A corpus, its metric, and the units of its features.

    Weights are in units of scaled features here, in the user's in models: plain = scaled / scale.
    """

    corpus: C
    metric: Metric
    scale: Floats  # [D + D']; 0 for a feature that never differs within a segment

    @property
    def names(self) -> tuple[str, ...]:
        """D + D' names of dense and sparse features."""
        return self.corpus.names

    @property
    def sign(self) -> float:
        """1 where higher scores are better, else -1: what to multiply scores by to maximise."""
        return 1.0 if self.metric.higher_is_better else -1.0

    @cached_property
    def additive(self) -> tuple[Corpus, Floats]:
        """A corpus of the same choices, and statistics [rows, M] that add up over the rows of features of a choice."""
        return additive(self.corpus)

    @property
    def stats(self) -> Floats:
        """[rows, M] statistics that add up: of lists, those of each hypothesis."""
        return self.additive[1]

    @property
    def filled(self) -> int:
        """How many segments have something to choose."""
        return filled(self.corpus)

    # weights -----------------------------------------------------------------------------------------------

    def plain(self, scaled: Floats) -> Floats:
        """Weights in the user's units."""
        return np.divide(scaled, self.scale, out=np.zeros_like(scaled), where=self.scale > 0)

    def start(self, weights: Mapping[str, float] | None) -> Floats:
        """Given weights in scaled units; every name must be a feature."""
        names, given = self.names, weights or {}
        known = set(names)
        odd = next((name for name in given if name not in known), None)
        if odd is not None:
            raise ParameterError(f"start weights name {odd!r}, which the corpus lacks; {_known(names, odd)}")
        return np.array([given.get(name, 0.0) for name in names]) * self.scale

    def model(self, scaled: Floats) -> LogLinear:
        """The model with these weights, in the user's units."""
        dense = None if self.corpus.sparse is None else self.corpus.feature_names
        return LogLinear(dict(zip(self.names, self.plain(scaled).tolist(), strict=True)), dense=dense)

    # choices -----------------------------------------------------------------------------------------------

    def score(self, scaled: Floats) -> float:
        """The metric of what these weights choose, recomputed as a model would."""
        return score_of(self.corpus, self.model(scaled))

    def totals(self, scaled: Floats) -> Floats:
        """[M] statistics that add up of what these weights choose."""
        corpus, stats = self.additive
        return totals_of(corpus, self.model(scaled), stats)

    def totals_and_score(self, scaled: Floats) -> tuple[Floats, float]:
        """`totals` and `score`; of lists they are of the same choices, which are made once."""
        totals = self.totals(scaled)
        return totals, float(self.metric.score(totals)) if self.corpus.whole else self.score(scaled)

    def oracle_totals(self) -> Floats:
        """[M] statistics that add up of good choices."""
        corpus, stats = self.additive
        return oracle_totals(corpus, self.metric, stats)

    # parts -------------------------------------------------------------------------------------------------

    def shards(self) -> Sequence[Shard | ForestShard]:
        """The shards of the corpus, as objectives see them."""
        corpus, stats = self.additive
        return shards_of(corpus, self.scale, stats, self.metric, current_backend().block(corpus))

    def part(self, rows: Ints) -> Problem[C]:
        """The same for these segments only."""
        return replace(self, corpus=self.corpus.select(rows))


def prepare(
    corpus: C, trainer: str, heldout: Corpus | None = None, *, sparse: bool = False, sparse_scale: bool = True
) -> Problem[C]:
    """Check that a corpus can be trained on and the held-out one scored, and measure the features.

    `sparse`: the trainer takes sparse features; without `sparse_scale` they are not measured and their scale is 1.
    """
    need_corpus(trainer, "corpus", corpus)
    metric, said = corpus.need_metric(), corpus.said
    corpus.need_readable(trainer)
    if heldout is not None:
        _check_heldout(corpus, heldout)
    _check_columns(corpus, trainer, sparse)
    if corpus.whole and segments.lengths(corpus.row_offsets).max(initial=0) < 2:
        raise CapabilityError(f"{trainer} needs lists with at least two hypotheses; every list here has fewer")
    within = within_scale(corpus)
    scale = scales(corpus, within) if sparse_scale else np.append(within, np.ones(len(corpus.sparse_names)))
    if not (scale > 0).any():
        raise CapabilityError(
            f"{trainer} cannot learn: no feature differs between the {said.choices} of any {said.one}"
        )
    if not losses_differ(corpus):
        raise CapabilityError(
            f"{trainer} cannot learn: in every {said.one} all {said.texts} have the same loss by {metric.name}; "
            f"are the references right? If so, give {said.larger} {said.many} or another metric"
        )
    return Problem(corpus, metric, scale)


def _check_columns(corpus: Corpus, trainer: str, sparse: bool) -> None:
    """Complain of features that a trainer cannot take, and of none at all."""
    if corpus.sparse is not None and not sparse:
        raise CapabilityError(
            f"{trainer} tunes dense features and these lists have {len(corpus.sparse_names)} sparse ones; "
            "use msr2, boosting, perceptron, mira, pro, risk, likelihood, vote or softbleu, which take both"
        )
    if not corpus.feature_names and corpus.sparse is None:
        hint = "; add some (--add length,agreement)" if corpus.whole else ""
        raise CapabilityError(f"{trainer} needs features and these {corpus.said.many} have none{hint}")


def _check_heldout(corpus: Corpus, heldout: Corpus) -> None:
    """Complain of held-out data before the training and not after it."""
    need_corpus("fit", "heldout", heldout)
    if not heldout.scored:
        raise CapabilityError("the held-out data have no statistics yet; call heldout.with_metric(metric, references)")
    if rule_of(corpus) != rule_of(heldout):
        said = [f"--answer {rule}" if rule else "whole texts" for rule in map(rule_of, (corpus, heldout))]
        raise ParameterError(f"the held-out data must be compared as those to train on: {said[1]}, not {said[0]}")
    missing = [name for name in corpus.feature_names if name not in heldout.feature_names]
    if missing and not heldout.absent_is_zero:
        raise ParameterError(f"the held-out data have no feature {missing[0]!r}, which those to train on have")
