"""Every segment: what is first, chosen and best, beside the reference; and who wins and loses where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.corpus import NBest, prune
from nbest.decisions.choose import choose
from nbest.features.texts import agreement
from nbest.metrics import BLEU
from nbest.pages.base import Judged, Subject, digits_of, fitting, shortened
from nbest.pages.carried import Carried
from nbest.pages.formulas import formula_of
from nbest.report import Column, Live, Page, Table
from nbest.report.packing import packed, size_of
from nbest.trainers.sharpness import spread

BYTES, TEXTS, LISTS = 1_150_000, 950_000, 500_000
"""Of all that is here; of the texts and numbers of all segments, at most; of whole lists, where the sliders have
others, at most."""
_BINS = 4
_COMPARED, _OTHERS = 1000, 20  # segments, and hypotheses of each, whose texts are compared with each other, at most
TITLE = "Segments"


def segments(subject: Subject) -> Page:
    """The segments of the last set, and where the first model wins and loses on it."""
    judged = subject.sets[-1]
    seen = _Seen(judged)
    text = "A browser with scripts shows here a table of all segments, to sort, filter and search."
    tables = [table for table in (seen.wins(),) if table is not None]
    said = f"Of {judged.name}. A row opens the segment; its address can be kept and sent as a link."
    content = seen.content()
    formula = formula_of(judged.lists.need_metric(), digits_of(judged))
    if judged is not subject.dev and formula is not None and judged.models:
        room = min(LISTS, BYTES - size_of(content["packed"]))
        order = np.argsort(-np.abs(np.nan_to_num(seen.gain)), kind="stable")
        content["lists"] = Carried.of(judged).content(formula, room, order)
    return Page(TITLE, [*tables, said, Live("segments", content, text)])


class _Seen:
    """A set of lists by segment: losses of what is first, chosen and best; smaller is better."""

    def __init__(self, judged: Judged) -> None:
        self.judged, self.lists = judged, judged.lists
        stats, metric = self.lists.need_stats()
        self.metric = metric
        self.choices = [judged.first, *judged.chosen.values(), judged.oracle]
        self.alone = [_alone(metric, stats, chosen) for chosen in self.choices]
        sign = 1.0 if metric.higher_is_better else -1.0
        self.gain = sign * (self.alone[1] - self.alone[0])
        self.words = np.array([len(text.split()) for text in self._texts(self.choices[0])])
        self.confidence = _confidence(judged)

    def _texts(self, chosen: Ints) -> list[str]:
        texts = self.lists.texts
        return ["" if h < 0 or texts is None else shortened(texts[h]) for h in chosen]

    def content(self) -> dict[str, Any]:
        """The data of the script, of as many segments as there is room for."""
        references = [shortened(each[0]) if each else "" for each in self.lists.references or [()] * len(self.lists)]
        texts = [references, *map(self._texts, self.choices)]
        rows, content = fitting(len(self.lists), TEXTS, lambda some: self._packed(some, texts))
        sampled = f"{len(rows)} of {len(self.lists)} segments, spread evenly, are on this page."
        return {
            "set": self.judged.name,
            "models": list(self.judged.models),
            "higher": bool(self.metric.higher_is_better),
            "unit": self.metric.name,
            "digits": digits_of(self.judged),
            "total": len(self.lists),
            "said": [sampled] if len(rows) < len(self.lists) else [],
            "packed": content,
        }

    def _packed(self, rows: Ints, texts: Sequence[Sequence[str]]) -> dict[str, Any]:
        kept, same = [], []
        for i in rows:
            own = [column[i] for column in texts]
            earlier = [own.index(text) for text in own]
            same += [-1 if place == k else place for k, place in enumerate(earlier)]
            kept += [text if place == k else "" for k, (text, place) in enumerate(zip(own, earlier, strict=True))]
        names = ["first", *(f"model {k}" for k in range(len(self.judged.models))), "oracle"]
        return packed(
            {
                "segment": rows,
                "ids": [self.lists.ids[i] for i in rows],
                "texts": kept,
                "same": np.array(same),
                "words": self.words[rows],
                "size": self.lists.lengths[rows],
                "gain": np.round(self.gain[rows], 4),
                "confidence": np.round(self.confidence[rows], 3),
                **{name: np.round(alone[rows], 4) for name, alone in zip(names, self.alone, strict=True)},
            }
        )

    def wins(self) -> Table | None:
        """How often the first model is better and worse than what is first, by length, list and confidence."""
        rows = [row for name, values in self._sides() for row in self._binned(name, values)]
        heads: list[Column | str] = [
            "",
            "segments",
            "better",
            "worse",
            Column("mean gain", f".{digits_of(self.judged)}f"),
        ]
        model = next(iter(self.judged.models), None)
        if model is None or not rows:
            return None
        caption = f"{model} against the first hypotheses of {self.judged.name}, by segment"
        what = f"Gains are in {self.metric.name} of segments alone, above 0 where the model is better"
        note = f"{what}. The probability is the model's own, not calibrated."
        return Table(heads, rows, caption, [note])

    def _sides(self) -> Iterator[tuple[str, Floats]]:
        yield "words of the first hypothesis", self.words.astype(np.float64)
        yield "agreement of the first with its list", _agreement(self.lists)
        yield "probability of the choice", self.confidence

    def _binned(self, name: str, values: Floats) -> Iterator[list[Any]]:
        known = np.flatnonzero(np.isfinite(values) & (self.lists.lengths > 0))
        if len(known) < 2 * _BINS or values[known].min() == values[known].max():
            return
        edges = np.unique(np.quantile(values[known], np.linspace(0, 1, _BINS + 1)))
        places = np.clip(np.searchsorted(edges, values[known], side="right") - 1, 0, len(edges) - 2)
        for k in range(len(edges) - 1):
            inside = self.gain[known[places == k]]
            if len(inside):
                own = values[known[places == k]]
                label = f"{name}: {own.min():.3g} to {own.max():.3g}"
                yield [label, len(inside), int((inside > 0).sum()), int((inside < 0).sum()), float(inside.mean())]


def _alone(metric: Any, stats: Floats, chosen: Ints) -> Floats:
    """[N] the metric of each segment alone: sentence scores, where a metric has such; NaN of an empty list."""
    own = np.where(chosen[:, None] >= 0, stats[chosen], 0.0)
    scores = 100.0 - metric.losses(own) if isinstance(metric, BLEU) else np.asarray(metric.score(own), np.float64)
    return np.where(chosen >= 0, scores, np.nan)


def _confidence(judged: Judged) -> Floats:
    """[N] the probability of what the first model chooses; NaN without one, or without texts to compare."""
    model = next(iter(judged.models.values()), None)
    if model is None or judged.lists.compared is None:
        return np.full(len(judged.lists), np.nan)
    return np.asarray(choose(model, judged.lists).probability)


def _agreement(lists: NBest) -> Floats:
    """[N] how much the first hypotheses agree with the others of their lists, per word; NaN where it was not asked."""
    out = np.full(len(lists), np.nan)
    rows = spread(len(lists), _COMPARED)
    rows = rows[lists.lengths[rows] > 1]
    if lists.compared is None or not len(rows):
        return out
    few = agreement(prune(lists.select(rows), _OTHERS))
    texts = few.compared
    assert texts is not None
    words = np.array([max(len(texts[h].split()), 1) for h in few.offsets[:-1]])
    out[rows] = np.maximum(1.0 + few.column("agreement")[few.offsets[:-1]] / words, 0.0)
    return out
