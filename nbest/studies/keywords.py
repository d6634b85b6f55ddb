"""How the keywords of a study are said on the command line: `nbest study NAME` is made of the study's own signature.

A keyword is an option where it is annotated with `Given`; lists and forests come from files; other keywords are for
Python alone. The first paragraph of the study's docstring and its indented example are the text of --help.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from nbest.model.loglinear import LogLinear


@dataclass(frozen=True)
class Given:
    """An option: its help, its names (default --keyword), its limits, and what is said where it is not given."""

    help: str
    flags: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    unsaid: str = ""


@dataclass(frozen=True)
class StudyLists:
    """Lists: whether --add may add features to them; which share of the first ones is held out by default."""

    add: bool = False
    share: float = 0.25


@dataclass(frozen=True)
class FurtherSettings:
    """Settings that the command takes from further options: of a method, or of those that a keyword names.

    `examples` are such options, for --help.
    """

    of: str
    examples: str


WEIGHTS = "Model file with the weights of the other features (default: all 0)."
Range = tuple[float, float] | None
ModelFile = Annotated[LogLinear | None, Given(WEIGHTS)]
Feature = Annotated[str, Given("Feature whose weight varies.", ("--feature", "--x"))]
FeatureRange = Annotated[Range, Given("Weights of the feature: LOW,HIGH.", ("--range",))]
Points = Annotated[int, Given("Weights to try.", least=2)]
Gamma = Annotated[float, Given("Sharpness of the posterior.", least=0.0)]
MetricOrder = Annotated[int, Given("Order of the expectation of the metric.", least=1, most=2)]
Methods = Annotated[Sequence[str], Given("Methods of nbest tune: NAME,NAME.")]
Seed = Annotated[int, Given("Seed of everything random.")]
Orders = Annotated[int, Given("Random orders of each list.", least=1)]
Samples = Annotated[int, Given("Bootstrap samples of the intervals.", least=1)]
