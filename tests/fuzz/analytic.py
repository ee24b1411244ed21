"""Random problems whose minimiser is chosen first: many sets, nine kinds of functions.

A point x* of K is chosen, exactly, with a direction g for which x* minimises <g, v> over K. Then f
is made with grad f(x*) = s g, s >= 0, so that x* minimises f over K. The data of f are rounded to
floats, which moves the minimiser by a rounding error and the minimum by its square. The value at
x* is therefore what a certificate is compared with: it is never below the minimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np

import wolfpack as wp
from contracts import registry
from fuzz import exact
from fuzz.exact import HALF, ONE, ZERO, Vector
from fuzz.problem import Problem


@dataclass(frozen=True)
class Corner:
    """A set, a point x* that is exactly in it, and a direction g that x* minimises over it."""

    name: str
    K: Any
    point: Vector
    direction: np.ndarray

    @property
    def x(self) -> np.ndarray:
        """The point x*, rounded, as a vector or a matrix."""
        return _floats(self.point).reshape(self.K.shape)

    def slope(self, rng: np.random.Generator) -> np.ndarray:
        """Return the gradient that f will have at x*; sometimes 0, so that x* is a free minimum."""
        size = float(rng.choice([0.0, 0.1, 1.0, 1.0, 10.0]))
        return size * self.direction.reshape(self.K.shape)


def _on_face(rng: np.random.Generator, name: str, K: Any, vertices: np.ndarray) -> Corner:
    """Choose a direction and a point of the face of all vertices that minimise it."""
    points = [exact.vector(v) for v in vertices]
    direction = rng.integers(-2, 3, len(points[0])).astype(float)  # integers, for ties
    slopes = [exact.dot(exact.vector(direction), v) for v in points]
    face = [v for v, slope in zip(points, slopes, strict=True) if slope == min(slopes)]
    counts = [Fraction(int(count)) for count in rng.integers(0, 4, len(face))]
    counts[0] += ONE
    total = sum(counts)
    return Corner(name, K, exact.combine([c / total for c in counts], face), direction)


def simplex(rng: np.random.Generator) -> Corner:
    """A simplex of radius 1/2 to 100."""
    d, radius = int(rng.integers(2, 6)), float(rng.choice([0.5, 1.0, 3.0, 100.0]))
    return _on_face(rng, "simplex", wp.sets.Simplex(d, radius), radius * np.eye(d))


def l1_ball(rng: np.random.Generator) -> Corner:
    """An l1 ball."""
    d, radius = int(rng.integers(1, 5)), float(rng.choice([0.5, 1.0, 30.0]))
    vertices = radius * np.concatenate([np.eye(d), -np.eye(d)])
    return _on_face(rng, "l1 ball", wp.sets.L1Ball(d, radius), vertices)


def box(rng: np.random.Generator) -> Corner:
    """A box, at the origin or not."""
    d = int(rng.integers(1, 5))
    lower = rng.choice([0.0, 10.0, 1e3]) + rng.integers(-3, 3, d)
    upper = lower + rng.integers(1, 4, d)
    vertices = np.array([np.where(c, upper, lower) for c in product((0, 1), repeat=d)])
    return _on_face(rng, "box", wp.sets.Box(lower, upper), vertices)


def hull(rng: np.random.Generator) -> Corner:
    """The hull of a few points."""
    n, d = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    points = rng.choice([0.0, 100.0]) + rng.integers(-4, 5, (n, d)).astype(float)
    return _on_face(rng, "hull", wp.sets.ConvexHull(points), points)


def hypersimplex(rng: np.random.Generator) -> Corner:
    """Vectors of zeros and ones with k ones."""
    d = int(rng.integers(2, 6))
    k = int(rng.integers(1, d))
    cube = np.array(list(product((0.0, 1.0), repeat=d)))
    return _on_face(rng, "hypersimplex", wp.sets.Hypersimplex(d, k), cube[cube.sum(1) == k])


def permutahedron(rng: np.random.Generator) -> Corner:
    """Permutations of three or four numbers."""
    base = np.sort(rng.integers(-3, 6, int(rng.integers(3, 5)))).astype(float)
    vertices = np.array(sorted(set(permutations(base.tolist()))))
    return _on_face(rng, "permutahedron", wp.sets.Permutahedron(base), vertices)


def birkhoff(rng: np.random.Generator) -> Corner:
    """Doubly stochastic matrices with three rows."""
    vertices = np.array([np.eye(3)[list(p)].reshape(-1) for p in permutations(range(3))])
    return _on_face(rng, "birkhoff", wp.sets.Birkhoff(3), vertices)


def moved(rng: np.random.Generator) -> Corner:
    """Another polytope, moved by integers."""
    base = (simplex, l1_ball, hypersimplex)[rng.integers(3)](rng)
    offset = rng.choice([1.0, 100.0]) * rng.integers(-5, 6, len(base.point))
    point = [p + q for p, q in zip(base.point, exact.vector(offset), strict=True)]
    return Corner("moved", wp.sets.Translate(base.K, offset), point, base.direction)


def l2_ball(rng: np.random.Generator) -> Corner:
    """A Euclidean ball; unit vectors are rational by the stereographic projection."""
    d, radius = int(rng.integers(2, 5)), float(rng.choice([0.5, 1.0, 20.0]))
    unit = _unit(rng, d)
    point = [Fraction(radius) * u for u in unit]
    return Corner("l2 ball", wp.sets.L2Ball(d, radius), point, -_floats(unit))


def spectrahedron(rng: np.random.Generator) -> Corner:
    """Positive semidefinite matrices of trace r; x* has rank one."""
    n, radius = int(rng.integers(2, 4)), float(rng.choice([1.0, 5.0]))
    unit = _unit(rng, n)
    point = [Fraction(radius) * p * q for p in unit for q in unit]
    shift = rng.integers(-2, 3)
    direction = shift * np.eye(n) - np.outer(_floats(unit), _floats(unit))
    return Corner("spectrahedron", wp.sets.Spectrahedron(n, radius), point, direction)


def trace_ball(rng: np.random.Generator) -> Corner:
    """A trace-norm ball of matrices with three rows and two columns; x* has rank one."""
    radius = float(rng.choice([1.0, 4.0]))
    left, right = _unit(rng, 3), _unit(rng, 2)
    point = [Fraction(radius) * p * q for p in left for q in right]
    direction = -np.outer(_floats(left), _floats(right))
    return Corner("trace ball", wp.sets.TraceNormBall((3, 2), radius), point, direction)


@cache
def _listed() -> list[tuple[str, Any, np.ndarray]]:
    """Return the sets of the contract suite whose vertices are listed and are exact."""
    found = []
    for case in registry.CASES:
        if case.vertices is not None and case.name not in _SLOW:
            vertices = np.asarray(case.vertices(), dtype=float)
            rounded = np.round(64 * vertices) / 64
            if abs(vertices - rounded).max() < 1e-9:
                found.append((case.name, case.small(), rounded))
    return found


def listed(rng: np.random.Generator) -> Corner:
    """A set of the contract suite: flows, trees, matroids, programs, products and sums."""
    name, K, vertices = _listed()[rng.integers(len(_listed()))]
    return _on_face(rng, name, K, vertices)


SETS = (
    simplex,
    l1_ball,
    box,
    hull,
    hypersimplex,
    permutahedron,
    birkhoff,
    moved,
    l2_ball,
    spectrahedron,
    trace_ball,
    listed,
    listed,
)
_SLOW = ("transport_polytope", "MixedInteger", "Matching-odd")  # solve a program for every answer


def _unit(rng: np.random.Generator, d: int) -> Vector:
    """Return a rational unit vector."""
    t = [Fraction(int(p), 4) for p in rng.integers(-6, 7, d - 1)]
    size = exact.dot(t, t)
    return [*(2 * value / (1 + size) for value in t), (1 - size) / (1 + size)]


def _floats(values: Vector) -> np.ndarray:
    return np.array([float(value) for value in values])


Value = Callable[[Vector], Fraction]
Made = tuple[Any, Value, dict[str, Any]]
"""A function for the library, the same function in exact arithmetic, and options of its runs."""


def quadratic(rng: np.random.Generator, corner: Corner, dtype: Any) -> Made:
    """<x, Q x>/2 + <c, x> + r, with a matrix Q for vectors x and a number for matrices."""
    x = corner.x
    if x.ndim == 2:
        q = float(rng.choice([1.0, 0.25, 3.0]))
        c = (corner.slope(rng) - q * x).astype(dtype)
        return wp.objectives.Quadratic(q, c), exact.scaled_identity(q, c, 0.0), {}
    A = _rows(rng, x).astype(dtype)
    Q = A.T @ A
    c = (corner.slope(rng) - Q @ x).astype(dtype)
    r = float(rng.choice([0.0, 0.5 * float(x @ Q @ x)]))
    form = exact.QuadraticForm(exact.matrix(Q), exact.vector(c), Fraction(r))
    return wp.objectives.Quadratic(Q, c, r), form, {}


def least_squares(rng: np.random.Generator, corner: Corner, dtype: Any) -> Made:
    """||A x - b||^2/2."""
    A = _rows(rng, corner.x).astype(dtype)
    b = (A @ corner.x - _residuals(A, corner.slope(rng))).astype(dtype)
    value = _summed(A, [b], lambda z, b: HALF * (z - b) ** 2)
    return wp.objectives.LeastSquares(A, b), value, {}


def huber(rng: np.random.Generator, corner: Corner, dtype: Any) -> Made:
    """Huber's loss; residuals at x* may be in the linear part."""
    A = _rows(rng, corner.x).astype(dtype)
    theta = len(A) * _residuals(A, corner.slope(rng))
    theta /= max(1.0, abs(theta).max())
    beyond = (abs(theta) == 1.0) * rng.choice([0.0, 2.0]) * np.sign(theta)
    b = (A @ corner.x - theta - beyond).astype(dtype)

    def unit(z: Fraction, b: Fraction) -> Fraction:
        slope = min(max(z - b, -ONE), ONE)
        return slope * (z - b - HALF * slope)

    return wp.objectives.Huber(A, b, 1.0), _summed(A, [b], unit, len(A)), {}


