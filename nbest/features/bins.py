"""Bins: one column for each range of a feature, so that its effect on the score need be neither linear nor monotone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, _known
from nbest.base.types import Floats, Ints
from nbest.compute.segments import offsets_of
from nbest.corpus import NBest
from nbest.features.recipes import record

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass
class Bins:
    """Bins of equal probability mass for every dense feature.

        hard: column b = 1 if e_b < v <= e_(b+1), else 0           (the outer bins reach to -inf and inf)
        soft: column b = s(u - b) - s(u - b - 1),  s(z) = 1 / (1 + exp(-sharpness z)),  outer s 1 and 0

    u is v counted in bins: linear within each bin, b at its lower edge and b + 1 at its upper one, the outer slopes
    going on outside; so the soft columns are >= 0, their sum is 1, and `sharpness` is relative to the width of a bin.
    Edges lie midway between two values of the pooled training hypotheses, so that the mass of the bins is as equal as
    repeated values allow (at least half an equal share); a feature with at most `bins` distinct values gets one bin
    each, a constant gets none.
    Nguyen, Mahajan & He (2007), WMT, section 3.4.2. Differs: sigmoids of u and not of v (of v, with bins of unequal
    width, some columns would be negative). Cost: a sort a feature in `fit`; a binary search a value to apply.
    """

    bins: int = 20
    soft: bool = False
    features: Sequence[str] | None = None  # None: all dense ones
    sharpness: float = 10.0
    tolerance: float = 1e-6  # soft columns up to this are left out

    def fit(self, corpus: NBest) -> dict[str, Any]:
        """The recipe for these lists: {"kind": "bins", names, sizes, edges, means, ...}."""
        if self.bins < 1:
            raise ParameterError(f"'bins' of Bins must be >= 1, got {self.bins}")
        check_soft("Bins", self.sharpness, self.tolerance)
        wanted = corpus.feature_names if self.features is None else self.features
        need_features(corpus, wanted, "Bins")
        names: list[str] = []
        edges: list[Floats] = [np.zeros(0)]
        means: list[Floats] = [np.zeros(0)]
        for name in wanted:
            values = np.sort(corpus.column(name))
            if len(values) and values[0] < values[-1]:
                found = _equal_mass(values, self.bins)
                names.append(name)
                edges.append(found)
                means.append(_bin_means(values, found))
        return {
            "kind": "bins",
            "names": names,
            "sizes": [len(part) for part in means[1:]],
            "edges": np.concatenate(edges),
            "means": np.concatenate(means),
            "soft": bool(self.soft),
            "sharpness": float(self.sharpness),
            "tolerance": float(self.tolerance),
        }


def bins(
    corpus: NBest,
    names: Sequence[str],
    sizes: Sequence[int],
    edges: Floats,
    means: Floats,
    soft: bool = False,
    sharpness: float = 10.0,
    tolerance: float = 1e-6,
) -> NBest:
    """Adds the sparse columns `name:bin0`, `name:bin1`, ... of a recipe that `Bins.fit` made.

    `edges` holds sizes[j] + 1 edges for feature j, one after the other (the first and last are the least and largest
    value seen in training); `means` [sum of sizes] are what `seed_weights` uses.
    """
    need_features(corpus, names, "the feature 'bins'")
    check_soft("the feature 'bins'", sharpness, tolerance)
    starts = offsets_of(np.asarray(sizes, np.int64))
    edges = np.asarray(edges, np.float64)
    if len(names) != len(sizes) or len(edges) != starts[-1] + len(sizes) or len(means) != starts[-1]:
        got = f"{len(names)} names, {len(sizes)} sizes, {len(edges)} edges and {len(means)} means"
        raise ParameterError(f"a recipe of bins needs a size a name, size + 1 edges and size means each, got {got}")
    rows, columns, data = [], [], []
    for j, name in enumerate(names):
        own = edges[starts[j] + j : starts[j + 1] + j + 1]
        values = corpus.column(name)
        row, column, entry = _soft(values, own, sharpness, tolerance) if soft else _hard(values, own)
        rows.append(row)
        columns.append(column + starts[j])
        data.append(entry)
    matrix = _matrix(corpus.hypotheses, int(starts[-1]), rows, columns, data)
    return record(
        corpus, corpus.with_sparse(_columns(names, sizes), matrix), "bins", names=names, sizes=sizes, edges=edges,
        means=means, soft=soft, sharpness=sharpness, tolerance=tolerance,
    )  # fmt: skip


def seed_weights(recipe: Mapping[str, Any], weights: Mapping[str, float]) -> dict[str, float]:
    """Weights under which the bins score as the linear model `weights` did, up to the width of the bins.

        weight of bin b = weight of the feature * mean of the feature in bin b,    weight of the feature itself = 0

    Exact for hard bins of one distinct value each. Features without bins keep their weights.
    """
    names, sizes = recipe["names"], recipe["sizes"]
    slopes = np.repeat([float(weights.get(name, 0.0)) for name in names], sizes)
    seeded = {name: 0.0 if name in names else float(weight) for name, weight in weights.items()}
    products = slopes * np.asarray(recipe["means"])
    return seeded | dict(zip(_columns(names, sizes), products.tolist(), strict=True))


# what Gaussian kernels use too ----------------------------------------------------------------------------------


def need_features(corpus: NBest, names: Sequence[str], owner: str) -> None:
    """A `CapabilityError` that names the first of these dense features that the lists do not have."""
    for name in names:
        if name not in corpus.feature_names:
            known = _known(corpus.feature_names, name)
            raise CapabilityError(f"{owner} needs the feature {name!r} and these lists have none of that name; {known}")


def check_soft(owner: str, sharpness: float, tolerance: float) -> None:
    """Sharpness and tolerance of soft bins."""
    if not 0 < sharpness < np.inf:
        raise ParameterError(f"'sharpness' of {owner} must be > 0 and finite, got {sharpness}")
    if not 0 <= tolerance < 0.1:
        raise ParameterError(f"'tolerance' of {owner} must be in [0, 0.1), got {tolerance}")


# edges and columns ----------------------------------------------------------------------------------------------


def _equal_mass(values: Floats, bins: int) -> Floats:
    """[B + 1] edges of at most `bins` bins over sorted values: cuts between distinct values nearest to equal mass."""
    last = np.flatnonzero(np.append(values[1:] > values[:-1], True))  # last place of each distinct value
    cuts: Ints = last[:-1] + 1  # where a bin may begin
    if len(last) > bins:
        goals = np.arange(1, bins) * len(values) / bins
        after = np.minimum(np.searchsorted(cuts, goals), len(cuts) - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(goals - cuts[before] <= cuts[after] - goals, before, after)
        cuts = _apart(cuts[np.unique(nearest)], len(values), len(values) / bins / 2)
    below, above = values[cuts - 1], values[cuts]
    inner = np.minimum(below / 2 + above / 2, np.nextafter(above, -np.inf))
    return np.concatenate([values[:1], np.maximum(inner, below), values[-1:]])


def _apart(cuts: Ints, count: int, least: float) -> Ints:
    """The cuts that leave bins of at least `least` of `count` values."""
    kept = [0]
    for cut in cuts:
        if cut - kept[-1] >= least and count - cut >= least:
            kept.append(int(cut))
    return np.array(kept[1:], np.int64)


def _place(values: Floats, edges: Floats) -> Ints:
    """[H] the bin of each value: how many inner edges are below it."""
    return np.searchsorted(edges[1:-1], values, side="left")


def _bin_means(values: Floats, edges: Floats) -> Floats:
    """[B] mean of the sorted values in each bin, around the least of them: exact for one distinct value."""
    starts = np.searchsorted(_place(values, edges), np.arange(len(edges)))
    means = np.empty(len(edges) - 1)
    for b, (low, high) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
        part = values[low:high]
        means[b] = part[0] + np.sum(part / len(part) - part[0] / len(part))
    return means


def _hard(values: Floats, edges: Floats) -> tuple[Ints, Ints, Floats]:
    return np.arange(len(values)), _place(values, edges), np.ones(len(values))


def _soft(values: Floats, edges: Floats, sharpness: float, tolerance: float) -> tuple[Ints, Ints, Floats]:
    """Rows, bins and entries above `tolerance`; only bins near enough to hold that much are looked at."""
    size, place = len(edges) - 1, _place(values, edges)
    widths = np.maximum(np.diff(edges), np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):
        u = np.clip(place + (values - edges[place]) / widths[place], -1e9, 1e9)
    reach = size if tolerance == 0 else int(np.ceil(-np.log(tolerance) / sharpness)) + 1
    if 2 * reach + 1 >= size:
        window = np.broadcast_to(np.arange(size), (len(values), size))
    else:
        low = np.clip(place - reach, 0, size - 2 * reach - 1)
        window = low[:, None] + np.arange(2 * reach + 1)
    entries = _step(u, window, size, sharpness) - _step(u, window + 1, size, sharpness)
    row, at = np.nonzero(entries > tolerance)
    return row, window[row, at], entries[row, at]


def _step(u: Floats, edge: Ints, size: int, sharpness: float) -> Floats:
    """[H, W] s(u - edge), 1 at the first edge and 0 at the last."""
    z = np.clip(sharpness * (u[:, None] - edge), -700.0, 700.0)
    return np.where(edge <= 0, 1.0, np.where(edge >= size, 0.0, 1.0 / (1.0 + np.exp(-z))))


def _columns(names: Sequence[str], sizes: Sequence[int]) -> list[str]:
    return [f"{name}:bin{b}" for name, size in zip(names, sizes, strict=True) for b in range(size)]


def _matrix(height: int, width: int, rows: list[Ints], columns: list[Ints], data: list[Floats]) -> csr_array:
    from scipy.sparse import coo_array, csr_array

    row, column, entry = (np.concatenate([np.zeros(0, kind), *parts]) for kind, parts in (
        (np.int64, rows), (np.int64, columns), (np.float64, data)
    ))  # fmt: skip
    return csr_array(coo_array((entry, (row, column)), shape=(height, width)))
