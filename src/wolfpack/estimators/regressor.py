"""Regression by Algorithm 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..objectives import Huber, LeastSquares, Poisson, Quantile, Weighted
from ..objectives.finite_sum import FiniteSum
from ._linear import AcceleratedLinear, Array, rows_times

_LOSSES = ("squared_error", "huber", "quantile", "poisson")


class AcceleratedRegressor(RegressorMixin, AcceleratedLinear):
    r"""Linear regression: mean loss plus :math:`\alpha (\rho \|w\|_1 + \frac{1-\rho}{2} \|w\|^2)`.

    Parameters
    ----------
    loss : {"squared_error", "huber", "quantile", "poisson"}
        Half the squared error; Huber's loss; the smoothed pinball loss; or the Poisson deviance
        with a log link, for counts.
    penalty, alpha, l1_ratio, fit_intercept, batch_size, tol, max_iter, random_state, warm_start
        As for `AcceleratedClassifier`.
    delta : float
        Where Huber's loss turns linear, or the width of the smoothing of quantiles.
    quantile : float
        The quantile, for its loss.

    Attributes
    ----------
    coef_ : array (d,)
        The coefficients.
    intercept_ : float
        The intercept.
    n_iter_ : int
        Passes over the data (rounds, after `partial_fit`).
    result_ : Result
        The whole result of the last `fit`, certificate included; in the scaled intercept.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> model = AcceleratedRegressor(alpha=1e-6, tol=1e-9, random_state=0).fit(X, 2 * X[:, 0] + 1)
    >>> model.predict([[10.0]]).round(2)
    array([21.])
    """

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        penalty: str = "l2",
        alpha: float = 1e-3,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        batch_size: int | str = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = None,
        warm_start: bool = False,
        delta: float = 1.0,
        quantile: float = 0.5,
    ) -> None:
        super().__init__(
            loss,
            penalty=penalty,
            alpha=alpha,
            l1_ratio=l1_ratio,
            fit_intercept=fit_intercept,
            batch_size=batch_size,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            warm_start=warm_start,
        )
        self.delta = delta
        self.quantile = quantile

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AcceleratedRegressor:
        """Fit the model to the rows of ``X`` and their targets, weighted if wished."""
        X, y = self._data(X, y, reset=True)
        self._fit(X, y, self._weights(X, sample_weight))
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> AcceleratedRegressor:
        """Go on with one pass over the given rows."""
        X, y = self._data(X, y, reset=not hasattr(self, "n_features_in_"))
        self._partial_fit(X, y, self._weights(X, sample_weight))
        return self

    def _data(self, X: Any, y: Any, reset: bool) -> tuple[Array, Array]:
        kinds = [np.float64, np.float32]
        return validate_data(
            self, X, y, accept_sparse="csr", dtype=kinds, y_numeric=True, reset=reset
        )

    def _objective(self, features: Array, y: Array, weights: Array | None) -> FiniteSum:
        y = np.asarray(y, dtype=features.dtype)
        if self.loss == "squared_error":
            if weights is not None:
                root = np.sqrt(weights)
                features = rows_times(features, root)
                y = y * root
            return LeastSquares(features, y, reduction="mean")
        G = self._robust(features, y)
        return G if weights is None else Weighted(G, weights)

    def _robust(self, features: Array, y: Array) -> Any:
        if self.loss == "huber":
            return Huber(features, y, self.delta)
        if self.loss == "quantile":
            return Quantile(features, y, self.quantile, self.delta)
        if self.loss == "poisson":
            # one cap for all minibatches of a stream: that of the first
            stream = getattr(self, "_stream", None)
            if stream is None or stream.state is None:
                self._cap = Poisson(features, y).cap
            return Poisson(features, y, self._cap)
        raise ValueError(f"loss must be one of {', '.join(_LOSSES)}, found {self.loss!r}")

    def _keep(self, solution: Array) -> None:
        super()._keep(solution)
        self.coef_, self.intercept_ = self.coef_[0], float(self.intercept_[0])

    def predict(self, X: Any) -> Array:
        """Return the prediction of each row: a mean, a quantile, or the mean of a count."""
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        linear = X @ self.coef_ + self.intercept_
        return np.exp(linear) if self.loss == "poisson" else linear
