"""The group l1 ball: a bound on the sum of the Euclidean norms of groups of entries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, as_plain
from ..atoms import Sparse
from ..problem.checks import checked, count, extent
from ._ball import Ball
from ._select import ranked
from .l1_ball import L1Ball

Groups = Sequence[ArrayLike] | np.ndarray


class GroupL1Ball(Ball):
    r"""The ball of the group norm, :math:`\{\sum_G \|x_G\|_2 \le r\}`.

    Parameters
    ----------
    groups : list of index arrays, or array of labels
        Either a list (or tuple) of groups of flat positions that together hold each of 0..n-1 once,
        or an integer array with the label of each entry of x, whose shape is the shape of x.
    radius : float
        The bound r.

    Notes
    -----
    Extreme points are r times a unit vector within one group. The oracle takes the group of
    largest ||g_G||, and -r g_G/||g_G|| in it, O(n).

    Examples
    --------
    >>> K = GroupL1Ball([[0, 1], [2]], radius=5.0)
    >>> np.asarray(K.lmo(np.array([3.0, -4.0, 1.0])))
    array([-3.,  4.,  0.])
    """

    unconditional = True
    summary = "{K.sizes}, groups={K._length.size}, radius={K.r:g}"

    @checked(radius=extent)
    def __init__(self, groups: Groups, radius: float = 1.0) -> None:
        shape, members = _partition(groups)
        super().__init__(shape, radius)
        self._order = np.concatenate(members)
        self._length = np.array([len(group) for group in members])
        self._start = np.cumsum(self._length) - self._length

    @property
    def groups(self) -> list[np.ndarray]:
        """The flat positions of each group."""
        return np.split(self._order, self._start[1:])

    def _lmo(self, g: Array) -> Sparse:
        rows = g.reshape(-1, self.dimension)
        answers = self._vertices(rows, self._norms(rows).argmax(axis=-1))
        return answers.take(0) if g.ndim == len(self.shape) else answers

    def violation(self, x: Array) -> float:
        flat = x.reshape(-1)
        return float(abs(flat).max() * self._norms(flat).sum()) - self.r

    def k_best(self, g: Array, k: int) -> Sparse:
        """Return the best vertices of the k groups of largest ||g_G||, the best first."""
        flat = self._check_direction(g).reshape(-1)
        best = ranked(self._norms(flat), min(count(k, "k"), len(self._length)))
        return self._vertices(np.broadcast_to(flat, (best.shape[0], flat.shape[0])), best)

    def _project(self, x: Array) -> Array:
        if self.violation(x) <= 0:
            return x + 0.0
        # each group keeps its direction; the norms are projected onto the l1 ball
        flat = x.reshape(-1)
        norms = abs(flat).max() * self._norms(flat)
        kept = L1Ball(norms.shape[0], self.r)._project(norms)
        factor = kept / np.where(norms > 0, norms, 1.0)
        p = np.empty(flat.shape)
        p[self._order] = flat[self._order] * np.repeat(factor, self._length)
        return p.reshape(self.shape)

    def _norms(self, rows: Array) -> Array:
        """Return ||g_G|| for each group, divided by the largest |entry| of the row."""
        largest = abs(rows).max(axis=-1, keepdims=True)
        unit = (rows / np.where(largest > 0, largest, 1.0))[..., self._order].astype(np.float64)
        return np.sqrt(np.add.reduceat(unit * unit, self._start, axis=-1))

    def _vertices(self, rows: Array, best: Array) -> Sparse:
        """Return -r g_G/||g_G|| in group ``best[i]`` of row i, padded to the longest group."""
        columns = np.arange(self._length[best].max())
        inside = columns < self._length[best][:, None]
        place = np.where(inside, self._start[best][:, None] + columns, self._start[best][:, None])
        indices = self._order[place]
        g = np.where(inside, np.take_along_axis(rows, indices, axis=-1), 0.0)
        largest = abs(g).max(axis=-1, keepdims=True)
        unit = g / np.where(largest > 0, largest, 1.0)
        unit[:, 0] += largest[:, 0] == 0  # any unit vector answers a zero direction
        length = np.sqrt((unit * unit).sum(axis=-1, keepdims=True))
        return Sparse(indices, unit * (-self.r / length), self.shape)


def _partition(groups: Groups) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """Return the shape of x and the flat positions of each group."""
    if isinstance(groups, list | tuple) and len(groups) and as_plain(groups[0], "groups").ndim > 0:
        return _from_positions([as_plain(group, "groups") for group in groups])
    labels = as_plain(groups, "groups")
    if labels.ndim == 0 or labels.size == 0 or labels.dtype.kind not in "iu":
        raise TypeError(
            "groups must be a list of index arrays or an integer array of labels, found "
            f"{type(groups).__name__} of dtype {labels.dtype} and shape {labels.shape}"
        )
    flat = labels.reshape(-1)
    order = np.argsort(flat, kind="stable")
    _, starts = np.unique(flat[order], return_index=True)
    return tuple(labels.shape), np.split(order, starts[1:])


def _from_positions(members: list[np.ndarray]) -> tuple[tuple[int, ...], list[np.ndarray]]:
    for i, group in enumerate(members):
        if group.ndim != 1 or group.size == 0 or group.dtype.kind not in "iu":
            raise ValueError(f"groups[{i}] must be a non-empty list of positions, found {group!r}")
    every = np.concatenate(members)
    n = every.shape[0]
    if not np.array_equal(np.sort(every), np.arange(n)):
        wrong = int(((every < 0) | (every >= n)).sum()) or n - np.unique(every).shape[0]
        raise ValueError(
            f"groups must hold each of 0..{n - 1} exactly once, found {wrong} positions that are "
            "repeated or out of range"
        )
    return (n,), members
