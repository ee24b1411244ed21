"""The front door of sequences of problems: `path`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..arrays import Array, is_foreign
from ..loop import Result
from ..loop.path_result import PathResult
from ..loop.stopping import SHARE, TINY
from ..objectives import Objective, as_objective
from ..problem import Solver
from ..problem.checks import checked, function, nonnegative, optional, shown
from ..sets import Set
from ..solvers.parts.hull import Hull
from ..solvers.parts.warm import Kept, kept_hull, scaled, within
from .choose import as_set
from .minimize import minimize
from .plan import Plan

_FEASIBLE = 1e-6  # relative to max(1, R_K), as for starting points


@checked(f_of=function, max_seconds=optional(nonnegative))
def path(
    f_of: Callable[[Any], Objective | Callable[[Array], tuple[float, Array]]],
    K: Set | Callable[[Any], Set],
    values: Iterable[Any],
    x0: Array | Result | None = None,
    *,
    method: str | Solver[Any] | Plan = "corrective",
    tol: float | None = None,
    rtol: float | None = None,
    max_seconds: float | None = None,
    **settings: Any,
) -> PathResult:
    r"""Solve a sequence of problems, each of which begins with what the one before has found.

    *Solves* :math:`\min_{x \in K_t} f_t(x)` for each value t, in their order.

    *Algorithm*: a run begins at the last answer, with the vertices of which it is a mixture. If
    they are not in the set of the next value, they are multiplied by the ratio of the two radii, as
    balls and simplices ask for. Else the last answer is projected, where the set has a projection,
    and else the run begins anew. Every result has a certificate of its own, which owes nothing to
    the run before.

    Parameters
    ----------
    f_of : callable
        Returns f for a value: an objective of `wolfpack.objectives`, or a callable x -> (value,
        gradient).
    K : Set or callable
        The set of all problems, or a function that returns it for a value.
    values : iterable
        What tells the problems apart: penalties, radii, time steps, data.
    x0 : array or Result, optional
        Where the first run begins.
    method : str or solver object
        As for `minimize`. By default "corrective", which keeps the vertices of the earlier problems
        and asks the oracle where they do not suffice.
    tol, rtol : float
        As for `minimize`. By default a gap is small enough that is at most 1e-6 of what could be
        gained from ``K.start()``, or 1e-9 \|f(x)\|: what a run without an earlier one is asked for.
    max_seconds : float, optional
        Limit on the time of all runs together. Those for which none is left return their starts.
    **settings
        Other arguments of `minimize`; limits on rounds and oracle calls hold for each run.

    Returns
    -------
    PathResult
        A sequence of `Result`, with ``values``, stacked ``x``, ``fun``, ``gap``, ``nlmo`` and
        others, and a ``table`` for pandas.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> f = wp.objectives.LeastSquares(np.eye(3), np.array([0.9, 0.4, 0.1]))
    >>> res = wp.path(lambda r: f, lambda r: wp.sets.L1Ball(3, r), [0.5, 1.0, 2.0])
    >>> np.round(res.x, 6)
    array([[0.5 , 0.  , 0.  ],
           [0.75, 0.25, 0.  ],
           [0.9 , 0.4 , 0.1 ]])
    """
    for name in ("checkpoint", "starts"):
        if name in settings:
            raise TypeError(f"path has no argument {name!r}: leave it out")
    began = time.perf_counter()
    known, found = list(values), list[Result]()
    earlier: Array | Result | None = x0
    before: Set | None = None
    for value in known:
        region = as_set(_set_of(K, value))
        objective = as_objective(f_of(value))
        start = earlier
        if before is not None and isinstance(earlier, Result):
            start = earlier if region is before else _moved(earlier, before, region)
        given = {"tol": tol, "rtol": rtol}
        if tol is None and rtol is None and before is not None and start is not None:
            given = _as_if_cold(objective, region, start)
        if max_seconds is not None:
            settings["max_seconds"] = max(0.0, max_seconds - (time.perf_counter() - began))
        earlier = minimize(objective, region, start, method, **given, **settings)
        found.append(earlier)
        before = region
    return PathResult(known, found)


def _set_of(K: Any, value: Any) -> Any:
    if isinstance(K, Set):
        return K
    if not callable(K) or isinstance(K, type):
        raise TypeError(
            f"K must be a set (wolfpack.sets), or a function of the value that returns one, found "
            f"{shown(K)}"
        )
    return K(value)


def _as_if_cold(objective: Objective, K: Set, start: Array | Result) -> dict[str, float | None]:
    """Return the tolerances of a run that begins at K's own start: its gain makes the unit."""
    x = start.x if isinstance(start, Result) else start
    if is_foreign(x) or objective.half_square or objective.convex is False:
        return {"tol": None, "rtol": None}
    gain = objective.value(K.start()) - objective.value(np.asarray(x))
    if not 0.0 < gain < np.inf:
        return {"tol": None, "rtol": None}
    return {"tol": SHARE * gain, "rtol": TINY}


def _moved(earlier: Result, before: Set, K: Set) -> Array | Result | None:
    """Return the start in K that is made of the result for another set."""
    if tuple(K.shape) != tuple(before.shape) or is_foreign(earlier.x):
        return None
    hull, ratio = kept_hull(getattr(earlier, "state", None)), K.radius / max(before.radius, 1e-300)
    factors = (ratio, 1.0) if type(K) is type(before) else (1.0,)
    for factor in dict.fromkeys(factors):
        if hull is not None:
            moved = _inside(hull, factor, K)
            if moved is not None:
                return Result(x=moved.point(), state=Kept(moved))
        x = factor * np.asarray(earlier.x)
        if K.violation(x) <= _FEASIBLE * max(1.0, K.radius):
            return x
    return K.project(np.asarray(earlier.x)) if K.has("project") else None


def _inside(hull: Hull, factor: float, K: Set) -> Hull | None:
    """Return the points of the hull times a factor, None if they are not known to be in K."""
    moved = hull if factor == 1.0 else scaled(hull, factor)
    return None if moved is None else within(moved, K)
