"""Projections of inputs and outputs into one small space, learnt from lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.parameters import check, parameter
from nbest.compute.blas import ONE_BLAS_THREAD
from nbest.corpus import NBest
from nbest.features.lowdim.alternation import alternate, slacks_of
from nbest.features.lowdim.feature import NAME, recipe
from nbest.features.lowdim.solver import Directions, Solver, ViewCovariance
from nbest.features.lowdim.views import Names, Views, views_of
from nbest.features.ngrams.bags import check_view
from nbest.optimisers.block_cg import Products

KINDS = ("generative", "softened", "discriminative")


@dataclass
class Projections:
    """What to learn of the two views of lists, and how; the settings are those of `LowDim`."""

    kind: str = parameter(
        "softened",
        "generative: correlates inputs and reference outputs (CCA); softened: and inputs with what references have "
        "that hypotheses lack, by their losses; discriminative: by multipliers of margins",
        choices=KINDS,
    )
    tau: float = parameter(0.95, "regularisation: covariances are (1 - tau) Z'Z + tau I", least=0, most=1)
    lam: float = parameter(
        0.3, "share of the hypotheses (above 0 for discriminative), in units of their mean loss", least=0, most=1
    )
    k: int = parameter(75, "dimensions; fewer, with a warning, where the rank is smaller", least=1)
    inputs: str = parameter(
        "suffixes", "view of the input text: extractors of `nbest.features.ngrams.bags`, e.g. suffixes, characters1-2"
    )
    outputs: str = parameter("labels", "view of the hypotheses, e.g. labels (uni- and bigrams of words)")
    binary: bool = parameter(False, "whether a feature counts once a text")
    cutoff: int = parameter(1, "least number of segments that a feature must be in", least=1)
    rounds: int = parameter(5, "of the alternation of discriminative, each with one solve", least=1)
    step: float = parameter(1.0, "the first step of the alternation", above=0)
    tolerance: float = parameter(1e-4, "relative accuracy of the directions", above=0, below=1)
    seed: int = parameter(1, "of the solver's first directions")
    threads: int | None = parameter(None, public=False)
    progress: Callable[[int, int], None] | None = parameter(None, public=False)

    def views(self, corpus: NBest) -> tuple[Views, Names]:
        """The two views of lists, and the names of their features."""
        return views_of(corpus, self.inputs, self.outputs, binary=self.binary, cutoff=self.cutoff)

    def solver(self, views: Views) -> Solver:
        """The covariances of these views, ready to solve for any targets."""
        inputs, outputs = Products(views.inputs, self.threads), Products(views.references, self.threads)
        with ONE_BLAS_THREAD:  # the factors do not depend on how many there are
            covariances = ViewCovariance(inputs, self.tau, "input"), ViewCovariance(outputs, self.tau, "output")
        return Solver(
            *covariances,
            tolerance=self.tolerance,
            seed=self.seed,
            progress=None if self.kind == "discriminative" else self.progress,
        )

    def solve(
        self, views: Views, solver: Solver, k: int, start: Directions | None = None
    ) -> tuple[Directions, list[dict[str, Any]]]:
        """Directions for these settings, and what is recorded of each round."""
        if self.kind == "discriminative":
            return alternate(
                views,
                lambda products, before: solver.solve(products, k, before),
                self.lam,
                rounds=self.rounds,
                step=self.step,
                start=start,
                threads=self.threads,
                progress=self.progress,
            )
        found = solver.solve(Products(views.targets(self.kind, self.lam), self.threads), k, start)
        slacks = slacks_of(views, found, self.threads)
        return found, [{"round": 0, "slack": slacks.total, "objective": float(np.sqrt(found.omega).sum())}]

    def directions(self, views: Views) -> tuple[Directions, list[dict[str, Any]]]:
        """All of it: covariances and directions."""
        return self.solve(views, self.solver(views), self.k)

    def check(self) -> None:
        """Complain of settings that break a rule."""
        check(self, "LowDim")
        if self.lam == 0 and self.kind == "discriminative":
            raise ParameterError(f"'lam' of LowDim must be above 0 if discriminative, got {self.lam}")
        check_view(self.inputs)
        check_view(self.outputs)


def recipe_of(directions: Directions, names: Names) -> dict[str, Any]:
    """The recipe of these directions."""
    both = {"input_names": names.input_names, "output_names": names.output_names}
    return recipe(directions, names.inputs, names.outputs, binary=names.binary, **both)


def fit_features(
    corpus: NBest,
    style: str = "softened",
    tau: float = 0.95,
    lam: float = 0.3,
    k: int = 75,
    inputs: str = "suffixes",
    outputs: str = "labels",
    binary: bool = False,
    cutoff: int = 1,
    rounds: int = 5,
    tolerance: float = 1e-4,
    seed: int = 1,
) -> dict[str, Any]:
    """The recipe of `lowdim` fitted to lists with statistics: for `--add lowdim:style=softened:k=75`.

    `style` is the `kind` of `LowDim` (a recipe has a kind of its own), the other options are as there.
    """
    if NAME in corpus.feature_names:
        raise ParameterError(f"these lists have a feature {NAME!r} already; it can be added once")
    for name, value in (("tau", tau), ("lam", lam), ("k", k), ("cutoff", cutoff), ("rounds", rounds)):
        if isinstance(value, str):
            raise ParameterError(f"the option {name!r} of the feature 'lowdim' must be a number, got {value!r}")
    wanted = Projections(
        kind=style, tau=tau, lam=lam, k=k, inputs=inputs, outputs=outputs, binary=binary, cutoff=cutoff, rounds=rounds,
        tolerance=tolerance, seed=seed,
    )  # fmt: skip
    wanted.check()
    views, names = wanted.views(corpus)
    return recipe_of(wanted.directions(views)[0], names)
