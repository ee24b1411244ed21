"""Sums over observations, and their unbiased minibatch gradients."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
from scipy.sparse import diags_array, issparse

from ..arrays import (
    Array,
    as_float_array,
    as_plain,
    check_finite,
    device_sum,
    fetch,
    inner,
    is_foreign,
    like,
    norm,
    row_norms,
    sum_last,
    take,
    to_host,
)
from ..problem.checks import choice, count, shown
from ..problem.stacked import length_of
from ._base import LinearModel
from ._matrix import Matrix, Sizes, as_matrix, entries, has_rows, squares
from ._narrow import Narrow
from ._second_order import Block, hessian_blocks, hessian_passes
from ._spectrum import spectral_norm_squared


class FiniteSum(LinearModel):
    r"""A loss summed over observations, :math:`f(x) = \sum_i \ell_i(\langle a_i, x\rangle)`.

    A subclass defines `row_loss_gradient` and `loss_smoothness` besides what a `LinearModel` needs.
    Most losses are a `RowLoss`, which needs less.

    Parameters
    ----------
    A : array (n, d), sparse matrix or linear operator
        One row a_i per observation; error messages call it ``name``.
    batch : int, optional
        Rows in the random minibatches from which `minimize` and `minimize_composite` take their
        gradients; None for all rows.
    """

    row_data: ClassVar[str] = ""
    """The argument and attribute with one entry per observation, where losses of many problems can
    be computed at once (`stacked_loss`)."""
    columns_allowed: ClassVar[bool] = False
    """Whether those data may be a matrix (n, q), for q losses that are added up."""

    @classmethod
    def varying_arguments(cls, arguments: dict[str, Any]) -> tuple[str, ...]:
        found = super().varying_arguments(arguments)
        if found == (cls.row_data,) and cls.columns_allowed:
            matrix, data = (arguments[name] for name in cls.stack_axes)
            if length_of(data) == length_of(matrix):
                return ()  # of shape (n, q), for a matrix x
        return found

    def stacked_loss(self, z: Array) -> tuple[Array, Array]:
        """Return losses and their gradients for the rows of ``z``, one problem per row."""
        raise NotImplementedError

    def stacked_conjugate(self, theta: Array, reach: Array) -> tuple[Array, Array]:
        """Return loss* of each row, and the sums of the sizes of the terms that it adds up.

        ``reach`` bounds the norms of A x (see `conjugate_and_error`).
        """
        raise NotImplementedError

    def __init__(self, A: Matrix, name: str = "A", batch: int | None = None) -> None:
        super().__init__(A, name)
        self.n = self.A.shape[0]
        self.batch = None if batch is None else self.check_batch(batch)

    random: bool = cast(
        "bool",
        property(
            lambda self: self.batch is not None and self.batch < self.n,
            doc="Whether gradients are to come from minibatches.",
        ),
    )

    @property
    @abstractmethod
    def loss_smoothness(self) -> float:
        """The Lipschitz constant of the gradient of the loss."""

    @abstractmethod
    def row_loss_gradient(self, z: Array, rows: Array) -> Array:
        """Return the entries ``rows`` of grad loss, where z holds the same entries of Ax."""

    quadratic: ClassVar[bool] = False
    """Whether `curvatures` are the same everywhere."""

    joint_outputs: bool = False
    """Whether the loss of a row mixes its outputs, so that `curvatures` are matrices."""

    def curvatures(self, dual: Array) -> Array | None:
        """Return the second derivatives of the loss where ``dual`` is its gradient, else None.

        They have the shape of Ax; or (n, q, q), a matrix for each row of Ax.
        """
        return None

    @property
    def has_curvatures(self) -> bool:
        """Whether `curvatures` is known."""
        return type(self).curvatures is not FiniteSum.curvatures

    def hessian_blocks(self, dual: Array, free: Array) -> list[Block] | None:
        return None if is_foreign(dual) else hessian_blocks(self, dual, free)

    def hessian_passes(self, free: Array) -> float:
        return math.inf if is_foreign(self.like) else hessian_passes(self, free)

    def slopes_of(self, rows: Array) -> Callable[[Array], Array]:
        """Return the function z -> `row_loss_gradient` of fixed rows, for repeated calls."""
        return lambda z: self.row_loss_gradient(z, rows)

    @staticmethod
    def _of(data: Array, rows: Array | slice) -> Array:
        """Return the data of some rows: an index array or, for all of them, a slice."""
        return data if isinstance(rows, slice) else take(data, rows)

    @property
    def L(self) -> float:
        return self.loss_smoothness * self.spectral_norm_squared

    @cached_property
    def L1(self) -> float | None:  # at most L
        # each entry of the Hessian is at most loss_smoothness times the norms of two columns of A
        if not (has_rows(self.A) or isinstance(self.A, Narrow)):
            return self.L
        return self.loss_smoothness * float(squares(self.A, 0).max())

    @cached_property
    def column_counts(self) -> Array:
        """The number of entries of each column of a sparse A."""
        return np.bincount(self.A.indices, minlength=self.A.shape[1])

    @cached_property
    def row_norms_squared(self) -> Array:
        """||a_i||^2 for each row."""
        return squares(self.A, 1)

    def curvature_bound(self, g: Array) -> float:
        image = self.image(g)
        return self.loss_smoothness * inner(image, image)

    def rough_smoothness(self) -> float:
        """Return L within a few per cent, with a sixth of the products that L needs."""
        return self.loss_smoothness * spectral_norm_squared(self.A, self._At, self.like, rough=True)

    def smoothness_bound(self) -> float:
        """Return an upper bound on L without computing an eigenvalue.

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
        """Return the largest Lipschitz constant of grad l_i / p_i, with p_i = 1/n by default."""
        norms = self.row_norms_squared
        if probabilities is not None:
            norms = norms / (self.n * probabilities)
        return self.n * self.loss_smoothness * float(norms.max())

    def minibatch_gradient(self, x: Array, rows: Array, weights: Array | None = None) -> Array:
        """Return the gradient at ``x`` of the weighted sum over ``rows``.

        The weights are n / len(rows) by default: with rows chosen uniformly, the mean of the
        result is then grad f(x).
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

    def scaled(self, scales: Array) -> Self:
        """Return the objective u -> f(scales * u): column j of A times scales[j]."""
        self._need_rows("scale", "columns")
        other = copy.copy(self)
        names = (
            "spectral_norm_squared",
            "L",
            "L1",
            "row_norms_squared",
            "_known_sizes",
            "_carrier",
        )
        for name in names:
            vars(other).pop(name, None)
        if issparse(self.A):
            scaled = self.A @ diags_array(scales)
        else:
            scaled = entries(self.A) * like(scales, self.like)
        other.A, other._At = as_matrix(scaled, self._name)
        return other

    def column_scales(self) -> Array:
        """Return 1 / (root mean square) of each column of A, 1 for columns of zeros."""
        self._need_rows("scale", "columns")
        size = np.sqrt(squares(self.A, 0) / self.n)
        return 1.0 / np.where(size > 0, size, 1.0)

    @property
    def stored_entries(self) -> int | None:
        """The number of entries of A that a pass reads, None for operators."""
        if not has_rows(self.A):
            return None
        return int(self.A.nnz) if issparse(self.A) else self.A.shape[0] * self.A.shape[1]

    def even_scales(self, mu: float) -> Array | None:
        r"""Return powers of 2 near :math:`1/\sqrt{h_j + \mu}`, None where one is not finite.

        :math:`h_j` bounds the second derivative of f along the coefficient of column j.
        """
        curvatures = self.loss_smoothness * squares(self.A, 0).astype(np.float64) + mu
        if not np.isfinite(curvatures).all():
            return None
        return np.exp2(-np.round(0.5 * np.log2(curvatures)))

    def check_batch(self, batch: int) -> int:
        """Return ``batch`` as an integer between 1 and n, or explain what is wrong."""
        size = count(batch, "batch")
        if size > self.n:
            raise ValueError(
                f"batch must be between 1 and the {self.n} observations, found {shown(size)}"
            )
        self._need_rows("batch", "rows")
        return size

    def _need_rows(self, option: str, needed: str) -> None:
        if not has_rows(self.A):
            raise TypeError(
                f"{option} needs {needed}: pass a matrix (dense or sparse), not an operator"
            )


def reduction_weight(reduction: str, n: int) -> float:
    """Return the factor of a sum over n observations: 1/n for "mean", 1 for "sum"."""
    return 1.0 / n if choice("mean", "sum")(reduction, "reduction") == "mean" else 1.0


class RowLoss(FiniteSum):
    r""":math:`f(x) = c \sum_i \phi_i(\langle a_i, x\rangle)` with c = 1/n ("mean") or 1 ("sum").

    A subclass defines `unit`, `unit_conjugate` and `unit_smoothness`, all for one phi_i. The
    parameters are those of `wolfpack.objectives.Logistic`.
    """

    unit_smoothness: float  # the Lipschitz constant of the derivatives of all phi_i

    def __init__(self, features: Matrix, reduction: str = "mean", batch: int | None = None) -> None:
        super().__init__(features, "features", batch)
        self.reduction = reduction
        self.weight = reduction_weight(reduction, self.n)
        self.shape = (self.A.shape[1],)

    @abstractmethod
    def unit(self, z: Array, rows: Array | slice) -> tuple[Array, Array]:
        """Return phi_i(z_i) and its derivatives for the given rows (an index array or slice)."""

    @abstractmethod
    def unit_conjugate(self, theta: Array) -> Array:
        """Return phi_i*(theta_i) for all rows, theta clipped to the domain of phi_i*."""

    def unit_curvature(self, slopes: Array) -> Array | None:
        """Return the second derivatives of all phi_i, from their derivatives, None if unknown."""
        return None

    @property
    def has_curvatures(self) -> bool:
        return type(self).unit_curvature is not RowLoss.unit_curvature

    def curvatures(self, dual: Array) -> Array | None:
        found = self.unit_curvature(dual / self.weight)
        return None if found is None else self.weight * found

    @property
    def loss_smoothness(self) -> float:
        return self.unit_smoothness * self.weight

    def loss(self, z: Array) -> tuple[float, Array]:
        values, slopes = self.unit(z, slice(None))
        if type(values) is np.ndarray:
            return self.weight * float(values.sum(dtype=np.float64)), self.weight * slopes
        return self.weight * device_sum(values), self.weight * slopes

    def conjugate_bound(self, dual: Array) -> float:
        values = self.unit_conjugate(dual / self.weight)
        if type(values) is np.ndarray:
            return self.weight * float(values.sum(dtype=np.float64))
        return self.weight * fetch(device_sum(values))[0]

    def conjugate_and_error(self, dual: Array, length: float, sizes: Sizes) -> tuple[float, float]:
        values = self.unit_conjugate(dual / self.weight)
        if type(values) is np.ndarray:
            number, size = values.sum(dtype=np.float64), abs(values).sum(dtype=np.float64)
        else:
            number, size = fetch(device_sum(values), device_sum(abs(values)))
        # the division by the weight and the clipping move theta by a few rounding units
        size = self.weight * float(size) + length * (sizes.reach + self.target_norm) + sizes.offset
        return self.weight * float(number), sizes.terms * size

    def stacked_loss(self, z: Array) -> tuple[Array, Array]:
        values, slopes = self.unit(z, slice(None))
        return self.weight * sum_last(values, 1), self.weight * slopes

    def stacked_conjugate(self, theta: Array, reach: Array) -> tuple[Array, Array]:
        values = self.unit_conjugate(theta / self.weight)
        length = row_norms(theta)
        targets = 0.0 * length
        if self.row_data != "labels":
            targets = row_norms(getattr(self, self.row_data))
        sizes = self.weight * sum_last(abs(values), 1) + length * (reach + targets)
        return self.weight * sum_last(values, 1), sizes

    target_norm: float = 0.0  # the norm of the targets, where the loss has numbers as targets

    @property
    def offset_size(self) -> float:
        return self.weight * self.target_norm

    def row_loss_gradient(self, z: Array, rows: Array) -> Array:
        return self.weight * self.unit(z, rows)[1]

    def _targets(self, targets: Array, name: str = "targets") -> Array:
        """Return n finite real numbers on the device of the features."""
        array = self._data(targets, name)
        if tuple(array.shape) != (self.n,):
            raise ValueError(f"{name} must have shape ({self.n},), found {tuple(array.shape)}")
        self.target_norm = norm(array)
        return array

    def _host_labels(self, labels: Array) -> np.ndarray:
        """Return labels on the host, after checking that they came from the features' device."""
        if is_foreign(labels) or (self.checked and isinstance(labels, np.ndarray)):
            self._data(labels[:0, ...], "labels")
        return np.asarray(to_host(labels)) if is_foreign(labels) else as_plain(labels, "labels")

    def _beside_features(self, labels: np.ndarray) -> Array:
        """Return labels from the host on the device of the features."""
        return labels if self.like is None else like(labels, self.like)


