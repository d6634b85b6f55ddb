"""Lists as a page holds them: all hypotheses of as many segments as there is room for, with what models weigh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbest.base.types import Ints
from nbest.corpus import NBest
from nbest.decisions import corpus_oracle
from nbest.features import within_scale
from nbest.model.loglinear import LogLinear
from nbest.pages.base import Judged, fitting, shortened
from nbest.report.packing import packed

SEGMENTS = 500
"""That a page holds with all their hypotheses, at most."""
OTHERS = "sparse features"
"""The name of the column of all sparse features, as a model weighs them."""


@dataclass(frozen=True, eq=False)
class Carried:
    """Lists with all columns that the models weigh, dense ones, in the order in which the first model adds them up."""

    judged: Judged
    lists: NBest

    @classmethod
    def of(cls, judged: Judged) -> Carried:
        """Sparse features become one column for each model that weighs them."""
        lists = judged.lists
        for model in judged.models.values():
            lists = model.prepare(lists)
        main = next(iter(judged.models.values()))
        own = [lists.feature_names[d] for d in main.weighed(lists.feature_names)[0]]
        lists = lists.only_features([*own, *(name for name in lists.feature_names if name not in own)])
        for name, model in judged.models.items():
            if lists.sparse is not None and any(model.weights.get(each) for each in lists.sparse_names):
                weights = np.array([model.weights.get(each, 0.0) for each in lists.sparse_names])
                lists = lists.with_features([_others(name, judged.models)], (lists.sparse @ weights)[:, None])
        return cls(judged, lists.without_sparse())

    def content(self, formula: Mapping[str, Any], room: int, order: Ints | None = None) -> dict[str, Any]:
        """The data of the script: as many segments as `room` bytes hold, in this order of their worth, or spread."""
        rows, content = fitting(len(self.lists), room, self._packed, most=SEGMENTS, order=order)
        part = self.lists.select(rows)
        return {
            "name": self.judged.name,
            "features": list(self.lists.feature_names),
            "spread": within_scale(self.lists).tolist(),
            "metric": dict(formula),
            "oracle": part.score(corpus_oracle(part)),
            "models": [self._model(name, model) for name, model in self.judged.models.items()],
            "total": len(self.lists),
            "segments": rows.tolist(),
            "packed": content,
            "said": self._said(rows),
        }

    def _said(self, rows: Ints) -> list[str]:
        """What a reader must know of these lists."""
        out = []
        if len(rows) < len(self.lists):
            out.append(
                f"{len(rows)} of {len(self.lists)} segments of {self.judged.name}, spread evenly, are on this page "
                "with all their hypotheses: scores and pictures here are of these."
            )
        odd = [name for name, model in self.judged.models.items() if model.decision.get("kind", "1best") != "1best"]
        if odd:
            out.append(f"Here the best score is chosen; by its own decision {', '.join(odd)} may choose otherwise.")
        return out

    def _model(self, name: str, model: LogLinear) -> dict[str, Any]:
        own = _others(name, self.judged.models)
        weights = [1.0 if each == own else model.weights.get(each, 0.0) for each in self.lists.feature_names]
        kind = str(model.decision.get("kind", "1best"))
        return {"name": name, "weights": weights, "gamma": float(model.gamma), "decision": kind}

    def _packed(self, rows: Ints) -> dict[str, Any]:
        part = self.lists.select(rows)
        features, (stats, _) = np.asarray(part.features, np.float64), part.need_stats()
        texts = [""] * part.hypotheses if part.texts is None else [shortened(text) for text in part.texts]
        return packed(
            {
                "offsets": part.offsets,
                **{f"feature {d}": features[:, d] for d in range(features.shape[1])},
                **{f"stat {m}": stats[:, m] for m in range(stats.shape[1])},
                "texts": texts,
                "references": [shortened(each[0]) if each else "" for each in part.references or [()] * len(part)],
                "ids": list(part.ids),
            }
        )


def _others(name: str, models: Mapping[str, LogLinear]) -> str:
    """What the sparse features of a model are called."""
    return OTHERS if len(models) == 1 else f"{OTHERS} of {name}"
