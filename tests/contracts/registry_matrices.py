"""Contract cases of the sets of matrices: balls of norms, spectrahedron, Birkhoff, transport plans.

Minima of matrix norms come from the singular values alone, never from the vectors that the oracles
answer with; vertices of transport polytopes are listed by trying all bases.
"""

from __future__ import annotations

import math
from itertools import combinations, permutations

import cvxpy as cp
import numpy as np

from wolfpack import sets

from .case import Case


def schatten(order: float, radius: float):
    """Return g -> min <g, X> over the ball of the Schatten norm whose dual has this order."""
    return lambda g: -radius * float(np.linalg.norm(np.linalg.svd(g, compute_uv=False), order))


def least_eigenvalue(trace: float, equality: bool = True):
    def minimum(g: np.ndarray) -> float:
        least = float(np.linalg.eigvalsh(0.5 * (g + g.T))[0])
        return trace * (least if equality else min(least, 0.0))

    return minimum


def eigenvalues(trace: float, zero: bool = False):
    """Return g -> the values of the vertices made of eigenvectors (and 0), ascending."""

    def values(g: np.ndarray) -> np.ndarray:
        found = trace * np.linalg.eigvalsh(0.5 * (g + g.T))
        return np.sort(np.append(found, 0.0)) if zero else found

    return values


def permutation_matrices(n: int) -> np.ndarray:
    return np.array([np.eye(n)[list(columns)] for columns in permutations(range(n))])


