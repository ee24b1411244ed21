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
- *gradient*: otherwise the Gram matrix of the Hessian comes from differences of gradients, one for
  each new vertex, and is corrected by BFGS updates along the steps that are made.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import lapack

from ...arrays import Array, all_finite, epsilon, inner, norm, same_type
from ...atoms import Atoms
from ...problem import Evaluation, NonFiniteError, Problem, tick
from .active_set import hessian_product
from .armijo import descend
from .barycentric import Face, minimize_weights
from .carried import evaluate
from .domain import shortened
from .hull import Hull, Metric
from .projected_gradient import rounding_of
from .step_rules import SearchLine, Secant

CorrectionKind: TypeAlias = Literal["quadratic", "affine", "newton", "gradient"]

_RULE = Secant(tol=0.1)
CANDIDATES = 64
"""Points outside the support that a Newton step takes into account."""

_AFFINE = 1e4
"""Rounding units by which gradients that are called affine may differ from that."""

_NEWTON_STEPS = 10
_SECANT_STEPS = 20
_REFRESH = 6
"""Steps of a correction after which the matrix of differences is made anew."""

_EXACT = 1e-6
"""Relative error up to which a change of slopes counts as predicted."""


class Corrected(NamedTuple):
    """Weights, the point that they make, f there, and what the correction leaves to the next one.

    That is the face that it ended with, or the Gram matrix if its steps have changed it.
    """

    weights: Array
    x: Array
    at: Evaluation
    face: Face | None = None
    gram: Array | None = None

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
    """Return the metric in which a hull keeps its Gram matrix, None where no metric makes it.

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
    if kind != "quadratic":
        return None
    f = problem.objective
    carrier, image = f.carrier(x), None
    if carrier is not None and f.image_shape is not None and math.prod(f.image_shape) <= x.size:
        image = lambda v: carrier.of_vertex(v)[0]  # noqa: E731
    return Metric(partial(f.hessian_of_vertex, x), image, getattr(f, "weight", 1.0))


def first_hull(
    kind: CorrectionKind, problem: Problem, x: Array, anchor: Array | None = None
) -> Hull:
    """Return the hull of the starting point, with the Gram matrix that a correction needs."""
    hull = Hull.start(x, metric_of(kind, problem, x, anchor))
    return hull.with_gram(np.zeros((1, 1))) if kind == "gradient" else hull


def extended(
    kind: CorrectionKind,
    problem: Problem,
    hull: Hull,
    answers: Atoms,
    here: Corrected,
    anchor: Array | None = None,
) -> tuple[Hull, Array]:
    """Return the hull with the oracle's answers, and the position of each of them."""
    if kind != "gradient":
        return hull.extend(answers, metric_of(kind, problem, here.x, anchor))
    known, gram = len(hull.weights), hull.gram
    assert gram is not None
    grown, places = hull._replace(products=None).extend(answers)
    if len(grown.weights) == known:
        return hull, places
    return grown.with_gram(_with_differences(problem, grown, gram, here)), places


def _with_differences(problem: Problem, hull: Hull, gram: Array, here: Corrected) -> Array:
    """Return the Gram matrix with the rows of new points, from differences of gradients at x.

    It is <v_i - v_0, H (v_j - v_0)>, and H (v_j - v_0) = H (v_j - x) + sum_k w_k H (v_k - v_0).
    """
    known = len(gram)
    w, Gw = hull.weights[:known], gram @ hull.weights[:known]
    rows = _images(problem, hull, here, known)
    rows -= rows[:, :1]
    rows[:, :known] += Gw
    rows[:, known:] += rows[:, :known] @ w
    corner = rows[:, known:]
    rows[:, known:] = 0.5 * (corner + corner.T)
    return np.vstack([np.hstack([gram, rows[:, :known].T]), rows])


def _of_differences(problem: Problem, hull: Hull, here: Corrected) -> Array:
    """Return the same matrix for the Hessian at x alone, one gradient for each point."""
    gram = _images(problem, hull, here, 0)
    gram = 0.5 * (gram + gram.T)
    gram = gram - gram[0] - gram[:, :1] + gram[0, 0]
    return 0.5 * (gram + gram.T)


def _images(problem: Problem, hull: Hull, here: Corrected, first: int) -> Array:
    """Return <v_i - x, H (v_j - x)> for all i, a row for each j from ``first`` on."""
    rows = []
    for j in range(first, len(hull.weights)):
        image = hessian_product(problem, here.x, here.at, hull.vertex(j) - here.x)
        rows.append(hull.scores(image) - inner(here.x, image))
    return np.array(rows)


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
    if kind == "gradient":
        return _secant(problem, hull, here, clean, tol)
    return _newton(problem, hull, _frank_wolfe_step(problem, hull, here, clean), tol)