def poisson(rng: np.random.Generator, corner: Corner, dtype: Any) -> Made:
    """Exponentials of <a_i, x>, with counts that make x* optimal."""
    x = corner.x
    A = (_rows(rng, x) / max(1.0, abs(x).max())).astype(dtype)
    means = np.exp(A @ x)
    theta = len(A) * _residuals(A, corner.slope(rng))
    theta *= min(1.0, 0.9 / max((theta / means).max(), 1e-300))
    counts = np.maximum((means - theta).astype(dtype), 0.0)
    f = wp.objectives.Poisson(A, counts)
    cap, top = Fraction(f.cap), exact.exp(Fraction(f.cap))

    def unit(z: Fraction, b: Fraction) -> Fraction:
        over = max(z - cap, ZERO)
        return (exact.exp(z) if not over else top * (1 + over * (1 + HALF * over))) - b * z

    return f, _summed(A, [counts], unit, len(A)), {}


def quantile(rng: np.random.Generator, corner: Corner, dtype: Any) -> Made:
    """The smoothed pinball loss."""
    A = _rows(rng, corner.x).astype(dtype)
    q, delta = 0.75, float(rng.choice([0.125, 2.0]))
    theta = len(A) * _residuals(A, corner.slope(rng))
    theta /= max(1.0, (-theta / q).max(), (theta / (1 - q)).max())
    b = (A @ corner.x - delta * theta).astype(dtype)

    def unit(z: Fraction, b: Fraction) -> Fraction:
        u = min(max((b - z) / Fraction(delta), Fraction(q) - 1), Fraction(q))
        return u * (b - z - HALF * Fraction(delta) * u)

    return wp.objectives.Quantile(A, b, q, delta), _summed(A, [b], unit, len(A)), {}


