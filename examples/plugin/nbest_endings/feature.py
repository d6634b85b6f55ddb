"""A feature: marks of questions."""

from __future__ import annotations

import numpy as np

from nbest.base.errors import CapabilityError


def questions(corpus, mark: str = "?"):
    """How often a mark is in each hypothesis."""
    if corpus.texts is None:
        raise CapabilityError("the feature 'questions' needs the texts of the hypotheses and these lists carry none")
    return corpus.with_features(["questions"], np.array([text.count(mark) for text in corpus.texts], float))
