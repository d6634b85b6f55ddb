"""`nbest inspect`: what is in lists, forests or a model, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass

from nbest.base.parameters import parameter
from nbest.cli import commands as c


@dataclass(frozen=True, kw_only=True)
class Inspect(c.References, c.MetricOptions, c.AnswerOption, c.ScoresFile, c.FormatOption, c.Quiet, c.AsJson):
    """Show sizes, features and, with references, the scores of simple choices; find what breaks tuning.

    Lists and forests (lattices, hypergraphs) alike. Of a model file: how it was tuned, its scores, its strongest
    features.

    [bold]Examples[/bold]

      nbest inspect dev.nbest

      nbest inspect dev.nbest --refs dev.ref --metric bleu --against test.nbest --against-refs test.ref

      nbest inspect lattices/ --refs dev.ref --metric wer

      nbest inspect model.json --top 50
    """

    lists: list[str] = parameter(..., c.LISTS, flags=("lists",))
    against: str | None = parameter(None, "Other lists (your test set): do the two overlap?")
    against_refs: list[str] | None = parameter(None, "Their references.")
    top: int | None = parameter(None, "Of a model: how many of its strongest sparse features to show (20).", least=0)

    def run(self) -> None:
        """Look, print."""
        from nbest.cli.beside import compiling
        from nbest.cli.inspecting import run

        with compiling(*self._kernels(), quiet=self.quiet):
            run(self)

    def _kernels(self) -> tuple[str, ...]:
        """Kernels that are compiled while the lists are read."""
        return () if self.metric is None else ("words", "ngrams") if self.metric == "bleu" else ("words",)
