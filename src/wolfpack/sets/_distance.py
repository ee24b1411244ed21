"""How far a point sticks out of a set of which only the linear oracle is known."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr_delete, qr_insert, solve_triangular

from ..arrays import Array, is_foreign, to_host
from ..problem import spend
from ._base import Set


def separation_of_bases(K: Set, x: Array, rank: int) -> float:
    """Return the violation of x >= 0 and x(E) = rank; near these, also of all other constraints."""
    outside = float(np.maximum(-x.min(), abs(x.sum() - rank)))
    return max(outside, separation(K, x)) if outside <= 1e-6 else outside


def separation(K: Set, x: Array, rounds: int = 1000) -> float:
    r"""Return the largest :math:`\langle u, x\rangle - s(u)` found over unit vectors u.

    It is at most the distance of x to K, so that a positive number proves that x is outside. If
    the rounds (one oracle call each) suffice, it is at least half the distance, or 0 when a convex
    combination of answers comes within 1e-12 (relative to the size of K and x) of x. Otherwise it
    is the best proof so far, which may be negative.

    Wolfe's algorithm, a fully corrective Frank-Wolfe method on the distance: z is the shortest
    vector of the hull of the answers minus x, the next answer is the one to z. On a polytope it
    ends after finitely many rounds, each O(n k) beside the oracle with k answers kept.
    """
    if is_foreign(x):
        x, K = to_host(x), K.at(np.zeros(0))
    if not np.isfinite(x).all():
        return np.inf
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(over="ignore"):
        length = float(np.linalg.norm(x))
    if length > 4.0 * K.radius:
        return length - K.radius  # which is at least 3/5 of any distance to K
    scale = max(K.radius, length) or 1.0
    hull = _Hull((K.start() - x).reshape(-1) / scale)
    best, shortest, stalls = -np.inf, np.inf, 0
    for _ in range(rounds):
        z = hull.shortest()
        length = float(np.linalg.norm(z))
        if length <= 1e-12:
            return 0.0
        # when the length has converged, the direction of z still improves for some rounds
        stalls = stalls + 1 if length >= shortest * (1.0 - 1e-9) else 0
        shortest = min(shortest, length)
        direction = z.reshape(K.shape)
        spend(1)
        vertex = K._lmo(direction)
        answer = (vertex.to_dense() - x).reshape(-1) / scale
        missed = float(vertex.dot(direction)) - K.certify(direction, vertex)
        best = max(best, (float(z @ answer) - missed / scale) / length)
        if best >= 0.5 * length or stalls > 30 or not hull.add(answer):
            break
    return best * scale


class _Hull:
    """The convex hull of a few vectors, and its shortest vector.

    With the vectors as columns of Z, the least-squares solution w of Z w = 0, 1'w = 1 is a multiple
    of the weights of the shortest vector of their affine hull. The QR factors of these equations
    are updated when a vector comes or goes.
    """

    def __init__(self, vector: Array) -> None:
        self.columns = np.insert(vector, 0, 1.0)[:, None]
        self.weights = np.ones(1)
        self.q, self.r = np.linalg.qr(self.columns)

    def add(self, vector: Array) -> bool:
        """Add a vector; return False if it is, up to rounding, in the affine hull already."""
        column, count = np.insert(vector, 0, 1.0), self.columns.shape[1]
        if count == len(column):
            return False
        self.q, self.r = qr_insert(self.q, self.r, column, count, "col", check_finite=False)
        self.columns = np.column_stack([self.columns, column])
        self.weights = np.append(self.weights, 0.0)
        return abs(self.r[-1, -1]) > 1e-14 * np.linalg.norm(column)

    def shortest(self) -> Array:
        """Return the shortest vector, and drop the vectors that it does not need."""
        while True:
            target = solve_triangular(self.r, self.q[0], check_finite=False)
            target /= target.sum()
            if target.min() > -1e-13:  # the sign of such a weight is rounding
                self.weights = np.maximum(target, 0.0)
                return self._residual()
            # towards the target until a weight vanishes
            falling = np.flatnonzero(target <= 0)
            weights = self.weights[falling]
            steps = np.divide(weights, weights - target[falling], where=weights > 0, out=weights)
            self.weights = self.weights + steps.min() * (target - self.weights)
            self._drop(int(falling[steps.argmin()]))

    def _residual(self) -> Array:
        """Return the shortest vector of the affine hull, from the residual of the equations.

        The sum of weighted columns would lose its direction to rounding when it is short; the
        residual, projected twice, stays orthogonal to the affine hull to full relative accuracy.
        """
        residual = -self.q @ self.q[0]
        residual[0] += 1.0
        residual -= self.q @ (self.q.T @ residual)
        return -residual[1:] / (1.0 - residual[0])

    def _drop(self, i: int) -> None:
        q, r = qr_delete(self.q, self.r, i, 1, "col", check_finite=False)
        self.columns = np.delete(self.columns, i, axis=1)
        # qr_delete leaves a square q as large as it was
        self.q, self.r = q[:, : r.shape[1]], r[: r.shape[1]]
        weights = np.delete(np.maximum(self.weights, 0.0), i)
        self.weights = weights / weights.sum()
