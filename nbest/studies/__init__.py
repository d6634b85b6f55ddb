"""Studies: what lists, metrics and trainers look like, as data and as a picture.

Each is a function of lists (`path`: of forests) that returns rows and a picture; `nbest study NAME` is its command.
Adding one is one file and one line of `STUDIES`: the command is made of its signature (`nbest.studies.keywords`).
"""

from collections.abc import Callable

from nbest.base.registry import Registry
from nbest.studies.alpha import Alpha, alpha
from nbest.studies.annealing import Annealing, annealing
from nbest.studies.base import Study
from nbest.studies.bins import BinWeights, bins
from nbest.studies.consensus import Consensus, consensus
from nbest.studies.curves import Curves, curves
from nbest.studies.learning import Learning, learning
from nbest.studies.path import Path, path
from nbest.studies.sharpness import Sharpness, sharpness
from nbest.studies.starts import Starts, starts
from nbest.studies.surface import Surface, surface

STUDIES: Registry[Callable[..., Study]] = Registry(
    "study",
    {
        "alpha": alpha,
        "annealing": annealing,
        "bins": bins,
        "consensus": consensus,
        "learning": learning,
        "path": path,
        "settings": curves,
        "sharpness": sharpness,
        "starts": starts,
        "surface": surface,
    },
    group="nbest.studies",
    room=__name__,
)
"""Studies by the name used on the command line."""

__all__ = [
    "STUDIES",
    "Alpha",
    "Annealing",
    "BinWeights",
    "Consensus",
    "Curves",
    "Learning",
    "Path",
    "Sharpness",
    "Starts",
    "Study",
    "Surface",
    "alpha",
    "annealing",
    "bins",
    "consensus",
    "curves",
    "learning",
    "path",
    "sharpness",
    "starts",
    "surface",
]
