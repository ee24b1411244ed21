r"""Corrections: minimise f over the hull of a pool, to a tolerance tied to the gap.

.. math:: \min f\Bigl(\sum_i w_i v_i\Bigr) \quad\text{over } w \ge 0,\ \textstyle\sum_i w_i = 1.

Each begins with a Frank-Wolfe step to the clean vertex, never increases f (beyond rounding), and
ends when no point of the pool promises more than ``tol``: with slopes
:math:`r_i = \langle\nabla f(x), v_i\rangle`, mean r - min r <= tol and, over points with weight,
max r - mean r <= tol. That is the correction of Lacoste-Julien and Jaggi (2015, Algorithm 4).

Three ways, by what f knows:

- *quadratic*: the Gram matrix of the Hessian grows with the pool, and one quadratic program over
  the weights is the whole correction: one gradient.
- *newton*: f has products with its Hessian. The same program for the quadratic model at x, on the
  support and the most promising points, then a line search; two or three times.
- *gradient*: otherwise, accelerated projected gradient steps over the hull in the Euclidean metric,
  in which the condition of f is that of f itself and not also that of the vertices.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ...arrays import Array, epsilon
from ...problem import Evaluation, Problem
from .accelerated import Look, Motion, advance, rounding_of
from .armijo import descend
from .pool import Pool, Product
from .step_rules import Ray, Secant
from .weights import CANDIDATES, minimize_weights

_RULE = Secant(tol=0.1)
_NEWTON_STEPS = 10
_GRADIENT_STEPS = 200


class Corrected(NamedTuple):
    """Weights, the point that they make, and f there."""

    weights: Array
    x: Array
    at: Evaluation


def way_of(problem: Problem, x: Array) -> str:
    """Return the way of correcting that f allows: "quadratic", "newton" or "gradient"."""
    f = problem.objective
    if f.hessian_product(x, x) is None:
        return "gradient"
    return "newton" if f.curvature(x, x) is None else "quadratic"


def metric_of(way: str, problem: Problem, x: Array) -> Product | None:
    """Return the metric d -> B d in which a pool keeps its Gram matrix, None for none."""
    if way == "quadratic":
        return partial(problem.objective.hessian_product, x)
    return _same if way == "gradient" else None


def correct(
    way: str, problem: Problem, pool: Pool, x: Array, at: Evaluation, toward: tuple[int, float]
) -> Corrected:
    """Return a point of the pool's hull that is near the minimum of f over it.

    Parameters
    ----------
    way : {"quadratic", "newton", "gradient"}
        How, as `way_of` says.
    problem, pool
        f, and the points.
    x, at
        The point that the pool's weights make, and f there.
    toward : tuple
        Position of the clean vertex in the pool, and the tolerance.
    """
    clean, tol = toward
    if way == "quadratic":
        return _quadratic(problem, pool, at, clean, tol)
    start = _frank_wolfe_step(problem, pool, Corrected(pool.weights, x, at), clean)
    step: Callable[..., Corrected] = _newton if way == "newton" else _gradient
    return step(problem, pool, start, tol)


def _quadratic(problem: Problem, pool: Pool, at: Evaluation, clean: int, tol: float) -> Corrected:
    G, w, r = pool.gram, pool.weights, pool.scores(at.gradient)
    assert G is not None
    Gw = G @ w
    descent = float(r @ w - r[clean])
    curvature = float(G[clean, clean] - 2.0 * Gw[clean] + w @ Gw)
    gamma = 0.0 if descent <= 0 else min(1.0, descent / max(curvature, descent))
    w_start = (1.0 - gamma) * w
    w_start[clean] += gamma
    slopes = r + gamma * (G[clean] - Gw)
    return _at(problem, pool, minimize_weights(G, slopes, w_start, tol))


def _frank_wolfe_step(problem: Problem, pool: Pool, here: Corrected, clean: int) -> Corrected:
    """Return a point on the way to the clean vertex that goes down by a sure amount."""
    tip = np.zeros(pool.size)
    tip[clean] = 1.0
    r = pool.scores(here.at.gradient)

    def look(t: float) -> Look:
        there = _at(problem, pool, (1.0 - t) * here.weights + t * tip)
        return Look(there.at.value, None, there)

    down = descend(look, here.at.value, float(r[clean] - r @ here.weights))
    return here if down.found is None else down.found.full


def _search(problem: Problem, pool: Pool, here: Corrected, tip: Array) -> Corrected:
    """Return the minimiser of f between ``here`` and the point with weights ``tip``."""
    d = pool.point(tip) - here.x
    gamma, _ = _RULE(problem, Ray(0, here.x, here.at, d, 1.0, 0.0))
    if gamma <= 0:
        return here
    found = _at(problem, pool, (1.0 - gamma) * here.weights + gamma * tip)
    worse = found.at.value > here.at.value + 4 * epsilon(here.x) * abs(here.at.value)
    return here if worse else found


def _at(problem: Problem, pool: Pool, weights: Array) -> Corrected:
    x = pool.point(weights)
    return Corrected(weights, x, problem.evaluate(x))


def _settled(r: Array, w: Array, tol: float) -> bool:
    mean = float(r @ w)
    return bool(mean - r.min() <= tol and r[w > 0].max() - mean <= tol)


def _newton(problem: Problem, pool: Pool, here: Corrected, tol: float) -> Corrected:
    """Return the point after steps to the minimisers of f's quadratic models over the hull."""
    for _ in range(_NEWTON_STEPS):
        r, w = pool.scores(here.at.gradient), here.weights
        if _settled(r, w, tol):
            break
        used = w > 0
        outside = np.flatnonzero(~used & (r < float(r @ w)))
        best = outside[np.argsort(r[outside], kind="stable")[:CANDIDATES]]
        working = np.concatenate([np.flatnonzero(used), best])
        product = partial(problem.objective.hessian_product, here.x)
        rows = [pool.scores(product(pool.vertex(i)))[working] for i in working]
        gram = np.array(rows)
        tip = np.zeros(pool.size)
        tip[working] = minimize_weights(0.5 * (gram + gram.T), r[working], w[working], 0.1 * tol)
        there = _search(problem, pool, here, tip)
        if there is here:
            break
        here = there
    return here


