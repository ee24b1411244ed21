"""Losses of labels: logistic, squared hinge and multinomial."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from ..arrays import (
    Array,
    as_float_array,
    check_finite,
    clip,
    expit,
    logsumexp_rows,
    namespace,
    softplus,
    xlogy,
)
from ..problem.checks import optional, whole
from ._matrix import Matrix
from .finite_sum import RowLoss, SignLoss


class Logistic(SignLoss):
    r"""Logistic loss, :math:`f(x) = \frac1n \sum_i \log(1 + e^{-b_i \langle a_i, x\rangle})`.

    Parameters
    ----------
    features : array (n, d), sparse matrix or linear operator
        One row a_i per observation.
    labels : array (n,) or (n, q)
        Classes, as -1/+1 or as 0/1; with (n, q), x is a (d, q) matrix and q losses are added up.
    reduction : {"mean", "sum"}
        Divide by n or not.
    batch : int, optional
        Rows in the random minibatches from which `minimize` and `minimize_composite` take their
        gradients; None for all rows.

    Notes
    -----
    :math:`L = \|A\|_2^2 / (4n)`. The conjugate of the loss is the negative binary entropy, and
    its domain is the range of the gradients of the loss.
    """

    unit_smoothness = 0.25

    def unit(self, z: Array, rows: Array | slice) -> tuple[Array, Array]:
        labels = self._of(self.labels, rows)
        margins = labels * z
        if type(margins) is not np.ndarray:
            return softplus(-margins), -labels * expit(-margins)
        small = np.exp(-abs(margins))  # one exponential for value and slope
        slopes = -labels * np.where(margins < 0.0, 1.0, small) / (1.0 + small)
        return np.log1p(small) - np.minimum(0.0, margins), slopes

    def row_loss_gradient(self, z: Array, rows: Array) -> Array:
        return self.slopes_of(rows)(z)

    def slopes_of(self, rows: Array) -> Callable[[Array], Array]:
        against = -self._of(self.labels, rows)
        scaled = self.weight * against
        return lambda z: scaled * expit(against * z)

    def unit_curvature(self, slopes: Array) -> Array:
        return abs(slopes) * (1.0 - abs(slopes))

    def unit_conjugate(self, theta: Array) -> Array:
        # theta_i = -b_i p with p in [0, 1]: the conjugate is p log p + (1-p) log(1-p)
        p = clip(-self.labels * theta, 0.0, 1.0)
        return xlogy(p, p) + xlogy(1.0 - p, 1.0 - p)


class SquaredHinge(SignLoss):
    r"""Squared hinge, :math:`f(x) = \frac1{2n} \sum_i \max(0, 1 - b_i \langle a_i, x\rangle)^2`.

    Parameters
    ----------
    features, labels, reduction, batch
        As for `Logistic`.

    Notes
    -----
    :math:`L = \|A\|_2^2 / n`. In terms of the margin the conjugate is :math:`u + u^2/2`, u <= 0.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredHinge(np.eye(2), [1, 0]).value(np.zeros(2))
    0.5
    """

    unit_smoothness = 1.0

    def unit(self, z: Array, rows: Array | slice) -> tuple[Array, Array]:
        labels = self._of(self.labels, rows)
        short = clip(1.0 - labels * z, 0.0, None)
        return 0.5 * short * short, -labels * short

    def unit_curvature(self, slopes: Array) -> Array:
        return 1.0 * (abs(slopes) > 0.0)

    def unit_conjugate(self, theta: Array) -> Array:
        u = clip(self.labels * theta, None, 0.0)
        return u * (1.0 + 0.5 * u)


class Multinomial(RowLoss):
    r"""Cross-entropy of a softmax, :math:`f(X) = \frac1n \sum_i \bigl(\log \sum_c e^{\langle a_i,
    x_c\rangle} - \langle a_i, x_{b_i}\rangle\bigr)`.

    X is a (d, q) matrix, one column per class.

    Parameters
    ----------
    features, reduction, batch
        As for `Logistic`.
    labels : array (n,) of int
        Classes 0, ..., q-1.
    classes : int, optional
        The number q; 1 + the largest label by default.

    Notes
    -----
    The Hessian of log-sum-exp is at most 1/2, so :math:`L = \|A\|_2^2 / (2n)`. The conjugate of the
    loss is the negative entropy of the predicted probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> f = Multinomial(np.eye(2), [0, 2], classes=3)
    >>> f.value(np.zeros((2, 3))) == np.log(3)
    np.True_
    """

    unit_smoothness = 0.5
    joint_outputs = True
    stack_axes: ClassVar[dict[str, int]] = {"features": 2, "labels": 1}

    def __init__(
        self,
        features: Matrix,
        labels: Array,
        classes: int | None = None,
        reduction: str = "mean",
        batch: int | None = None,
    ) -> None:
        super().__init__(features, reduction, batch)
        classes = optional(whole(2, 2**24))(classes, "classes")
        numbers = _class_numbers(self._host_labels(labels), self.n, classes)
        self.classes = int(numbers.max()) + 1 if classes is None else classes
        if self.classes < 2:
            raise ValueError(f"labels must have at least 2 classes, found {self.classes}")
        self.shape = (self.A.shape[1], self.classes)
        self.labels = numbers
        # the labels as rows of the identity, where single entries cannot be written
        self._chosen = (
            self._beside_features(np.eye(self.classes)[numbers]) if self.checked else None
        )

    @property
    def offset_size(self) -> float:
        # theta_i + e_{b_i} is computed up to a rounding unit, and so is its sum, which must be 1
        return self.weight * math.sqrt(2.0 * self.n)

    def unit(self, z: Array, rows: Array | slice) -> tuple[Array, Array]:
        level = logsumexp_rows(z)
        if self._chosen is not None:
            xp, chosen = namespace(z), self._of(self._chosen, rows)
            return level[:, 0] - xp.sum(z * chosen, axis=1), xp.exp(z - level) - chosen
        labels = self.labels[rows]
        at = np.arange(len(labels)), labels
        slopes = np.exp(z - level)
        values = level[:, 0] - z[at]
        slopes[at] -= 1.0
        return values, slopes

    def unit_curvature(self, slopes: Array) -> Array | None:
        if self._chosen is not None:
            return None
        p = slopes.copy()
        p[np.arange(self.n), self.labels] += 1.0
        return p[:, :, None] * (np.eye(self.classes) - p[:, None, :])

    def unit_conjugate(self, theta: Array) -> Array:
        # theta_i = p - e_{b_i} with p on the simplex: the conjugate is sum p log p
        if self._chosen is None:
            p = theta.copy()
            p[np.arange(self.n), self.labels] += 1.0
        else:
            p = theta + self._chosen
        p = clip(p, 0.0, None)
        return xlogy(p, p / namespace(p).sum(p, axis=1, keepdims=True))


def _class_numbers(labels: np.ndarray, n: int, classes: int | None) -> Array:
    if labels.shape != (n,):
        raise ValueError(f"labels must have shape ({n},), found {labels.shape}")
    if labels.dtype.kind == "f":
        labels = check_finite(as_float_array(labels, "labels"), "labels")
    numbers = labels.astype(np.intp) if labels.dtype.kind in "iufb" else None
    if numbers is None or not np.array_equal(numbers, labels):
        raise ValueError(f"labels must be the integers 0, ..., q-1, found {labels[:4].tolist()}...")
    top = numbers.max() if classes is None else classes - 1
    if numbers.min() < 0 or numbers.max() > top:
        raise ValueError(
            f"labels must be between 0 and {top}, found {numbers.min()} to {numbers.max()}"
        )
    return numbers
