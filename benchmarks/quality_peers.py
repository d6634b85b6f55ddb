"""Other libraries on the same lists: rankers, black-box search and linear models, as their users would set them up.

They come with the extra `peers` and are imported when they are used. All see the dense and the sparse features of each
hypothesis and its loss; rankers see losses as five grades within a list. Settings are the libraries' own but for what
is said here. Each chooses the hypothesis of each list with the highest score, ties to the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import nbest
from nbest.base.randomness import generator
from nbest.base.types import Floats, Ints
from nbest.compute import segments

GRADES = 4
"""The best of a list; the worst is 0."""
TRIALS, EVALUATIONS, PAIRS, STEPS = 300, 2000, 50, 300
"""Of Optuna, of CMA-ES, of a list for logistic regression, of Adam."""

Scorer = Callable[[Floats], Floats]
"""Scores [H] of columns [H, D]."""


# columns --------------------------------------------------------------------------------------------------------------


def plain(lists: nbest.NBest) -> Floats:
    """[H, D] all features as they are."""
    if lists.sparse is None:
        return np.asarray(lists.features, np.float64)
    return np.hstack([lists.features, lists.sparse.toarray()])


def centred(lists: nbest.NBest) -> Floats:
    """[H, D] less the mean of their list."""
    columns, owners = plain(lists), segments.owners(lists.offsets)
    means = segments.sums(columns, lists.offsets) / np.maximum(lists.lengths, 1)[:, None]
    return columns - means[owners]


def standardised(lists: nbest.NBest) -> Floats:
    """[H, D] less the mean and divided by the standard deviation of their list."""
    columns, owners = centred(lists), segments.owners(lists.offsets)
    spread = np.sqrt(segments.sums(columns**2, lists.offsets) / np.maximum(lists.lengths, 1)[:, None])[owners]
    return np.divide(columns, spread, out=np.zeros_like(columns), where=spread > 1e-12)


@dataclass(frozen=True)
class Peer:
    """A library: which columns it sees, and what learns from them and from lists with statistics."""

    package: str
    learn: Callable[[Floats, nbest.NBest, int], Scorer]
    columns: Callable[[nbest.NBest], Floats] = plain
    cost: float = 5.0
    seeded: bool = True

    @property
    def installed(self) -> bool:
        """Whether it can be imported."""
        return find_spec(self.package) is not None

    def fit(self, dev: nbest.NBest, seed: int) -> Callable[[nbest.NBest], Ints]:
        """Learn, and choose by the highest score."""
        full = dev.select(np.flatnonzero(dev.lengths > 0))
        score = self.learn(self.columns(full), full, seed)
        return lambda lists: segments.argmax(np.asarray(score(self.columns(lists)), np.float64), lists.offsets)


# rankers --------------------------------------------------------------------------------------------------------------


def grades(lists: nbest.NBest) -> Ints:
    """[H] from 0 to GRADES: where the loss of each hypothesis lies between the largest and the smallest of its list."""
    losses, owners = lists.losses(), segments.owners(lists.offsets)
    most, least = segments.maxima(losses, lists.offsets), -segments.maxima(-losses, lists.offsets)
    width = (most - least)[owners]
    share = np.divide(most[owners] - losses, width, out=np.zeros_like(losses), where=width > 0)
    return np.rint(GRADES * share).astype(np.int64)


def _lightgbm(columns: Floats, lists: nbest.NBest, seed: int) -> Scorer:
    import lightgbm

    ranker = lightgbm.LGBMRanker(objective="lambdarank", n_jobs=1, random_state=seed, verbose=-1)
    ranker.fit(columns, grades(lists), group=lists.lengths)
    return lambda rows: ranker.booster_.predict(rows, num_threads=1)


def _xgboost(columns: Floats, lists: nbest.NBest, seed: int) -> Scorer:
    import xgboost

    ranker = xgboost.XGBRanker(objective="rank:ndcg", n_jobs=1, random_state=seed)
    ranker.fit(columns, grades(lists), group=lists.lengths)
    return ranker.predict


def _catboost(columns: Floats, lists: nbest.NBest, seed: int) -> Scorer:
    """As many trees, of the same rate, as LightGBM has; its own 1,000 take ten times as long."""
    import catboost

    pool = catboost.Pool(columns, grades(lists) / GRADES, group_id=segments.owners(lists.offsets))
    settings = {"loss_function": "YetiRank", "iterations": 100, "learning_rate": 0.1, "random_seed": seed}
    ranker = catboost.CatBoost({**settings, "thread_count": 1, "verbose": False, "allow_writing_files": False})
    ranker.fit(pool)
    return partial(ranker.predict, thread_count=1)


# weights --------------------------------------------------------------------------------------------------------------


def _weighed(weights: Any, scale: Floats) -> Scorer:
    weights = np.asarray(weights, np.float64) * scale
    return lambda rows: rows @ weights


def _units(columns: Floats, lists: nbest.NBest) -> Floats:
    """[D] what makes columns spread by 1 within lists; 0 for those that never differ."""
    means = segments.sums(columns, lists.offsets) / lists.lengths[:, None]
    spread = (columns - means[segments.owners(lists.offsets)]).std(axis=0)
    return np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12)


def _losing(columns: Floats, lists: nbest.NBest) -> Callable[[Any], float]:
    """The corpus metric of what weights of such columns choose, smaller is better."""
    stats, metric = lists.need_stats()
    sign = -1.0 if metric.higher_is_better else 1.0

    def value(weights: Any) -> float:
        chosen = segments.argmax(columns @ np.asarray(weights, np.float64), lists.offsets)
        return sign * float(metric.score(stats[chosen].sum(axis=0)))

    return value


def _optuna(columns: Floats, lists: nbest.NBest, seed: int) -> Scorer:
    """TPE over weights between -1 and 1 in units of scaled features."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    scale = _units(columns, lists)
    value = _losing(columns * scale, lists)
    names = [f"w{d}" for d in range(len(scale))]
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(lambda trial: value([trial.suggest_float(name, -1.0, 1.0) for name in names]), n_trials=TRIALS)
    return _weighed([study.best_params[name] for name in names], scale)


