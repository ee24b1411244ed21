"""Sums over observations, and their unbiased minibatch gradients."""

from __future__ import annotations

import copy
import operator
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import diags_array, issparse

from ..arrays import inner, like, namespace, norm, take, to_host
from ._base import Array, LinearModel
from ._matrix import as_matrix, entries, has_rows
from ._narrow import Narrow
from ._spectrum import spectral_norm_squared


class FiniteSum(LinearModel):
    r"""A loss summed over observations, :math:`f(x) = \sum_i \ell_i(\langle a_i, x\rangle)`.

    Subclasses give `row_loss_gradient` and `loss_smoothness` besides what a linear model needs.

    Parameters
    ----------
    A : array (n, d), sparse matrix or linear operator
        One row a_i per observation.
    name : str
        What the user calls ``A``.
    batch : int, optional
        Rows in the random minibatch that `minimize_composite` uses for its gradients; None for all
        of them. `minimize` always uses the whole sum.
    """

    _reached: Any = None

    def __init__(self, A: Any, name: str = "A", batch: int | None = None) -> None:
        super().__init__(A, name)
        self.batch = None if batch is None else self.check_batch(batch)

    @property
    @abstractmethod
    def loss_smoothness(self) -> float:
        """The Lipschitz constant of the gradient of the loss."""

    @abstractmethod
    def row_loss_gradient(self, z: Array, rows: Array) -> Array:
        """Return the entries ``rows`` of grad loss, z being the same entries of Ax."""

    def slopes_of(self, rows: Array) -> Callable[[Array], Array]:
        """Return z -> `row_loss_gradient` of the same rows, for many z."""
        return lambda z: self.row_loss_gradient(z, rows)

    @staticmethod
    def _of(data: Array, rows: Any) -> Array:
        """Return the data of some rows: an index array or, for all of them, a slice."""
        return data if isinstance(rows, slice) else take(data, rows)

    @property
    def n(self) -> int:
        """Number of observations."""
        return self.A.shape[0]

    @property
    def L(self) -> float:
        return self.loss_smoothness * self.spectral_norm_squared

    @cached_property
    def L1(self) -> float:
        """Lipschitz constant of the gradient from the l1 to the l_inf norm, at most L.

        An entry of the Hessian is at most loss_smoothness times the product of the norms of two
        columns of A.
        """
        if not (has_rows(self.A) or isinstance(self.A, Narrow)):
            return self.L
        return self.loss_smoothness * float(self._squares(0).max())

    @cached_property
    def row_norms_squared(self) -> Array:
        """||a_i||^2 for each row."""
        return self._squares(1)

    def _squares(self, axis: int) -> np.ndarray:
        """Return the sums of squares of columns (axis 0) or rows (axis 1), on the host."""
        if issparse(self.A):
            squares = type(self.A)((self.A.data**2, self.A.indices, self.A.indptr), self.A.shape)
            return (squares.T if axis == 0 else squares) @ np.ones(self.A.shape[axis])
        if isinstance(self.A, Narrow):
            return self.A.squares(axis)
        A = entries(self.A)
        if type(A) is np.ndarray:
            return np.einsum("ij,ij->j" if axis == 0 else "ij,ij->i", A, A)
        return np.asarray(to_host(namespace(A).sum(A * A, axis=axis)), dtype=np.float64)

    def rounding(self, dual: Array, K: Any) -> float:
        r"""Return what half-precision data may have added to a gap (Proposition K4 (c)).

        :math:`3 \gamma \sigma \|\theta\| + \beta (\gamma \sigma)^2` with
        :math:`\sigma \ge \sum_j \|A_j\| |v_j|` over K and the smoothness beta of the loss.
        """
        if not self.error:
            return 0.0
        off = self.error * self._reach(K)
        return 3.0 * off * norm(dual) + self.loss_smoothness * off * off

    def _reach(self, K: Any) -> float:
        """Return a bound on || |A| |v| || over v in K, from the norms of A's columns; kept."""
        if self._reached is None or self._reached[0] is not K:
            columns = np.sqrt(self._squares(0))
            vectors = len(K.shape) == 1
            reach = K.absolute_support(columns) if vectors else K.radius * norm(columns)
            self._reached = K, float(reach)
        return self._reached[1]

    def curvature_bound(self, g: Array) -> float:
        """Return the largest curvature that f may have along ``g``: c ||A g||^2."""
        image = self.image(g)
        return self.loss_smoothness * inner(image, image)

    def rough_smoothness(self) -> float:
        """Return L within a few per cent, for a sixth of the products that L takes."""
        return self.loss_smoothness * spectral_norm_squared(self.A, self._At, self.like, rough=True)

    def smoothness_bound(self) -> float:
        """Return a bound on L that costs no eigenvalue.

        ||A||^2 is at most the sum of all ||a_i||^2, and at most the largest of them times the
        number of entries of the fullest column: <a_i, x>^2 <= ||a_i||^2 times the sum of x_j^2 over
        the entries of row i.
        """
        bound = float(self.row_norms_squared.sum())
        if issparse(self.A):
            fullest = int(np.bincount(self.A.indices).max(initial=0))
            bound = min(bound, fullest * float(self.row_norms_squared.max()))
        return self.loss_smoothness * bound

    def row_smoothness(self, probabilities: Array | None = None) -> float:
        """Lipschitz constant of every gradient grad l_i / p_i, uniform p_i = 1/n by default."""
        largest = (
            self.row_norms_squared
            if probabilities is None
            else (self.row_norms_squared / (self.n * probabilities))
        )
        return self.n * self.loss_smoothness * float(largest.max())

    def minibatch_gradient(self, x: Array, rows: Array, weights: Array | None = None) -> Array:
        """Return the gradient at ``x`` of the weighted sum over ``rows``.

        Parameters
        ----------
        x : array
            Where.
        rows : array of int
            The observations.
        weights : array, optional
            Their weights, n / len(rows) by default: over a uniform choice of rows the mean is then
            grad f(x).
        """
        if self.checked:
            rows = like(rows, self.like)
            part = take(entries(self.A), rows)
        else:
            part = self.A[rows]
        slopes = self.row_loss_gradient(part @ x, rows)
        if weights is None:
            return part.T @ ((self.n / rows.shape[0]) * slopes)
        weights = like(weights.reshape(-1, *(1,) * (slopes.ndim - 1)), slopes)
        return part.T @ (weights * slopes)

    def scaled(self, scales: Array) -> Any:
        """Return the objective u -> f(scales * u): column j of A times scales[j]."""
        self._need_columns()
        other = copy.copy(self)
        for name in ("spectral_norm_squared", "L", "L1", "row_norms_squared"):
            vars(other).pop(name, None)
        scaled = self.A @ diags_array(scales) if issparse(self.A) else None
        if scaled is None:
            scaled = entries(self.A) * like(scales, self.like)
        other.A, other._At = as_matrix(scaled, self._name)
        return other

    def column_scales(self) -> Array:
        """Return 1 / (root mean square) of each column of A, 1 for columns of zeros."""
        self._need_columns()
        size = np.sqrt(self._squares(0) / self.n)
        return 1.0 / np.where(size > 0, size, 1.0)

    def _need_columns(self) -> None:
        if not has_rows(self.A):
            raise TypeError("scale needs columns: pass a matrix (dense or sparse), not an operator")

    def check_batch(self, batch: Any) -> int:
        """Return ``batch`` as an integer between 1 and n, or explain what is wrong."""
        try:
            size = operator.index(batch)
        except TypeError:
            raise TypeError(f"batch must be an integer, found {batch!r}") from None
        if isinstance(batch, bool):
            raise TypeError(f"batch must be an integer, found {batch!r}")
        if not 1 <= size <= self.n:
            raise ValueError(
                f"batch must be between 1 and the {self.n} observations, found {batch}"
            )
        if not has_rows(self.A):
            raise TypeError("batch needs rows: pass a matrix (dense or sparse), not an operator")
        return size


def reduction_weight(reduction: str, n: int) -> float:
    """Return the factor of a sum over n observations: 1/n for "mean", 1 for "sum"."""
    if reduction not in ("mean", "sum"):
        raise ValueError(f"reduction must be 'mean' or 'sum', found {reduction!r}")
    return 1.0 / n if reduction == "mean" else 1.0
