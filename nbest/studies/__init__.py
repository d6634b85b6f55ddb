"""Studies: what lists, metrics and trainers look like, as data and as a picture.

Each is a function of lists (`path`: of forests) that returns rows and a picture; `nbest study NAME` is its command.
Adding one is one file and one line of `STUDIES`: the command is made of its signature (`nbest.studies.keywords`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nbest.base.registry import Registry

if TYPE_CHECKING:
    from nbest.studies.base import Study

STUDIES: Registry[Callable[..., Study]] = Registry(
    "study",
    {
        "alpha": "alpha:alpha",
        "annealing": "annealing:annealing",
        "bins": "bins:bins",
        "budget": "budget:budget",
        "calibration": "calibration:calibration",
        "consensus": "consensus:consensus",
        "coverage": "coverage:coverage",
        "curve": "curve:curve",
        "ladder": "ladder:ladder",
        "learning": "learning:learning",
        "path": "path:path",
        "settings": "curves:curves",
        "sharpness": "sharpness:sharpness",
        "starts": "starts:starts",
        "surface": "surface:surface",
        "weights": "weights:weights",
    },
    group="nbest.studies",
    room=__name__,
)
"""Studies by the name used on the command line; a module is imported when its study is asked for."""

__all__ = ["STUDIES"]
