"""Missing entries from a matrix of small trace norm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..arrays import ArgumentError, Array
from ..objectives import Function
from ..problem.checks import count, optional, positive
from ..sets import TraceNormBall
from ._common import FLOATS, FittedByMinimize, RandomState, check_parameters, checked_data


@dataclass(eq=False, repr=False)
class MatrixCompletion(FittedByMinimize, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Fill in missing entries (NaN): :math:`\min \frac12 \sum_{\text{seen}} (Z_{ij} - X_{ij})^2`
    over :math:`\|Z\|_* \le r`, columns centred.

    Parameters
    ----------
    radius : float, optional
        The bound r on the sum of the singular values; by default sqrt(``rank``) times the estimated
        Frobenius norm of the whole matrix, which every matrix of that rank satisfies.
    rank : int
        The rank guessed for the default radius, and the most singular vectors that are kept.
    tol : float
        Stop when the certified gap is at most ``tol`` times the loss of a zero matrix.
    max_iter, random_state
        As for `SimplexRegressor`.

    Attributes
    ----------
    components_ : array (k, d)
        Right singular vectors of the fitted matrix, times their singular values / sqrt(n): the
        rows from which missing entries are filled in.
    mean_ : array (d,)
        Means of the entries seen in each column.
    completed_ : array (n, d)
        The fitted matrix Z, with the means.
    result_ : Result
        The whole result, certificate included.

    Notes
    -----
    `transform` regresses the entries seen in a row on ``components_``, with a small ridge, and
    fills in the rest. Entries that are seen are kept.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.outer(np.arange(1.0, 9.0), [1.0, 2.0, -1.0])
    >>> X[3, 1] = np.nan
    >>> bool(abs(MatrixCompletion(rank=1).fit_transform(X)[3, 1] - 8.0) < 0.5)
    True
    """

    radius: float | None = None
    _: KW_ONLY
    rank: int = 5
    tol: float = 1e-3
    max_iter: int = 2000
    random_state: RandomState = None

    def fit(self, X: Array, y: Array = None) -> MatrixCompletion:
        """Find the matrix of small trace norm that is closest to the entries seen."""
        check_parameters(self, radius=optional(positive), rank=count)
        X = checked_data(self, X, dtype=FLOATS, ensure_all_finite="allow-nan")
        kind, X = X.dtype, X.astype(np.float64)
        seen = ~np.isnan(X)
        if not seen.any():
            raise ArgumentError(f"X must have an entry that is not NaN, found {X.size} NaN")
        counts = np.maximum(seen.sum(axis=0), 1)
        mean = np.where(seen, X, 0.0).sum(axis=0) / counts
        target = np.where(seen, X - mean, 0.0)
        total = float((target**2).sum())
        size = np.sqrt(total * X.size / max(int(seen.sum()), 1))
        rank = min(int(self.rank), *X.shape)
        radius = float(np.sqrt(rank) * size) if self.radius is None else self.radius
        f = Function(_loss(seen, target), L=1.0, shape=X.shape)
        K = TraceNormBall(X.shape, radius if radius > 0 else 1.0)
        tol = max(0.5 * self.tol * total, np.finfo(float).tiny)
        Z = self._minimize(f, K, tol, "matrix", stacklevel=4)
        self.mean_, self.completed_ = mean.astype(kind), (Z + mean).astype(kind)
        _, values, right = np.linalg.svd(Z, full_matrices=False)
        kept = values[:rank] > 1e-9 * max(float(values[0]), np.finfo(float).tiny)
        components = (values[:rank, None] * right[:rank])[kept] / np.sqrt(X.shape[0])
        self.components_ = components.astype(kind)
        return self

    def transform(self, X: Array) -> Array:
        """Return ``X`` with the missing entries filled in."""
        check_is_fitted(self, "components_")
        X = checked_data(self, X, dtype=FLOATS, ensure_all_finite="allow-nan", reset=False)
        filled = X.copy()
        mean, components = self.mean_.astype(np.float64), self.components_.astype(np.float64)
        # relative to the data, so that their unit does not matter
        ridge = 1e-6 * float((components**2).sum()) + np.finfo(float).tiny
        for i in np.flatnonzero(np.isnan(X).any(axis=1)):
            seen = ~np.isnan(X[i])
            part = components[:, seen]
            gram = part @ part.T + ridge * np.eye(len(part))
            weights = np.linalg.solve(gram, part @ (X[i, seen] - mean[seen]))
            filled[i, ~seen] = (mean + weights @ components)[~seen]
        return filled

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _loss(seen: Array, target: Array) -> Callable[[Array], tuple[float, Array]]:
    def half_squares(Z: Array) -> tuple[float, Array]:
        residual = np.where(seen, Z - target, 0.0)
        return 0.5 * float((residual**2).sum()), residual

    return half_squares