class SignLoss(RowLoss):
    """A loss of labels -1/+1, given as such or as 0/1, of shape (n,) or (n, q)."""

    stack_axes: ClassVar[dict[str, int]] = {"features": 2, "labels": 1}
    row_data = "labels"
    columns_allowed = True

    def __init__(
        self, features: Matrix, labels: Array, reduction: str = "mean", batch: int | None = None
    ) -> None:
        super().__init__(features, reduction, batch)
        self.labels = self._beside_features(_as_signs(self._host_labels(labels), self.n))
        self.shape = (self.A.shape[1], *self.labels.shape[1:])


def _as_signs(labels: np.ndarray, n: int) -> Array:
    """Return labels -1/+1 from -1/+1 or 0/1, of shape (n,) or (n, q)."""
    if labels.ndim not in (1, 2) or len(labels) != n:
        raise ValueError(f"labels must have shape ({n},) or ({n}, q), found {labels.shape}")
    if labels.dtype.kind not in "iufb":
        raise ValueError(f"labels must be -1/+1 or 0/1, found dtype {labels.dtype}")
    labels = check_finite(as_float_array(labels, "labels"), "labels").astype(np.float64)
    classes = set(np.unique(labels).tolist())
    if classes <= {-1.0, 1.0}:
        return labels
    if classes <= {0.0, 1.0}:
        return 2.0 * labels - 1.0
    raise ValueError(f"labels must be -1/+1 or 0/1, found {sorted(classes)[:6]}")
