"""The front door of differences of convex functions: `minimize_difference`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arrays import Array
from ..loop import Result
from ..objectives import Difference, Objective, as_objective
from ..sets import Set
from ..solvers import DifferenceOfConvex
from .minimize import minimize


def minimize_difference(
    f: Objective | Callable[[Array], tuple[float, Array]],
    g: Objective | Callable[[Array], tuple[float, Array]],
    K: Set,
    x0: Array | None = None,
    *,
    boosted: bool = False,
    accuracy: float = 1.0,
    inner_rounds: int = 1000,
    rule: Any = "secant",
    **settings: Any,
) -> Result:
    r"""Search a stationary point of f - g over a compact convex set, f and g convex.

    *Algorithm*: in each round g is replaced by its tangent, and the convex function that is left is
    minimised by blended pairwise conditional gradients (`wolfpack.solvers.DifferenceOfConvex`).

    *Guarantee*: f - g falls in every round, and the smallest stationarity of k rounds is
    O(1/sqrt(k)).

    Parameters
    ----------
    f, g : Objective or callable
        Two convex functions: objectives of `wolfpack.objectives`, or callables x -> (value,
        gradient). g need not be smooth, its gradient may be any subgradient.
    K : Set
        A set of `wolfpack.sets`.
    x0 : array, optional
        Feasible starting point. Which stationary point is found depends on it.
    boosted : bool
        Whether a round goes on beyond the minimiser of its convex function, as long as f - g falls.
        It needs ``K.has("max_step")``.
    accuracy : float
        Error that an inner run may leave, relative to what it has gained.
    inner_rounds : int
        Limit on the rounds of an inner run.
    rule : Rule or str
        Step rule of the inner runs.
    **settings
        Arguments of `wolfpack.minimize`: ``tol`` (on ``res.stationarity``), ``starts``, limits,
        ``callback``, ``checkpoint`` and so on. `wolfpack.resume` continues with
        ``wolfpack.objectives.Difference(f, g)`` as its f.

    Returns
    -------
    Result
        ``res.fun`` is f - g at ``res.x``, and ``res.stationarity`` the Frank-Wolfe gap there, max
        over v in K of <grad f(x) - grad g(x), x - v>. There is no bound on the minimum: ``res.gap``
        is infinite.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> f = wp.objectives.Quadratic(1.0, np.array([0.1, -0.5]))
    >>> g = wp.objectives.Quadratic(2.0, np.zeros(2))
    >>> res = wp.minimize_difference(f, g, wp.sets.Box(-np.ones(2), np.ones(2)))
    >>> res.x, bool(res.stationarity <= 1e-9)
    (array([-1.,  1.]), True)
    """
    for name in ("method", "convex"):
        if name in settings:
            raise TypeError(
                f"minimize_difference has no argument {name!r}: f - g is not convex, and its "
                "method is wp.solvers.DifferenceOfConvex. Leave it out, or call "
                "minimize(wp.objectives.Difference(f, g), K, ...)"
            )
    method = DifferenceOfConvex(boosted, accuracy, inner_rounds, rule)
    objective = Difference(as_objective(f), as_objective(g))
    return minimize(objective, K, x0, method=method, convex=False, **settings)
