"""Norms that favour zeros, zero groups or low rank, each with a ridge; and the ridge alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array, clip, inner
from ..problem import Pieces
from ..problem.checks import as_array, shown, weight
from ..sets import GroupL1Ball
from ._base import Ridged


class SquaredNorm(Ridged, anywhere=True):
    r"""The ridge, :math:`H(y) = \tfrac\mu2 \|y\|_2^2`.

    Parameters
    ----------
    mu : float
        Positive weight, which is also the strong convexity constant.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredNorm(2.0).argmin(np.array([4.0, -2.0]))
    array([-2.,  1.])
    """

    def rest(self, y: Array) -> float:
        return 0.0

    def subgradient(self, y: Array) -> Array:
        return self.mu * y

    def solve(self, g: Array, c: float) -> Array:
        return g / -c

    def scaled(self, scales: Array) -> ElasticNet:
        return ElasticNet(0.0, self.mu * scales**2)

    def pieces(self) -> Pieces:
        return Pieces(self.mu)


class ElasticNet(Ridged):
    r"""The elastic net, :math:`H(y) = \ell_1 \|y\|_1 + \tfrac\mu2 \|y\|_2^2`.

    Parameters
    ----------
    l1 : float or array
        Weight of the l1 norm, >= 0; an array that broadcasts to y has a weight for each entry.
    mu : float or array
        Weight of the ridge, positive; an array that broadcasts to y has a weight for each entry.
        `ridge` keeps what was given, and `mu`, the strong convexity constant, is the least weight.

    Notes
    -----
    Its minimisation step is soft thresholding: entries of g below l1 in size give zeros.

    Examples
    --------
    >>> import numpy as np
    >>> ElasticNet(1.0, mu=2.0).argmin(np.array([4.0, -0.5]))
    array([-1.5,  0. ])
    """

    structured = True

    def __init__(self, l1: float | Array, mu: float | Array) -> None:
        weights = as_array(l1, "l1")
        if not weights.size or weights.min() < 0:
            raise ValueError(f"l1 must be a number >= 0 or an array of them, found {shown(l1)}")
        self.l1: Array = weights if weights.ndim else float(weights)
        ridge = as_array(mu, "mu") if isinstance(mu, np.ndarray | list | tuple) else mu
        if isinstance(ridge, np.ndarray) and not ridge.size:
            raise ValueError(f"mu must be a positive number or an array of them, found {shown(mu)}")
        super().__init__(float(ridge.min()) if isinstance(ridge, np.ndarray) else ridge)
        self.ridge: Array = ridge if isinstance(ridge, np.ndarray) and ridge.ndim else self.mu

    def rest(self, y: Array) -> float:
        return float((self.l1 * abs(y)).sum())

    def solve(self, g: Array, c: Array) -> Array:
        # clip(g) - g is -sign(g) max(|g| - l1, 0), with a positive zero where g is small
        return (clip(g, -self.l1, self.l1) - g) / c

    def value(self, y: Array) -> float:
        if isinstance(self.ridge, float):
            return super().value(y)
        return self.rest(y) + 0.5 * inner(self.ridge * y, y)

    def argmin(self, g: Array) -> Array:
        return self.solve(g, self.ridge)

    def prox(self, g: Array, lam: float) -> Array:
        return self.solve(g, self.ridge + lam)

    def minimum(self, g: Array) -> float:
        y = self.argmin(g)
        return inner(g, y) + self.value(y)

    def scaled(self, scales: Array) -> ElasticNet:
        return ElasticNet(self.l1 * scales, self.ridge * scales**2)

    def pieces(self) -> Pieces:
        return Pieces(self.ridge, self.l1)

    def __repr__(self) -> str:
        if isinstance(self.l1, float) and isinstance(self.ridge, float):
            return f"ElasticNet(l1={self.l1:g}, mu={self.mu:g})"
        shown_l1 = f"{self.l1:g}" if isinstance(self.l1, float) else f"{self.l1.size} weights"
        many = "" if isinstance(self.ridge, float) else " or more"
        return f"ElasticNet(l1={shown_l1}, mu={self.mu:g}{many})"


class SparseGroupLasso(Ridged):
    r"""Sparse groups, :math:`H(y) = \ell_1 \|y\|_1 + \gamma \sum_G w_G \|y_G\|_2 +
    \tfrac\mu2 \|y\|_2^2`.

    Parameters
    ----------
    groups : list of index arrays, or array of labels
        Either a list of groups of flat positions that together hold each of 0..n-1 once, or an
        integer array with the label of each entry of y, whose shape is the shape of y.
    l1, group, mu : float
        Weights of the l1 norm (>= 0, for zeros within groups), of the groups' norms (gamma >= 0,
        for groups that are zero as a whole) and of the ridge (positive).
    weights : array, optional
        w_G, >= 0, in the order of the groups; the square root of a group's size by default.

    Notes
    -----
    The minimisation step thresholds each entry of -g at l1, then shrinks the norm of each group by
    gamma w_G.

    Examples
    --------
    >>> import numpy as np
    >>> H = SparseGroupLasso([[0, 1], [2]], l1=1.0, group=1.0, mu=1.0, weights=[1.0, 1.0])
    >>> H.argmin(np.array([4.0, -5.0, 1.5])).round(3)
    array([-2.4,  3.2,  0. ])
    """

    structured = True

    def __init__(
        self, groups: Sequence[Array], l1: float, group: float, mu: float, weights: Array = None
    ) -> None:
        super().__init__(mu)
        self.l1, self.group = weight(l1, "l1"), weight(group, "group")
        parts = GroupL1Ball(groups)
        self.shape = parts.shape
        members = parts.groups
        self._label = np.empty(sum(map(len, members)), dtype=np.intp)
        for label, positions in enumerate(members):
            self._label[positions] = label
        if weights is None:
            self.weights = np.sqrt([len(positions) for positions in members])
        else:
            self.weights = as_array(weights, "weights")
            if self.weights.shape != (len(members),) or self.weights.min() < 0:
                raise ValueError(
                    f"weights must be {len(members)} numbers >= 0, one per group, found "
                    f"{shown(weights)}"
                )

    @property
    def groups(self) -> Array:
        """The number of the group of each flat position."""
        return self._label

    def rest(self, y: Array) -> float:
        return self.l1 * float(abs(y).sum()) + self.group * float(self.weights @ self._norms(y))

    def solve(self, g: Array, c: float) -> Array:
        v = np.clip(g, -self.l1, self.l1) - g
        norms = self._norms(v)
        threshold = self.group * self.weights
        kept = np.zeros(norms.shape)
        np.divide(norms - threshold, norms, out=kept, where=norms > threshold)
        factors = kept.astype(v.dtype)[self._label].reshape(v.shape)
        return v * factors / c + 0.0  # no negative zeros

    def _norms(self, y: Array) -> Array:
        flat = y.reshape(-1)
        return np.sqrt(np.bincount(self._label, flat * flat, len(self.weights)))

    def __repr__(self) -> str:
        parts = f"{len(self.weights)} groups, l1={self.l1:g}, group={self.group:g}"
        return f"{type(self).__name__}({parts}, mu={self.mu:g})"


class GroupLasso(SparseGroupLasso):
    r"""Groups, :math:`H(y) = \gamma \sum_G w_G \|y_G\|_2 + \tfrac\mu2 \|y\|_2^2`.

    Parameters
    ----------
    groups, group, mu, weights
        As for `SparseGroupLasso`.

    Examples
    --------
    >>> import numpy as np
    >>> GroupLasso([[0, 1], [2]], 1.0, mu=1.0, weights=[1, 1]).argmin(np.array([3.0, -4.0, 0.5]))
    array([-2.4,  3.2,  0. ])
    """

    def __init__(
        self, groups: Sequence[Array], group: float, mu: float, weights: Array = None
    ) -> None:
        super().__init__(groups, 0.0, group, mu, weights)


class NuclearNorm(Ridged):
    r"""Low rank, :math:`H(Y) = \gamma \|Y\|_* + \tfrac\mu2 \|Y\|_F^2` for matrices Y.

    Parameters
    ----------
    nuclear, mu : float
        Weights of the sum of the singular values (gamma >= 0) and of the ridge (positive).

    Notes
    -----
    The minimisation step thresholds the singular values of -G at gamma: one full SVD, so for
    matrices of up to a few thousand rows. For larger ones see `wolfpack.sets.TraceNormBall`, whose
    oracle needs one singular pair.

    Examples
    --------
    >>> import numpy as np
    >>> NuclearNorm(1.0, mu=2.0).argmin(np.diag([-5.0, 0.5])) + 0.0
    array([[2., 0.],
           [0., 0.]])
    """

    structured = True

    def __init__(self, nuclear: float, mu: float) -> None:
        self.nuclear = weight(nuclear, "nuclear")
        super().__init__(mu)

    def rest(self, y: Array) -> float:
        return self.nuclear * float(np.linalg.svd(_matrix(y), compute_uv=False).sum())

    def solve(self, g: Array, c: float) -> Array:
        left, values, right = np.linalg.svd(-_matrix(g), full_matrices=False)
        rank = int(np.count_nonzero(values > self.nuclear))
        return (left[:, :rank] * ((values[:rank] - self.nuclear) / c)) @ right[:rank]


def _matrix(y: Array) -> Array:
    if y.ndim != 2:
        raise ValueError(f"the nuclear norm needs y to be a matrix, found shape {tuple(y.shape)}")
    return y