def completion(rng: np.random.Generator, corner: Corner, dtype: Any) -> Made:
    """The squared error on the entries of a matrix, all of which are observed."""
    x = corner.x
    b = (x - corner.slope(rng)).astype(dtype).reshape(-1)
    rows, columns = (indices.reshape(-1) for indices in np.indices(x.shape))
    targets = exact.vector(b)

    def value(x: Vector) -> Fraction:
        return HALF * sum(((p - q) ** 2 for p, q in zip(x, targets, strict=True)), ZERO)

    return wp.objectives.MatrixCompletion(rows, columns, b, x.shape), value, {}


def logistic(rng: np.random.Generator, corner: Corner, dtype: Any) -> Made:
    """Logistic loss."""
    A, labels = _classified(rng, corner, dtype, lambda m: 1.0 / (1.0 + math.exp(m)), 1.27)
    f = wp.objectives.Logistic(A, labels)
    return f, _summed(A, [labels], lambda z, b: exact.softplus(-b * z), len(A)), {}


def squared_hinge(rng: np.random.Generator, corner: Corner, dtype: Any) -> Made:
    """The squared hinge loss."""
    A, labels = _classified(rng, corner, dtype, lambda m: max(0.0, 1.0 - m), 0.5)
    value = _summed(A, [labels], lambda z, b: HALF * max(ZERO, 1 - b * z) ** 2, len(A))
    return wp.objectives.SquaredHinge(A, labels), value, {}


