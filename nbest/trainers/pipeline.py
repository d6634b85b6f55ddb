"""The whole way to a model: features to add, a trainer, a decision; what `nbest tune` does, from Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nbest.base.parameters import Parameters, parameter
from nbest.compute.executors import using
from nbest.corpus.contract import Corpus
from nbest.decisions.choose import decision_of
from nbest.features.wanted import Wanted
from nbest.model.loglinear import LogLinear
from nbest.trainers.adding import Added, add_columns
from nbest.trainers.crossfit import Crossed
from nbest.trainers.deciding import AUTO, decided
from nbest.trainers.trainer import executor_for


@dataclass
class Pipeline(Parameters):
    """A trainer with what comes before and after it; the model that it fits does all of it.

    model = nbest.Pipeline(trainer=nbest.MERT(), add="length,agreement", decision="consensus").fit(dev, heldout)
    nbest.choose(model, test).texts
    """

    trainer: Any = parameter(..., "what learns the weights")
    add: Wanted = parameter(None, "features to add: length,agreement:metric=cer; auto: what folds support")
    only: str | Sequence[str] | None = parameter(None, "the features to train on; default all")
    drop: str | Sequence[str] | None = parameter(None, "features to leave out")
    decision: str | Mapping[str, Any] | None = parameter(
        AUTO, "how the model chooses: 1best, mbr, consensus, ...; auto is settled on lists left out; None: as trained"
    )
    progress: Callable[[int, int], None] | None = parameter(None, "told how much `auto` has tried", public=False)
    recipes_: tuple[Mapping[str, Any], ...] = field(default=(), init=False, repr=False)
    replaced_: tuple[str, ...] = field(default=(), init=False, repr=False)  # columns that `add` made anew
    added_: Added | None = field(default=None, init=False, repr=False)

    def fit(self, corpus: Corpus, heldout: Corpus | None = None) -> LogLinear:
        """The recipes of added features are fitted to `corpus` alone; held-out lists must not shape them."""
        with using(executor_for(self.trainer)):
            corpus, heldout = self.prepare(corpus, heldout)
            model = self.trainer.fit(corpus, heldout)
            return self.finish(model, corpus, heldout, crossed=getattr(self.trainer, "crossed_", None))

    def finish(
        self,
        model: LogLinear,
        corpus: Corpus | None = None,
        heldout: Corpus | None = None,
        *,
        crossed: Crossed | None = None,
    ) -> LogLinear:
        """The model with the decision of this pipeline, and scores by it; "auto" is settled on held-out lists, or on
        those that were left out in folds (`crossed_` of the trainer). It tells what `add` of "auto" tried."""
        if self.added_ is not None:
            model = replace(model, trainer={**model.trainer, "added": [each.content() for each in self.added_.tried]})
        return decided(model, self.decision, corpus, heldout, crossed=crossed)

    def prepare(self, corpus: Corpus, *others: Any) -> tuple[Any, ...]:
        """All corpora with the columns that are trained on, the recipes being fitted to the first."""
        if self.decision != AUTO:
            decision_of(LogLinear({}), self.decision)  # a wrong one is told before the work
        made = add_columns(self.add, (corpus, *others), only=self.only, drop=self.drop, progress=self.progress)
        self.recipes_, self.added_, self.replaced_ = made.recipes, made.added, made.replaced
        return made.sets
