"""Top singular and eigen pairs, by the method that suits size and batch.

With k = min(p, q), and in double precision whatever the precision of the input:

- k up to `LANCZOS_FROM`: the smaller Gram matrix g'g and LAPACK's top eigenvector of it (dsyevr),
  O(pqk + k^3), exact up to rounding also when top values tie;
- batches of at least `BATCH_FROM` matrices with k up to `SQUARING_TO`: power iteration. Squaring
  B = g'g seven times gives B = (g'g)^N, N = 2^7, and each of `POWERS` steps x <- B x/||B x|| from a
  Gaussian vector is then worth N steps. All are matrix products of the whole batch. x is accepted
  when its last step moved it by `STEP` at most (see below); for the others B is squared again, up
  to N = 2^21, and what is then left (relative gaps below about 1e-5) is given to LAPACK;
- larger k: Lanczos on x -> g'(g x) with a fixed start, to a residual of `TOLERANCE`, relative;
  LAPACK as above if it has not converged after `RESTARTS` restarts (clustered top values).

The Gram matrix squares the condition number, which harms small singular values only. The vectors
are polished by one more power step with g itself: the relative error of the value is below 1e-12
for the first two methods and below `TOLERANCE` for the third.

*A short last step proves a power iteration.* Let g'g have eigenvalues lambda_1 (1 - t_i), t_1 = 0,
and eigenvectors v_i; scaled so that lambda_1 = 1, B has rho_i = (1 - t_i)^N, with
1/rho_i - 1 >= N t_i. If y = B x/c, c = ||B x|| <= 1, came from a unit vector x with
||y - x|| = delta, then x_i - y_i = (c/rho_i - 1) y_i, and <x - y, y> = -delta^2/2 gives

    1 - <y, g'g y>/lambda_1 = sum_i t_i y_i^2 <= (1/N) sum_i (1/rho_i - 1) y_i^2 <= (1 - c)/(N c),

where (1 - c) |y_1| = |x_1 - y_1| <= delta: the value falls short by at most delta/(N c |y_1|),
1e-13 if |y_1| is near 1. A start that is almost orthogonal to v_1, and stays so through all powers,
would cost accuracy, but `certify` stays right: it does not rely on the vector.

Only the product u v' matters, which does not depend on the sign of the pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..arrays import Array, LowRank, all_finite
from ..problem import under_way

LANCZOS_FROM = 300
DENSE_SVD = 300
"""Order up to which a whole decomposition costs no more than a few oracle calls."""
BATCH_FROM = 8
SQUARING_TO = 64
SQUARINGS = (7, 5, 5, 4)
POWERS = 8
STEP = 1e-11
RESTARTS = 20
TOLERANCE = 1e-10
_LARGE = 2**10
"""Entries of a matrix from which one decomposition takes a millisecond or so."""

_TINY = 1e-300


def unit_scale(g: Array) -> tuple[Array, Array]:
    """Return h and e with g = 2^e h, h in double precision and safe to square.

    Powers of two scale without rounding. Matrices whose squares stay well inside the range of
    double precision are left alone (e = 0).
    """
    h = g.astype(np.float64, copy=False)
    with np.errstate(over="ignore", under="ignore"):
        size = np.einsum("...ij,...ij->...", h, h)
    if ((size > 1e-100) & (size < 1e100)).all():
        return h, np.zeros(size.shape, dtype=int)
    largest = abs(h).max(axis=(-2, -1), initial=0.0)
    exponent = np.frexp(largest)[1]
    return np.ldexp(h, -exponent[..., None, None]), exponent


def in_time(batch: Array) -> Iterator[Array]:
    """Return the matrices of a batch one by one, each of them only while the run has time.

    Those that are not reached are not counted (`wolfpack.problem.Counts.begin_call`).
    """
    counts = under_way()
    for matrix in batch:
        if counts is not None and counts.limited:
            counts.begin_call()
        yield matrix


def decomposed(decompose: Callable[[Array], Any], batch: Array) -> tuple[Array, ...]:
    """Return LAPACK's decompositions of one matrix or a batch, whole matrices while there is time.

    A batch of large matrices takes long. While the run has a deadline they are taken one by one,
    which gives the same bits as the batch.
    """
    counts = under_way()
    timed = counts is not None and counts.deadline < math.inf
    if batch.ndim == 2 or not timed or not len(batch) or batch[0].size < _LARGE:
        return decompose(batch)
    return tuple(map(np.stack, zip(*map(decompose, in_time(batch)), strict=True)))


def singular_values(x: Array) -> Array:
    """Return the singular values of one matrix, NaN where it has entries that are not finite."""
    if not all_finite(x):
        return np.full(min(x.shape), np.nan)
    return x.singular_values() if isinstance(x, LowRank) else np.linalg.svd(x, compute_uv=False)


def top_singular(g: Array) -> tuple[Array, Array]:
    """Return unit vectors u, v that maximise u' g v, for one matrix or a batch of them."""
    h, _ = unit_scale(g)
    if h.shape[-2] < h.shape[-1]:
        v, u = _top_singular_tall(h.swapaxes(-1, -2))
        return u, v
    return _top_singular_tall(h)


