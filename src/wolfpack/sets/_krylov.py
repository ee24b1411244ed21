r"""Top pairs of sparse matrices and bounds on them, without a dense copy.

Bounds of matrices whose dense form would take up to `DENSE` numbers per stored entry are proved by
a Cholesky factorisation (`_spectral_bounds`). Those of others hold with overwhelming probability.
Lanczos' method from a random unit vector b builds, for a symmetric A, an orthonormal basis
:math:`q_1 = b, q_2, \dots, q_j` in which A is tridiagonal, with entries alpha and beta. Its largest
eigenvalue theta bounds :math:`\lambda_1(A)` from below. From above:

*The polynomials.* Let :math:`p_0 = 1, p_1, \dots` be the orthonormal polynomials of the measure
:math:`\mu = \sum_i \langle b, u_i\rangle^2 \delta_{\lambda_i}`, u_i the eigenvectors of A. They
follow the same three-term recurrence, :math:`\beta_{i+1} p_{i+1} = (\lambda - \alpha_{i+1}) p_i -
\beta_i p_{i-1}`, and :math:`p_i(A) b = q_{i+1}`. Hence for every i,
:math:`\sum_i p_i(\lambda_1)^2 \langle b, u_1\rangle^2 \le \sum_i \langle q_{i+1}, u_1\rangle^2 \le
1`. All p_i increase beyond theta, so

.. math:: \lambda_1 \le \lambda^+ \quad\text{where } \sum_{i<j} p_i(\lambda^+)^2 = \eta^{-2},
          \qquad\text{whenever } |\langle b, u_1\rangle| \ge \eta.

*The probability.* A coordinate of a uniform unit vector in n dimensions has a density of at most
:math:`\sqrt{n/(2\pi)}`, so :math:`P(|\langle b, u_1\rangle| < \eta) \le \eta\sqrt{2n/\pi}`: with
:math:`\eta = \delta\sqrt{\pi/(2n)}` the bound fails with probability at most delta.

Sources
    J. van Dorsselaer, M. Hochstenbach, H. van der Vorst, Computing probabilistic bounds for extreme
    eigenvalues of symmetric matrices with the Lanczos method, SIAM J. Matrix Analysis 22, 2000.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.linalg import eigh_tridiagonal

from ..arrays import (
    Array,
    SparseMatrix,
    as_type,
    concat,
    epsilon,
    is_foreign,
    like,
    namespace,
    norm,
    put_row,
    zeros,
)
from ._spectral_bounds import singular_ceiling, symmetric_ceiling

Apply = Callable[[Array], Array]

RISK = 1e-12
"""Probability with which a bound may fail, over the random start."""

ACCURACY = 1e-8
"""Relative accuracy of bounds, at which Lanczos' method stops."""

RESIDUAL = 1e-5
"""Relative residual of the oracle's top pair, at which Lanczos' method stops.

The error of the pair's value is about its square, and no certificate rests on it.
"""

_SLACK = 0.01
DENSE = 8
_STEPS_BETWEEN_CHECKS = 10
_ROUNDING = 1e-13
_HOST = np.zeros(0)


class Krylov:
    """Lanczos' method with full reorthogonalisation for x -> A x, some steps at a time."""

    def __init__(self, apply: Apply, start: Array) -> None:
        self.apply = apply
        self.n = int(start.shape[0])
        self.basis = zeros((0, self.n), start)
        self.next = start / norm(start)
        self.alphas: list[float] = []
        self.betas: list[float] = []

    @property
    def complete(self) -> bool:
        """Whether the space is invariant, so that further steps would add nothing to it."""
        return len(self.alphas) >= self.n or (bool(self.betas) and self.betas[-1] == 0.0)

    def extend(self, steps: int) -> None:
        """Take some more steps."""
        first = len(self.alphas)
        last = min(first + steps, self.n)
        basis = concat([self.basis, zeros((last - first, self.n), self.next)])
        for j in range(first, last):
            q = self.next
            basis = put_row(basis, j, q)
            image = self.apply(q)
            self.alphas.append(float(q @ image))
            # zero rows add nothing, and one shape is compiled once
            known = basis if is_foreign(basis) else basis[: j + 1, :]
            for _ in range(2):
                image = image - (known @ image) @ known
            beta = norm(image)
            small = _ROUNDING * max(map(abs, self.alphas))
            self.betas.append(beta if beta > small else 0.0)
            if beta <= small:
                self.basis = basis[: j + 1, :]
                return
            self.next = image / beta
        self.basis = basis

    def ritz(self) -> tuple[Array, Array]:
        """Return the eigenvalues of A in the space, ascending, and their vectors' coordinates."""
        return eigh_tridiagonal(np.array(self.alphas), np.array(self.betas[:-1]))


def top_eigenvectors(
    apply: Apply, n: int, k: int, accuracy: float = RESIDUAL, x: Array = _HOST
) -> Array:
    """Return about the k top eigenvectors of a symmetric operator as rows, the best first.

    The operator takes vectors of the library and on the device of ``x``.

    The first has converged. Others may be missing where eigenvalues coincide, because the space of
    one start contains one vector of each eigenspace.
    """
    space, steps = Krylov(apply, _start(n, 0, x)), _steps_between_checks(x)
    while True:
        space.extend(steps if space.alphas else max(steps, 2 * k))
        values, vectors = space.ritz()
        # Lanczos' residual of the top pair bounds the error of its value, also in clusters
        residual = space.betas[-1] * abs(vectors[-1, -1])
        if space.complete or residual <= accuracy * abs(values[-1]):
            return like(vectors[:, : -k - 1 : -1].T, x) @ space.basis


