"""By which decision a model should choose, and how sharply: settled on lists that it was not fitted on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, TypeGuard

import numpy as np

from nbest.base.parameters import parameters_of
from nbest.base.types import Floats, Ints
from nbest.corpus import NBest, prune
from nbest.corpus.contract import Corpus, are_lists
from nbest.decisions.choose import decision_of
from nbest.decisions.chosen import choice_of, score_of
from nbest.decisions.consensus import consensus_of_each
from nbest.decisions.mbr import gain_of, mbr_of_each
from nbest.decisions.vote import vote
from nbest.metrics import BLEU
from nbest.metrics.normalise import OfTexts
from nbest.metrics.paired import better_than, by_group
from nbest.metrics.rates import Accuracy
from nbest.model.evidence import LEVEL
from nbest.model.loglinear import LogLinear
from nbest.model.settled import Settled, TriedDecision
from nbest.trainers.crossfit import Crossed
from nbest.trainers.sharpness import spread

AUTO = "auto"
"""The decision that is settled here."""

GAMMAS = (0.5, 1.0, 2.0, 4.0)
"""Sharpnesses that are tried, around the fair posterior."""

AMONG = 10
"""Hypotheses of a list that are compared with each other, the best ones: more of them are not only dearer but worse."""

ONE = {"kind": "1best"}
"""The decision of a model that keeps none."""

_BYTES = 30_000_000  # of pairs of texts that are compared
_LEAST = 20  # segments without which nothing is tried

Decision = Mapping[str, Any]


@dataclass(frozen=True)
class Left:
    """Lists, and the number of the model that chooses of each, which was not fitted on it."""

    lists: NBest
    models: tuple[LogLinear, ...]
    which: Ints  # [N]
    how: str  # "5 folds", "held-out lists"

    def some(self) -> Left:
        """As many segments as may be looked at, spread over all."""
        rows = spread(len(self.lists), _affordable(self.lists))
        return replace(self, lists=self.lists.select(rows), which=self.which[rows])


def lists_left(model: LogLinear, corpus: Corpus | None, heldout: Corpus | None, crossed: Crossed | None) -> Left | None:
    """Held-out lists and the model, or the lists it was fitted on and the models that were fitted without each fold;
    None where there are neither, and of forests, of which the best string is trained on and taken."""
    if heldout is not None:
        alone = np.zeros(len(heldout), np.int64)
        return Left(heldout, (model,), alone, "held-out lists") if _comparable(heldout) else None
    if crossed is None or None in crossed.models or not _comparable(corpus):
        return None
    models = tuple(each for each in crossed.models if each is not None)
    return Left(corpus, models, crossed.fold, f"{len(models)} folds")


def settle(model: LogLinear, left: Left | None) -> LogLinear:
    """The model with the decision by which lists that were left out are chosen best: its own, which is 1-best where it
    has none, unless another is better beyond noise; and what was tried (`model.settled`).

    Lists with answers may vote; others are chosen from by minimum Bayes risk and by consensus, each at `GAMMAS`. The
    others must be better than its own with p <= 0.05 by a paired permutation test, corrected for their number; of
    those that are, the best is taken. It looks at the best `AMONG` hypotheses of lists that are spread over all.
    """
    if left is None:
        return model
    few = left.some()
    candidates = list(_candidates(model, few.lists))
    if len(few.lists) < _LEAST or not candidates:
        return model
    chosen = _statistics(few, candidates, model.decision)
    stats, metric = by_group(chosen, few.lists.groups), few.lists.need_metric()
    scores = np.asarray(metric.score(stats.sum(axis=0)))
    p = better_than(metric, stats[:, 0], stats[:, 1:])
    gains = (scores[1:] - scores[0]) * (1.0 if metric.higher_is_better else -1.0)
    sure = np.flatnonzero(p <= LEVEL)
    best = candidates[sure[gains[sure].argmax()]] if len(sure) else decision_of(model)
    own = TriedDecision(decision_of(model)["kind"], float(scores[0]), pool=model.decision.get("pool"))
    tried = [own, *_best_of_kinds(candidates, scores[1:], gains, p)]
    known = Settled(left.how, int((few.lists.lengths > 0).sum()), tuple(tried))
    return replace(model, decision={} if best == ONE else dict(best), settled=known.content())


def decided(
    model: LogLinear,
    decision: str | Decision | None,
    corpus: Corpus | None = None,
    heldout: Corpus | None = None,
    *,
    crossed: Crossed | None = None,
) -> LogLinear:
    """The model with this decision, and scores by it. "auto" is settled on held-out lists, or on those that were left
    out in folds, unless the trainer has settled it; None is the decision that the trainer gave to the model."""
    if decision == AUTO:
        found = model if model.settled else settle(model, lists_left(model, corpus, heldout, crossed))
    elif decision is None:
        found = model
    else:
        said = decision_of(model, decision)
        found = replace(model, decision={} if said == ONE else said, settled={})
    if dict(found.decision) == dict(model.decision):
        return found
    sets = {"dev": corpus, "heldout": heldout}
    scores = {name: score_of(each, found) for name, each in sets.items() if each is not None and each.scored}
    return replace(found, scores_={**found.scores_, **scores})


def as_trained(kind: type) -> dict[str, Any]:
    """Keywords of a trainer by which it leaves the decision to others, where it would settle it itself."""
    return {"decision": None} if "decision" in parameters_of(kind) else {}


def _comparable(corpus: Corpus | None) -> TypeGuard[NBest]:
    """Whether decisions can be compared: lists with texts and a metric."""
    return are_lists(corpus) and corpus.scored and corpus.compared is not None


def _affordable(lists: NBest) -> int:
    """How many segments may be looked at, by the length of their texts and lists."""
    assert lists.compared is not None
    if lists.answers is not None or not lists.hypotheses:
        return len(lists)  # votes cost nothing
    length = float((lists.compared.ends - lists.compared.starts).mean()) + 1
    pairs = float((np.minimum(lists.lengths, AMONG) ** 2).mean())
    return max(1, int(_BYTES / max(pairs * length, 1.0)))


def _candidates(model: LogLinear, lists: NBest) -> Iterator[Decision]:
    """Decisions other than the model's that lists allow, all sharpnesses of a kind together."""
    if model.decision:
        yield ONE
    if lists.answers is not None:
        yield from (decision_of(model, {"kind": "vote", "gamma": gamma}) for gamma in (0.0, *GAMMAS))
        return
    if isinstance(gain_of(model), OfTexts | Accuracy):  # what others define may take its time
        yield from ({"kind": "mbr", "gamma": gamma, "among": AMONG} for gamma in GAMMAS)
    yield from ({"kind": "consensus", "gamma": gamma, "among": AMONG} for gamma in GAMMAS)


