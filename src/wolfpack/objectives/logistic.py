"""Logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, xlogy

from ..arrays import check_finite
from ._base import Array
from .finite_sum import FiniteSum


class Logistic(FiniteSum):
    r"""Logistic loss, :math:`f(x) = \frac1n \sum_i \log(1 + e^{-b_i \langle a_i, x\rangle})`.

    Parameters
    ----------
    features : array (n, d), sparse matrix or linear operator
        One row a_i per observation.
    labels : array (n,)
        Classes, as -1/+1 or as 0/1.
    reduction : {"mean", "sum"}
        Divide by n or not.
    batch : int, optional
        Size of the random minibatch that `minimize_composite` uses for its gradients; `minimize`
        uses the whole sum.

    Notes
    -----
    :math:`L = \|A\|_2^2 / (4n)`. The conjugate of the loss is the negative binary entropy, finite
    exactly where every gradient of the loss lives.
    """

    def __init__(
        self, features: Any, labels: Any, reduction: str = "mean", batch: int | None = None
    ) -> None:
        super().__init__(features, "features", batch)
        n, d = self.A.shape
        if reduction not in ("mean", "sum"):
            raise ValueError(f"reduction must be 'mean' or 'sum', found {reduction!r}")
        self.labels = _signs(labels, n)
        self.reduction = reduction
        self.weight = 1.0 / n if reduction == "mean" else 1.0
        self.shape = (d,)

    @property
    def loss_smoothness(self) -> float:
        return 0.25 * self.weight

    def loss(self, z: Array) -> tuple[float, Array]:
        margins = self.labels * z
        value = self.weight * float(np.logaddexp(0.0, -margins).sum())
        return value, (-self.weight) * self.labels * expit(-margins)

    def loss_conjugate(self, theta: Array) -> float:
        # theta_i = -w b_i p with p in [0, 1]: the conjugate is w (p log p + (1-p) log(1-p))
        p = np.clip(-self.labels * theta / self.weight, 0.0, 1.0)
        return self.weight * float((xlogy(p, p) + xlogy(1.0 - p, 1.0 - p)).sum())

    def row_loss_gradient(self, z: Array, rows: Array) -> Array:
        labels = self.labels[rows]
        return (-self.weight) * labels * expit(-labels * z)


def _signs(labels: Any, n: int) -> Array:
    labels = np.asarray(labels)
    if labels.shape != (n,):
        raise ValueError(f"labels must have shape ({n},), found {labels.shape}")
    labels = check_finite(labels.astype(np.float64), "labels")
    classes = set(np.unique(labels).tolist())
    if classes <= {-1.0, 1.0}:
        return labels
    if classes <= {0.0, 1.0}:
        return 2.0 * labels - 1.0
    raise ValueError(f"labels must be -1/+1 or 0/1, found {sorted(classes)[:6]}")
