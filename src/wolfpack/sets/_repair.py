"""Points that nearly satisfy linear constraints are moved to points that do."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linprog
from scipy.sparse.linalg import splu

from ..arrays import Array
from ..problem.polyhedron import Matrix, Rows

_CORRECTIONS = 4
_DENSE = 0.1  # share of nonzero entries from which the dense factorisation is the faster one
_ALLOWED = 1e-10  # what HiGHS allows of its own vertices, too


def repaired(
    z: Array, equations: Rows | None, inequalities: Rows | None, low: Array, high: Array
) -> Array:
    """Return a point with A z = b, G z <= h, low <= z <= high near a z that nearly has them.

    With slacks s = h - G z the constraints are equations M w = r and bounds on w = (z, s). A
    correction D M'(M D M')^{-1} (r - M w) solves the equations; D, the squared distance of each
    entry to its bounds, keeps it inside them if the error is small. What counts is the error that
    is found at the end: if it is more than what the set's own vertices are allowed, the answer is
    the nearest point in the maximum norm instead, a linear program.
    """
    none = Rows(sparse.csr_array((0, len(z))), np.zeros(0))
    equations, inequalities = equations or none, inequalities or none
    (A, b), (G, h) = equations, inequalities
    beside = sparse.csr_array((len(b), len(h)))
    M = sparse.csr_array(sparse.block_array([[A, beside], [G, sparse.eye_array(len(h))]]))
    right = np.concatenate([b, h])
    below = np.concatenate([low, np.zeros(len(h))])
    above = np.concatenate([high, np.full(len(h), np.inf)])
    w = np.clip(np.concatenate([z, h - G @ z]), below, above)
    # rounding errors of the rows, which no correction can go below
    least = 4.0 * np.finfo(np.float64).eps * (abs(M) @ abs(w) + abs(right))
    best, smallest = w, np.inf
    for _ in range(_CORRECTIONS + 1):
        missing = right - M @ w
        error = float(abs(missing).max(initial=0.0))
        if error < smallest:
            best, smallest = w, error
        if (abs(missing) <= least).all():
            break
        room = np.minimum(np.minimum(w - below, above - w), 1.0 + abs(w))
        w = np.clip(w + _correction(M, room**2, missing), below, above)
    n = len(z)
    size = max(1.0, float(abs(right).max(initial=0.0)))
    if smallest <= _ALLOWED * size:
        return best[:n]
    return _nearest(z, equations, inequalities, low, high)


def _correction(M: sparse.csr_array, D: Array, missing: Array) -> Array:
    """Return D M' y with (M D M') y = ``missing``, for rows that may depend on each other."""
    scaled = M * D[None, :]
    gram = scaled @ M.T
    ridge = 1e-14 * float(gram.diagonal().max(initial=0.0)) or 1.0
    gram = gram + ridge * sparse.eye_array(gram.shape[0])
    if gram.nnz > _DENSE * gram.shape[0] ** 2:
        y = cho_solve(cho_factor(gram.toarray()), missing)
    else:
        y = splu(sparse.csc_array(gram)).solve(missing)
    return scaled.T @ y


def _nearest(z: Array, equations: Rows, inequalities: Rows, low: Array, high: Array) -> Array:
    """Return the nearest point in the maximum norm, min t with |v - z| <= t."""
    n = len(z)
    one, t = sparse.eye_array(n), -np.ones((n, 1))
    upper = sparse.block_array([[inequalities.matrix, None], [one, t], [-one, t]])
    cost = np.zeros(n + 1)
    cost[-1] = 2.0**20  # HiGHS's tolerances are absolute
    found = linprog(
        cost,
        upper,
        np.concatenate([inequalities.right, z, -z]),
        _wider(equations.matrix),
        equations.right,
        np.column_stack([np.append(low, 0.0), np.append(high, np.inf)]),
        method="highs",
        options={"primal_feasibility_tolerance": _ALLOWED},
    )
    if found.status != 0:
        raise RuntimeError(f"HiGHS found no feasible point near the answer: {found.message}")
    return np.clip(found.x[:n], low, high)


def _wider(matrix: Matrix) -> Matrix:
    return sparse.hstack([matrix, sparse.csr_array((matrix.shape[0], 1))])
