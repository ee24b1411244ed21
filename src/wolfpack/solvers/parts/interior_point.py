"""Quadratics over polyhedra as programs, and Clarabel, which solves them: its one importer."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ...arrays import Array
from ...problem import CapabilityError, Polyhedron, QuadraticForm
from ...problem.polyhedron import Matrix, Rows

_DENSE = 0.25  # share of nonzero entries from which F'F is no denser than F


class Program(NamedTuple):
    r"""The program min :math:`\tfrac12\langle z, P z\rangle + \langle q, z\rangle` with
    :math:`A z = b`, :math:`G z \le h`, :math:`\ell \le z \le u`.
    """

    P: Matrix
    q: Array
    equations: Rows
    inequalities: Rows
    low: Array
    high: Array


def program_of(form: QuadraticForm, K: Polyhedron) -> Program:
    """Return the program in the variables of K that minimises the quadratic over K.

    A factor F with many dense rows enters by F'F. Any other one enters by its residuals r, as
    further variables after those of K with F x - r = s, so that a sparse F stays sparse.
    """
    T, n, none = K.lift, K.n, Rows(sparse.csr_array((0, K.n)), np.zeros(0))
    equations, inequalities = K.equations or none, K.inequalities or none
    if form.factor is None:
        P = sparse.csc_array(form.P)
        q = form.q + P @ np.broadcast_to(K.offset, form.q.shape)
        if T is not None:
            # products of sparse matrices that have hardly a zero would take a hundred times longer
            T = T.toarray() if T.nnz >= _DENSE * math.prod(T.shape) else T
            P, q = T.T @ (P @ T), T.T @ q
        return Program(P, q, equations, inequalities, K.low, K.high)
    F = form.factor
    s = form.target - F @ np.broadcast_to(K.offset, F.shape[1:])
    F = F if T is None else F @ T
    nonzero = F.nnz if sparse.issparse(F) else np.count_nonzero(F)
    if F.shape[0] >= n and nonzero >= _DENSE * F.shape[0] * n:
        F = F.toarray() if sparse.issparse(F) else F
        return Program(F.T @ F, -(F.T @ s), equations, inequalities, K.low, K.high)
    rows = F.shape[0]
    one, free = sparse.eye_array(rows), np.full(rows, np.inf)
    left = sparse.block_array([[equations.matrix, None], [sparse.csr_array(F), -one]])
    wider = sparse.csr_array((len(inequalities.right), rows))
    return Program(
        sparse.block_diag([sparse.csr_array((n, n)), one]),
        np.zeros(n + rows),
        Rows(left, np.concatenate([equations.right, s])),
        Rows(sparse.hstack([inequalities.matrix, wider]), inequalities.right),
        np.concatenate([K.low, -free]),
        np.concatenate([K.high, free]),
    )


def load() -> Any:
    """Return the module of Clarabel, or say how to install it."""
    try:
        import clarabel
    except ImportError:
        raise CapabilityError(
            "method 'conic' needs Clarabel, which is not installed: pip install 'wolfpack[conic]', "
            "or choose another method ('corrective')"
        ) from None
    return clarabel


def solve(program: Program, tolerance: float, seconds: float = math.inf) -> Array | None:
    """Return a minimiser up to a relative tolerance, None where the solver breaks down.

    The constraints hold up to the tolerance, too. After so many seconds, or where rounding errors
    stop it earlier, the solver returns where it is. It is given the problem in units in which the
    largest right-hand side and the largest coefficient of the objective are 1, since it takes
    numbers of 1e20 as infinite and has absolute tolerances.
    """
    clarabel = load()
    low, high = np.isfinite(program.low), np.isfinite(program.high)
    one = sparse.eye_array(len(program.q), format="csr")
    A, G = program.equations, program.inequalities
    matrix = sparse.vstack([A.matrix, G.matrix, -one[low], one[high]])
    right = np.concatenate([A.right, G.right, -program.low[low], program.high[high]])
    equal = len(A.right)
    cones = [clarabel.ZeroConeT(equal), clarabel.NonnegativeConeT(len(right) - equal)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = seconds
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    if hasattr(settings, "max_threads"):  # versions without have one thread
        settings.max_threads = 1  # the same bits on every machine
    unit = float(abs(right).max(initial=0.0)) or 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        upper, q = unit * sparse.csc_matrix(sparse.triu(sparse.csc_array(program.P))), program.q
        size = float(max(abs(upper.data).max(initial=0.0), abs(q).max(initial=0.0))) or 1.0
        upper, q = upper / size, q / size
    if not (math.isfinite(size) and np.isfinite(q).all() and np.isfinite(upper.data).all()):
        return None
    solver = clarabel.DefaultSolver(
        upper, q, sparse.csc_matrix(matrix), right / unit, cones, settings
    )
    z = unit * np.array(solver.solve().x)
    return z if np.isfinite(z).all() else None
