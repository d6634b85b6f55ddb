"""The languages of Jagarlamudi & Daume III (2012), and which settings are tried on each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """Settings of low-dimensional reranking to try, how exactly to solve, and the values of the curves."""

    tau: tuple[float, ...] = (0.8, 0.95, 0.99)
    lam: tuple[float, ...] = (0.1, 0.3, 0.6)
    k: tuple[int, ...] = (10, 25, 50, 75, 100, 150)
    middle: int = 50  # k at which tau and lambda of the discriminative kind are tried
    tolerance: float = 1e-2
    curve_tau: tuple[float, ...] = (0.7, 0.8, 0.9, 0.95, 0.99)
    curve_lam: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class Treebank:
    """A language: where its treebank is, which tags it has, and what is tried on it."""

    name: str  # English
    folder: str
    column: str = "xpos"
    inputs: str = "suffixes"  # view of the words
    pieces: str = "suffix"  # of words, in pairs with tags
    grid: Grid = Grid()


_LAM = (0.1, 0.3, 0.5, 0.7, 0.9)
TREEBANKS = {
    "en": Treebank("English", "en_ewt", grid=Grid(tau=(0.8, 0.9, 0.95, 0.99, 0.999), lam=_LAM)),
    "zh": Treebank(
        "Chinese", "zh_gsd_r1.4", inputs="characters", pieces="character", grid=Grid(k=(10, 25, 50, 75, 100))
    ),
    "fr": Treebank("French", "fr_sequoia_r2.16", column="upos", grid=Grid(tau=(0.5, 0.8, 0.9, 0.95, 0.99), lam=_LAM)),
    "sv": Treebank("Swedish", "sv_talbanken_2015-01"),
}
"""In the paper's order; grids are coarser where a solve takes long."""
QUICK = Grid(
    tau=(0.9, 0.95), lam=(0.1, 0.3), k=(10, 25, 50), middle=25,
    curve_tau=(0.8, 0.9, 0.95, 0.99), curve_lam=(0.1, 0.3, 0.6),
)  # fmt: skip
"""Of a quick run."""
