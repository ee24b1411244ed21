r"""Corrections: minimise f over the hull of known vertices, to a tolerance tied to the gap.

.. math:: \min f\Bigl(\sum_i w_i v_i\Bigr) \quad\text{over } w \ge 0,\ \textstyle\sum_i w_i = 1.

Each begins with a Frank-Wolfe step to the clean vertex, never increases f (beyond rounding), and
ends when no point of the hull promises more than ``tol``: with slopes
:math:`r_i = \langle\nabla f(x), v_i\rangle`, mean r - min r <= tol and, over points with weight,
max r - mean r <= tol. That is the correction of Lacoste-Julien and Jaggi (2015, Algorithm 4).

There are four kinds, by what f knows:

- *quadratic*: the Gram matrix of the Hessian grows with the hull, and one quadratic program over
  the weights is the whole correction: one gradient.
- *affine*: f has gradients only, and they have been affine so far. Then f is a quadratic, and the
  difference of the gradients at a vertex and at the starting point is the product of its Hessian
  with their difference, up to rounding. The rest is as before. Each round compares the gradients
  that it finds with those that a quadratic has; where they differ the kind is *gradient* from then
  on.
- *newton*: f has products with its Hessian. The same program for the quadratic model at x, on the
  support and the most promising points, then a line search; two or three times.
- *gradient*: otherwise, accelerated projected gradient steps over the hull in the Euclidean metric,
  in which the condition of f is that of f itself and not also that of the vertices.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from ...arrays import Array, all_finite, epsilon, norm, same_type
from ...atoms import Atoms
from ...problem import Evaluation, NonFiniteError, Problem, tick
from .armijo import descend
from .barycentric import Face, minimize_weights
from .carried import evaluate
from .domain import shortened
from .hull import Hull, Metric
from .projected_gradient import Motion, Probe, Space, minimize, rounding_of
from .step_rules import SearchLine, Secant

CorrectionKind: TypeAlias = Literal["quadratic", "affine", "newton", "gradient"]

_RULE = Secant(tol=0.1)
CANDIDATES = 64
"""Points outside the support that a Newton step takes into account."""

_AFFINE = 1e4
"""Rounding units by which gradients that are called affine may differ from that."""

_NEWTON_STEPS = 10
_GRADIENT_STEPS = 200


EUCLIDEAN = Metric(lambda v: v.to_dense())


class Corrected(NamedTuple):
    """Weights, the point that they make, f there, and the face that the correction ends with."""

    weights: Array
    x: Array
    at: Evaluation
    face: Face | None = None

    @property
    def value(self) -> float:
        return self.at.value


def correction_kind(problem: Problem, x: Array) -> CorrectionKind:
    """Return the kind of correction that f allows."""
    f = problem.objective
    if f.hessian_product(x, x) is None:
        return "gradient"
    return "newton" if f.curvature(x, x) is None else "quadratic"


def is_affine(problem: Problem, x: Array, g: Array, vertex: Atoms) -> bool:
    """Tell whether grad f in the middle of x and a vertex is the mean of those at the ends.

    ``g`` is the gradient at x. This takes two gradients.
    """
    v = same_type(vertex.to_dense(), x)
    tip, middle = problem.gradient(v), problem.gradient(0.5 * (x + v))
    error = norm(middle - 0.5 * (g + tip))
    return error <= _AFFINE * epsilon(x) * (norm(g) + norm(tip))  # also False for NaN


def is_predicted(
    problem: Problem, hull: Hull, scores: Array, found: Corrected, value: float
) -> bool:
    """Tell whether f has at ``found`` the slopes of the quadratic that the Gram matrix makes of it.

    ``scores`` and ``value`` are those of f at the hull's own point.
    """
    assert hull.gram is not None
    change = hull.gram @ (found.weights - hull.weights)
    error = hull.scores(found.at.gradient) - scores - change
    size = float(abs(scores).max() + abs(change).max())
    eps = epsilon(found.x)
    lower = found.value <= value + 4.0 * eps * abs(value)
    return lower and float(np.ptp(error)) <= math.sqrt(eps) * size


def metric_of(
    kind: CorrectionKind, problem: Problem, x: Array, anchor: Array | None = None
) -> Metric | None:
    """Return the metric in which a hull keeps its Gram matrix, None for none.

    ``anchor`` is the gradient at the hull's origin, for the kind *affine*.
    """
    if kind == "affine":

        def difference(v: Atoms) -> Array:
            point = same_type(v.to_dense(), x)
            found = problem.gradient(point) - anchor
            if not all_finite(found):
                raise NonFiniteError("f returned a NaN or infinite gradient", point)
            return found

        return Metric(difference, centred=True)
    if kind == "gradient":
        return EUCLIDEAN
    if kind == "newton":
        return None
    f = problem.objective
    carrier, image = f.carrier(x), None
    if carrier is not None and f.image_shape is not None and math.prod(f.image_shape) <= x.size:
        image = lambda v: carrier.of_vertex(v)[0]  # noqa: E731
    return Metric(partial(f.hessian_of_vertex, x), image, getattr(f, "weight", 1.0))


def correct(
    kind: CorrectionKind,
    problem: Problem,
    hull: Hull,
    here: Corrected,
    clean: int,
    tol: float,
    scores: Array,
) -> Corrected:
    """Return a point of the hull where f is nearly minimal, to the tolerance ``tol`` of the slopes.

    ``here`` is the point to start from, ``clean`` the position of the clean vertex in the hull,
    ``scores`` are <grad f(x), v_i> there.
    """
    if kind in ("quadratic", "affine"):
        return _quadratic(problem, hull, scores, clean, tol)
    start = _frank_wolfe_step(problem, hull, here, clean)
    descent = _newton if kind == "newton" else _gradient
    return descent(problem, hull, start, tol)


def _quadratic(problem: Problem, hull: Hull, r: Array, clean: int, tol: float) -> Corrected:
    G, w = hull.gram, hull.weights
    assert G is not None
    Gw = G @ w
    descent = float(r @ w - r[clean])
    curvature = float(G[clean, clean] - 2.0 * Gw[clean] + w @ Gw)
    gamma = 0.0 if descent <= 0 else min(1.0, descent / max(curvature, descent))
    w_start = (1.0 - gamma) * w
    w_start[clean] += gamma
    slopes = r + gamma * (G[clean] - Gw)
    weights, face = minimize_weights(G, slopes, w_start, tol, hull.face)
    return _at(problem, hull, weights)._replace(face=face)


def _frank_wolfe_step(problem: Problem, hull: Hull, here: Corrected, clean: int) -> Corrected:
    """Return a point towards the clean vertex where f is lower by a guaranteed amount."""
    tip = np.zeros(len(hull.weights))
    tip[clean] = 1.0
    r = hull.scores(here.at.gradient)
    down = descend(
        lambda t: _at(problem, hull, (1.0 - t) * here.weights + t * tip),
        here.value,
        float(r[clean] - r @ here.weights),
    )
    return here if down.found is None else down.found


def _search(problem: Problem, hull: Hull, here: Corrected, tip: Array) -> Corrected:
    """Return the minimiser of f between ``here`` and the point with weights ``tip``."""
    d = hull.point(tip) - here.x
    gamma, _ = _RULE(problem, SearchLine(0, here.x, here.at, d))
    if gamma <= 0:
        return here
    _, found = shortened(
        lambda t: _at(problem, hull, (1.0 - t) * here.weights + t * tip), gamma, here.x, end=1.0
    )
    # f may exceed that at ``here`` by rounding at most
    return found if found.value <= here.value + 4 * epsilon(here.x) * abs(here.value) else here


def _at(problem: Problem, hull: Hull, weights: Array) -> Corrected:
    x = hull.point(weights)
    return Corrected(weights, x, evaluate(problem, hull, weights, x))


def _settled(r: Array, w: Array, tol: float) -> bool:
    mean = float(r @ w)
    return bool(mean - r.min() <= tol and r[w > 0].max() - mean <= tol)


def _newton(problem: Problem, hull: Hull, here: Corrected, tol: float) -> Corrected:
    """Return the point after steps to the minimisers of f's quadratic models over the hull."""
    images: dict[int, Array] = {}
    for _ in range(_NEWTON_STEPS):
        r, w = hull.scores(here.at.gradient), here.weights
        if _settled(r, w, tol):
            break
        used = w > 0
        outside = np.flatnonzero(~used & (r < float(r @ w)))
        best = outside[np.argsort(r[outside], kind="stable")[:CANDIDATES]]
        working = np.concatenate([np.flatnonzero(used), best])
        gram = _gram(problem, hull, here.x, working, images)
        tip = np.zeros(len(w))
        gram = 0.5 * (gram + gram.T)
        tip[working], _ = minimize_weights(gram, r[working], w[working], 0.1 * tol)
        there = _search(problem, hull, here, tip)
        if there is here:
            break
        here = there
    return here


