"""Losses that are a mean or a sum of one function of each row's prediction."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ..arrays import check_finite, device_sum, fetch, is_foreign, like, to_host
from ._base import Array
from .finite_sum import FiniteSum, reduction_weight


class RowLoss(FiniteSum):
    r""":math:`f(x) = c \sum_i \phi_i(\langle a_i, x\rangle)` with c = 1/n ("mean") or 1 ("sum").

    Subclasses give `unit`, `unit_conjugate` and `unit_smoothness`, all for one phi_i.

    Parameters
    ----------
    features : array (n, d), sparse matrix or linear operator
        One row a_i per observation.
    reduction : {"mean", "sum"}
        Divide by n or not.
    batch : int, optional
        As for `FiniteSum`.
    """

    unit_smoothness: float

    def __init__(self, features: Any, reduction: str = "mean", batch: int | None = None) -> None:
        super().__init__(features, "features", batch)
        self.reduction = reduction
        self.weight = reduction_weight(reduction, self.n)
        self.shape = (self.A.shape[1],)

    @abstractmethod
    def unit(self, z: Array, rows: Any) -> tuple[Array, Array]:
        """Return phi_i(z_i) and its derivatives for the given rows (an index array or slice)."""

    def unit_value(self, z: Array) -> Array:
        """Return phi_i(z_i) for all rows."""
        return self.unit(z, slice(None))[0]

    @abstractmethod
    def unit_conjugate(self, theta: Array) -> Array:
        """Return phi_i*(theta_i) for all rows, theta clipped to the domain of phi_i*."""

    @property
    def loss_smoothness(self) -> float:
        return self.unit_smoothness * self.weight

    def loss(self, z: Array) -> tuple[float, Array]:
        values, slopes = self.unit(z, slice(None))
        return self._total(values), self.weight * slopes

    def image_value(self, z: Array) -> float:
        return fetch(self._total(self.unit_value(z)))[0]

    def _total(self, values: Array) -> Any:
        """Return the weighted sum, where the values are."""
        if type(values) is np.ndarray:
            return self.weight * float(values.sum(dtype=np.float64))
        return self.weight * device_sum(values)

    def loss_conjugate(self, theta: Array) -> float:
        values = self.unit_conjugate(theta / self.weight)
        if type(values) is np.ndarray:
            return self.weight * float(values.sum(dtype=np.float64))
        return self.weight * fetch(device_sum(values))[0]

    def row_loss_gradient(self, z: Array, rows: Array) -> Array:
        return self.weight * self.unit(z, rows)[1]

    def _targets(self, targets: Any, name: str = "targets") -> Array:
        """Return n finite real numbers where the features are, or explain what is wrong."""
        array = self._data(targets, name)
        if tuple(array.shape) != (self.n,):
            raise ValueError(f"{name} must have shape ({self.n},), found {tuple(array.shape)}")
        return array

    def _signs(self, labels: Any) -> Array:
        """Return labels -1/+1 where the features are, from -1/+1 or 0/1."""
        return self._there(as_signs(self._here(labels), self.n))

    def _here(self, labels: Any) -> np.ndarray:
        """Return labels on the host, after a look at where they came from."""
        if is_foreign(labels) or (self.checked and isinstance(labels, np.ndarray)):
            self._data(labels[:0, ...], "labels")
        return np.asarray(to_host(labels))

    def _there(self, labels: np.ndarray) -> Array:
        """Return labels from the host where the features are."""
        return labels if self.like is None else like(labels, self.like)


def as_signs(labels: np.ndarray, n: int) -> Array:
    """Return labels -1/+1 from -1/+1 or 0/1, of shape (n,) or (n, q)."""
    if labels.ndim not in (1, 2) or len(labels) != n:
        raise ValueError(f"labels must have shape ({n},) or ({n}, q), found {labels.shape}")
    if labels.dtype.kind not in "iufb":
        raise ValueError(f"labels must be -1/+1 or 0/1, found dtype {labels.dtype}")
    labels = check_finite(labels.astype(np.float64), "labels")
    classes = set(np.unique(labels).tolist())
    if classes <= {-1.0, 1.0}:
        return labels
    if classes <= {0.0, 1.0}:
        return 2.0 * labels - 1.0
    raise ValueError(f"labels must be -1/+1 or 0/1, found {sorted(classes)[:6]}")