def _cma(columns: Floats, lists: nbest.NBest, seed: int) -> Scorer:
    """From 0, with steps of 1 in units of scaled features; the best that was seen."""
    import cma

    scale = _units(columns, lists)
    if len(scale) == 1:  # CMA-ES wants two dimensions
        columns, scale = np.hstack([columns, np.zeros_like(columns)]), np.append(scale, 0.0)
    options = {"seed": seed, "maxfevals": EVALUATIONS, "verbose": -9}
    search = cma.CMAEvolutionStrategy(np.zeros(len(scale)), 1.0, options)
    search.optimize(_losing(columns * scale, lists))
    return _weighed(search.result.xbest, scale)


def _sklearn(columns: Floats, lists: nbest.NBest, seed: int) -> Scorer:
    """Logistic regression on differences of pairs of a list that differ in their losses, drawn at random."""
    from sklearn.linear_model import LogisticRegression

    scale, losses, rng = _units(columns, lists), lists.losses(), generator(seed)
    starts = np.repeat(lists.offsets[:-1], PAIRS)
    one, other = (starts + (rng.random(len(starts)) * np.repeat(lists.lengths, PAIRS)).astype(int) for _ in range(2))
    better, worse = np.where(losses[one] < losses[other], one, other), np.where(losses[one] < losses[other], other, one)
    differ = losses[better] < losses[worse]
    gaps = (columns[better] - columns[worse])[differ] * scale
    rows, right = np.vstack([gaps, -gaps]), np.repeat([1, 0], len(gaps))
    return _weighed(LogisticRegression(fit_intercept=False, max_iter=1000).fit(rows, right).coef_[0], scale)


def _torch(columns: Floats, lists: nbest.NBest, seed: int) -> Scorer:
    """The mean over lists of the expected loss under a softmax of linear scores, by Adam from 0."""
    import torch

    torch.set_num_threads(1)
    scale, losses = _units(columns, lists), lists.losses()
    rows, loss = torch.from_numpy(columns * scale), torch.from_numpy(losses / max(float(losses.std()), 1e-12))
    owners, count = torch.from_numpy(segments.owners(lists.offsets)), len(lists)
    weights = torch.zeros(len(scale), dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([weights], lr=0.1)
    for _ in range(STEPS):
        adam.zero_grad()
        scores = rows @ weights
        top = torch.full((count,), -torch.inf, dtype=torch.float64).scatter_reduce(0, owners, scores.detach(), "amax")
        mass = torch.exp(scores - top[owners])
        sums = torch.zeros((2, count), dtype=torch.float64).index_add(1, owners, torch.stack([mass, mass * loss]))
        (sums[1] / sums[0]).mean().backward()
        adam.step()
    return _weighed(weights.detach().numpy(), scale)


PEERS: dict[str, Peer] = {
    "lightgbm": Peer("lightgbm", _lightgbm),
    "lightgbm centred": Peer("lightgbm", _lightgbm, centred),
    "lightgbm standardised": Peer("lightgbm", _lightgbm, standardised),
    "xgboost": Peer("xgboost", _xgboost),
    "xgboost centred": Peer("xgboost", _xgboost, centred),
    "catboost": Peer("catboost", _catboost, cost=20.0),
    "catboost centred": Peer("catboost", _catboost, centred, cost=20.0),
    "optuna": Peer("optuna", _optuna, cost=10.0),
    "cma": Peer("cma", _cma, cost=10.0),
    "scikit-learn": Peer("sklearn", _sklearn),
    "torch": Peer("torch", _torch, seeded=False),
}
"""Peers by the name of their row."""
