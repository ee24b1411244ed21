"""Contract cases of the sets of vectors: simplices, balls, boxes, permutahedron, k-sparse."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, permutations, product

import cvxpy as cp
import numpy as np

from wolfpack import sets

from .case import Case

Minimum = Callable[[np.ndarray], float]


def least(vertices: np.ndarray) -> Minimum:
    """Return g -> min <g, v> over the listed vertices."""
    rows = vertices.reshape(len(vertices), -1)
    return lambda g: float((rows @ g.reshape(-1)).min())


def dual_norm(q: float, radius: float) -> Minimum:
    return lambda g: -radius * float(np.linalg.norm(g.reshape(-1), q))


def unit_vectors(n: int, values) -> np.ndarray:
    return np.concatenate([np.diag(np.broadcast_to(v, n)) for v in values]).astype(float)


def zero_one(n: int, k: int) -> np.ndarray:
    chosen = combinations(range(n), k)
    return np.array([[float(i in ones) for i in range(n)] for ones in chosen])


def signed(n: int, k: int, radius: float) -> np.ndarray:
    """Return all vectors with k entries +-radius and n - k zeros."""
    signs = np.array(list(product((-radius, radius), repeat=k)))
    vertices = np.zeros((math.comb(n, k), len(signs), n))
    for block, ones in zip(vertices, combinations(range(n), k), strict=True):
        block[:, ones] = signs
    return vertices.reshape(-1, n)


def capped(caps, total: float) -> np.ndarray:
    """Return the points with all entries but one at a bound, which include all vertices."""
    caps = np.asarray(caps, dtype=float)
    found = {}
    for free in range(len(caps)):
        for at_cap in product((0.0, 1.0), repeat=len(caps)):
            x = caps * at_cap
            x[free] = 0.0
            x[free] = total - x.sum()
            if -1e-12 <= x[free] <= caps[free] + 1e-12:
                x = np.clip(x, 0.0, caps)
                found[tuple(x.round(12))] = x  # rounded, to find those that are equal
    return np.array([found[key] for key in sorted(found)])


def corners(lower, upper) -> np.ndarray:
    return np.array(list(product(*zip(lower, upper, strict=True))))


def group_minimum(groups, radius: float) -> Minimum:
    return lambda g: -radius * max(math.hypot(*g.reshape(-1)[list(group)]) for group in groups)


def arranged(w) -> np.ndarray:
    return np.array(sorted(set(permutations(map(float, w)))))


def random_box(n, rng):
    lower = rng.standard_normal(n)
    upper = lower + rng.random(n)
    return sets.Box(lower, upper), least(corners(lower, upper))


def random_capped(n, rng):
    caps = rng.random(n) + 0.1
    total = float(rng.uniform(0.1, 1.0) * caps.sum())
    return sets.CappedSimplex(n, caps, total), least(capped(caps, total))


def random_capped_equally(n, rng):
    total = float(rng.uniform(0.1, 1.0) * 0.7 * n)
    return sets.CappedSimplex(n, 0.7, total), least(capped(np.full(n, 0.7), total))


def random_groups(n, rng):
    labels = rng.integers(0, 3, n)
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    chosen = labels if rng.random() < 0.5 else groups
    return sets.GroupL1Ball(chosen, 2.0), group_minimum(groups, 2.0)


def random_hypersimplex(n, rng):
    k = int(rng.integers(1, n + 1))
    return sets.Hypersimplex(n, k), least(zero_one(n, k))


def random_k_sparse(n, rng):
    n = min(n, 6)
    k = int(rng.integers(1, n + 1))
    return sets.KSparse(n, k, 0.5), least(signed(n, k, 0.5))


def random_lp(n, rng):
    p = float(rng.choice([1.0, 1.01, 1.3, 2.0, 5.0, 200.0, math.inf]))
    q = {1.0: math.inf, math.inf: 1.0}.get(p) or p / (p - 1.0)

    def minimum(g: np.ndarray) -> float:
        # scaled before the power, which would vanish for a large q
        largest = float(abs(g).max())
        return largest * dual_norm(q, 1.5)(g / largest) if largest else 0.0

    return sets.LpBall((n, 1), p, 1.5), minimum


def random_permutahedron(n, rng):
    w = rng.integers(-2, 3, min(n, 5))
    return sets.Permutahedron(w), least(arranged(w))


def random_weighted(n, rng):
    weights = rng.random(n) + 0.1
    reach = 2.0 / weights
    vertices = unit_vectors(n, (reach, -reach))
    return sets.WeightedL1Ball(weights, 2.0), least(vertices)


def random_unit_hypersimplex(n, rng):
    k = int(rng.integers(1, n + 1))
    return sets.UnitHypersimplex(n, k), least(zero_one_up_to(n, k))


def zero_one_up_to(n: int, k: int) -> np.ndarray:
    return np.concatenate([zero_one(n, ones) for ones in range(k + 1)])


def on_or_at_zero(n: int, radius: float) -> np.ndarray:
    return np.concatenate([np.zeros((1, n)), radius * np.eye(n)])


def ordered_weighted(w, radius: float) -> np.ndarray:
    """Return the vectors with j equal entries on the boundary, which include all vertices."""
    levels = radius / np.cumsum(np.sort(np.asarray(w, dtype=float))[::-1])
    return np.concatenate([signed(len(w), j + 1, level) for j, level in enumerate(levels)])


def random_ordered_weighted(n, rng):
    w = rng.integers(0, 3, min(n, 5)) / 2.0
    w[int(rng.integers(0, len(w)))] += 0.5
    return sets.OrderedWeightedL1(w, 2.0), least(ordered_weighted(w, 2.0))


def k_norm_vertices(n: int, k: int, radius: float) -> np.ndarray:
    return np.concatenate([signed(n, 1, radius), signed(n, n, radius / k)])


def random_k_norm(n, rng):
    k = int(rng.integers(1, n + 1))
    return sets.KNormBall((n, 1), k, 0.5), least(k_norm_vertices(n, k, 0.5))


def knapsack(a, b: float, u) -> np.ndarray:
    """Return the points with all entries but one at a bound, which include all vertices."""
    a, u = np.asarray(a, dtype=float), np.broadcast_to(u, np.shape(a)).astype(float)
    found = []
    for full in product((0.0, 1.0), repeat=len(a)):
        x = u * full
        if a @ x <= b * (1 + 1e-14):
            found.append(x)
        for free in np.flatnonzero(a):
            y = x.copy()
            y[free] = 0.0
            y[free] = (b - a @ y) / a[free]
            if 0.0 <= y[free] <= u[free]:
                found.append(y)
    return np.unique(np.array(found).round(14), axis=0)


def random_knapsack(n, rng):
    a, u = rng.integers(0, 4, n) / 2.0, 0.1 + rng.random(n)
    b = float(rng.uniform(0.1, 1.2) * (a @ u) + 0.1)
    return sets.Knapsack(a, b, u), least(knapsack(a, b, u))


def ellipsoid_minimum(c, S) -> Minimum:
    """Return g -> <c, g> - sqrt(<g, S g>), which needs no axes."""
    c, S = np.asarray(c, dtype=float), np.asarray(S, dtype=float)
    S = np.diag(S) if S.ndim == 1 else S
    return lambda g: float(c @ g - math.sqrt(max(0.0, g @ S @ g)))


def random_ellipsoid(n, rng):
    c = rng.standard_normal(n)
    if rng.random() < 0.5:
        S = rng.random(n) * (rng.random(n) < 0.8)
    else:
        F = rng.standard_normal((n, n))
        S = F @ F.T
    return sets.Ellipsoid(c, S), ellipsoid_minimum(c, S)


WEIGHTS = np.random.default_rng(0).random((4, 5)) + 0.2
LOWER, UPPER = -np.arange(1.0, 41.0), np.linspace(-1.0, 3.0, 40)
CAPS = np.random.default_rng(1).random(30)
RISING = np.random.default_rng(2).random(12).cumsum()
SHAPE = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 0.25]])
SPREAD = np.random.default_rng(3).standard_normal((20, 20)) + 4.0 * np.eye(20)
RANKS = np.array([5.0, 3.0, 3.0, 1.0, 0.0, -1.0, -4.0, -4.5])
GROUPS = [[0, 5, 7], [1], [2, 3, 4, 6], [8, 9]]

SIMPLICES = [
    Case(
        "simplex",
        small=lambda: sets.Simplex(5, radius=2.0),
        vertices=lambda: unit_vectors(5, (2.0,)),
        large=lambda: sets.Simplex((6, 7), radius=3.0),
        constraints=lambda x: [x >= 0, cp.sum(x) == 3],
        family=lambda n, rng: (sets.Simplex((1, n), 0.5), least(unit_vectors(n, (0.5,)))),
    ),
    Case(
        "capped_simplex",
        small=lambda: sets.CappedSimplex(4, [0.5, 1.0, 0.3, 0.0], 1.2),
        vertices=lambda: capped([0.5, 1.0, 0.3, 0.0], 1.2),
        large=lambda: sets.CappedSimplex(30, CAPS, 4.0),
        constraints=lambda x: [x >= 0, x <= CAPS, cp.sum(x) == 4],
        family=random_capped,
        exact_diameter=False,
    ),
    Case(
        "capped_simplex_one_cap",
        small=lambda: sets.CappedSimplex(5, 0.4, 1.0),
        vertices=lambda: capped(np.full(5, 0.4), 1.0),
        large=lambda: sets.CappedSimplex((5, 6), 0.15, 2.0),
        constraints=lambda x: [x >= 0, x <= 0.15, cp.sum(x) == 2],
        family=random_capped_equally,
        exact_diameter=False,
    ),
    Case(
        "hypersimplex",
        small=lambda: sets.Hypersimplex(5, 2),
        vertices=lambda: zero_one(5, 2),
        large=lambda: sets.Hypersimplex(40, 11),
        constraints=lambda x: [x >= 0, x <= 1, cp.sum(x) == 11],
        family=random_hypersimplex,
    ),
    Case(
        "unit_simplex",
        small=lambda: sets.UnitSimplex(4, radius=2.0),
        vertices=lambda: on_or_at_zero(4, 2.0),
        large=lambda: sets.UnitSimplex((6, 7), radius=3.0),
        constraints=lambda x: [x >= 0, cp.sum(x) <= 3],
        family=lambda n, rng: (sets.UnitSimplex((1, n), 0.5), least(on_or_at_zero(n, 0.5))),
    ),
    Case(
        "unit_hypersimplex",
        small=lambda: sets.UnitHypersimplex(5, 2),
        vertices=lambda: zero_one_up_to(5, 2),
        large=lambda: sets.UnitHypersimplex((5, 8), 11),
        constraints=lambda x: [x >= 0, x <= 1, cp.sum(x) <= 11],
        family=random_unit_hypersimplex,
    ),
]

BALLS = [
    Case(
        "l1_ball",
        small=lambda: sets.L1Ball(4, radius=1.5),
        vertices=lambda: unit_vectors(4, (1.5, -1.5)),
        large=lambda: sets.L1Ball((5, 8), radius=2.0),
        constraints=lambda x: [cp.sum(cp.abs(x)) <= 2],
        family=lambda n, rng: (sets.L1Ball((n, 1)), least(unit_vectors(n, (1.0, -1.0)))),
    ),
    Case(
        "weighted_l1_ball",
        small=lambda: sets.WeightedL1Ball([0.5, 1.0, 4.0], radius=1.5),
        vertices=lambda: unit_vectors(
            3, (1.5 / np.array([0.5, 1, 4]), -1.5 / np.array([0.5, 1, 4]))
        ),
        large=lambda: sets.WeightedL1Ball(WEIGHTS, radius=2.0),
        constraints=lambda x: [cp.sum(cp.multiply(WEIGHTS, cp.abs(x))) <= 2],
        family=random_weighted,
    ),
    Case(
        "l2_ball",
        small=lambda: sets.L2Ball(4, radius=1.5),
        small_minimum=dual_norm(2, 1.5),
        large=lambda: sets.L2Ball((5, 8), radius=2.0),
        constraints=lambda x: [cp.norm(cp.vec(x, order="C"), 2) <= 2],
        family=lambda n, rng: (sets.L2Ball((n, 2), 0.5), dual_norm(2, 0.5)),
    ),
    Case(
        "linf_ball",
        small=lambda: sets.LinfBall((2, 2), radius=1.5),
        vertices=lambda: signed(4, 4, 1.5).reshape(-1, 2, 2),
        large=lambda: sets.LinfBall(40, radius=2.0),
        constraints=lambda x: [cp.norm(x, "inf") <= 2],
        family=lambda n, rng: (sets.LinfBall(n, 0.5), least(signed(n, n, 0.5))),
    ),
    Case(
        "lp_ball",
        small=lambda: sets.LpBall(4, p=3, radius=1.5),
        small_minimum=dual_norm(1.5, 1.5),
        large=lambda: sets.LpBall(30, p=1.7, radius=2.0),
        constraints=lambda x: [cp.pnorm(x, 1.7, approx=False) <= 2],
        family=random_lp,
    ),
    Case(
        "group_l1_ball",
        small=lambda: sets.GroupL1Ball([[0, 3], [1], [2, 4]], radius=1.5),
        small_minimum=group_minimum([[0, 3], [1], [2, 4]], 1.5),
        large=lambda: sets.GroupL1Ball(GROUPS, radius=2.0),
        constraints=lambda x: [sum(cp.norm(x[group], 2) for group in GROUPS) <= 2],
        k_best_values=lambda g: (
            -1.5 * np.sort([math.hypot(g[0], g[3]), abs(g[1]), math.hypot(g[2], g[4])])[::-1]
        ),
        family=random_groups,
    ),
    Case(
        "ordered_weighted_l1",
        small=lambda: sets.OrderedWeightedL1([0.5, 2.0, 1.0, 0.0], radius=1.5),
        vertices=lambda: ordered_weighted([0.5, 2.0, 1.0, 0.0], 1.5),
        large=lambda: sets.OrderedWeightedL1(RISING, radius=2.0),
        # sum_i w_(i) |x|_(i) is a sum of sums of largest entries
        constraints=lambda x: [
            sum(
                step * cp.sum_largest(cp.abs(x), i + 1)
                for i, step in enumerate(-np.diff(np.append(RISING[::-1], 0.0)))
            )
            <= 2
        ],
        family=random_ordered_weighted,
    ),
    Case(
        "k_norm_ball",
        small=lambda: sets.KNormBall((2, 2), k=3, radius=1.5),
        vertices=lambda: k_norm_vertices(4, 3, 1.5).reshape(-1, 2, 2),
        large=lambda: sets.KNormBall(40, k=7, radius=2.0),
        constraints=lambda x: [cp.sum_largest(cp.abs(x), 7) <= 2],
        family=random_k_norm,
    ),
    Case(
        "ellipsoid",
        small=lambda: sets.Ellipsoid([1.0, -2.0, 0.5], SHAPE),
        small_minimum=ellipsoid_minimum([1.0, -2.0, 0.5], SHAPE),
        large=lambda: sets.Ellipsoid(np.linspace(-1.0, 1.0, 20), SPREAD @ SPREAD.T),
        constraints=lambda x: [
            cp.norm(np.linalg.inv(SPREAD) @ (x - np.linspace(-1.0, 1.0, 20))) <= 1
        ],
        family=random_ellipsoid,
        exact_radius=False,
        exact_diameter=False,
    ),
    Case(
        "ellipsoid, flat, by its diagonal",
        small=lambda: sets.Ellipsoid([0.0, 1.0, 0.0], [4.0, 0.0, 0.25]),
        small_minimum=ellipsoid_minimum([0.0, 1.0, 0.0], [4.0, 0.0, 0.25]),
        exact_radius=False,
        exact_diameter=True,
    ),
]

POLYTOPES = [
    Case(
        "box",
        small=lambda: sets.Box([-1.0, 0.0, 2.0, -1.0], [1.0, 3.0, 2.5, -1.0]),
        vertices=lambda: corners([-1.0, 0.0, 2.0, -1.0], [1.0, 3.0, 2.5, -1.0]),
        large=lambda: sets.Box(LOWER, UPPER),
        constraints=lambda x: [x >= LOWER, x <= UPPER],
        family=random_box,
    ),
    Case(
        "k_sparse",
        small=lambda: sets.KSparse(4, k=2, radius=1.5),
        vertices=lambda: signed(4, 2, 1.5),
        large=lambda: sets.KSparse((5, 8), k=7, radius=2.0),
        constraints=lambda x: [cp.max(cp.abs(x)) <= 2, cp.sum(cp.abs(x)) <= 14],
        family=random_k_sparse,
    ),
    Case(
        "permutahedron",
        small=lambda: sets.Permutahedron([2.0, -1.0, 2.0, 0.5]),
        vertices=lambda: arranged([2.0, -1.0, 2.0, 0.5]),
        large=lambda: sets.Permutahedron(RANKS),
        # the convex hull as the image of doubly stochastic matrices
        constraints=lambda x: mixed_by_doubly_stochastic(x, RANKS),
        family=random_permutahedron,
    ),
    Case(
        "knapsack",
        small=lambda: sets.Knapsack([2.0, 3.0, 0.0, 1.0], 4.0, [1.0, 1.0, 0.5, 3.0]),
        vertices=lambda: knapsack([2.0, 3.0, 0.0, 1.0], 4.0, [1.0, 1.0, 0.5, 3.0]),
        large=lambda: sets.Knapsack(1.0 + CAPS, 6.0, np.inf),
        constraints=lambda x: [x >= 0, (1.0 + CAPS) @ x <= 6],
        family=random_knapsack,
        exact_radius=False,
        exact_diameter=False,
    ),
]


def mixed_by_doubly_stochastic(x, w):
    P = cp.Variable((len(w), len(w)), nonneg=True)
    return [cp.sum(P, axis=0) == 1, cp.sum(P, axis=1) == 1, x == P @ w]


CASES = SIMPLICES + BALLS + POLYTOPES
