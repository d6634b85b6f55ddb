"""The whole way to a model: features to add, a trainer, a decision; what `nbest tune` does, from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nbest.base.parameters import Parameters, parameter
from nbest.compute.executors import using
from nbest.corpus.contract import Corpus
from nbest.decisions.choose import decision_of
from nbest.decisions.chosen import score_of
from nbest.features import fit_recipes
from nbest.features.wanted import Wanted, columns, wanted
from nbest.model.loglinear import LogLinear
from nbest.trainers.trainer import executor_for

_QUICK = frozenset({"1best", "best-of-majority", "vote"})  # decisions that lists are scored by once more


@dataclass
class Pipeline(Parameters):
    """A trainer with what comes before and after it; the model that it fits does all of it.

    model = nbest.Pipeline(trainer=nbest.MERT(), add="length,agreement", decision="consensus").fit(dev, heldout)
    nbest.choose(model, test).texts
    """

    trainer: Any = parameter(..., "what learns the weights")
    add: Wanted = parameter(None, "features to add: length,agreement:metric=cer")
    only: str | Sequence[str] | None = parameter(None, "the features to train on; default all")
    drop: str | Sequence[str] | None = parameter(None, "features to leave out")
    decision: str | Mapping[str, Any] | None = parameter(None, "how the model chooses: 1best, mbr, consensus, ...")
    recipes_: tuple[Mapping[str, Any], ...] = field(default=(), init=False, repr=False)

    def fit(self, corpus: Corpus, heldout: Corpus | None = None) -> LogLinear:
        """The recipes of added features are fitted to `corpus` alone; held-out lists must not shape them."""
        with using(executor_for(self.trainer)):
            corpus, heldout = self.prepare(corpus, heldout)
            return self.finish(self.trainer.fit(corpus, heldout), corpus, heldout)

    def finish(self, model: LogLinear, corpus: Corpus | None = None, heldout: Corpus | None = None) -> LogLinear:
        """The model with the decision of this pipeline, and scores by it where it is quick (others stay as they are,
        by the decision of the trainer)."""
        decision = decision_of(model, self.decision)
        own = {} if decision == {"kind": "1best"} else decision
        if own == dict(model.decision):
            return model
        model = replace(model, decision=own)
        if decision["kind"] not in _QUICK:
            return model
        sets = {"dev": corpus, "heldout": heldout}
        scores = {name: score_of(each, model) for name, each in sets.items() if each is not None and each.scored}
        return replace(model, scores_={**model.scores_, **scores})

    def prepare(self, corpus: Corpus, *others: Any) -> tuple[Any, ...]:
        """All corpora with the columns that are trained on, the recipes being fitted to the first."""
        decision_of(LogLinear({}), self.decision)  # a wrong one is told before the work
        self.recipes_ = fit_recipes(corpus, wanted(self.add))
        return tuple(
            None if each is None else columns(each, self.recipes_, self.only, self.drop) for each in (corpus, *others)
        )
