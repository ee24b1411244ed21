"""Sums over observations, and their unbiased minibatch gradients."""

from __future__ import annotations

import operator
from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from ._base import Array, LinearModel


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
        if isinstance(self.A, LinearOperator):
            return self.L
        squares = self.A.multiply(self.A) if issparse(self.A) else self.A * self.A
        return self.loss_smoothness * float(squares.sum(axis=0).max())

    def minibatch_gradient(self, x: Array, rows: Array) -> Array:
        """Return the gradient at ``x`` of the sum over ``rows``, times n/len(rows).

        Over a uniform choice of rows its mean is grad f(x).
        """
        part = self.A[rows]
        return part.T @ ((self.n / len(rows)) * self.row_loss_gradient(part @ x, rows))

    def check_batch(self, batch: Any) -> int:
        """Return ``batch`` as an integer between 1 and n, or explain what is wrong."""
        try:
            size = operator.index(batch)
        except TypeError:
            raise TypeError(f"batch must be an integer, found {batch!r}") from None
        if not 1 <= size <= self.n:
            raise ValueError(
                f"batch must be between 1 and the {self.n} observations, found {batch}"
            )
        if isinstance(self.A, LinearOperator):
            raise TypeError("batch needs rows: pass a matrix (dense or sparse), not an operator")
        return size


def draw_rows(n: int, batch: int, rng: np.random.Generator) -> Array:
    """Return ``batch`` of n rows, uniform without replacement."""
    return rng.choice(n, batch, replace=False, shuffle=False)
