"""Losses whose observations count more or less."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy.sparse import diags_array, issparse

from ..arrays import Array, inner
from ._base import as_data
from ._matrix import Sizes, entries, has_rows, squares
from ._spectrum import spectral_norm_squared
from .finite_sum import FiniteSum, RowLoss


class Weighted(FiniteSum):
    r"""A loss with weights of rows, :math:`f(x) = c \sum_i s_i \phi_i(\langle a_i, x\rangle)`.

    Weights of mean 1 keep the scale of the loss; an integer weight is that many copies of its row.

    Parameters
    ----------
    objective : RowLoss
        The loss with c = 1/n or 1 and :math:`s_i = 1`: `Logistic`, `Multinomial`, `Huber`,
        `SquaredHinge`, `Poisson` or `Quantile`. Rows of `LeastSquares` are weighted by multiplying
        a_i and b_i with :math:`\sqrt{s_i}`.
    weights : array (n,)
        The numbers s_i >= 0, not all of them 0.

    Notes
    -----
    Smoothness constants are those of the rows :math:`\sqrt{s_i}\, a_i`, so that importance sampling
    draws heavy rows more often. The conjugate is that of each phi_i, scaled.

    Examples
    --------
    >>> import numpy as np
    >>> from wolfpack.objectives import Huber
    >>> f = Weighted(Huber(np.eye(2), np.zeros(2)), [0.0, 2.0])
    >>> f.value_and_gradient(np.array([5.0, 0.5]))
    (0.125, array([0. , 0.5]))
    """

    def __init__(self, objective: RowLoss, weights: Array) -> None:
        if not isinstance(objective, RowLoss):
            raise TypeError(
                "objective must be a loss of rows (Logistic, Multinomial, Huber, SquaredHinge, "
                f"Poisson, Quantile), found {type(objective).__name__}"
            )
        if objective.checked or not has_rows(objective.A):
            raise TypeError("weights need features in a NumPy array or a SciPy matrix")
        for name in ("A", "_At", "_name", "like", "checked", "shape", "batch", "n"):
            setattr(self, name, getattr(objective, name))
        self.base = objective
        self.weights = as_data(weights, "weights")
        if self.weights.shape != (self.n,):
            raise ValueError(f"weights must have shape ({self.n},), found {self.weights.shape}")
        if self.weights.min() < 0 or self.weights.max() == 0:
            raise ValueError(
                "weights must be at least 0 and not all of them 0, found weights from "
                f"{self.weights.min():g} to {self.weights.max():g}"
            )
        assert objective.shape is not None
        self._column = self.weights.reshape(-1, *(1,) * (len(objective.shape) - 1))

    @property
    def loss_smoothness(self) -> float:
        return self.base.loss_smoothness

    @property
    def joint_outputs(self) -> bool:
        return self.base.joint_outputs

    @cached_property
    def L(self) -> float | None:
        if self.base.L is None:
            return None
        root = np.sqrt(self.weights)  # L is that of the rows sqrt(s_i) a_i
        if issparse(self.A):
            rooted = (diags_array(root) @ self.A).tocsr()
        else:
            rooted = entries(self.A) * root[:, None]
        return self.loss_smoothness * spectral_norm_squared(rooted, rooted.T, self.like)

    @cached_property
    def L1(self) -> float | None:
        if self.base.L1 is None:
            return None
        squared = self.A.multiply(self.A) if issparse(self.A) else entries(self.A) ** 2
        return self.loss_smoothness * float((squared.T @ self.weights).max())

    def remark(self, x: Array) -> str:
        return self.base.remark(x)

    def curvature_bound(self, g: Array) -> float:
        image = self.image(g)
        return self.loss_smoothness * inner(self._column * image, image)

    def rough_smoothness(self) -> float:
        return math.inf if self.L is None else self.L

    @cached_property
    def row_norms_squared(self) -> Array:
        """s_i ||a_i||^2 for each row."""
        return self.weights * squares(self.A, 1)

    def loss(self, z: Array) -> tuple[float, Array]:
        values, slopes = self.base.unit(z, slice(None))
        return self._total(values), self.base.weight * self._column * slopes

    def conjugate_bound(self, dual: Array) -> float:
        scale = self.base.weight * np.where(self._column > 0, self._column, 1.0)
        return self._total(self.base.unit_conjugate(dual / scale))

    def conjugate_and_error(self, dual: Array, length: float, sizes: Sizes) -> tuple[float, float]:
        scale = self.base.weight * np.where(self._column > 0, self._column, 1.0)
        values = self.base.unit_conjugate(dual / scale)
        reach = sizes.reach + self.base.target_norm
        size = self._total(abs(values)) + length * reach + sizes.offset
        return self._total(values), sizes.terms * size

    @property
    def offset_size(self) -> float:
        return float(self.weights.max()) * self.base.offset_size

    @property
    def has_curvatures(self) -> bool:
        return self.base.has_curvatures

    def curvatures(self, dual: Array) -> Array | None:
        scale = self.base.weight * np.where(self._column > 0, self._column, 1.0)
        found = self.base.unit_curvature(dual / scale)
        if found is None:
            return None
        return self.base.weight * self.weights.reshape(-1, *(1,) * (found.ndim - 1)) * found

    def _total(self, values: Array) -> float:
        column = self.weights.reshape(-1, *(1,) * (values.ndim - 1))
        return self.base.weight * float((column * values).sum(dtype=np.float64))

    def row_loss_gradient(self, z: Array, rows: Array) -> Array:
        return self._column[rows] * self.base.row_loss_gradient(z, rows)
