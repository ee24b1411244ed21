"""Group lasso and sparse group lasso, each with a ridge."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import as_float_array, check_finite
from ..sets import GroupL1Ball
from ._base import Array, Ridged, nonnegative


class SparseGroupLasso(Ridged):
    r"""Sparse groups, :math:`H(y) = \ell_1 \|y\|_1 + \gamma \sum_G w_G \|y_G\|_2 +
    \tfrac\mu2 \|y\|_2^2`.

    Parameters
    ----------
    groups : list of index arrays, or array of labels
        Either a list of groups of flat positions that together hold each of 0..n-1 once, or an
        integer array with the label of each entry of y, whose shape is the shape of y.
    l1 : float
        Weight of the l1 norm, >= 0: zeros within groups.
    group : float
        Weight gamma of the groups' norms, >= 0: groups that are zero as a whole.
    mu : float
        Weight of the ridge, positive.
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

    def __init__(self, groups: Any, l1: float, group: float, mu: float, weights: Any = None):
        super().__init__(mu)
        self.l1, self.group = nonnegative(l1, "l1"), nonnegative(group, "group")
        parts = GroupL1Ball(groups)
        self.shape = parts.shape
        members = parts.groups
        self._label = np.empty(sum(map(len, members)), dtype=np.intp)
        for label, positions in enumerate(members):
            self._label[positions] = label
        if weights is None:
            self.weights = np.sqrt([len(positions) for positions in members])
        else:
            self.weights = check_finite(as_float_array(weights, "weights"), "weights")
            if self.weights.shape != (len(members),) or self.weights.min() < 0:
                raise ValueError(
                    f"weights must be {len(members)} numbers >= 0, one per group, found {weights!r}"
                )

    def rest(self, y: Array) -> float:
        return self.l1 * float(abs(y).sum()) + self.group * float(self.weights @ self._norms(y))

    def solve(self, g: Array, c: float) -> Array:
        v = np.clip(g, -self.l1, self.l1) - g
        norms = self._norms(v)
        threshold = self.group * self.weights
        kept = np.zeros(norms.shape)
        np.divide(norms - threshold, norms, out=kept, where=norms > threshold)
        return v * kept[self._label].reshape(v.shape) / c + 0.0  # no negative zeros

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

    def __init__(self, groups: Any, group: float, mu: float, weights: Any = None):
        super().__init__(groups, 0.0, group, mu, weights)
