"""The front door of two sets: `between`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array, as_float_array, inner, is_foreign, like, norm, to_host
from ..loop import Result
from ..loop.history import History
from ..objectives import Function, Objective
from ..objectives._distance import HalfSquaredDistance
from ..problem import Problem, Solver, counted
from ..problem.checks import checked, flag, function, instance, nonnegative, optional, shown, whole
from ..sets import Product, Set
from ..solvers import AlternatingProjections
from .execute import concluded
from .minimize import minimize

Coupling = Callable[[Array, Array], tuple[float, Array, Array]]
"""(x, y) -> f(x, y) and its gradients in x and in y."""


_LAST_CALLS = 2  # of both oracles, for the hyperplane


_a_set = instance(Set, "a set (wolfpack.sets)")


@checked(K1=_a_set, K2=_a_set, penalty=nonnegative)
def between(
    K1: Set,
    K2: Set,
    f: Coupling | None = None,
    x0: tuple[Array, Array] | None = None,
    *,
    penalty: float = 1.0,
    method: str | Solver[Any] = "auto",
    **settings: Any,
) -> Result:
    r"""Find a point of each of two sets at the least distance; with a certificate.

    *Solves* :math:`\min \|x - y\|_2` over :math:`x \in K_1` and :math:`y \in K_2`. With ``f`` it
    solves :math:`\min f(x, y) + \tfrac\rho2 \|x - y\|_2^2` instead, :math:`\rho` being ``penalty``.

    *Guarantee*: for any z, every :math:`x \in K_1` and :math:`y \in K_2` have

    .. math:: \|z\|\,\|x - y\| \ge \min_{K_1} \langle z, \cdot\rangle
        - \max_{K_2} \langle z, \cdot\rangle,

    and one call of each oracle, at z = x - y, bounds the distance of the sets from below.

    Parameters
    ----------
    K1, K2 : Set
        Two sets of points of the same shape.
    f : callable, optional
        (x, y) -> (value, gradient in x, gradient in y) of a smooth function. ``convex=True`` says
        that it is convex.
    x0 : pair of arrays, optional
        A point of K1 and one of K2 to start from.
    penalty : float
        The factor :math:`\rho` of the coupling that goes with f; 0 leaves f alone.
    method : str or solver object
        "auto" and all methods of `minimize` work on the pair (x, y) in the product of the sets.
        "block" alternates linear minimisation over one set and over the other, "projections"
        alternates projections onto them; a set without a projection gets one from its oracle.
    **settings
        Arguments of `wolfpack.minimize`: limits, ``callback`` (which sees the pair as one vector,
        and f), ``order`` of "block" and so on. Without f, ``tol`` and ``rtol`` are of the distance:
        the run ends when the distance found is proved to exceed the least one by no more than
        ``tol``, or ``rtol`` times itself. By default that is 1e-6 of the distance at the start, or
        1e-9 of that found.

    Returns
    -------
    Result
        With ``x`` and ``y``, and

        - ``distance``, that of x and y, and ``distance_bound``, a number proved to be at most the
          distance of the sets;
        - ``fun``, ``lower_bound``, ``gap`` and the columns of ``history``: the same two numbers and
          their difference, or those of the coupled function if there is an f;
        - ``meet``: False if the sets are proved to be disjoint, True if x and y are as near as the
          tolerance asks and no number above 0 bounds their distance, and None where neither is
          known; with an f, False or None;
        - ``normal`` and ``offset``, a unit vector u and a number c. If ``distance_bound`` is m > 0,
          <u, x> >= c + m/2 for all x in K1 and <u, y> <= c - m/2 for all y in K2.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> near, far = wp.sets.L2Ball(2), wp.sets.Translate(wp.sets.L1Ball(2), [3.0, 0.0])
    >>> res = wp.between(near, far)
    >>> res.x, res.y, res.meet
    (array([1., 0.]), array([2., 0.]), False)
    >>> bool(abs(res.distance - 1.0) <= 1e-9 and res.gap <= 1e-6)
    True
    """
    K = _product(K1, K2)
    _refuse(settings, method, f)
    start = None if x0 is None else _joined(K, x0)
    if f is None:
        objective = HalfSquaredDistance(K1.dimension, start)
    else:
        objective = _coupled(function(f, "f"), K, penalty)
    solver = AlternatingProjections() if _is_projections(method) else method
    raises = flag(settings.pop("raise_on_failure", False), "raise_on_failure")
    calls = optional(whole(0))(settings.pop("max_lmo", None), "max_lmo")
    calls = None if calls is None else max(0, calls - _LAST_CALLS)
    found = minimize(objective, K, start, method=solver, max_lmo=calls, **settings)
    return concluded(_of_pair(found, K, f is None), raises)


def _product(K1: Set, K2: Set) -> Product:
    if tuple(K1.shape) != tuple(K2.shape):
        raise ValueError(
            f"K1 and K2 must hold points of the same shape, found {tuple(K1.shape)} and "
            f"{tuple(K2.shape)}"
        )
    return Product(K1, K2)


def _is_projections(method: Any) -> bool:
    return isinstance(method, str) and method == "projections"


def _refuse(settings: dict[str, Any], method: Any, f: Any) -> None:
    for name in ("checkpoint", "starts"):
        if name in settings:
            raise TypeError(f"between has no argument {name!r}: leave it out")
    if f is not None and _is_projections(method):
        raise TypeError(
            "method 'projections' knows the distance alone, and f is given: choose 'block', which "
            "alternates linear minimisation, or 'auto'"
        )
    if f is None and settings.get("convex") is False:
        raise TypeError("convex=False is for an f of your own: the distance is convex")


def _joined(K: Product, x0: Any) -> Array:
    try:
        x, y = x0
    except (TypeError, ValueError):
        raise TypeError(
            f"x0 must be a pair of points, one of K1 and one of K2, found {shown(x0)}"
        ) from None
    return K.join([as_float_array(x, "x0[0]"), as_float_array(y, "x0[1]")])


def _coupled(f: Coupling, K: Product, penalty: float) -> Objective:
    """Return f(x, y) + penalty/2 ||x - y||^2 as a function of the joined vector."""

    def joint(w: Array) -> tuple[float, Array]:
        x, y = K.split(w)
        answer: Any = f(x, y)
        try:
            value, gx, gy = answer
        except (TypeError, ValueError):
            raise TypeError(
                "f(x, y) must return (value, gradient in x, gradient in y), found " + shown(answer)
            ) from None
        z = penalty * (x - y)
        return value + 0.5 * inner(z, x - y), K.join([gx + z, gy - z])

    return Function(joint, shape=K.shape)


def _of_pair(found: Result, K: Product, plain: bool) -> Result:
    """Return the result of a run over pairs as one of two points."""
    w = found.x
    x, y = (part for part in K.split(w))
    found.pair, found.x, found.y = w, x, y
    distance, bound, normal, offset = _separated(found, K)
    if plain:
        bound = max(bound, _root(found.lower_bound))
        bound = min(bound, distance)
        found.fun, found.lower_bound, found.gap = distance, bound, distance - bound
        found.history = _of_distances(found.history)
    found.distance, found.distance_bound = distance, bound
    found.normal, found.offset = like(normal, x) if is_foreign(x) else normal, offset
    met = plain and bool(found.success)
    found.meet = False if bound > 0.0 else (True if met else None)
    found.message += _verdict(found)
    return found


def _verdict(found: Result) -> str:
    if found.meet is False:
        return (
            f" The sets are disjoint: a hyperplane proves a distance of {found.distance_bound:g}."
        )
    if found.meet:
        return f" The sets meet within the tolerance: x and y are {found.distance:.1e} apart."
    return " Whether the sets meet is open."


def _separated(found: Result, K: Product) -> tuple[float, float, Array, float]:
    """Return the distance of x and y, a lower bound, and the separating hyperplane.

    With s = min <z, K1> - max <z, K2> for z = x - y and d = ||z||, the tangent of d^2/2 at the pair
    scaled by t = s/d^2 proves the bound (s/d)^2/2, which is the best one along z.
    """
    # on the host, wherever the run was
    w = np.asarray(to_host(found.pair), dtype=np.float64)
    x, y = K.split(w)
    z, d = x - y, norm(x - y)
    if d == 0.0:
        return 0.0, 0.0, z, 0.0
    objective: Any = HalfSquaredDistance(x.size)
    problem = Problem(objective, K)
    with counted(problem.counts):
        low, high = _supports(K, z)
        t = min(1.0, max(0.0, (low - high) / (d * d)))
        at = problem.evaluate(t * w)
        bound = problem.dual_bound(at.gradient, at.dual, K.lmo(at.gradient)) if t > 0.0 else 0.0
    found.nlmo += problem.counts.nlmo + 1 + (t > 0.0)
    return d, _root(bound), z / d, 0.5 * (low + high) / d


def _supports(K: Product, z: Array) -> tuple[float, float]:
    """Return min <z, x> over K1 and max <z, y> over K2."""
    K1, K2 = K.parts
    return float(K1.lmo(z).dot(z)), float(K2.support(z))


def _root(half_square: float) -> float:
    """Return the distance of which this is half the square, rounded downwards."""
    return math.nextafter(math.sqrt(2.0 * max(half_square, 0.0)), 0.0)


def _of_distances(history: History) -> History:
    """Return the history of half squares as that of distances."""
    columns = {name: history[name] for name in history}
    columns["fun"] = np.sqrt(2.0 * np.maximum(columns["fun"], 0.0))
    columns["lower_bound"] = np.sqrt(2.0 * np.maximum(columns["lower_bound"], 0.0))
    lowest = np.minimum.accumulate(columns["fun"])
    columns["gap"] = np.maximum(lowest - np.maximum.accumulate(columns["lower_bound"]), 0.0)
    return History.from_columns(columns)
