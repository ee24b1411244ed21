r"""Top eigenvectors of a batch of symmetric operators, all at once.

Lanczos' method from one start builds for each operator A an orthonormal basis Q, in which A is the
tridiagonal matrix T; the Ritz vector y = Q w of an eigenpair (theta, w) of T has the residual

.. math:: \|A y - \theta y\| = \beta_j |w_j|,

where beta_j is the length of the vector that would come next. The method looks at it every `LOOK`
steps, and stops when it is at most ``tolerance`` times the size of T (its largest entries) for the
whole batch. That is what may be stated of an answer; what it proves is a matter of `certify`.

A step is one application of the operators to the batch and some products of thin matrices; between
two looks nothing waits for the device.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...arrays import eye, fetch, full, like, namespace, reshape
from .._base import Array

LOOK = 12
MOST = 240


class Ritz(NamedTuple):
    """What Lanczos' method has found.

    Attributes
    ----------
    vectors : array (batch, k, n)
        Unit vectors, the best first.
    values : array (batch, k)
        Their Ritz values.
    residual : float
        The largest relative residual among them.
    size : float
        The least size of an operator in the batch, zero for one that seems to be zero.
    steps : int
        How often the operators were applied.
    """

    vectors: Array
    values: Array
    residual: float
    size: float
    steps: int


def top_ritz(
    apply: Callable[[Array], Array], start: Array, k: int, tolerance: float, most: int = MOST
) -> Ritz:
    """Return the k top Ritz pairs of each operator of a batch.

    Parameters
    ----------
    apply : callable
        (batch, n) -> (batch, n): each symmetric operator on its own vector.
    start : array (batch, n)
        Vectors to start from.
    k : int
        How many pairs.
    tolerance : float
        Relative residual to stop at.
    most : int
        Steps to stop at.
    """
    n = start.shape[-1]
    most = min(most, n)
    basis, alphas, betas = [_unit(start)], [], []
    while True:
        q = basis[-1]
        image = apply(q)
        alphas.append(_dot(image, q))
        if len(alphas) > 1:
            image = image - betas[-1][:, None] * basis[-2]
        image = image - alphas[-1][:, None] * q
        # zeros up to the next look keep the shapes, for libraries that compile for each of them
        rest = -len(basis) % LOOK
        Q = namespace(q).stack(basis + [0.0 * q] * rest, axis=1)
        image = image - _combine(Q, _against(Q, image))
        betas.append(_length(image))
        if len(basis) == most or (len(basis) >= max(LOOK, k) and len(basis) % LOOK == 0):
            found = _ritz(Q[:, : len(basis), :], alphas, betas, k)
            # NaN ends it too
            if len(basis) == most or not found.residual > tolerance:
                return found
        basis.append(_over(image, betas[-1]))


def _ritz(Q: Array, alphas: list[Array], betas: list[Array], k: int) -> Ritz:
    space, j = namespace(Q), len(alphas)
    a, b = space.stack(alphas, axis=1), space.stack(betas, axis=1)
    size = space.max(abs(a), axis=1) + space.max(b, axis=1)
    # where the space was exhausted early, what follows is no direction at all
    here = _length(reshape(Q, (-1, Q.shape[-1])))
    scale = space.where(size > 0, size, full((), 1.0, size))
    a = space.where(reshape(here, a.shape) > 0.5, a, -2.0 * scale[:, None])
    one, shifted = eye(j, Q), space.eye(j, k=1, dtype=Q.dtype, device=Q.device)
    # b_i stands right of and below the i-th diagonal entry, the last one outside
    upper = b[:, :, None] * shifted[None, ...]
    T = a[:, :, None] * one[None, ...] + upper + space.matrix_transpose(upper)
    values, W = space.linalg.eigh(T)
    W = space.flip(space.matrix_transpose(W), axis=1)[:, :k, :]
    values = space.flip(values, axis=1)[:, :k]
    left = betas[-1] * space.max(abs(W[:, :, -1]), axis=1)
    residual, least = fetch(space.max(left / scale), space.min(size))
    return Ritz(W @ Q, values, residual, least, j)


@lru_cache(maxsize=8)
def _numbers(n: int) -> np.ndarray:
    # Gaussian, for a vector of ones would be orthogonal to what centred data have on top
    return np.random.default_rng(0).standard_normal(n)


def start_for(g: Array, n: int) -> Array:
    """Return the same start for each matrix of a batch."""
    one = like(_numbers(n), g)
    return namespace(g).broadcast_to(one, (g.shape[0], n))


def _dot(a: Array, b: Array) -> Array:
    return namespace(a).sum(a * b, axis=-1)


def _length(a: Array) -> Array:
    return namespace(a).sqrt(_dot(a, a))


def _unit(a: Array) -> Array:
    return _over(a, _length(a))


def _over(a: Array, length: Array) -> Array:
    """Return a / length for each vector of a batch, zero where the length is."""
    space, one = namespace(a), full((), 1.0, a)
    return a / space.where(length > 0, length, one)[:, None]


def _against(Q: Array, a: Array) -> Array:
    return (Q @ a[:, :, None])[:, :, 0]


def _combine(Q: Array, c: Array) -> Array:
    return (c[:, None, :] @ Q)[:, 0, :]