def _statistics(left: Left, candidates: list[Decision], own: Decision) -> Floats:
    """[N, 1 + C, M] of what is chosen by the own decision and each of the candidates; nothing where a list is empty."""
    stats, _ = left.lists.need_stats()
    out = np.zeros((len(left.lists), 1 + len(candidates), stats.shape[1]))
    for number, model in enumerate(left.models):
        rows = np.flatnonzero(left.which == number)
        whole = left.lists.select(rows)
        few = _scored(model, whole)
        _fill(out[:, 0], rows, whole, choice_of(replace(model, decision=own), whole))
        for at, choice in enumerate(_choices(model, few, candidates)):
            _fill(out[:, 1 + at], rows, few, choice)
    return out


def _fill(out: Floats, rows: Ints, lists: NBest, choice: Ints) -> None:
    """The statistics of what is chosen of lists, into these rows."""
    filled = choice >= 0
    out[rows[filled]] = lists.need_stats()[0][choice[filled]]


def _scored(model: LogLinear, lists: NBest) -> NBest:
    """The best hypotheses of lists, with their scores for the only feature: added features are those of whole lists."""
    scores = model.scores(lists)
    plain = replace(
        lists, features=scores[:, None], feature_names=("score",), sparse=None, sparse_names=(), origins={}, recipes=()
    )
    return plain if lists.answers is not None else prune(plain, AMONG, scores)


def _choices(model: LogLinear, lists: NBest, candidates: list[Decision]) -> Iterator[Ints]:
    """What each of the candidates chooses, in their order."""
    scorer = LogLinear({"score": 1.0}, metric=model.metric, answer=model.answer)
    for kind, some in groupby(candidates, key=lambda each: str(each["kind"])):
        options = [{name: value for name, value in each.items() if name != "kind"} for each in some]
        gammas = [float(each.get("gamma", 1.0)) for each in options]
        if kind == "1best":
            yield scorer.predict(lists)
        elif kind == "vote":
            yield from (vote(scorer, lists, **each) for each in options)
        elif kind == "mbr":
            yield from mbr_of_each(scorer, lists, gammas, gain_of(model))
        else:
            yield from consensus_of_each(scorer, lists, gammas, BLEU(), None)


def _best_of_kinds(candidates: list[Decision], scores: Floats, gains: Floats, p: Floats) -> Iterator[TriedDecision]:
    """The best of each kind: one that is surely better before others, then by its gain, then the first."""
    for kind in dict.fromkeys(str(each["kind"]) for each in candidates):
        mine = [at for at, each in enumerate(candidates) if each["kind"] == kind]
        best = max(mine, key=lambda at: (p[at] <= LEVEL, gains[at], -at))
        yield TriedDecision(kind, float(scores[best]), candidates[best].get("gamma"), float(p[best]))
