"""What the two linear estimators share: data, penalty, intercept, fits and streams."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack, issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..arrays import ArgumentError, Array, check_sparse
from ..engines import EngineLike, engine_kind
from ..front.choose import explain
from ..front.composite import minimize_composite
from ..gradients import ExactGradients
from ..objectives import Weighted
from ..objectives.finite_sum import FiniteSum
from ..problem.checks import (
    Kind,
    as_float,
    between,
    choice,
    count,
    either,
    flag,
    shown,
)
from ..regularizers import ElasticNet, Euclidean, Regularizer, Shifted, SquaredNorm
from ..regularizers.pairs import composite_problem
from ..solvers import ConvergingComposite
from ..solvers.composite import Policies, StepBound
from ..solvers.composite.accelerated import State, Tuned
from ._common import (
    FLOATS,
    RandomState,
    check_parameters,
    checked_data,
    in_blocks,
    raise_if_interrupted,
    seed_of,
    warn_unless_certified,
)

_SOLVER = ConvergingComposite(batch=1)
_LEAST_RIDGE = 1e-6  # share of a curvature below which a ridge changes no digit that matters
_ROWS: dict[str, Any] = {"accept_sparse": "csr", "dtype": FLOATS}
_STREAM_ROWS = 32  # rows in a round of partial_fit when batch_size is "auto"


@dataclass(eq=False, repr=False)
class AcceleratedLinear(BaseEstimator):
    """A linear model fitted by Algorithm 1; subclasses add a loss and its predictions."""

    loss: str
    _: KW_ONLY
    penalty: str = "l2"
    alpha: float = 1e-3
    l1_ratio: float = 0.5
    fit_intercept: bool = True
    batch_size: int | str = "auto"
    tol: float = 1e-8
    max_iter: int = 1000
    random_state: RandomState = None
    warm_start: bool = False
    engine: EngineLike = None
    # A class attribute until the first partial_fit: scikit-learn wants no others set at birth.
    _stream: Stream | None = field(default=None, init=False)
    _elsewhere: bool = field(default=False, init=False)

    _kinds: ClassVar[dict[str, Kind]] = {}
    """Kinds of the parameters that only a subclass has."""

    def _objective(self, features: Array, y: Array, weights: Array | None) -> FiniteSum:
        raise NotImplementedError

    def _sum(self, loss: type[FiniteSum], features: Array, y: Array, **options: Any) -> Any:
        """Return a loss of rows, in blocks where an engine computes it."""
        if self._elsewhere:
            return in_blocks(loss, features, y, **options)
        make: Any = loss
        return make(features, y, **options)

    def _weighted(self, G: Any, weights: Array | None) -> FiniteSum:
        """Return a loss with weights of its rows, if there are any."""
        if weights is None:
            return G
        if self._elsewhere:
            raise ArgumentError(
                "engine must be None for this loss where rows have weights, found "
                f"{shown(self.engine)}"
            )
        return Weighted(G, weights)

    def _data(self, X: Array, y: Array, reset: bool = True, **kind: bool) -> tuple[Array, Array]:
        """Check the parameters; return checked rows and targets.

        Without ``reset`` rows have the columns of earlier ones.
        """
        self._check()
        reset = reset or not hasattr(self, "n_features_in_")
        _check_structure(X)
        return checked_data(self, X, y, reset=reset, **_ROWS, **kind)

    def _scores(self, X: Array) -> Array:
        """Return the linear model's values, for every row."""
        check_is_fitted(self, "coef_")
        _check_structure(X)
        X = checked_data(self, X, reset=False, **_ROWS)
        return X @ self.coef_.T + self.intercept_

    def _fit(self, X: Array, y: Array, weights: Array | None) -> None:
        """Minimise the mean loss plus the penalty, and keep the coefficients."""
        self._stream = None
        if weights is not None:
            if not weights.any():
                raise ValueError("class_weight and sample_weight must not be 0 in all rows")
            weights = weights / weights.mean()
        self._set_bias(X, weights)
        self._elsewhere = self.engine is not None
        try:
            G = self._objective(self._features(X), y, weights)
        finally:
            self._elsewhere = False
        assert G.shape is not None
        start, passes = self._start(G) if self.warm_start else None, 0.0
        given: dict[str, Any] = {
            "tol": self.tol * max(G.value(np.zeros(G.shape)), np.finfo(float).tiny),
            "seed": seed_of(self.random_state),
            "progress": False,
            "engine": self.engine,
        }
        H = self._regularizer(G, free_bias=True)
        sampled = self._sampling(G, X.shape[0]) if self.engine is None else {}
        if sampled and self._bias is not None:
            # Small batches need a ridge on the intercept. What it changes is put right below.
            first = minimize_composite(
                G, self._regularizer(G), start, max_passes=self.max_iter, **sampled, **given
            )
            raise_if_interrupted(first.status)
            start, passes, sampled = first.x, first.passes, {}
        left = max(1.0, self.max_iter - passes)
        res = minimize_composite(G, H, start, max_passes=left, **sampled, **given)
        res.passes += passes
        warn_unless_certified(res, self.tol, f"max_iter = {self.max_iter} passes")
        self.result_ = res
        self.n_iter_ = max(1, math.ceil(res.passes))
        self._keep(res.x)

    def _sampling(self, G: FiniteSum, n: int) -> dict[str, Any]:
        """Return the options of a run from small batches, none for exact gradients."""
        if self.batch_size != "auto":
            batch = min(int(self.batch_size), n)
            return {} if batch == n else {"batch": batch, "variance_reduction": True}
        options = explain(G, self._regularizer(G)).options
        return options if "variance_reduction" in options else {}

    def _partial_fit(self, X: Array, y: Array, weights: Array | None) -> None:
        """Run one pass over the given rows, the stream of Algorithm 1's converging form."""
        if self._stream is None:
            self._set_bias(X, None)
            self._stream = Stream()
        stream = self._stream
        features = self._features(X)
        size = _STREAM_ROWS if self.batch_size == "auto" else int(self.batch_size)
        for begin in range(0, X.shape[0], size):
            rows = slice(begin, begin + size)
            part = None if weights is None else weights[rows]
            if part is not None and not part.any():
                continue
            G = self._objective(features[rows], y[rows], part)
            start = self._start(G) if stream.state is None else None
            stream.step(G, self._regularizer(G), start)
        if stream.state is None:
            raise ValueError("sample_weight must not be 0 in all rows")
        self.n_iter_ = stream.state.k
        self._keep(stream.state.x)

    def _check(self) -> None:
        """Refuse parameters that define no problem, in one clear message."""
        check_parameters(
            self,
            penalty=choice("l2", "elasticnet"),
            l1_ratio=between(0, 1),
            fit_intercept=flag,
            batch_size=either(count, "auto"),
            warm_start=flag,
            engine=engine_kind,
            **self._kinds,
        )
        if not 1e-100 <= as_float(self.alpha) <= 1e100:
            raise ArgumentError(
                f"alpha must be positive, from 1e-100 to 1e100, found {shown(self.alpha)}: "
                "Algorithm 1 needs a ridge, however small"
            )

    def _weights(self, X: Array, given: Array | None) -> Array | None:
        """Return the checked weights of rows, None if none are given."""
        if given is None:
            return None
        weights = _check_sample_weight(given, X, dtype=X.dtype, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("sample_weight must not be 0 in all rows")
        return weights

    def _set_bias(self, X: Array, weights: Array | None) -> None:
        """Choose the constant feature: as long as a typical row, at least 1."""
        self._n, self._dtype = X.shape[0], X.dtype
        squares = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X)
        typical = math.sqrt(float(np.average(np.asarray(squares).reshape(-1), weights=weights)))
        self._bias = max(1.0, typical) if self.fit_intercept else None

    def _features(self, X: Array) -> Array:
        if self._bias is None:
            return X
        column = np.full((X.shape[0], 1), self._bias, dtype=X.dtype)
        return csr_array(hstack([X, column])) if issparse(X) else np.hstack([X, column])

    def _regularizer(self, G: FiniteSum, free_bias: bool = False) -> Regularizer:
        """Return the penalty, with hardly any ridge on the intercept where that is to be free."""
        share = self.l1_ratio if self.penalty == "elasticnet" else 0.0
        ridge = self.alpha * max(1.0 - share, _LEAST_RIDGE)
        if self._bias is None or (share == 0.0 and not free_bias):
            return ElasticNet(self.alpha * share, ridge) if share else SquaredNorm(ridge)
        assert G.shape is not None
        l1, mu = np.full(G.shape, self.alpha * share), np.full(G.shape, ridge)
        l1[-1] = 0.0
        if free_bias:
            curvature = G.n * G.loss_smoothness * self._bias**2
            mu[-1] = min(ridge, max(1e-3 * _LEAST_RIDGE * curvature, 1e-100))
        return ElasticNet(l1, mu)

    def _start(self, G: FiniteSum) -> Array | None:
        """Return the coefficients of the last fit, None if there are none of this shape."""
        if not hasattr(self, "coef_"):
            return None
        columns = np.atleast_2d(self.coef_).T.astype(np.float64)
        if self._bias is not None:
            columns = np.vstack([columns, np.atleast_1d(self.intercept_) / self._bias])
        assert G.shape is not None
        return columns.reshape(G.shape) if columns.size == math.prod(G.shape) else None

    def _keep(self, solution: Array) -> None:
        """Split a solution into coefficients and intercept, one row per output."""
        columns = solution.reshape(solution.shape[0], -1)
        rows = columns if self._bias is None else columns[:-1]
        self.coef_: Array = np.ascontiguousarray(rows.T, dtype=self._dtype)
        zeros = np.zeros(columns.shape[1])
        intercept = zeros if self._bias is None else self._bias * columns[-1]
        self.intercept_: Array = intercept.astype(self._dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def rows_times(X: Array, factors: Array) -> Array:
    """Return the rows of a matrix, dense or sparse, each times its factor."""
    return csr_array(diags_array(factors) @ X) if issparse(X) else X * factors[:, None]


class Stream:
    """The converging form, one round per minibatch handed in; it holds no data and can be saved."""

    def __init__(self) -> None:
        self.state: State | None = None
        self.beta = 0.0
        self.noise = 0.0

    def step(self, G: FiniteSum, H: Regularizer, start: Array | None) -> None:
        """Make one round with the gradient of ``G``, the first from ``start``, or from 0.

        beta grows to the largest smoothness constant of the minibatches so far. Steps are bounded
        by the inverse of the largest noise, that of a row over their number: the variance of a few
        rows of least squares grows with y, and the iterates would diverge.
        """
        assert G.shape is not None
        if self.state is None:
            self.start = np.zeros(G.shape) if start is None else start
        self.beta = max(self.beta, G.L)
        self.noise = max(self.noise, G.row_smoothness() / G.n)
        beta = self.beta or H.mu
        bound = StepBound(1.0 / self.noise) if self.noise > 0.0 else None
        solver = replace(_SOLVER, policies=Policies(bound=bound))
        problem = composite_problem(G, H, Shifted(Euclidean(), self.start), beta)
        gradients = _Now(G)
        state = self.state or solver.init(problem, self.start, gradients)
        self.state = solver.step(problem, state._replace(tuned=Tuned(beta, beta)), gradients)


class _Now(ExactGradients):
    """The gradient of the current minibatch, one of many."""

    batch = 1
    exact = False


def _check_structure(X: Array) -> None:
    """Refuse sparse rows whose indices are out of range, before anything is computed with them."""
    if issparse(X):
        check_sparse(X, "X")
