"""Regression with coefficients in a compact set, by `minimize`."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..arrays import ArgumentError, Array
from ..engines import EngineLike, engine_kind
from ..front.many import minimize_many
from ..objectives import LeastSquares
from ..problem import Stacked
from ..problem.checks import flag, positive, shown
from ..sets import Set, Simplex, TraceNormBall
from ._common import (
    FLOATS,
    FittedByMinimize,
    RandomState,
    check_parameters,
    checked_data,
    in_blocks,
    raise_if_interrupted,
    warn_unless_certified,
)


@dataclass(eq=False, repr=False)
class ConstrainedRegressor(FittedByMinimize, RegressorMixin, BaseEstimator):
    """Least squares over a set; subclasses choose the set."""

    radius: float = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    tol: float = 1e-4
    max_iter: int = 10_000
    random_state: RandomState = None
    engine: EngineLike = None

    def _set(self, shape: tuple[int, ...]) -> Set:
        raise NotImplementedError

    def _fit(self, X: Array, y: Array, sample_weight: Array | None = None) -> Self:
        check_parameters(self, radius=positive, fit_intercept=flag, engine=engine_kind)
        multi = isinstance(self, MultiOutputMixin)
        X, y = checked_data(self, X, y, dtype=FLOATS, multi_output=multi, y_numeric=True)
        kind, X = X.dtype, X.astype(np.float64)
        y = np.asarray(y, dtype=np.float64)
        weights = _check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("sample_weight must not be 0 in all rows")
        weights = weights / weights.mean()
        centre, level = np.zeros(X.shape[1]), np.zeros(y.shape[1:])
        if self.fit_intercept:
            centre, level = (np.average(part, axis=0, weights=weights) for part in (X, y))
        root = np.sqrt(weights)[:, None]
        targets = root * (y - level).reshape(len(y), -1)
        x = self._solve(root * (X - centre), targets if y.ndim > 1 or multi else targets[:, 0])
        coefficients = x.reshape(X.shape[1], *y.shape[1:]).T
        self.intercept_ = np.asarray(level - coefficients @ centre).astype(kind)[()]
        self.coef_ = coefficients.astype(kind)
        return self

    def _solve(self, features: Array, targets: Array) -> Array:
        """Return the coefficients, one column per target."""
        make = LeastSquares if self.engine is None else partial(in_blocks, LeastSquares)
        f = make(features, targets, reduction="mean")
        assert f.shape is not None
        scale = max(f.value(np.zeros(f.shape)), np.finfo(float).tiny)
        return self._minimize(f, self._set(f.shape), self.tol * scale, "model", stacklevel=6)

    def predict(self, X: Array) -> Array:
        """Return the prediction of each row."""
        check_is_fitted(self, "coef_")
        X = checked_data(self, X, dtype=FLOATS, reset=False)
        return X @ self.coef_.T + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # the set may exclude the best coefficients
        return tags


@dataclass(eq=False, repr=False)
class SimplexRegressor(MultiOutputMixin, ConstrainedRegressor):
    r"""Least squares with nonnegative coefficients of sum r: :math:`w \ge 0`, :math:`\sum w_i = r`.

    Mixtures, portfolios, stacked models, synthetic controls: each coefficient is a share. Several
    targets are problems of their own, which are solved in one call.

    Parameters
    ----------
    radius : float
        The sum r.
    fit_intercept : bool
        Centre features and targets first.
    tol : float
        Stop when the certified gap is at most ``tol`` times the loss of a zero model.
    max_iter : int
        Rounds, at most.
    random_state : int, RandomState or None
        Seed of methods that draw random numbers.
    engine : None, str or an engine
        Where gradients are computed, as for `minimize`: the rows are cut into 64 blocks, and each
        worker computes its share. For one target.

    Attributes
    ----------
    coef_ : array (d,) or (q, d)
        The shares, one row per target.
    intercept_ : float or array (q,)
        The intercepts.
    n_iter_ : int
        Rounds.
    result_ : Result or ManyResult
        The whole result, certificates included. Those of several targets are in units of the mean
        square of each target.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> model = SimplexRegressor(tol=1e-6).fit(X, X @ [0.7, 0.3, 0.0])
    >>> model.coef_.round(2)
    array([0.7, 0.3, 0. ])
    """

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None) -> Self:
        """Fit the shares to the rows of ``X`` and their targets, with weights if given."""
        return self._fit(X, y, sample_weight)

    def _set(self, shape: tuple[int, ...]) -> Set:
        return Simplex(shape, self.radius)

    def _solve(self, features: Array, targets: Array) -> Array:
        if targets.shape[1] == 1:
            return super()._solve(features, targets[:, 0])
        if self.engine is not None:
            raise ArgumentError(
                f"engine must be None for several targets, found {shown(self.engine)}: fit one "
                "model for each"
            )
        # in these units the loss of a zero model is 1/2 for every target
        units = np.sqrt((targets * targets).mean(axis=0))
        units[units == 0.0] = 1.0
        data = {"A": features, "b": (targets / units).T, "reduction": "mean"}
        f = Stacked(LeastSquares, data, ("b",))
        K = Simplex(features.shape[1], self.radius / units)
        rounds = self.max_iter
        res = minimize_many(f, K, tol=0.5 * self.tol, max_rounds=rounds, progress=False)
        raise_if_interrupted(*res.status)
        worst = res[int(np.argmax(res.gap * ~res.success))]
        warn_unless_certified(worst, self.tol, f"max_iter = {rounds} rounds", stacklevel=5)
        self.result_, self.n_iter_ = res, max(1, int(res.nit.max()))
        return res.x.T * units


@dataclass(eq=False, repr=False)
class TraceNormRegressor(MultiOutputMixin, ConstrainedRegressor):
    r"""Low-rank multivariate least squares: singular values of the coefficients sum to at most r.

    Parameters
    ----------
    radius : float
        The bound r on the trace norm.
    fit_intercept, tol, max_iter, random_state, engine
        As for `SimplexRegressor`; ``engine`` also for several targets.

    Attributes
    ----------
    coef_ : array (q, d) or (d,)
        One row per target.
    intercept_ : array (q,) or float
        The intercepts.
    n_iter_, result_
        As for `SimplexRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, W = rng.standard_normal((60, 4)), np.outer([1.0, 0, 2, 0], [1.0, -1, 1])
    >>> model = TraceNormRegressor(radius=5.0, tol=1e-3).fit(X, X @ W)
    >>> model.predict(X).shape, bool(np.linalg.norm(model.coef_, "nuc") <= 5.0 + 1e-9)
    ((60, 3), True)
    """

    def fit(self, X: Array, y: Array) -> Self:
        """Fit the coefficients to the rows of ``X`` and their targets."""
        return self._fit(X, y)

    def _set(self, shape: tuple[int, ...]) -> Set:
        rows, columns = shape
        return TraceNormBall((rows, columns), self.radius)
