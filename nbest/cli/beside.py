"""Kernels that a command will need are compiled in other processes while it reads its files.

Each job runs some kernels once, on a few numbers, as the library calls them; what it compiles is kept on disk, where
the command finds it (`nbest.compute.kernel_cache`). The code that runs is the same, whoever compiled it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from types import ModuleType
from typing import NamedTuple

import numpy as np

from nbest.base.errors import ConvergenceWarning, NbestError
from nbest.cli.console import say_compiling
from nbest.compute import compilation
from nbest.compute.forks import apart, meanwhile
from nbest.compute.jets import expand, log
from nbest.compute.kernel_cache import is_kept
from nbest.corpus import NBest, Texts, Words, text_kernels
from nbest.corpus.metric import Metric
from nbest.decisions import expected_lists
from nbest.metrics import ngrams
from nbest.metrics.tokenise import tokens
from nbest.objectives import moments
from nbest.objectives.backends import StatCredit
from nbest.trainers import TRAINERS
from nbest.trainers.dense import climbs
from nbest.trainers.pipeline import Pipeline

_FEW = 20  # lists on which methods are tried: fewer settle no decision
_MANY = 5000  # words: more than the first table of words holds
_OFFSETS = np.array([0, 2, 4])  # two lists of two
_PAIRS = np.array([[0, 0], [0, 1], [1, 1]])  # covariances of two statistics


class Job(NamedTuple):
    """Something small that runs kernels, and the one of them that tells whether they were compiled before."""

    module: ModuleType
    kernel: str
    run: Callable[[], None]

    @property
    def done(self) -> bool:
        """Whether the kernel is on disk."""
        return is_kept(getattr(self.module, self.kernel))


@contextmanager
def compiling(*names: str, quiet: bool) -> Iterator[None]:
    """Compile the kernels of these jobs, as far as they are not on disk, while the caller goes on."""
    waiting = [JOBS[name] for name in names if compilation.kept and not JOBS[name].done]
    if waiting:
        say_compiling(quiet=quiet)
    with meanwhile([job.run for job in waiting]):
        yield


def compile_methods(methods: Sequence[str], lists: NBest, metric: Metric | None = None, *, quiet: bool) -> None:
    """Run methods on few lists, in other processes too, so that seconds of tuning count no compilation; with `metric`
    the lists are measured first."""
    few = lists.select(np.arange(min(_FEW, len(lists))))
    tries = [partial(_try, name, few, metric) for name in methods]
    if not compilation.kept:  # what others compile is of no use here
        for each in tries:
            each()
        return
    wanted = [*(["lines"] if "mert" in methods else []), "words", "first pass", "second pass", "consensus"]
    waiting = [JOBS[name] for name in wanted if not JOBS[name].done]
    if waiting:
        say_compiling(quiet=quiet)
    jobs: list[Callable[[], None]] = [*(job.run for job in waiting), *tries]
    apart(lambda job: job(), jobs)


def _try(method: str, few: NBest, metric: Metric | None) -> None:
    with warnings.catch_warnings(), suppress(NbestError):  # what is wrong with all lists is told later
        warnings.simplefilter("ignore", ConvergenceWarning)  # of so few lists
        lists = few if metric is None else few.with_metric(metric)
        Pipeline(trainer=TRAINERS[method]()).fit(lists, lists)


def _words() -> None:
    tokens("13a", Texts.of(["a b, c", " ".join(f"w{k}" for k in range(_MANY))]), Texts.of(["a b"]), lowercase=False)


def _ngrams() -> None:
    first = np.arange(2)
    ngrams.matches(_some_words(), _OFFSETS, _some_words(), first, first + 1, order=2, vocabulary=2)


def _some_words() -> Words:
    return Words(np.array([0, 1, 3, 4, 6]), np.array([0, 0, 1, 1, 1, 0], np.int32))


def _first_pass() -> None:
    _laid_out().posteriors(np.ones(1), 1.0, np.zeros(0), _PAIRS)
    expand(lambda totals: log(totals[0] * totals[1]), np.ones(2), np.eye(2))


def _second_pass() -> None:
    credit = StatCredit(np.ones(2), np.eye(2))
    _laid_out().feature_sum(credit, _PAIRS, temperature=1.0, gamma=1.0)


def _laid_out() -> moments.Blocked:
    features, stats, offsets = np.ones((4, 1)), np.ones((4, 2)), _OFFSETS.copy()
    for array in (features, stats, offsets):
        array.flags.writeable = False  # as those of lists
    return moments.Blocked.of(features, stats, offsets, scale=np.ones(1))


def _consensus() -> None:
    weights = expected_lists.list_posteriors(np.zeros(4), _OFFSETS, (1.0,))
    expected_lists.expected_matches(_some_words(), _OFFSETS, weights, np.zeros((4, 1, 2)))


def _lines() -> None:
    from nbest.testing.corpora import toy_lists
    from nbest.trainers import MERT

    MERT(restarts=1).fit(toy_lists())


JOBS = {
    "lines": Job(climbs, "climb_round", _lines),
    "words": Job(text_kernels, "_intern_some", _words),
    "ngrams": Job(ngrams, "_matches", _ngrams),
    "first pass": Job(moments, "_posteriors", _first_pass),
    "second pass": Job(moments, "_feature_sum", _second_pass),
    "consensus": Job(expected_lists, "_match", _consensus),
}
"""Jobs by name."""
