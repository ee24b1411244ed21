r"""Products with the matrix of an objective, carried from point to point instead of computed anew.

A step :math:`x_+ = x + t (v - a)` between vertices changes :math:`M x` by :math:`t (M v - M a)`,
and a vertex with few entries takes few columns of M. Here M is A for f(x) = loss(A x) and Q for a
quadratic. The value, the gradient and the curvature along a step follow from M x without another
product; of loss(A x) the gradient takes one product with the transpose.

A carried product differs from M x by rounding errors of all steps since it was computed. Its bound,
the drift, is a part of the evaluation, and so of the certificate (docs/theory/rounding.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import issparse

from ..arrays import Array, inner, matmul, norm
from ..atoms import Atoms, RankOne
from ..problem import Evaluation, accumulation
from ..problem.rounding import UNIT
from ._matrix import Matrix

if TYPE_CHECKING:
    from ._base import LinearModel
    from .quadratic import Quadratic

_FEW = 16

WORTH = 2**17
"""Entries of a matrix from which carrying a product is faster than computing it."""


class Carrier(ABC):
    """What an objective with a large matrix M of double precision on the host knows of M x."""

    matrix: Matrix
    transpose: Matrix
    size: float  # the Frobenius norm of the matrix

    def product(self, x: Array) -> Array:
        """Return M x, from the columns of the entries of x that are not zero if these are few."""
        if x.ndim == 1 and type(self.matrix) is np.ndarray:
            positions = np.flatnonzero(x)
            if _FEW * len(positions) < len(x):
                return x[positions] @ self.transpose[positions]
        return self.full_product(x)

    def full_product(self, x: Array) -> Array:
        """Return M x."""
        return matmul(self.matrix, x)

    def of_vertex(self, v: Atoms) -> tuple[Array, float]:
        """Return M v for a single vertex, and a bound on its rounding error."""
        found = by_columns(self.matrix, self.transpose, v)
        if found is None:
            v = v.to_dense()
            return self.product(v), self.error(norm(v))
        product, terms = found
        return product, self.error(float(np.sqrt(v.norms_squared())), terms)

    def error(self, length: float, terms: int | None = None) -> float:
        """Return a bound on the error of M x for x of this norm, as a sum of so many columns."""
        count: int = self.matrix.shape[1] if terms is None else terms
        return UNIT * (accumulation(count) + 1.0) * self.size * length

    @abstractmethod
    def evaluate(self, x: Array, product: Array, drift: float) -> Evaluation:
        """Return the evaluation at x, given M x up to an error of norm ``drift``."""

    @abstractmethod
    def curvature(self, d: Array, change: Array) -> float | None:
        """Return <d, Hess f d> if f is quadratic, given ``change`` = M d; None otherwise."""

    @abstractmethod
    def slope_along(self, product: Array, change: Array) -> Callable[[float], float]:
        """Return t -> <grad f(x + t d), d>, given M x and M d."""


class ImageCarrier(Carrier):
    """For f(x) = loss(A x)."""

    def __init__(self, f: LinearModel, size: float) -> None:
        self.f, self.matrix, self.transpose, self.size = f, f.A, f._At, size

    def evaluate(self, x: Array, product: Array, drift: float) -> Evaluation:
        return self.f.evaluate_image(product)._replace(drift=drift)

    def curvature(self, d: Array, change: Array) -> float | None:
        return self.f.image_curvature(change)

    def slope_along(self, product: Array, change: Array) -> Callable[[float], float]:
        return lambda t: inner(self.f.image_slopes(product + t * change), change)


class QuadraticCarrier(Carrier):
    """For a quadratic with the matrix Q."""

    def __init__(self, f: Quadratic, size: float) -> None:
        self.f, self.matrix, self.transpose, self.size = f, f.Q, f.Q, size

    def evaluate(self, x: Array, product: Array, drift: float) -> Evaluation:
        return self.f.evaluate_product(x, product)._replace(drift=drift)

    def curvature(self, d: Array, change: Array) -> float:
        return inner(d, change)

    def slope_along(self, product: Array, change: Array) -> Callable[[float], float]:
        raise NotImplementedError("the steps of a quadratic are known from its curvature")


def is_worth(A: Matrix) -> bool:
    """Tell whether products with A are worth carrying: large, in double precision, on the host."""
    if issparse(A):
        return A.nnz >= WORTH and A.dtype == np.float64
    return type(A) is np.ndarray and A.size >= WORTH and A.dtype == np.float64


def by_columns(A: Matrix, At: Matrix, v: Atoms) -> tuple[Array, int] | None:
    """Return A v for a single vertex, and how many terms the sums have; None for a full product.

    Only the columns of A are read that v takes. ``At`` is the transpose.
    """
    if isinstance(v, RankOne):
        return np.multiply.outer(v.scale * matmul(A, v.u), v.v), len(v.u) + 1
    entries = v.entries()
    if entries is None:
        return None
    positions, values = entries
    d, terms = A.shape[1], len(positions)
    columns = v.size // d
    if issparse(A):
        return (
            _sparse_row(A, int(positions[0]), float(values[0])) if A is At and terms == 1 else None
        )
    if columns > 1:
        return _by_entries(A, positions, values, columns)
    if 4 * terms > d:
        return None
    if terms == 1:
        return float(values[0]) * At[int(positions[0])], 1
    return values @ At[positions], terms


def _sparse_row(A: Matrix, i: int, value: float) -> tuple[Array, int]:
    """Return a multiple of row i of a CSR matrix."""
    out, part = np.zeros(A.shape[1]), slice(A.indptr[i], A.indptr[i + 1])
    out[A.indices[part]] = value * A.data[part]
    return out, 1


def _by_entries(A: Array, positions: Array, values: Array, width: int) -> tuple[Array, int] | None:
    """Return A V for a matrix V with few entries, at most one per row and column of V or so."""
    if 4 * len(positions) > A.shape[1] * width:
        return None
    rows, columns = np.divmod(positions, width)
    out = np.zeros((A.shape[0], width))
    terms = int(np.bincount(columns).max(initial=0))
    if terms <= 1:
        out[:, columns] = A[:, rows] * values
    else:
        np.add.at(out.T, columns, (A[:, rows] * values).T)
    return out, terms
