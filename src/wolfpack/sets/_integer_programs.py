"""Oracles of integer points that solve a linear or a mixed-integer program within bounds."""

from __future__ import annotations

import copy

import numpy as np
from scipy import sparse

from ..arrays import Array
from ..problem.polyhedron import Matrix
from ._highs import COST
from ._linear import LinearSystem, ProgramAnswer
from .mixed_integer import MixedInteger


class Branching:
    """A mixed-integer program, solved by HiGHS."""

    def __init__(self, program: MixedInteger) -> None:
        self.program = program

    def answer(self, c: Array, low: Array, high: Array, known: Array) -> ProgramAnswer:
        inside = self._within(low, high)
        inside._known = known
        return inside._minimise(c)

    def some_point(self, low: Array, high: Array) -> Array | None:
        found = self.program.system.solve_within(np.zeros(len(low)), low, high)
        if found.status == "Infeasible":
            return None  # already without integrality, which is found out faster
        try:
            return self._within(low, high)._some_point()
        except ValueError:
            return None

    def prices(self, c: Array, low: Array, high: Array) -> tuple[float, Array] | None:
        system, largest = self.program.system, float(abs(c).max()) or 1.0
        found = system.solve_within(c * (COST / largest), low, high)
        if found.status != "Optimal":
            return None
        r, level = c.copy(), 0.0
        for A, b, y in system.with_multipliers(found):
            if A is not None and b is not None:
                price = y * (largest / COST)
                r, level = r - A.T @ price, level + float(b @ price)
        return level + float(np.minimum(r * low, r * high).sum()), r

    def _within(self, low: Array, high: Array) -> MixedInteger:
        """Return the program with other bounds."""
        program = self.program
        inside = copy.copy(program)
        inside.system = program.system.within(low, high)
        inside._program = inside.system.program(program.integer, **program._program.options)
        return inside


class Network(Branching):
    """A linear program whose vertices are integral within all whole bounds (`is_network`)."""

    def answer(self, c: Array, low: Array, high: Array, known: Array) -> ProgramAnswer:
        found = self.program.system.minimise_within(c, low, high)
        x = np.round(found.x) + 0.0  # no -0.0
        if self.program.system.violation(x) > 0.0:  # not a vertex
            return super().answer(c, low, high, known)
        return ProgramAnswer(x, min(found.bound, float(c @ x)))

    def some_point(self, low: Array, high: Array) -> Array | None:
        found = self.program.system.solve_within(np.zeros(len(low)), low, high)
        if found.status == "Infeasible":
            return None
        x = np.round(found.x) + 0.0
        inside = self.program.system.violation(x) <= 0.0
        return x if inside else super().some_point(low, high)


def is_network(system: LinearSystem) -> bool:
    """Tell whether all vertices of a system are integral, and stay so within any whole bounds.

    They do if the right-hand sides and bounds are whole and the matrix is totally unimodular. The
    test is that of Heller and Tompkins: entries are 0, 1 or -1, no column has more than two, and
    the rows fall into two classes such that two entries of a column have the same sign if and only
    if their rows are in different classes. A matrix whose transpose passes will do as well.
    """
    right = [b for b in (system.b_ub, system.b_eq) if b is not None]
    if not all((b == np.round(b)).all() for b in (*right, system.low, system.high)):
        return False
    rows = [A for A in (system.A_ub, system.A_eq) if A is not None]
    if not rows:
        return True
    matrix = sparse.csc_array(sparse.vstack([sparse.csr_array(A) for A in rows]))
    matrix.eliminate_zeros()
    if not np.isin(matrix.data, (-1.0, 1.0)).all():
        return False
    return _has_two_classes(matrix) or _has_two_classes(sparse.csc_array(matrix.T))


def _has_two_classes(matrix: Matrix) -> bool:
    """Make the test of Heller and Tompkins for a matrix of entries 1 and -1, by columns."""
    counts = np.diff(matrix.indptr)
    if (counts > 2).any():
        return False
    first = matrix.indptr[:-1][counts == 2]
    tails, heads = matrix.indices[first], matrix.indices[first + 1]
    apart = matrix.data[first] == matrix.data[first + 1]
    # Each row stands twice, once in each class: a row that is joined to its double is in both.
    m = matrix.shape[0]
    ends = np.where(apart, heads + m, heads), np.where(apart, heads, heads + m)
    edges = np.concatenate([tails, tails + m]), np.concatenate(ends)
    graph = sparse.coo_array((np.ones(len(edges[0])), edges), shape=(2 * m, 2 * m))
    parts = sparse.csgraph.connected_components(graph, directed=False)[1]
    return bool((parts[:m] != parts[m:]).all())