def top_eigenvector(a: Array) -> Array:
    """Return a unit vector x that maximises x' a x, for symmetric a or a batch of them."""
    h, _ = unit_scale(a)
    n = h.shape[-1]
    if h.ndim == 2:
        V = _lanczos(lambda x: h @ x, n, 1)
        return _top_dense(h) if V is None else V[:, 0]
    if n <= SQUARING_TO and h.shape[0] >= BATCH_FROM:
        # squaring needs a positive semidefinite matrix: h + ||h||_F I has h's eigenvectors
        shift = np.sqrt((h * h).sum(axis=(-2, -1), keepdims=True))
        return _top_by_squaring(h + shift * np.eye(n))
    return np.array([top_eigenvector(row) for row in in_time(h)]).reshape(-1, n)


def leading_singular(g: Array, k: int) -> tuple[Array, Array]:
    """Return the k leading singular vectors of one matrix as rows of u and v, the best first.

    Both are contiguous: a state that holds them is then stepped to the same bits after it was
    saved and read, since products of other layouts may round differently.
    """
    if g.shape[0] < g.shape[1]:
        v, u = leading_singular(g.T, k)
        return u, v
    h, _ = unit_scale(g)
    V = _lanczos(lambda x: (h @ x) @ h, h.shape[1], k)
    if V is None:
        U, _, Vt = np.linalg.svd(h, full_matrices=False)
    else:
        # Rayleigh-Ritz: the exact SVD of h restricted to the subspace that Lanczos found
        U, _, W = np.linalg.svd(h @ V, full_matrices=False)
        Vt = W @ V.T
    return np.ascontiguousarray(U[:, :k].T), np.ascontiguousarray(Vt[:k])


def leading_eigenvectors(a: Array, k: int) -> Array:
    """Return the k leading eigenvectors of one symmetric matrix as contiguous rows."""
    h, _ = unit_scale(a)
    V = _lanczos(lambda x: h @ x, h.shape[0], k)
    rows = V.T if V is not None else np.linalg.eigh(h)[1].T[: -k - 1 : -1]
    return np.ascontiguousarray(rows)


def _top_singular_tall(h: Array) -> tuple[Array, Array]:
    q = h.shape[-1]
    if h.ndim == 2:
        v = _top_right(h)
    elif q <= SQUARING_TO and h.shape[0] >= BATCH_FROM:
        v = _top_by_squaring(h.swapaxes(-1, -2) @ h)
    else:
        v = np.array([_top_right(row) for row in in_time(h)]).reshape(-1, q)
    u = _unit((h @ v[..., None])[..., 0])
    return u, _unit((h.swapaxes(-1, -2) @ u[..., None])[..., 0])


def _top_right(h: Array) -> Array:
    V = _lanczos(lambda x: (h @ x) @ h, h.shape[1], 1)
    return _top_dense(h.T @ h) if V is None else V[:, 0]


def _top_dense(a: Array) -> Array:
    n = a.shape[0]
    _, z, found, _, info = lapack.dsyevr(a, range="I", il=n, iu=n, lwork=38 * n)
    # LAPACK's bisection may miss all of several equal eigenvalues; found = 0 is the only sign
    return z[:, 0] if found == 1 and info == 0 else np.linalg.eigh(a)[1][:, -1]


def _top_by_squaring(a: Array) -> Array:
    x, todo, b = np.empty(a.shape[:2]), np.arange(a.shape[0]), a
    for times in SQUARINGS:
        b = _over_trace(b)  # the top eigenvalue is then at least 1/n, and its powers are in range
        for _ in range(times):
            b = b @ b
        b = _over_trace(b)
        y = b @ _start(a.shape[-1])
        for _ in range(POWERS - 2):
            y = (b @ y[..., None])[..., 0]
        before = _unit(y)
        y = _unit((b @ before[..., None])[..., 0])
        done = ((y - before) ** 2).sum(axis=-1) <= STEP**2
        x[todo[done]] = y[done]
        todo, b = todo[~done], b[~done]
        if not todo.size:
            return x
    for i in todo:
        x[i] = _top_dense(a[i])
    return x


def _over_trace(b: Array) -> Array:
    trace = np.einsum("mii->m", b)
    return b / np.maximum(trace, _TINY)[:, None, None]


def _lanczos(apply: Callable[[Array], Array], n: int, k: int) -> Array | None:
    """Return the top k eigenvectors as columns, None where a direct method must be used."""
    if n <= LANCZOS_FROM or 4 * k > n or not apply(_start(n)).any():
        return None  # ARPACK fails on the zero matrix
    operator = LinearOperator((n, n), matvec=apply, dtype=np.float64)
    try:
        values, vectors = eigsh(
            operator, k, which="LA", v0=_start(n), tol=TOLERANCE, maxiter=RESTARTS * k
        )
    except ArpackNoConvergence:
        return None
    return vectors[:, np.argsort(-values, kind="stable")]


@lru_cache(maxsize=8)
def _start(n: int) -> Array:
    # Gaussian: a vector of ones would be orthogonal to the top vector of centred data
    return np.random.default_rng(0).standard_normal(n)


def _unit(x: Array) -> Array:
    length = np.sqrt(np.einsum("...i,...i->...", x, x))[..., None]
    if length.all():
        return x / length
    first = np.zeros(x.shape[-1])
    first[0] = 1.0
    return np.where(length > 0, x / np.where(length > 0, length, 1.0), first)