def _classified(
    rng: np.random.Generator,
    corner: Corner,
    dtype: Any,
    fall: Callable[[float], float],
    most: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels for which x* minimises the mean of a loss of margins.

    Margins m at x* are chosen first, then rows that have them and the gradient. ``fall(m)`` is
    minus the slope of the loss, and m fall(m) grows up to m = ``most``.
    """
    x, n = corner.x, int(rng.integers(1, 7))
    labels = rng.choice([-1.0, 1.0], n)
    gradient = corner.slope(rng)
    gradient *= min(1.0, 0.2 / max(n * abs(float(gradient @ x)), 1e-300))
    # With theta the slopes of the loss, <theta, A x> = <gradient, x>: one margin is left for that.
    margins = rng.uniform(0.2, 3.0, n) if x.any() else np.zeros(n)
    if x.any():
        rest = sum(m * fall(m) for m in margins[1:])
        margins[0] = _margin(fall, -n * float(gradient @ x) - rest, most)
    theta = -labels * np.array([fall(m) for m in margins]) / n
    A = rng.standard_normal((n, len(x))) * rng.choice([1.0, 1.0, 20.0])
    A -= np.outer(A @ x - labels * margins, x) / max(float(x @ x), 1e-300)
    A += np.outer(theta, gradient - A.T @ theta) / float(theta @ theta)
    return A.astype(dtype), labels


def user(rng: np.random.Generator, corner: Corner, dtype: Any) -> Made:
    """The sum of log(1 + e^<a_i, x>), plus a linear function, as a user writes it."""
    x = corner.x.reshape(-1)
    A = (_rows(rng, x) / max(1.0, abs(x).max())).astype(dtype)
    slopes = 1.0 / (1.0 + np.exp(-(A @ x)))
    c = (corner.slope(rng).reshape(-1) - A.T @ slopes).astype(dtype)
    rows, linear = exact.matrix(A), exact.vector(c)

    def f(x: np.ndarray) -> tuple[float, np.ndarray]:
        flat = x.reshape(-1)
        z = A @ flat
        value = np.logaddexp(0.0, z).sum() + c @ flat
        return float(value), (A.T @ (1.0 / (1.0 + np.exp(-z))) + c).reshape(x.shape)

    def value(x: Vector) -> Fraction:
        return sum(map(exact.softplus, exact.apply(rows, x)), ZERO) + exact.dot(linear, x)

    return f, value, {"L": 0.25 * float(np.linalg.norm(A, 2)) ** 2 * 1.001}


FUNCTIONS = (
    quadratic,
    least_squares,
    huber,
    quantile,
    poisson,
    logistic,
    squared_hinge,
    user,
)
FOR_MATRICES = (quadratic, least_squares, completion, user)


def analytic_problem(rng: np.random.Generator) -> Problem:
    """Return a random pair of set and function, in float32 or float64."""
    dtype = (np.float64, np.float32)[rng.integers(2)]
    corner = SETS[rng.integers(len(SETS))](rng)
    functions = FUNCTIONS if len(corner.K.shape) == 1 else FOR_MATRICES
    make = functions[rng.integers(len(functions))]
    f, value, options = make(rng, corner, dtype)
    K, area = corner.K, f"{make.__name__}, {np.dtype(dtype).name}"
    vertex = np.asarray(K.lmo(rng.standard_normal(K.shape)))
    starts = [K.start().astype(dtype), vertex.astype(dtype)]
    if getattr(f, "L", None) == 0.0:
        options = {"L": 1.0}  # a constant function; Algorithm 2 needs a positive L
    return Problem(area, corner.name, f, K, value, value(corner.point), starts, options)


def _rows(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Return a matrix with as many columns as x has rows, and at least as many rows."""
    return rng.standard_normal((x.shape[0] + int(rng.integers(0, 4)), x.shape[0]))


def _residuals(A: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Return the smallest theta with A' theta = gradient."""
    return np.linalg.lstsq(A.T.astype(np.float64), gradient, rcond=None)[0]


def _margin(fall: Callable[[float], float], target: float, high: float) -> float:
    """Return the m <= high with m fall(m) = target."""
    low = min(-1.0, 4.0 * target)
    for _ in range(80):
        middle = 0.5 * (low + high)
        if middle * fall(middle) < target:
            low = middle
        else:
            high = middle
    return low


def _summed(
    A: np.ndarray, data: list[np.ndarray], unit: Callable[..., Fraction], divisor: int = 1
) -> Value:
    """Return x -> sum of unit((A x)_i, data_i) / divisor; x may be a matrix."""
    rows, numbers = exact.matrix(A), [exact.vector(array) for array in data]
    d = len(rows[0])

    def value(x: Vector) -> Fraction:
        q = len(x) // d
        z = [exact.dot(row, x[j::q]) for row in rows for j in range(q)]
        return sum((unit(*terms) for terms in zip(z, *numbers, strict=True)), ZERO) / divisor

    return value
