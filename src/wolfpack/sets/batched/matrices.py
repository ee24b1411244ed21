"""Batches of trace-norm balls, spectrahedra and Birkhoff polytopes of small matrices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import (
    Array,
    arange,
    clip,
    cumsum,
    epsilon,
    eye,
    like,
    namespace,
    reshape,
    sum_last,
    to_host,
)
from .._spectral_bounds import _gamma
from ..birkhoff import Birkhoff
from ..spectrahedron import Spectrahedron
from ..trace_norm_ball import TraceNormBall
from ._base import BatchedSet, along, column, diagonal, ones_where
from .levels import above_level, falling_rows


class Matrices(BatchedSet):
    """Sets of matrices: rows are seen as matrices."""

    def matrices(self, X: Array) -> Array:
        """Return the rows of X as matrices."""
        return reshape(X, (-1, *self.shape))

    def flat(self, M: Array) -> Array:
        """Return matrices as rows."""
        return reshape(M, (-1, self.dimension))


class TraceNormBalls(Matrices):
    """Singular values with a sum of at most r."""

    varying = ("r",)

    def __init__(self, parts: list[TraceNormBall], place: Array, count: int) -> None:
        super().__init__([*parts], place, count)
        self.r = self.numbers([K.r for K in parts])

    def project(self, X: Array) -> Array:
        xp = namespace(X)
        U, s, Vt = xp.linalg.svd(self.matrices(X), full_matrices=False)
        inside = sum_last(s, 1) <= self.r
        kept = above_level(s, self.r)
        return xp.where(inside[:, None], X, self.flat((U * kept[:, None, :]) @ Vt))

    def jacobian(self, Z: Array, X: Array) -> Array:
        # Z is seen as part of a square matrix U Diag(s) V', whose projection is U Diag(h(s)) V'.
        # With C = U'DV, S and T its symmetric and skew parts, D P(D) = U (W * S + R * T) V', W and
        # R the quotients of differences and of sums of h(s), and J diag C on the diagonal.
        xp, M = namespace(X), self._square(Z)
        n = M.shape[-1]
        U, s, Vt = xp.linalg.svd(M)
        h = xp.sum(U * (self._square(X) @ Vt.mT), axis=1)
        cut = 1e2 * n * epsilon(X) * (1.0 + xp.max(s, axis=1, keepdims=True))
        free = ones_where(h > cut, X)
        gaps, sums = s[:, :, None] - s[:, None, :], s[:, :, None] + s[:, None, :]
        near = abs(gaps) <= cut[:, :, None]
        W = (h[:, :, None] - h[:, None, :]) / xp.where(near, xp.ones_like(gaps), gaps)
        W = xp.where(near, 0.5 * (free[:, :, None] + free[:, None, :]), W)
        flat = sums <= cut[:, :, None]
        R = (h[:, :, None] + h[:, None, :]) / xp.where(flat, xp.ones_like(sums), sums)
        R = xp.where(flat, xp.zeros_like(R), R)
        inside = (sum_last(s, 1) <= self.r)[:, None, None]
        one = eye(n, X)
        W, R = (xp.where(inside, xp.ones_like(Q), Q) * (1.0 - one)[None, :, :] for Q in (W, R))
        J = along(free, xp.ones_like(free))
        J = xp.where(inside, one[None, :, :] + 0.0 * J, J)
        swap = _swap(one)
        middle = 0.5 * diagonal(reshape(W + R, (-1, n * n)))
        middle = middle + 0.5 * diagonal(reshape(W - R, (-1, n * n))) @ swap
        ends = _diagonals(one)
        middle = middle + ends.mT[None, ...] @ J @ ends[None, ...]
        basis = U[:, :, None, :, None] * Vt.mT[:, None, :, None, :]
        p, q = self.shape
        basis = reshape(basis[:, :p, :q, :, :], (-1, p * q, n * n))
        return basis @ middle @ basis.mT

    def _square(self, X: Array) -> Array:
        """Return the rows of X as matrices, with rows or columns of zeros that make them square."""
        xp, M = namespace(X), self.matrices(X)
        p, q = self.shape
        if p == q:
            return M
        missing = xp.zeros_like(M[:, :1, :] if p < q else M[:, :, :1])
        return xp.concat([M] + [missing] * abs(p - q), axis=1 if p < q else 2)

    def vertices(self, Y: Array) -> Array:
        U, _, Vt = namespace(Y).linalg.svd(self.matrices(Y), full_matrices=False)
        return -column(self.r, Y) * self.flat(U[:, :, :1] * Vt[:, :1, :])

    def lowest(self, Y: Array, X: Array) -> tuple[Array, Array]:
        # ||Y|| <= ||U|| s_1 ||V|| + ||Y - U S V'||, as in `_spectral_bounds.fitted_ceiling`
        xp, M = namespace(Y), self.matrices(Y)
        U, s, Vt = xp.linalg.svd(M, full_matrices=False)
        k = s.shape[1]
        residual = _frobenius(M - (U * s[:, None, :]) @ Vt)
        residual = residual * (1.0 + 4.0 * k * epsilon(Y)) + _rounding(
            self.dimension, Y
        ) * sum_last(s, 1)
        stretch = 0.5 * (_off_identity(U.mT @ U) + _off_identity(Vt @ Vt.mT))
        stretch = stretch + _rounding(max(self.shape) + 2, Y) * k
        value = -self.r * s[:, 0]
        return value, self.r * (1.01 * stretch * s[:, 0] + residual)

    def violation(self, X: Array) -> Array:
        return sum_last(namespace(X).linalg.svdvals(self.matrices(X)), 1) - self.r

    def start(self) -> Array:
        return 0.0 * self.r[:, None] * self._row()


class Spectrahedra(Matrices):
    """Positive semidefinite matrices of trace r, or at most r."""

    varying = ("r",)

    def __init__(self, parts: list[Spectrahedron], place: Array, count: int) -> None:
        super().__init__([*parts], place, count)
        self.r, self.equality = self.numbers([K.r for K in parts]), parts[0].equality

    def project(self, X: Array) -> Array:
        values, V = self._decomposed(X)
        kept = above_level(values, self.r)
        if not self.equality:
            positive = clip(values, 0.0, None)
            inside = sum_last(positive, 1) <= self.r
            kept = namespace(X).where(inside[:, None], positive, kept)
        return self.flat((V * kept[:, None, :]) @ V.mT)

    def jacobian(self, Z: Array, X: Array) -> Array:
        # with C = V'DV: D P(D) = V (W * C + Diag(J diag C)) V', W the divided differences
        xp, n = namespace(X), self.shape[0]
        values, V = self._decomposed(Z)
        kept = xp.sum(V * (self.matrices(X) @ V), axis=1)
        cut = 1e2 * n * epsilon(X) * (1.0 + xp.max(abs(values), axis=1, keepdims=True))
        free = ones_where(kept > cut, X)
        J = along(free, xp.ones_like(free))
        if not self.equality:
            slack = sum_last(clip(values, 0.0, None), 1) <= self.r
            J = xp.where(slack[:, None, None], diagonal(ones_where(values > 0, X)), J)
        gaps = values[:, :, None] - values[:, None, :]
        near = abs(gaps) <= cut[:, :, None]
        ratio = (kept[:, :, None] - kept[:, None, :]) / xp.where(near, xp.ones_like(gaps), gaps)
        W = xp.where(near, 0.5 * (free[:, :, None] + free[:, None, :]), ratio)
        one = eye(n, X)
        W = W * (1.0 - one)[None, :, :]
        # the pairs (i, j) of V_ai V_bj are the columns of the basis
        basis = V[:, :, None, :, None] * V[:, None, :, None, :]
        basis = reshape(basis, (-1, n * n, n * n))
        middle = diagonal(self.flat(W))
        ends = _diagonals(one)
        middle = middle + ends.mT[None, ...] @ J @ ends[None, ...]
        symmetric = 0.5 * (eye(n * n, X) + _swap(one))
        return basis @ middle @ basis.mT @ symmetric

    def vertices(self, Y: Array) -> Array:
        values, V = self._decomposed(Y)
        first = V[:, :, :1]
        answers = column(self.r, Y) * self.flat(first * first.mT)
        if self.equality:
            return answers
        return namespace(Y).where((values[:, 0] < 0)[:, None], answers, 0.0 * answers)

    def lowest(self, Y: Array, X: Array) -> tuple[Array, Array]:
        # with z = V'x: x'Yx >= min(lambda) ||z||^2 - ||Y - V L V'||, and ||z||^2 is near 1
        values, V = self._decomposed(Y)
        n = self.shape[0]
        symmetric = self._symmetric(Y)
        residual = _frobenius(symmetric - (V * values[:, None, :]) @ V.mT)
        size = namespace(Y).max(abs(values), axis=1)
        error = 1.01 * _off_identity(V @ V.mT) + _rounding(n + 4, Y) * n
        error = residual * (1.0 + 4.0 * n * epsilon(Y)) + (error + _rounding(n + 4, Y) * n) * size
        least = values[:, 0]
        if not self.equality:
            least = clip(least, None, 0.0)
        return self.r * least, self.r * error

    def violation(self, X: Array) -> Array:
        xp, M = namespace(X), self.matrices(X)
        skew = _frobenius(0.5 * (M - M.mT))
        values = xp.linalg.eigvalsh(self._symmetric(X))
        excess = sum_last(values, 1) - self.r
        excess = abs(excess) if self.equality else excess
        return xp.maximum(xp.maximum(skew, -values[:, 0]), excess)

    def start(self) -> Array:
        middle = self.flat(eye(self.shape[0], self.place)[None, ...])
        return (self.r / self.shape[0])[:, None] * middle

    def _symmetric(self, X: Array) -> Array:
        M = self.matrices(X)
        return 0.5 * M + 0.5 * M.mT

    def _decomposed(self, X: Array) -> tuple[Array, Array]:
        values, V = namespace(X).linalg.eigh(self._symmetric(X))
        return values, V


class Birkhoffs(Matrices):
    """Doubly stochastic matrices; projections by semismooth Newton steps on the dual.

    The projection X = max(Z - lambda 1' - 1 mu', 0) also proves bounds: alpha = -lambda and beta,
    the largest numbers with alpha_i + beta_j <= y_ij, are feasible for the dual of the assignment
    problem whatever lambda is, so that their sum is at most min <y, V>.
    """

    unconditional = True
    steps = 60

    def __init__(self, parts: list[Birkhoff], place: Array, count: int) -> None:
        super().__init__([*parts], place, count)

    def project(self, X: Array) -> Array:
        found, _, lost = self._newton(self.matrices(X))
        return self.mended(X, self.flat(found), np.asarray(to_host(lost)))

    def jacobian(self, Z: Array, X: Array) -> Array:
        xp, n = namespace(X), self.shape[0]
        one = eye(n, X)
        sums = [reshape(one[:, :, None] + 0.0 * one[:, None, :], (n, n * n))]
        sums.append(reshape(one[:, None, :] + 0.0 * one[:, :, None], (n, n * n)))
        free = ones_where(X > 0, X)
        A = xp.concat(sums, axis=0)[None, ...] * free[:, None, :]
        # the equations of rows and columns depend on each other, hence the pseudoinverse
        inverse = xp.linalg.pinv(A @ A.mT, rtol=1e3 * n * epsilon(X))
        return diagonal(free) - A.mT @ inverse @ A

    def derivative(self, Z: Array, X: Array, U: Array) -> Array:
        # F * (U - r 1' - 1 c') with F the free entries, and r, c such that all sums are 0
        xp, n = namespace(X), self.shape[0]
        F, U = ones_where(self.matrices(X) > 0, X), self.matrices(U)
        by_row, by_column = xp.sum(F, axis=2), xp.sum(F, axis=1)
        above = xp.concat([diagonal(by_row), F], axis=2)
        below = xp.concat([F.mT, diagonal(by_column)], axis=2)
        system = xp.concat([above, below], axis=1)
        sums = xp.concat([xp.sum(F * U, axis=2), xp.sum(F * U, axis=1)], axis=1)
        # the equations depend on each other
        inverse = xp.linalg.pinv(system, rtol=1e3 * n * epsilon(X))
        found = xp.matmul(inverse, sums[:, :, None])[:, :, 0]
        return self.flat(F * (U - found[:, :n, None] - found[:, None, n:]))

    def vertices(self, Y: Array) -> Array:
        single = self.parts[0]
        costs = np.nan_to_num(to_host(self.matrices(Y)).astype(np.float64))
        return self.flat(like(single._lmo(costs).to_dense(), Y))

    def lowest(self, Y: Array, X: Array) -> tuple[Array, Array]:
        xp, M = namespace(Y), self.matrices(Y)
        size = xp.max(abs(Y), axis=1)
        scale = xp.where(size > 0, size, xp.ones_like(size))[:, None, None]
        # near a solution X = P(X - Y/scale), whose multipliers are then optimal potentials
        lam = self._newton(self.matrices(X) - M / scale)[1]
        prices = -scale[:, :, 0] * lam
        columns = xp.min(M - prices[:, :, None], axis=1)
        least = sum_last(prices, 1) + sum_last(columns, 1)
        n = self.shape[0]
        terms = sum_last(abs(prices), 1) + sum_last(abs(columns), 1)
        return least, (4.0 * n + 8.0) * epsilon(Y) * (terms + n * size)

    def violation(self, X: Array) -> Array:
        xp, M = namespace(X), self.matrices(X)
        rows = xp.max(abs(xp.sum(M, axis=2) - 1.0), axis=1)
        columns = xp.max(abs(xp.sum(M, axis=1) - 1.0), axis=1)
        return xp.maximum(xp.maximum(rows, columns), -xp.min(X, axis=1))

    def start(self) -> Array:
        return self._row() / self.shape[0] + 0.0 * self.radius[:, None]

    def absolute_support(self, C: Array) -> Array:
        # each row of a point is a mean of rows of the identity
        xp = namespace(C)
        by_rows = sum_last(xp.max(self.matrices(C), axis=2), 1)
        return xp.minimum(by_rows, xp.sqrt(sum_last(C * C, 1)) * self.radius)

    def _newton(self, Z: Array) -> tuple[Array, Array, Array]:
        """Return the projections, lambda, and for which problems all steps were not enough.

        For each mu the best lambda is known, so that steps are those of mu alone, on the convex
        function F(lambda(mu), mu). Where a Newton step, or a part of it, lowers neither F nor the
        error by enough, the best mu for lambda takes its place; a few such exchanges come first.
        Of matrices that are far from the polytope, smaller multiples are projected first.
        """
        xp = namespace(Z)
        n, largest = self.shape[0], xp.max(abs(self.flat(Z)), axis=1)
        tol = 4.0 * n * epsilon(Z) * (2.0 + largest)
        middle = Z - xp.mean(Z, axis=1)[:, None, :]
        far = xp.max(abs(self.flat(middle - xp.mean(middle, axis=2)[:, :, None])), axis=1)
        share = xp.where(far > _NEAR, _NEAR / xp.where(far > _NEAR, far, xp.ones_like(far)), 1.0)
        part = column(share, Z)[:, :, None] * Z
        state = _at_columns(part, xp.mean(part, axis=1))
        for _ in range(_EXCHANGES):
            state = _at_columns(part, _row_levels((part - state.lam[:, :, None]).mT))
        state = self._solved(part, state, _until(share, tol))
        while bool(xp.any(share < 1.0)):
            share_next = xp.minimum(_GROWTH * share, xp.ones_like(share))
            mu = column(share_next / share, Z) * state.mu
            share, part = share_next, column(share_next, Z)[:, :, None] * Z
            state = self._solved(part, _at_columns(part, mu), _until(share, tol))
        if type(Z) is np.ndarray:  # huge numbers leave the sums no digits
            tol = np.minimum(tol, max(1e-9, 64.0 * n * epsilon(Z)))
        return state.X, state.lam, (state.worst > tol) & xp.isfinite(largest)

    def _solved(self, Z: Array, state: _Dual, tol: Array) -> _Dual:
        """Return the state after Newton steps."""
        xp = namespace(Z)
        for _ in range(self.steps):
            left = (state.worst > tol) & xp.isfinite(state.worst)
            if not bool(xp.any(left)):
                break
            step = _newton_step(state.X > 0, state.columns, state.worst)
            promised = 1e-4 * xp.sum(state.columns * step, axis=1)
            t = xp.ones_like(promised)
            found = _at_columns(Z, state.mu + step)
            good = (found.value <= state.value - promised) | (found.worst < 0.5 * state.worst)
            for _ in range(_PARTS):
                if not bool(xp.any(left & ~good)):
                    break
                t = xp.where(good, t, 0.25 * t)
                found = found.where(good, _at_columns(Z, state.mu + column(t, Z) * step))
                good = good | (found.value <= state.value - t * promised)
            if bool(xp.any(left & ~good)):
                other = _at_columns(Z, _row_levels((Z - state.lam[:, :, None]).mT))
                found = found.where(good, other)
            state = found.where(left, state)
        return state


_EXCHANGES = 4
"""Exchanges of the best lambda and the best mu before Newton steps."""

_PARTS = 8
"""Shorter Newton steps that are tried, each a quarter of the last."""

_NEAR = 16.0
"""Entries, less the means of their rows and columns, from which smaller multiples come first."""

_GROWTH = 4.0
"""Ratio of two such multiples."""


class _Dual(NamedTuple):
    """mu, the best lambda for it, X, the errors of its columns, the largest one, and F."""

    mu: Array
    lam: Array
    X: Array
    columns: Array
    worst: Array
    value: Array

    def where(self, flags: Array, other: _Dual) -> _Dual:
        """Return this state for some problems, and another one for the rest."""
        pairs = zip(self, other, strict=True)
        shape = [reshape(flags, (-1, *(1,) * k)) for k in range(3)]
        return _Dual(*(namespace(a).where(shape[a.ndim - 1], a, b) for a, b in pairs))


def _until(share: Array, tol: Array) -> Array:
    """Return how well sums are to be met: roughly, where the problem comes again."""
    xp = namespace(tol)
    return xp.where(share < 1.0, xp.maximum(tol, 1e-2 * xp.ones_like(tol)), tol)


def _at_columns(Z: Array, mu: Array) -> _Dual:
    """Return the state with the best lambda for mu: all rows of X sum to 1."""
    xp = namespace(Z)
    lowered = Z - mu[:, None, :]
    lam = _row_levels(lowered)
    X = clip(lowered - lam[:, :, None], 0.0, None)
    columns = xp.sum(X, axis=1) - 1.0
    value = 0.5 * sum_last(X * X, 2) + sum_last(lam, 1) + sum_last(mu, 1)
    return _Dual(mu, lam, X, columns, xp.max(abs(columns), axis=1), value)


def _row_levels(Z: Array) -> Array:
    """Return the level of each row at which what is above it sums to 1."""
    xp, n = namespace(Z), Z.shape[2]
    top = xp.max(Z, axis=2)
    flat = reshape(Z - top[:, :, None], (-1, n))
    ranks = xp.astype(arange(n, Z) + 1, Z.dtype)
    levels = (cumsum(falling_rows(flat), 1, Z.dtype) - 1.0) / ranks
    return top + reshape(xp.max(levels, axis=1), tuple(top.shape))


def _newton_step(active: Array, columns: Array, worst: Array) -> Array:
    """Return the Newton step of mu, lambda(mu) being eliminated: a semidefinite system."""
    xp = namespace(columns)
    S = xp.astype(active, columns.dtype)
    by_row = xp.sum(S, axis=2)
    scaled = S / clip(by_row, 1.0, None)[:, :, None]
    n = S.shape[2]
    one = eye(n, columns)[None, ...]
    ridge = 64.0 * n * epsilon(columns) + 1e-3 * xp.minimum(worst, xp.ones_like(worst))
    system = one * (xp.sum(S, axis=1) + column(ridge, columns))[:, :, None] - S.mT @ scaled
    return xp.linalg.solve(system, columns[:, :, None])[:, :, 0]


def _diagonals(one: Array) -> Array:
    """Return the matrices e_i e_i' as rows."""
    n = one.shape[0]
    return reshape(one[:, None, :] * one[:, :, None], (n, n * n))


def _swap(one: Array) -> Array:
    """Return the matrix that transposes a square matrix, given as a row."""
    n = one.shape[0]
    return reshape(one[:, None, None, :] * one[None, :, :, None], (n * n, n * n))


def _frobenius(M: Array) -> Array:
    return namespace(M).sqrt(sum_last(M * M, 2))


def _off_identity(M: Array) -> Array:
    return _frobenius(M - eye(M.shape[-1], M))


def _rounding(terms: int, Y: Array) -> float:
    """Return a bound on the relative error of a sum of products, in the precision of Y."""
    return _gamma(terms) * (epsilon(Y) / 2.0**-52)
