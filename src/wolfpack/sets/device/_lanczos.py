r"""Top eigenvectors of a batch of symmetric operators, all at once.

Lanczos' method from one start builds for each operator A an orthonormal basis Q, in which A is the
tridiagonal matrix T; the Ritz vector y = Q w of an eigenpair (theta, w) of T has the residual

.. math:: \|A y - \theta y\| = \beta_j |w_j|,

where beta_j is the length of the vector that would come next. The method checks it every
`CHECK_EVERY` steps, and stops when its mean over the batch is at most ``tolerance`` times the size
of T (its largest entries). The residual describes the answer; `certify` proves a bound.

A step is one application of the operators to the batch and some products of thin matrices. Between
two checks nothing waits for the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...arrays import epsilon, eye, fetch, like, namespace
from .._base import Array

CHECK_EVERY = 12
MAX_STEPS = 240
ROUGH_TOLERANCE = 1e-3
"""Tolerance from which on T's own decomposition may be rough."""


class Ritz(NamedTuple):
    """What Lanczos' method has found."""

    vectors: Array  # (batch, k, n): unit vectors, the best first
    values: Array  # (batch, k): their Ritz values
    residual: float  # the largest relative residual of an operator, its mean over the batch
    size: float  # the least size of an operator, zero for one that seems to be zero
    steps: int  # how often the operators were applied


def top_ritz(apply: Callable[[Array], Array], start: Array, k: int, tolerance: float) -> Ritz:
    """Return the k top Ritz pairs of each operator of a batch, from ``start`` (batch, n) on.

    ``apply`` applies each symmetric operator to its own vector of a batch. The method stops at the
    relative residual ``tolerance``.
    """
    space, n = namespace(start), start.shape[-1]
    max_steps = min(MAX_STEPS, n)
    rough = k == 1 and tolerance >= ROUGH_TOLERANCE
    zero, tiny = 0.0 * start, 1e2 * epsilon(start)
    basis, alphas, betas = [_over(start, space.linalg.vector_norm(start, axis=-1))], [], []
    while True:
        # zeros up to the next check keep the shapes, for libraries that compile for each of them
        Q = space.stack(basis + [zero] * (-len(basis) % CHECK_EVERY), axis=1)
        image = apply(basis[-1])
        along = (Q @ image[:, :, None])[:, :, 0]
        alphas.append(along[:, len(basis) - 1])
        image = image - (along[:, None, :] @ Q)[:, 0, :]
        if not rough:  # twice is enough
            image = image - ((Q @ image[:, :, None])[:, None, :, 0] @ Q)[:, 0, :]
        length = space.linalg.vector_norm(image, axis=-1)
        # a remainder of the size of rounding errors is no direction
        floor = tiny * space.linalg.vector_norm(along, axis=-1)
        betas.append(space.where(length > floor, length, 0.0))
        checked = len(basis) >= max(CHECK_EVERY, k) and len(basis) % CHECK_EVERY == 0
        if checked or len(basis) == max_steps:
            found = _ritz(Q[:, : len(basis), :], alphas, betas, k, rough)
            # NaN ends it too
            if len(basis) == max_steps or not found.residual > tolerance:
                return found
        basis.append(_over(image, betas[-1]))


def _ritz(Q: Array, alphas: list[Array], betas: list[Array], k: int, rough: bool) -> Ritz:
    space, j = namespace(Q), len(alphas)
    a, b = space.stack(alphas, axis=1), space.stack(betas, axis=1)
    size = space.max(abs(a), axis=1) + space.max(b, axis=1)
    scale = space.where(size > 0, size, 1.0)
    # where the space was exhausted early, the vectors that follow are zero
    here = space.linalg.vector_norm(Q, axis=-1)
    a = space.where(here > 0.5, a, -2.0 * scale[:, None])
    one, shifted = eye(j, Q), space.eye(j, k=1, dtype=Q.dtype, device=Q.device)
    # b_i stands right of and below the i-th diagonal entry, the last one outside
    upper = b[:, :, None] * shifted[None, ...]
    T = a[:, :, None] * one[None, ...] + upper + space.matrix_transpose(upper)
    if rough:
        W = _dominant(T / scale[:, None, None] + 2.0 * one[None, ...])[:, None, :]
        values = space.sum(W * (W @ T), axis=-1)
    else:
        values, W = space.linalg.eigh(T)
        W = space.flip(space.matrix_transpose(W), axis=1)[:, :k, :]
        values = space.flip(values, axis=1)[:, :k]
    left = betas[-1] * space.max(abs(W[:, :, -1]), axis=1) / scale
    residual, least = fetch(space.mean(left), space.min(size))
    return Ritz(W @ Q, values, residual, least, j)


def _dominant(a: Array) -> Array:
    """Return about the top eigenvector of small positive matrices, by squaring them often.

    Decompositions of many small matrices are slow on most devices. After 2^12 steps of a power
    iteration only eigenvectors whose values are within a thousandth of the largest are left, and
    any mixture of those is good enough here.
    """
    space = namespace(a)
    for _ in range(4):
        a = a / space.max(abs(a), axis=(-2, -1), keepdims=True)
        for _ in range(3):
            a = a @ a
    a = a / space.max(abs(a), axis=(-2, -1), keepdims=True)
    w = (a @ like(_numbers(a.shape[-1]), a)[None, :, None])[:, :, 0]
    return _over(w, space.linalg.vector_norm(w, axis=-1))


@lru_cache(maxsize=8)
def _numbers(n: int) -> np.ndarray:
    # Gaussian, for a vector of ones would be orthogonal to what centred data have on top
    return np.random.default_rng(0).standard_normal(n)


def start_for(g: Array, n: int) -> Array:
    """Return the same start for each matrix of a batch."""
    return namespace(g).broadcast_to(like(_numbers(n), g), (g.shape[0], n))


def _over(a: Array, length: Array) -> Array:
    """Return a / length for each vector of a batch, zero where the length is."""
    return a / namespace(a).where(length > 0, length, math.inf)[:, None]
