"""What all estimators share: the seed of a run, and the warning when it ends too early."""

from __future__ import annotations

import warnings
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ..arrays import ArgumentError, Array, as_float_array, check_size
from ..engines import EngineLike
from ..front.minimize import minimize
from ..loop import Result
from ..objectives import Objective, Partitioned
from ..problem.checks import Kind, count, nonnegative, optional, whole
from ..sets import Set

RandomState: TypeAlias = int | np.random.RandomState | None
FLOATS = [np.float64, np.float32]
"""Types of data that are kept; models have the type of the rows that they were fitted to."""
_NO_TARGETS = object()
_BLOCKS = 64  # of rows where an engine computes gradients, or one for each row


def check_parameters(model: object, **kinds: Kind) -> None:
    """Raise unless the parameters of an estimator are of these kinds.

    `fit` calls it: scikit-learn wants constructors to keep what they are given as it is.
    """
    for name, kind in (_SHARED | kinds).items():
        kind(getattr(model, name), name)


def checked_data(
    model: object, X: Any, y: Any = _NO_TARGETS, *, classes: bool = False, **options: Any
) -> Any:
    """Return what scikit-learn's `validate_data` returns, with a sentence that names X and y.

    With ``classes``, y must hold labels. What scikit-learn would convert and lose is refused first:
    masked entries, digits of long doubles, dates.
    """
    several = {"X": X} if y is _NO_TARGETS else {"X": X, "y": y}
    if issparse(y):
        as_float_array(y, "y")
    for name, part in several.items():
        if isinstance(part, np.ndarray | np.generic):
            lossy = part.dtype.kind in "mMV" or (part.dtype.itemsize > 8 and part.dtype.kind == "f")
            if lossy or isinstance(part, np.ma.MaskedArray):
                as_float_array(part, name)
    try:
        found = validate_data(model, *several.values(), **options)
        if classes:
            check_classification_targets(found[1])
    except NotFittedError:
        raise
    except Exception as error:
        raise ArgumentError(f"{' and '.join(several)} must be usable, found: {error}") from None
    for name, part in zip(several, found if y is not _NO_TARGETS else (found,), strict=True):
        numbers = part.data if issparse(part) else part
        if numbers.dtype.kind == "f":
            seen = numbers if np.isfinite(numbers).all() else np.nan_to_num(numbers)
            check_size(seen, name)
    return found


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
    state = random_state
    if state is not None and not isinstance(state, np.random.RandomState):
        state = int(state)  # scikit-learn takes no 7.0
    return int(check_random_state(state).randint(2**31))


def raise_if_interrupted(*statuses: object) -> None:
    """Raise `KeyboardInterrupt` again if it has ended a run: searches over many models end, too."""
    if "interrupted" in statuses:
        raise KeyboardInterrupt


def warn_unless_certified(
    result: Result, tol: float, limit: str, zero: str = "model", stacklevel: int = 4
) -> None:
    """Warn when a run ended above its tolerance and was not stopped by rounding.

    ``limit`` is what it was allowed ("max_iter = 10 rounds"). The tolerance is relative to the loss
    of a ``zero`` model or matrix. ``stacklevel`` makes the warning name the line that calls `fit`.
    """
    raise_if_interrupted(result.status)
    if not result.success and result.status != "stalled":
        warnings.warn(
            f"no gap of tol = {float(tol):g} times the loss of a zero {zero} was certified in "
            f"{limit}; found {result.gap:.3g}: raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


def in_blocks(
    loss: type[Objective], features: Array, targets: Array, **options: Any
) -> Partitioned:
    """Return a loss over blocks of rows, which the workers of an engine compute."""
    rows = -(-len(targets) // _BLOCKS)
    return Partitioned(loss, [(features, targets)], rows=rows, **options)


class FittedByMinimize:
    """An estimator whose `fit` calls `minimize` once."""

    tol: float
    max_iter: int
    random_state: RandomState
    engine: EngineLike = None

    def _minimize(self, f: Objective, K: Set, tol: float, zero: str, stacklevel: int) -> Array:
        """Return a point with a certified gap of ``tol``, if possible, and keep the result."""
        seed, rounds = seed_of(self.random_state), self.max_iter
        engine = self.engine
        res = minimize(f, K, tol=tol, seed=seed, max_rounds=rounds, engine=engine, progress=False)
        warn_unless_certified(res, self.tol, f"max_iter = {rounds} rounds", zero, stacklevel)
        self.result_, self.n_iter_ = res, max(1, res.nit)
        return res.x