def _gradient(problem: Problem, pool: Pool, here: Corrected, tol: float) -> Corrected:
    """Return the point after accelerated projected gradient steps over the hull."""
    hull, best = _Hull(problem, pool, tol, rounding_of(here.x)), here
    look = Look(here.at.value, pool.scores(here.at.gradient), here)
    G = pool.gram
    assert G is not None
    # as for the first step of a run: far too bold, and the first test says by how much
    spread, size = float(np.ptp(look.gradient)), float(G.diagonal().max())
    motion = Motion.start(here.weights, look, max(spread, epsilon(here.x)) / max(size, 1e-300))
    for _ in range(_GRADIENT_STEPS):
        if _settled(motion.look.gradient, motion.x, tol):
            break
        motion = advance(hull, motion)
        # values that differ by rounding alone do not tell which point is the better one
        if motion.look.value <= best.at.value + 4 * epsilon(best.x) * abs(best.at.value):
            best = motion.look.full
    return best


class _Hull:
    """Points of a pool's hull as weights, in the metric of its Gram matrix."""

    affine = False

    def __init__(self, problem: Problem, pool: Pool, tol: float, rounding: float) -> None:
        self.problem = problem
        self.pool = pool
        self.tol = 0.1 * tol
        assert pool.gram is not None
        self.gram = pool.gram
        self.near = pool.weights
        self.rounding = rounding

    def look(self, x: Array) -> Look:
        here = _at(self.problem, self.pool, x)
        return Look(here.at.value, self.pool.scores(here.at.gradient), here)

    def project(self, y: Array, gradient: Array, L: float) -> Array:
        # from the last answer, which is feasible, as y need not be
        slopes = (1.0 / L) * gradient + self.gram @ (self.near - y)
        self.near = minimize_weights(self.gram, slopes, self.near, self.tol / L)
        return self.near

    def pair(self, gradient: Array, step: Array) -> float:
        return float(gradient @ step)

    def dot(self, a: Array, b: Array) -> float:
        return float(a @ (self.gram @ b))


def _same(d: Array) -> Array:
    return d