def _gram(
    problem: Problem, hull: Hull, x: Array, working: Array, images: dict[int, Array]
) -> Array:
    """Return <v_i, Hess f(x) v_j> of some points of a hull; ``images`` keeps what f makes of them.

    Where f has products of images, these are cheaper than products with its Hessian.
    """
    f = problem.objective
    metric = f.image_metric(x)
    if metric is None:
        rows: list[Array] = []
        for i in working:
            tick()
            rows.append(hull.scores(f.hessian_product(x, hull.vertex(i)))[working])
        return np.array(rows)
    for i in working:
        if i not in images:
            images[i] = f.image(hull.vertex(i))
    return metric([images[i] for i in working])


def _gradient(problem: Problem, hull: Hull, here: Corrected, tol: float) -> Corrected:
    """Return the point after accelerated projected gradient steps over the hull."""
    space = _HullSpace(problem, hull, tol, rounding_of(here.x))
    at = Probe(here.value, hull.scores(here.at.gradient), here)
    # as for the first step of a run, this L is far too small, and the first test says by how much
    spread, size = float(np.ptp(at.gradient)), float(space.gram.diagonal().max())
    start = Motion.start(here.weights, at, max(spread, epsilon(here.x)) / max(size, 1e-300))
    slack = 4 * epsilon(here.x)
    best = minimize(
        space, start, lambda m: _settled(m.at.gradient, m.x, tol), _GRADIENT_STEPS, slack
    )
    return best.at.details._replace(face=space.face)


class _HullSpace(Space[Corrected]):
    """Points of a hull as weights, in the metric of its Gram matrix."""

    affine = False

    def __init__(self, problem: Problem, hull: Hull, tol: float, rounding: float) -> None:
        self.problem = problem
        self.hull = hull
        self.tol = 0.1 * tol
        assert hull.gram is not None
        self.gram = hull.gram
        self.last, self.face = hull.weights, hull.face
        self.rounding = rounding

    def evaluate(self, x: Array) -> Probe[Corrected]:
        here = _at(self.problem, self.hull, x)
        return Probe(here.value, self.hull.scores(here.at.gradient), here)

    def project(self, y: Array, gradient: Array, L: float) -> Array:
        # starts at the last answer, which is feasible; y need not be
        slopes = (1.0 / L) * gradient + self.gram @ (self.last - y)
        self.last, self.face = minimize_weights(
            self.gram, slopes, self.last, self.tol / L, self.face
        )
        return self.last

    def dot(self, a: Array, b: Array) -> float:
        return float(a @ (self.gram @ b))
