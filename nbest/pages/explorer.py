"""The surface: sliders over the weights of lists that a page holds, so that it computes what they choose by itself."""

from __future__ import annotations

from nbest.pages.base import Subject, digits_of
from nbest.pages.carried import Carried
from nbest.pages.formulas import formula_of
from nbest.report import Live, Page

BYTES = 650_000
"""Of the lists."""
TITLE = "The surface"


def explorer(subject: Subject) -> Page:
    """Sliders over the weights, with the lists of dev."""
    judged = subject.dev
    formula = formula_of(judged.lists.need_metric(), digits_of(judged))
    if formula is None:
        name = judged.lists.need_metric().name
        return Page(TITLE, [f"The page has no formula of {name}, so it has no sliders: see nbest study surface."])
    if not judged.models:
        return Page(TITLE, ["Without a model there are no weights to change."])
    text = "A browser with scripts shows here how choices and score change with the weights."
    said = "Move a weight: what is chosen, its score and the pictures change with it, exactly as nbest would choose."
    return Page(TITLE, [said, Live("explorer", Carried.of(judged).content(formula, BYTES), text)])
