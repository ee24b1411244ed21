"""Regression by Algorithm 1."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score

from ..arrays import Array
from ..objectives import Huber, LeastSquares, Poisson, Quantile
from ..objectives.finite_sum import FiniteSum
from ..problem.checks import Kind, between, choice, positive
from ._linear_model import AcceleratedLinear, rows_times

_LOSSES = ("squared_error", "huber", "quantile", "poisson")


def _is_squares(loss: object) -> bool:
    """Tell whether a loss, which `fit` has not checked yet, is that of several outputs."""
    return isinstance(loss, str) and loss == "squared_error"


@dataclass(eq=False, repr=False)
class AcceleratedRegressor(RegressorMixin, AcceleratedLinear):
    r"""Linear regression: mean loss plus :math:`\alpha (\rho \|w\|_1 + \frac{1-\rho}{2} \|w\|^2)`.

    Parameters
    ----------
    loss : {"squared_error", "huber", "quantile", "poisson"}
        Half the squared error; Huber's loss; the smoothed pinball loss; or the Poisson deviance
        with a log link, for counts.
    penalty, alpha, l1_ratio, fit_intercept, batch_size, tol, max_iter, random_state, warm_start,
    engine
        As for `AcceleratedClassifier`.
    delta : float
        Where Huber's loss turns linear, or the width of the smoothing of quantiles.
    quantile : float
        The quantile, for its loss.

    Attributes
    ----------
    coef_ : array (d,) or (q, d)
        The coefficients; one row per output where y has several (squared errors alone).
    intercept_ : float or array (q,)
        The intercept.
    n_iter_, result_
        As for `AcceleratedClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> model = AcceleratedRegressor(alpha=1e-6, tol=1e-9, random_state=0).fit(X, 2 * X[:, 0] + 1)
    >>> model.predict([[10.0]]).round(2)
    array([21.])
    """

    loss: str = "squared_error"
    _: KW_ONLY
    delta: float = 1.0
    quantile: float = 0.5

    _kinds: ClassVar[dict[str, Kind]] = {
        "loss": choice(*_LOSSES),
        "delta": positive,
        "quantile": between(0, 1, low_open=True, high_open=True),
    }

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None) -> AcceleratedRegressor:
        """Fit the model to the rows of ``X`` and their targets, with weights if given."""
        X, y = self._data(X, y, y_numeric=True, multi_output=_is_squares(self.loss))
        self._fit(X, y, self._weights(X, sample_weight))
        return self

    def partial_fit(
        self, X: Array, y: Array, sample_weight: Array | None = None
    ) -> AcceleratedRegressor:
        """Continue with one pass over the given rows."""
        X, y = self._data(X, y, reset=False, y_numeric=True, multi_output=_is_squares(self.loss))
        self._partial_fit(X, y, self._weights(X, sample_weight))
        return self

    def _objective(self, features: Array, y: Array, weights: Array | None) -> FiniteSum:
        y = np.asarray(y, dtype=features.dtype)
        if self.loss == "squared_error":
            if weights is not None:
                root = np.sqrt(weights)
                features = rows_times(features, root)
                y = y * (root if y.ndim == 1 else root[:, None])
            return self._sum(LeastSquares, features, y, reduction="mean")
        return self._weighted(self._other_loss(features, y), weights)

    def _other_loss(self, features: Array, y: Array) -> Huber | Quantile | Poisson:
        if self.loss == "huber":
            return self._sum(Huber, features, y, delta=self.delta)
        if self.loss == "quantile":
            return self._sum(Quantile, features, y, q=self.quantile, delta=self.delta)
        if self.loss == "poisson":
            # All minibatches of a stream have the cap of the first one.
            if self._stream is None or self._stream.state is None:
                self._cap = Poisson(features, y).cap
            return self._sum(Poisson, features, y, cap=self._cap)
        raise AssertionError(self.loss)  # `_check` has refused other names

    def _keep(self, solution: Array) -> None:
        super()._keep(solution)
        if solution.ndim == 1:
            self.coef_, self.intercept_ = self.coef_[0], float(self.intercept_[0])

    def predict(self, X: Array) -> Array:
        """Return the prediction of each row: a mean, a quantile, or the mean of a count."""
        scores = self._scores(X)
        return np.exp(scores) if self.loss == "poisson" else scores

    def score(self, X: Array, y: Array, sample_weight: Array | None = None) -> float:
        """Return R^2, or for counts D^2: the share of the Poisson deviance that is explained."""
        if self.loss != "poisson":
            return super().score(X, y, sample_weight)
        return d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = _is_squares(self.loss)
        return tags
