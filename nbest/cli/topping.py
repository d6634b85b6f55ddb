"""What `nbest rerank --top` does: lists of the best hypotheses, best first, with all that they carry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from nbest.base.errors import ParameterError
from nbest.cli.console import Console
from nbest.cli.converting import put_lists
from nbest.cli.loading import answered
from nbest.cli.rerank import Rerank
from nbest.corpus import NBest, prune
from nbest.corpus.contract import Corpus, need_lists
from nbest.decisions.choose import Choice
from nbest.decisions.ranking import first_by, ranked
from nbest.formats import FOREST_FORMATS, format_of_target
from nbest.model.blocks import BlockNames
from nbest.model.loglinear import LogLinear

SCORE, PROBABILITY = "model_score", "model_probability"
"""Columns that are added: the model's score, and of a vote the probability of the answer."""


def format_of(call: Rerank) -> str | None:
    """The format of the lists; refuses what cannot be written so, before any work."""
    for name, given in {"--json": call.as_json, "--ids": call.ids, **_abstaining(call)}.items():
        if given:
            raise ParameterError(f"--top writes reranked lists, for which {name} says nothing; leave one of them out")
    wanted = format_of_target(call.output, call.to)
    if wanted in FOREST_FORMATS:
        raise ParameterError(f"{call.output}: {wanted} holds forests, and --top writes lists")
    return wanted


def _abstaining(call: Rerank) -> dict[str, bool]:
    given = {"--abstain-below": call.abstain_below, "--coverage": call.coverage, "--risk": call.risk}
    return {name: value is not None for name, value in given.items()}


@dataclass(frozen=True)
class TopLists:
    """Chooses, and writes block by block."""

    call: Rerank
    model: LogLinear
    console: Console
    begin: Callable[[NBest], None]  # called with the first block
    choose: Callable[[NBest], Choice]

    def lists(self, blocks: Iterable[NBest]) -> None:
        """Of lists, block by block."""
        said = put_lists(self._best(blocks), self.call.output, format_of(self.call))
        self.console.say(f"{self.call.output}: {said}")

    def whole(self, corpus: Corpus) -> None:
        """Of several lists together."""
        why = "rerank --top is for lists, and these are forests; nbest convert FORESTS LISTS --top K --model MODEL"
        self.lists([need_lists(corpus, why)])

    def _best(self, blocks: Iterable[NBest]) -> Iterator[NBest]:
        assert self.call.top is not None
        names = BlockNames()
        for number, block in enumerate(blocks):
            if number == 0:
                self.begin(block)
            found = self.choose(names.prepared(self.model, answered(block, self.call.answer)))
            yield prune(self._with_columns(block, found).reorder(ranked(found)), self.call.top)
        names.check(self.model)

    def _with_columns(self, block: NBest, found: Choice) -> NBest:
        """The lists as they were read, with the model's score, where there is a model."""
        block = block.without_features([name for name in (SCORE, PROBABILITY) if name in block.feature_names])
        if self.model.weights:
            block = block.with_scores(SCORE, found.scores())
        return block.with_scores(PROBABILITY, first_by(found)) if found.decision["kind"] == "vote" else block
