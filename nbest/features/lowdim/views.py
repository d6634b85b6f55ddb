"""The two views of low-dimensional reranking: bags of inputs, of reference outputs and of hypotheses, with losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest, Texts
from nbest.features.lowdim.feature import need_both_texts
from nbest.features.ngrams.bags import Bags, bags

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Views:
    """N inputs, their reference outputs and their H hypotheses as sparse rows, for matrices of one's own as well.

    `losses` are 0 for hypotheses without a constraint: those that are right, and those whose bag is that of the
    reference, which no direction can tell from it.
    """

    inputs: csr_array  # X [N, d1]
    references: csr_array  # Y [N, d2]
    outputs: csr_array  # [H, d2]
    offsets: Ints  # [N+1]
    losses: Floats  # [H] L

    def __post_init__(self) -> None:
        N, H, d2 = len(self.offsets) - 1, int(self.offsets[-1]), self.references.shape[1]
        shapes = (self.inputs.shape[0], self.references.shape, self.outputs.shape, len(self.losses))
        if shapes != (N, (N, d2), (H, d2), H):
            got = f"inputs {self.inputs.shape}, references {self.references.shape}, outputs {self.outputs.shape}"
            raise ParameterError(f"views of LowDim must be [N, d1], [N, d2] and [H, d2] with N {N}, H {H}, got {got}")
        if not (self.losses >= 0).all() or not np.isfinite(self.losses).all():
            raise ParameterError("'losses' of Views must be finite and >= 0")
        for name, matrix in (("input", self.inputs), ("output", self.references)):
            if matrix.shape[1] == 0 or matrix.nnz == 0:
                raise CapabilityError(f"the {name} view of LowDim is empty: no segment has any {name} feature")

    def residuals(self, weights: Floats) -> csr_array:
        """R [N, d2], row i = (1 / m_i) sum_j weights_ij (y_i - y_ij), the sum over the m_i hypotheses of segment i."""
        from scipy.sparse import csr_array, diags_array

        shares = weights / np.repeat(np.maximum(np.diff(self.offsets), 1), np.diff(self.offsets))
        H = len(shares)
        gather = csr_array((shares, np.arange(H), self.offsets), shape=(len(self.offsets) - 1, H))
        return csr_array(diags_array(segments.sums(shares, self.offsets)) @ self.references - gather @ self.outputs)

    def targets(self, kind: str, lam: float, weights: Floats | None = None) -> csr_array:
        """T [N, d2] of Cxy = X'T: Y (generative), (1-lam) Y + lam R (softened), (1-lam)/lam Y + R (discriminative).

        `weights` [H] are those of R, the losses by default. Eq. 10 and 12.
        """
        if kind == "generative":
            return self.references
        R = self.residuals(self.losses if weights is None else weights)
        if kind == "softened":
            return (1 - lam) * self.references + lam * R
        return ((1 - lam) / lam) * self.references + R


@dataclass(frozen=True)
class Names:
    """The features of both views: which extractors make them, and what they are called."""

    inputs: str
    outputs: str
    input_names: list[str]
    output_names: list[str]
    binary: bool

    def of(self, corpus: NBest) -> tuple[csr_array, csr_array]:
        """Bags [N, d1] of the inputs and [H, d2] of the hypotheses of other lists."""
        sources, texts = need_both_texts(corpus)
        x = bags(Texts.of(sources), self.inputs, binary=self.binary).within(self.input_names)
        return x, bags(texts, self.outputs, binary=self.binary).within(self.output_names)


def views_of(corpus: NBest, inputs: str, outputs: str, *, binary: bool = False, cutoff: int = 1) -> tuple[Views, Names]:
    """The views of lists with statistics.

    The reference output is the first reference, or the hypothesis of least loss where there are none; losses are the
    metric's, over their mean where they are not 0, so that no setting depends on their unit. Features in fewer than
    `cutoff` segments (input texts or reference outputs and hypotheses, each segment once) are left out.
    """
    sources, texts = need_both_texts(corpus)
    stats, metric = corpus.need_stats()
    x = bags(Texts.of(sources), inputs, binary=binary)
    y = bags(texts, outputs, binary=binary)
    if corpus.references is not None:
        right = bags(Texts.of(refs[0] for refs in corpus.references), outputs, binary=binary)
    else:
        right = Bags(_rows(y.counts, corpus.oracle()), y.names)
    x_names = _kept(x, np.arange(len(corpus)), cutoff)
    own = np.concatenate([segments.owners(corpus.offsets), np.arange(len(corpus))])
    y_names = _kept(_stacked(y, right), own, cutoff)
    columns = x.within(x_names), right.within(y_names), y.within(y_names)
    losses = _scaled(metric.losses(stats), columns[1], columns[2], corpus.offsets)
    return Views(*columns, corpus.offsets, losses), Names(inputs, outputs, x_names, y_names, binary)


def _stacked(one: Bags, two: Bags) -> Bags:
    from scipy.sparse import csr_array, vstack

    names = list(dict.fromkeys([*one.names, *two.names]))
    return Bags(csr_array(vstack([one.within(names), two.within(names)], format="csr")), names)


def _kept(bag: Bags, owners: Ints, cutoff: int) -> list[str]:
    """Names of the features that at least `cutoff` segments have, sorted: not by the order of hypotheses."""
    if cutoff <= 1:
        return sorted(bag.names)
    rows = np.repeat(owners, np.diff(bag.counts.indptr))
    pairs = np.unique(rows * np.int64(max(len(bag.names), 1)) + bag.counts.indices)
    often = np.bincount(pairs % max(len(bag.names), 1), minlength=len(bag.names)) >= cutoff
    return sorted(name for name, keep in zip(bag.names, often, strict=True) if keep)


def _rows(matrix: csr_array, chosen: Ints) -> csr_array:
    """Rows of a matrix; nothing where -1 is chosen."""
    from scipy.sparse import csr_array

    own = np.flatnonzero(chosen >= 0)
    pick = csr_array((np.ones(len(own)), (own, chosen[own])), shape=(len(chosen), matrix.shape[0]))
    return csr_array(pick @ matrix)


def _scaled(losses: Floats, references: csr_array, outputs: csr_array, offsets: Ints) -> Floats:
    """Losses over their mean, 0 for hypotheses whose bag is that of the reference."""
    away = abs(references[segments.owners(offsets)] - outputs).sum(axis=1) > 0
    losses = np.where(np.asarray(away).ravel(), losses, 0.0)
    positive = losses[losses > 0]
    return losses / positive.mean() if len(positive) else losses