def basic_plans(a, b) -> np.ndarray:
    """Return all vertices: nonnegative plans whose positive entries carry one solution."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    p, q = len(a), len(b)
    sums = np.concatenate([np.kron(np.eye(p), np.ones(q)), np.kron(np.ones(p), np.eye(q))])
    found = {}
    for basis in combinations(range(p * q), p + q - 1):
        columns = sums[:, basis]
        if np.linalg.matrix_rank(columns) < p + q - 1:
            continue
        entries = np.linalg.lstsq(columns, np.concatenate([a, b]), rcond=None)[0]
        if entries.min() > -1e-12:
            plan = np.zeros(p * q)
            plan[list(basis)] = np.maximum(entries, 0.0)
            found[tuple(plan.round(12))] = plan  # rounded, to find those that are equal
    return np.array([found[key] for key in sorted(found)]).reshape(-1, p, q)


def least(vertices: np.ndarray):
    return lambda g: float((vertices * g).sum(axis=(1, 2)).min())


def random_trace_ball(n, rng):
    shape = (n, int(rng.integers(1, 5)))
    shape = shape if rng.random() < 0.5 else shape[::-1]
    return sets.TraceNormBall(shape, 1.5), schatten(math.inf, 1.5)


def random_schatten(n, rng):
    order = float(rng.choice([1.0, 1.05, 1.5, 2.0, 4.0, 60.0, math.inf]))
    dual = {1.0: math.inf, math.inf: 1.0}.get(order) or order / (order - 1.0)
    return sets.SchattenBall((n, 3), order, 0.5), schatten(dual, 0.5)


def random_spectrahedron(n, rng):
    equality = bool(rng.random() < 0.5)
    return sets.Spectrahedron(n, 2.0, equality), least_eigenvalue(2.0, equality)


def least_eigenvalues(k: int):
    """Return g -> the sum of the k smallest eigenvalues of its symmetric part."""
    return lambda g: float(np.linalg.eigvalsh(0.5 * (g + g.T))[:k].sum())


def random_fantope(n, rng):
    k = int(rng.integers(1, n + 1))
    return sets.Fantope(n, k), least_eigenvalues(k)


def random_birkhoff(n, rng):
    n = min(n, 5)
    return sets.Birkhoff(n), least(permutation_matrices(n))


def random_transport(n, rng):
    p, q = (2, min(n, 4)) if rng.random() < 0.5 else (min(n, 4), 2)
    # integers make degenerate vertices and zero sums
    plan = rng.integers(0, 3, (p, q)) if rng.random() < 0.5 else rng.random((p, q))
    plan = plan + np.full((p, q), 0.0 if plan.sum() else 1.0)
    a, b = plan.sum(axis=1), plan.sum(axis=0)
    return sets.TransportPolytope(a, b), least(basic_plans(a, b))


A, B = np.array([3.0, 1.0, 0.0, 2.0, 0.5]), np.array([1.0, 1.0, 2.0, 0.25, 0.25, 1.5, 0.5])

MATRIX_BALLS = [
    Case(
        "trace_norm_ball",
        small=lambda: sets.TraceNormBall((3, 4), radius=1.5),
        small_minimum=schatten(math.inf, 1.5),
        large=lambda: sets.TraceNormBall((8, 6), radius=2.0),
        constraints=lambda x: [cp.normNuc(x) <= 2],
        k_best_values=lambda g: -1.5 * np.linalg.svd(g, compute_uv=False),
        family=random_trace_ball,
    ),
    Case(
        "operator_norm_ball",
        small=lambda: sets.OperatorNormBall((3, 2), radius=1.5),
        small_minimum=schatten(1, 1.5),
        large=lambda: sets.OperatorNormBall((5, 7), radius=2.0),
        constraints=lambda x: [cp.sigma_max(x) <= 2],
        family=lambda n, rng: (sets.OperatorNormBall((2, n), 0.5), schatten(1, 0.5)),
    ),
    Case(
        "schatten_ball",
        small=lambda: sets.SchattenBall((3, 2), order=3, radius=1.5),
        small_minimum=schatten(1.5, 1.5),
        large=lambda: sets.SchattenBall((5, 7), order=1.7, radius=2.0),
        minimum=schatten(1.7 / 0.7, 2.0),
        family=random_schatten,
        exact_radius=False,
        exact_diameter=False,
    ),
    Case(
        "frobenius_ball",
        small=lambda: sets.SchattenBall((3, 2), order=2, radius=1.5),
        small_minimum=schatten(2, 1.5),
        large=lambda: sets.SchattenBall((5, 7), order=2, radius=2.0),
        constraints=lambda x: [cp.norm(x, "fro") <= 2],
    ),
]


def as_twice_as_large(x, blocks=np.block):
    """Return the real matrix with the eigenvalues of the Hermitian one that x stands for."""
    real, imaginary = 0.5 * (x + x.T), 0.5 * (x - x.T)
    return blocks([[real, -imaginary], [imaginary, real]])


SPECTRAHEDRA = [
    Case(
        "spectrahedron",
        small=lambda: sets.Spectrahedron(3, trace=1.5),
        small_minimum=least_eigenvalue(1.5),
        large=lambda: sets.Spectrahedron(7, trace=2.0),
        constraints=lambda x: [x >> 0, x == x.T, cp.trace(x) == 2],
        k_best_values=eigenvalues(1.5),
        family=random_spectrahedron,
    ),
    Case(
        "spectrahedron_below",
        small=lambda: sets.Spectrahedron(3, trace=1.5, equality=False),
        small_minimum=least_eigenvalue(1.5, equality=False),
        large=lambda: sets.Spectrahedron(7, trace=2.0, equality=False),
        constraints=lambda x: [x >> 0, x == x.T, cp.trace(x) <= 2],
        k_best_values=eigenvalues(1.5, zero=True),
    ),
    Case(
        "fantope",
        small=lambda: sets.Fantope(4, 2),
        small_minimum=least_eigenvalues(2),
        large=lambda: sets.Fantope(7, 3),
        constraints=lambda x: [x >> 0, np.eye(7) - x >> 0, x == x.T, cp.trace(x) == 3],
        family=random_fantope,
        exact_diameter=False,
    ),
    Case(
        "HermitianSpectrahedron",
        small=lambda: sets.HermitianSpectrahedron(3, trace=1.5),
        small_minimum=lambda g: 1.5 * float(np.linalg.eigvalsh(as_twice_as_large(g))[0]),
        large=lambda: sets.HermitianSpectrahedron(5, trace=2.0),
        constraints=lambda x: [as_twice_as_large(x, cp.bmat) >> 0, cp.trace(x) == 2.0],
        directions=100,
    ),
]

PLANS = [
    Case(
        "birkhoff",
        small=lambda: sets.Birkhoff(4),
        vertices=lambda: permutation_matrices(4),
        large=lambda: sets.Birkhoff(9),
        constraints=lambda x: [x >= 0, cp.sum(x, axis=0) == 1, cp.sum(x, axis=1) == 1],
        family=random_birkhoff,
    ),
    Case(
        "transport_polytope",
        small=lambda: sets.TransportPolytope([2.0, 1.0, 1.5], [1.0, 2.5, 1.0]),
        vertices=lambda: basic_plans([2.0, 1.0, 1.5], [1.0, 2.5, 1.0]),
        large=lambda: sets.TransportPolytope(A, B),
        constraints=lambda x: [x >= 0, cp.sum(x, axis=1) == A, cp.sum(x, axis=0) == B],
        family=random_transport,
        exact_radius=False,
        exact_diameter=False,
    ),
    Case(
        "transport_polytope_level",
        small=lambda: sets.TransportPolytope(np.full(3, 2.0), np.full(3, 2.0)),
        vertices=lambda: 2.0 * permutation_matrices(3),
    ),
]

CASES = [*MATRIX_BALLS, *SPECTRAHEDRA, *PLANS]