def _quadratic(problem: Problem, hull: Hull, r: Array, clean: int, tol: float) -> Corrected:
    G, w = hull.gram, hull.weights
    assert G is not None
    Gw = G.dot(w)
    descent = float(r.dot(w) - r[clean])
    curvature = float(G[clean, clean] - 2.0 * Gw[clean] + w.dot(Gw))
    gamma = 0.0 if descent <= 0 else min(1.0, descent / max(curvature, descent))
    w_start = (1.0 - gamma) * w
    w_start[clean] += gamma
    slopes = r + gamma * (G[clean] - Gw)
    weights, face = minimize_weights(G, slopes, w_start, tol, hull.face)
    x, at = _evaluated(problem, hull, weights)
    return Corrected(weights, x, at, face)


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
    return Corrected(weights, *_evaluated(problem, hull, weights))


def _evaluated(problem: Problem, hull: Hull, weights: Array) -> tuple[Array, Evaluation]:
    x = hull.point(weights)
    return x, evaluate(problem, hull, weights, x)


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


def _secant(problem: Problem, hull: Hull, here: Corrected, clean: int, tol: float) -> Corrected:
    """Return the point after steps to the minimisers of models that the steps themselves improve.

    The model's matrix G is that of the hull. A step dw that changes the slopes by dr teaches it
    G dw = dr, by the BFGS formula. A step that the model has predicted well needs no line search.
    """
    gram, start = hull.gram, here
    assert gram is not None
    r, fresh = hull.scores(here.at.gradient), False
    for step in range(_SECANT_STEPS):
        if step > 0 and _settled(r, here.weights, tol):
            break
        if step > 0 and step % _REFRESH == 0 and not fresh:
            gram, fresh = _of_differences(problem, hull, here), True
        w, _ = minimize_weights(_positive(gram, r, here.x), r, here.weights, 0.1 * tol)
        # the mean changes nothing, and subtracting it keeps the digits of a short step
        slope = float((r - r @ here.weights) @ (w - here.weights))
        there = _full_or_searched(problem, hull, here, w, slope)
        if there is here and not fresh:
            # what was learned at other points misleads here
            gram, fresh = _of_differences(problem, hull, here), True
            continue
        if there is here and here is start:
            there = _frank_wolfe_step(problem, hull, here, clean)
        if there is here:
            break
        r_next = hull.scores(there.at.gradient)
        gram = _taught(gram, there.weights - here.weights, r_next - r)
        here, r, fresh = there, r_next, False
    return here._replace(gram=gram)


def _full_or_searched(
    problem: Problem, hull: Hull, here: Corrected, tip: Array, slope: float
) -> Corrected:
    """Return the point with weights ``tip`` if f falls on the whole way there, else search."""
    if slope >= 0.0:
        return here
    try:
        there = _at(problem, hull, tip)
    except NonFiniteError:
        return _search(problem, hull, here, tip)
    end = inner(there.at.gradient, there.x - here.x)
    # f is convex, so that it falls all the way where its slope at the end is not positive
    flat = 0.1 * abs(slope) + rounding_of(here.x) * abs(here.value)
    good = end <= flat and there.value <= here.value + 4 * epsilon(here.x) * abs(here.value)
    return there if good else _search(problem, hull, here, tip)


def _positive(gram: Array, r: Array, x: Array) -> Array:
    """Return the nearest matrix whose eigenvalues exceed the errors of differences."""
    least = max(0.01 * epsilon(x) ** 0.5 * float(np.ptp(r)), np.finfo(float).tiny)
    out = gram + least * np.eye(len(r))
    if lapack.dpotrf(out)[1] == 0:
        return out
    values, vectors = np.linalg.eigh(gram)
    return (vectors * np.maximum(values, least)) @ vectors.T


def _taught(gram: Array, dw: Array, dr: Array) -> Array:
    """Return the matrix after a BFGS update with which G dw = dr, up to a constant."""
    dr = dr - dr[0]  # the origin's slope is the reference, as in the Gram matrix
    Gdw = gram @ dw
    old, new = float(dw @ Gdw), float(dw @ dr)
    error = dr - Gdw
    if not new > 0.0 or float(abs(error).max()) <= _EXACT * float(abs(dr).max()):
        return gram
    gram = gram + np.outer(dr, dr / new)
    return gram - np.outer(Gdw, Gdw / old) if old > 1e-14 * new else gram
