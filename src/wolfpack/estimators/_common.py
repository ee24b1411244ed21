"""What all estimators share: the seed of a run, and the warning when it ends too early."""

from __future__ import annotations

import warnings
from typing import TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..arrays import Array
from ..front.minimize import minimize
from ..loop import Result
from ..objectives import Objective
from ..problem.checks import Kind, count, nonnegative, optional, whole
from ..sets import Set

RandomState: TypeAlias = int | np.random.RandomState | None


def check_parameters(model: object, **kinds: Kind) -> None:
    """Raise unless the parameters of an estimator are of these kinds.

    `fit` calls it: scikit-learn wants constructors to keep what they are given as it is.
    """
    for name, kind in (_SHARED | kinds).items():
        kind(getattr(model, name), name)


def _random_state(value: object, name: str) -> None:
    """Raise unless ``value`` is None, a seed or a generator of scikit-learn's kind."""
    if value is None or isinstance(value, np.random.RandomState):
        return
    optional(whole(0, 2**32 - 1))(value, name)


_SHARED: dict[str, Kind] = {
    "tol": nonnegative,
    "max_iter": count,
    "random_state": _random_state,
}


def seed_of(random_state: RandomState) -> int:
    """Return the seed of a run, drawn from scikit-learn's kind of random state."""
    return int(check_random_state(random_state).randint(2**31))


def warn_unless_certified(
    result: Result, tol: float, limit: str, zero: str = "model", stacklevel: int = 4
) -> None:
    """Warn when a run ended above its tolerance and was not stopped by rounding.

    ``limit`` is what it was allowed ("max_iter = 10 rounds"). The tolerance is relative to the loss
    of a ``zero`` model or matrix. ``stacklevel`` makes the warning name the line that calls `fit`.
    """
    if not result.success and result.status != "stalled":
        warnings.warn(
            f"no gap of tol = {tol:g} times the loss of a zero {zero} was certified in {limit}; "
            f"found {result.gap:.3g}: raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


class FittedByMinimize:
    """An estimator whose `fit` calls `minimize` once."""

    tol: float
    max_iter: int
    random_state: RandomState

    def _minimize(self, f: Objective, K: Set, tol: float, zero: str, stacklevel: int) -> Array:
        """Return a point with a certified gap of ``tol``, if possible, and keep the result."""
        seed, rounds = seed_of(self.random_state), self.max_iter
        res = minimize(f, K, tol=tol, seed=seed, max_rounds=rounds, progress=False)
        warn_unless_certified(res, self.tol, f"max_iter = {rounds} rounds", zero, stacklevel)
        self.result_, self.n_iter_ = res, max(1, res.nit)
        return res.x
