"""A metric: how many outputs end as their reference does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbest.base.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class LastWord:
    """Share of outputs whose last word is right, in percent."""

    lowercase: bool = parameter(False, "ignore case")

    name = "last word"
    higher_is_better = True
    stat_names = ("correct", "segments")

    def _last(self, text):
        words = (text.lower() if self.lowercase else text).split()
        return words[-1] if words else ""

    def stats(self, texts, offsets, references):
        """[H, 2] whether the last word is that of a reference, and 1."""
        owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        wanted = [{self._last(reference) for reference in each} for each in references]
        right = [self._last(text) in wanted[i] for text, i in zip(texts, owners, strict=True)]
        return np.stack([np.array(right, float), np.ones(len(right))], axis=1).reshape(-1, 2)

    def score(self, totals):
        """The share; 0 of nothing."""
        totals = np.asarray(totals, float)
        share = np.zeros(totals.shape[:-1])
        return 100.0 * np.divide(totals[..., 0], totals[..., 1], out=share, where=totals[..., 1] > 0)

    def losses(self, stats):
        """1 where the last word is wrong."""
        return stats[:, 1] - stats[:, 0]

    def signature(self, references=1):
        """How it was computed."""
        return f"nrefs:{references}|case:{'lc' if self.lowercase else 'mixed'}"
