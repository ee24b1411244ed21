"""The Birkhoff polytope: doubly stochastic matrices."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..arrays import Array
from ..atoms import Permutation
from ..problem.checks import as_size
from ._batch import map_batch
from ._marginals import Marginals

_THREADS_FROM = 40
"""Order from which an assignment takes longer than handing it to a thread."""


class Birkhoff(Marginals):
    r"""Doubly stochastic matrices :math:`\{X \ge 0,\ X 1 = 1,\ X^\top 1 = 1\}`.

    Parameters
    ----------
    n : int
        Order of the matrices.

    Notes
    -----
    Vertices are the n! permutation matrices. The oracle is an assignment problem, O(n^3) at worst
    (SciPy's shortest augmenting paths), solved in threads for a batch of large ones. R_K is
    sqrt(n), the diameter sqrt(2n). `certify` proves its bound by dual potentials, and `project` is
    a semismooth Newton method on the dual.

    Examples
    --------
    >>> np.asarray(Birkhoff(2).lmo(np.array([[3.0, 1.0], [1.0, 2.0]])))
    array([[0., 1.],
           [1., 0.]])
    """

    releases_gil = True
    summary = "{K.shape[0]}"

    def __init__(self, n: int) -> None:
        n = as_size(n, "n")
        self.shape = (n, n)
        self.a = self.b = np.ones(n)
        self.radius = math.sqrt(n)
        self.diameter = math.sqrt(2.0 * n) if n > 1 else 0.0

    def _lmo(self, g: Array) -> Permutation:
        if g.ndim == 2:
            return Permutation(linear_sum_assignment(g)[1])
        answers = map_batch(linear_sum_assignment, g, threads=self.shape[0] >= _THREADS_FROM)
        columns = [answer[1] for answer in answers]
        return Permutation(np.array(columns, dtype=np.intp).reshape(-1, self.shape[0]))

    def start(self) -> Array:
        return np.full(self.shape, 1.0 / self.shape[0])