def top_eigenvalue_ceiling(
    apply: Apply,
    n: int,
    accuracy: float = ACCURACY,
    x: Array = _HOST,
    enough: Callable[[float, float], bool] | None = None,
) -> float:
    """Return a number above the top eigenvalue of a symmetric operator, but for a risk of 1e-12.

    ``enough`` tells from a number below the eigenvalue and one above whether they are close enough.
    """
    space, steps = Krylov(apply, _start(n, 1, x)), _steps_between_checks(x)
    eta = RISK * math.sqrt(math.pi / (2.0 * n))
    while True:
        space.extend(steps)
        values = space.ritz()[0]
        top, size = float(values[-1]), float(abs(values).max())
        if space.complete:
            return top + 1e2 * _ROUNDING * size
        ceiling = _polynomial_ceiling(space, top, eta)
        near = enough is not None and enough(top, ceiling)
        if near or ceiling - top <= accuracy * size:
            return ceiling + 1e2 * _ROUNDING * size


def _polynomial_ceiling(space: Krylov, top: float, eta: float) -> float:
    """Return the point beyond ``top`` at which the sum of the p_i^2 is eta^-2, from above."""
    width = max(abs(top), space.betas[-1], np.finfo(float).tiny)
    inside, outside = top, top + width
    while _sum_of_squares(space, outside) < eta**-2:
        inside, outside = outside, top + 2.0 * (outside - top)
    while outside - inside > 0.1 * (outside - top) and outside - top > _ROUNDING * width:
        # bisect the logarithm of the distance from the top, with which the sum varies
        middle = top + math.sqrt(max(inside - top, 1e-6 * (outside - top)) * (outside - top))
        if _sum_of_squares(space, middle) < eta**-2:
            inside = middle
        else:
            outside = middle
    return outside


def _sum_of_squares(space: Krylov, point: float) -> float:
    before, here, total = 0.0, 1.0, 1.0
    beta_before = 0.0
    # p_j is left out: it would need the last beta
    for alpha, beta in zip(space.alphas[:-1], space.betas[:-1], strict=True):
        before, here = here, ((point - alpha) * here - beta_before * before) / beta
        beta_before = beta
        total += here * here
        if not total < 1e280:
            return math.inf
    return total


@lru_cache(maxsize=8)
def _numbers(n: int, key: int) -> Array:
    # the bound needs a start that is independent of the oracle's answers
    return np.random.Generator(np.random.Philox(key=2**64 + key)).standard_normal(n)


def _start(n: int, key: int, x: Array) -> Array:
    return like(_numbers(n, key), x)


def _steps_between_checks(x: Array) -> int:
    """Return fewer checks for arrays on another device, where steps are faster."""
    return 3 * _STEPS_BETWEEN_CHECKS if is_foreign(x) else _STEPS_BETWEEN_CHECKS


def _accuracy(g: SparseMatrix) -> float:
    """Return the accuracy that the type of the entries allows, on other devices than the host."""
    return max(ACCURACY, math.sqrt(epsilon(g))) if is_foreign(g) else ACCURACY


def sparse_singular(g: SparseMatrix, k: int) -> tuple[Array, Array]:
    """Return about k leading singular vectors as rows of u and v, the best first."""
    h = g.wide()
    apply, n, tall = _gram(h)
    found = top_eigenvectors(apply, n, min(k, n), max(RESIDUAL, _accuracy(g)), h)
    # Rayleigh-Ritz: the exact SVD of g restricted to the space that Lanczos found
    image = (h @ found.T) if tall else (h.T @ found.T)
    U, _, W = namespace(image).linalg.svd(image, full_matrices=False)
    left, right = as_type(U.T, g.dtype), as_type(W @ found, g.dtype)
    return (left, right) if tall else (right, left)


def sparse_eigenvectors(g: SparseMatrix, k: int) -> Array:
    """Return about k leading eigenvectors of -(g + g')/2 as rows, the best first."""
    h, n = g.wide(), g.shape[0]
    found = top_eigenvectors(_negative_half(h), n, min(k, n), max(RESIDUAL, _accuracy(g)), h)
    return as_type(found, g.dtype)


def sparse_singular_ceiling(g: SparseMatrix, guess: float, level: float | None = None) -> float:
    """Return a number above the largest singular value of ``g``, given a guess of it.

    With ``level`` it may be too high by a hundredth of itself plus ``level``.
    """
    if _is_small(g):
        return singular_ceiling(np.asarray(g), guess)
    h = g.wide()
    apply, n, _ = _gram(h)

    def enough(top: float, ceiling: float) -> bool:
        low, high = math.sqrt(max(0.0, top)), math.sqrt(max(0.0, ceiling))
        return level is not None and high - low <= _SLACK * (high + level)

    return math.sqrt(max(0.0, top_eigenvalue_ceiling(apply, n, _accuracy(g), h, enough)))


def sparse_symmetric_ceiling(g: SparseMatrix, guess: float) -> float:
    """Return a number above the largest eigenvalue of -(g + g')/2, given a guess of it."""
    if _is_small(g):
        return symmetric_ceiling(-np.asarray(g), guess)
    h = g.wide()
    return top_eigenvalue_ceiling(_negative_half(h), g.shape[0], _accuracy(g), h)


def _is_small(g: SparseMatrix) -> bool:
    return g.shape[0] * g.shape[1] <= DENSE * g.data.shape[0]


def _gram(g: SparseMatrix) -> tuple[Apply, int, bool]:
    """Return the smaller of g'g and gg' as an operator, its order, and whether it is g'g."""
    p, q = g.shape
    if p >= q:
        return lambda x: g.T @ (g @ x), q, True
    return lambda x: g @ (g.T @ x), p, False


def _negative_half(g: SparseMatrix) -> Apply:
    return lambda x: -0.5 * (g @ x + g.T @ x)
