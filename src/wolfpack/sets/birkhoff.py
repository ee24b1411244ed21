"""The Birkhoff polytope: doubly stochastic matrices."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..atoms import Atoms, Permutation
from ._base import Array, Set
from ._batch import map_batch
from ._marginals import marginal_violation, project_marginals, transport_floor
from ._shapes import square_shape

_THREADS_FROM = 40
"""Order from which an assignment takes longer than handing it to a thread."""


class Birkhoff(Set):
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
    >>> import numpy as np
    >>> np.asarray(Birkhoff(2).lmo(np.array([[3.0, 1.0], [1.0, 2.0]])))
    array([[0., 1.],
           [1., 0.]])
    """

    unconditional = True
    polytope: ClassVar[bool] = True
    one_by_one: ClassVar[bool] = True
    releases_gil: ClassVar[bool] = True

    def __init__(self, n: int) -> None:
        self.shape = square_shape(n)
        self._ones = np.ones(self.shape[0])

    @property
    def radius(self) -> float:
        return math.sqrt(self.shape[0])

    @property
    def diameter(self) -> float:
        n = self.shape[0]
        return math.sqrt(2.0 * n) if n > 1 else 0.0

    def _lmo(self, g: Array) -> Permutation:
        if g.ndim == 2:
            return Permutation(linear_sum_assignment(g)[1])
        answers = map_batch(linear_sum_assignment, g, threads=self.shape[0] >= _THREADS_FROM)
        columns = [answer[1] for answer in answers]
        return Permutation(np.array(columns, dtype=np.intp).reshape(-1, self.shape[0]))

    def certify(self, g: Array, vertex: Atoms) -> float:
        return transport_floor(g, vertex.to_dense(), self._ones, self._ones)

    def violation(self, x: Array) -> float:
        return marginal_violation(x, self._ones, self._ones)

    def start(self) -> Array:
        return np.full(self.shape, 1.0 / self.shape[0])

    def _project(self, x: Array) -> Array:
        return project_marginals(x, self._ones, self._ones, self._lmo)

    def __repr__(self) -> str:
        return f"Birkhoff({self.shape[0]})"
