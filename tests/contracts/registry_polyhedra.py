"""Contract cases of the sets given by graphs, matroids, inequalities or points."""

from __future__ import annotations

import itertools
from collections import Counter

import cvxpy as cp
import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import linprog

from wolfpack import sets

from .case import Case
from .graphs import indicators, matching_vectors, path_vectors, paths, random_dag, tree_vectors
from .tables import added, lowest

DAG = [
    ("s", "a"),
    ("a", "t"),
    ("s", "t"),
    ("a", "b"),
    ("b", "t"),
    ("b", "t"),
    ("x", "a"),
    ("b", "y"),
]


def layered(width: int = 5, depth: int = 4) -> list[tuple[int, int]]:
    """Return a layered graph from node 0 to the last node, with shortcuts past a layer."""
    layers = [[0], *(list(range(1 + width * i, 1 + width * (i + 1))) for i in range(depth))]
    layers.append([1 + width * depth])
    steps = [(a, b) for i in range(depth + 1) for a in layers[i] for b in layers[i + 1]]
    return steps + [(layers[i][0], layers[i + 2][0]) for i in range(depth)]


def flow_constraints(edges, source, target):
    def constraints(x):
        nodes = sorted({v for edge in edges for v in edge})
        incidence = np.array([[(e[0] == v) - float(e[1] == v) for e in edges] for v in nodes])
        supply = np.array([(v == source) - float(v == target) for v in nodes])
        return [x >= 0, incidence @ x == supply]

    return constraints


def dag_family(n, rng):
    edges = random_dag(min(n, 4), rng)
    source, target = 0, max(head for _, head in edges)
    return sets.DagFlow(edges, source, target), lowest(path_vectors(edges, source, target))


COUPLES = [("a", 1), ("a", 2), ("b", 1), (3, "b"), ("c", 3), (2, "c"), ("c", 3), ("a", 3)]
ODD = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 3), (3, 4), (3, 4)]
SOCIAL = [(a, 10 + b) for a in range(8) for b in range(9) if (3 * a + 5 * b) % 4]


def matched(edges):
    """Return the constraints of the matchings of a bipartite graph."""
    nodes = sorted({v for edge in edges for v in edge})
    incidence = np.array([[float(v in edge) for edge in edges] for v in nodes])
    return lambda x: [x >= 0, incidence @ x <= 1]


def matching_family(n, rng):
    """Return the matchings of a bipartite graph, where loops have been added now and then."""
    edges = [(int(rng.integers(0, 3)), 5 + int(rng.integers(0, 3))) for _ in range(n)]
    edges += [(0, 0)] * int(rng.random() < 0.3)
    return sets.Matching(edges), lowest(matching_vectors(edges))


WHEEL = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (3, 1), (1, 2), (3, 3), (3, 4)]


def tree_family(n, rng):
    edges = [(i, int(rng.integers(0, i))) for i in range(1, min(n, 4) + 1)]
    edges += [tuple(rng.integers(0, len(edges) + 1, 2).tolist()) for _ in range(4)]
    return sets.SpanningTree(edges), lowest(tree_vectors(edges))


def kruskal(edges):
    """Return g -> the weight of the minimum spanning tree, by merging groups of nodes."""

    def minimum(g):
        group = {v: v for edge in edges for v in edge}
        total = 0.0
        for i in np.argsort(g):
            a, b = (group[v] for v in edges[i])
            if a != b:
                total += g[i]
                group = {v: b if of == a else of for v, of in group.items()}
        return total

    return minimum


CHORDS = [(i, j) for i in range(12) for j in range(i) if (i + j) % 3 or j == i - 1]

CORNERS = np.random.default_rng(1).standard_normal((7, 2, 2)).round(1)


def hull_family(n, rng):
    points = rng.integers(-2, 3, (2 * n, n)) / 2.0
    return sets.ConvexHull(points), lowest(points)


def hull_constraints(points):
    def constraints(x):
        weights = cp.Variable(len(points), nonneg=True)
        return [cp.sum(weights) == 1, x == points.T @ weights]

    return constraints


CLOUD = np.random.default_rng(2).standard_normal((200, 15))

# two parallel vectors, a zero vector, and three in a plane
VECTORS = np.array([[1, 2, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 1]])


def vector_rank(S):
    return int(np.linalg.matrix_rank(VECTORS[:, list(S)])) if S else 0


def in_groups_of_five(S):
    return max(Counter(i // 5 for i in S).values(), default=0) <= 2


def bases(rank, n):
    subsets = itertools.combinations(range(n), rank(tuple(range(n))))
    return indicators([S for S in subsets if rank(S) == len(S)], n)


def matroid_family(n, rng):
    vectors = rng.integers(-1, 2, (3, n + 1))
    vectors[0, 0] = 1

    def rank(S):
        return int(np.linalg.matrix_rank(vectors[:, list(S)])) if S else 0

    return sets.MatroidBase(rank, n + 1), lowest(bases(rank, n + 1))


STREETS = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("b", "d"), ("a", "b"), ("d", "e")]
TRIPS = [("a", "d", 1.5), ("a", "c", 1.0), ("b", "d", 0.5)]


def routings(edges, trips):
    """Return the total flow of every choice of one simple path for each trip."""
    return added(*(amount * path_vectors(edges, o, d) for o, d, amount in trips))


def routing_family(n, rng):
    n = min(n, 3)
    edges = random_dag(n, rng)
    pairs = [(o, d) for o, d in itertools.combinations(range(n + 2), 2) if paths(edges, o, d)]
    chosen = [pairs[i] for i in rng.integers(0, len(pairs), 2)]
    trips = [(o, d, float(rng.integers(1, 4))) for o, d in chosen]
    return sets.FlowPolytope(edges, trips), lowest(routings(edges, trips))


# both ways round a square with a diagonal: many cycles
SQUARE_STREETS = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
SQUARE_STREETS += [(b, a) for a, b in SQUARE_STREETS]
SQUARE_TRIPS = [(0, 2, 2.0), (1, 3, 1.0), (0, 3, 0.5)]
GRID = [(4 * i + j, 4 * i + j + 1) for i in range(4) for j in range(3)]
GRID += [(4 * i + j, 4 * i + j + 4) for i in range(3) for j in range(4)]
GRID += [(b, a) for a, b in GRID]
GRID_TRIPS = [(0, 15, 2.0), (3, 12, 1.0), (5, 0, 1.5), (0, 10, 0.5)]


def capacitated(edges, trips, capacity):
    """Return g -> the least cost, by a linear program in the flows of the separate trips."""
    nodes = sorted({v for edge in edges for v in edge})
    incidence = np.array([[(e[0] == v) - float(e[1] == v) for e in edges] for v in nodes])
    supplies = [a * ((v == o) - float(v == d)) for o, d, a in trips for v in nodes]

    def minimum(g):
        return linprog(
            np.tile(g, len(trips)),
            A_ub=np.tile(np.eye(len(edges)), len(trips)),
            b_ub=np.full(len(edges), capacity),
            A_eq=block_diag(*[incidence] * len(trips)),
            b_eq=supplies,
        ).fun

    return minimum


# a cube without a corner, an edge of it fixed by an equation in a fourth coordinate
CUT = {
    "A_ub": [[1.0, 1.0, 1.0, 0.0], [-1.0, 1.0, 0.0, 0.0]],
    "b_ub": [2.5, 0.5],
    "A_eq": [[1.0, 0.0, 0.0, -1.0]],
    "b_eq": [0.0],
    "bounds": [(0, 1), (0, None), (0, 1), (None, None)],
}


def corners(A_ub, b_ub, A_eq, b_eq, bounds):
    """Return the vertices of a polytope: feasible solutions of n tight constraints."""
    n = len(bounds)
    sides = [(-np.eye(n)[j], -low) for j, (low, _) in enumerate(bounds) if low is not None]
    sides += [(np.eye(n)[j], high) for j, (_, high) in enumerate(bounds) if high is not None]
    sides += list(zip(np.array(A_ub), b_ub, strict=True))
    found = []
    for tight in itertools.combinations(sides, n - len(A_eq)):
        A, b = map(np.array, zip(*tight, *zip(A_eq, b_eq, strict=True), strict=True))
        if np.linalg.matrix_rank(A) == n:
            x = np.linalg.solve(A, b)
            if all(a @ x <= c + 1e-12 for a, c in sides):
                found.append(x.round(12))
    return np.unique(found, axis=0)


def lattice(A, b, low, high):
    """Return the points with all entries integer that satisfy A x <= b, low <= x <= high."""
    grid = itertools.product(*(range(a, c + 1) for a, c in zip(low, high, strict=True)))
    points = np.array([x for x in grid if (np.array(A) @ x <= b).all()], dtype=float)
    assert len(points)
    return points


KNAPSACK = {
    "A": [[3, 5, -2, 4], [1, -1, 1, 1]],
    "b": [7, 2],
    "low": [0, -1, 0, 0],
    "high": [2, 1, 1, 2],
}


def knapsack():
    bounds = list(zip(KNAPSACK["low"], KNAPSACK["high"], strict=True))
    return sets.MixedInteger(KNAPSACK["A"], KNAPSACK["b"], bounds=bounds)


def integer_family(n, rng):
    n = min(n, 4)
    A, b = rng.integers(-2, 5, (2, n)), rng.integers(0, 6, 2)
    points = lattice(A, b, [0] * n, [2] * n)
    return sets.MixedInteger(A, b, bounds=(0, 2)), lowest(points)


def linear_family(n, rng):
    n = min(n, 3)
    A, b = rng.integers(-2, 5, (3, n)).astype(float), rng.integers(1, 6, 3).astype(float)
    bounds = [(-1.0, 2.0)] * n
    K = sets.LinearProgram(A, b, bounds=bounds)
    return K, lowest(corners(A, b, [], [], bounds))


def random_polytope():
    rng = np.random.default_rng(5)
    A = rng.standard_normal((30, 20))
    return A, abs(A).sum(axis=1) / 4


def modelled(shape, constraints):
    """Return the set of a CVXPY model."""
    x = cp.Variable(shape)
    return sets.from_cvxpy(constraints(x), x)


CASES = [
    Case(
        "DagFlow",
        small=lambda: sets.DagFlow(DAG, "s", "t"),
        vertices=lambda: path_vectors(DAG, "s", "t"),
        large=lambda: sets.DagFlow(layered(), 0, 21),
        constraints=flow_constraints(layered(), 0, 21),
        family=dag_family,
        exact_diameter=False,
    ),
    Case(
        "SpanningTree",
        small=lambda: sets.SpanningTree(WHEEL),
        vertices=lambda: tree_vectors(WHEEL),
        large=lambda: sets.SpanningTree(CHORDS),
        minimum=kruskal(CHORDS),
        family=tree_family,
        exact_diameter=False,
    ),
    Case(
        "ConvexHull",
        small=lambda: sets.ConvexHull(CORNERS),
        vertices=lambda: CORNERS,
        large=lambda: sets.ConvexHull(CLOUD),
        constraints=hull_constraints(CLOUD),
        family=hull_family,
    ),
    Case(
        "LinearProgram",
        small=lambda: sets.LinearProgram(**CUT),
        vertices=lambda: corners(**CUT),
        large=lambda: sets.LinearProgram(*random_polytope(), bounds=(-1, 1)),
        constraints=lambda x: [
            random_polytope()[0] @ x <= random_polytope()[1],
            *(x >= -1, x <= 1),
        ],
        family=linear_family,
        directions=150,
        exact_radius=False,
        exact_diameter=False,
    ),
    Case(
        "MixedInteger",
        small=knapsack,
        vertices=lambda: lattice(**KNAPSACK),
        family=integer_family,
        directions=150,
        exact_radius=False,
        exact_diameter=False,
        rtol=1e-11,
    ),
    Case(
        "MatroidBase",
        small=lambda: sets.MatroidBase(vector_rank, 6),
        vertices=lambda: bases(vector_rank, 6),
        large=lambda: sets.MatroidBase(in_groups_of_five, 30),
        constraints=lambda x: [
            x >= 0,
            x <= 1,
            cp.sum(cp.reshape(x, (6, 5), order="C"), axis=1) == 2,
        ],
        family=matroid_family,
        exact_diameter=False,
    ),
    Case(
        "FlowPolytope",
        small=lambda: sets.FlowPolytope(STREETS, TRIPS),
        vertices=lambda: routings(STREETS, TRIPS),
        family=routing_family,
        exact_radius=False,
        exact_diameter=False,
    ),
    Case(
        "FlowPolytope-capacity",
        small=lambda: sets.FlowPolytope(SQUARE_STREETS, SQUARE_TRIPS, capacity=2.5),
        small_minimum=capacitated(SQUARE_STREETS, SQUARE_TRIPS, 2.5),
        large=lambda: sets.FlowPolytope(GRID, GRID_TRIPS, capacity=2.0),
        minimum=capacitated(GRID, GRID_TRIPS, 2.0),
        exact_radius=False,
        exact_diameter=False,
        directions=150,
        rtol=1e-8,
        certify_rtol=1e-8,
    ),
    Case(
        "Matching",
        small=lambda: sets.Matching(COUPLES),
        vertices=lambda: matching_vectors(COUPLES),
        large=lambda: sets.Matching(SOCIAL),
        constraints=matched(SOCIAL),
        family=matching_family,
        exact_diameter=False,
    ),
    Case(
        "Matching-perfect",
        small=lambda: sets.Matching(COUPLES, perfect=True),
        vertices=lambda: matching_vectors(COUPLES, perfect=True),
        exact_diameter=False,
    ),
    Case(
        "Matching-odd",
        small=lambda: sets.Matching(ODD),
        vertices=lambda: matching_vectors(ODD),
        directions=150,
        exact_diameter=False,
        rtol=1e-11,
    ),
    Case(
        "from_cvxpy",
        small=lambda: modelled(4, lambda x: [cp.norm1(x) <= 1.5]),
        vertices=lambda: 1.5 * np.concatenate([np.eye(4), -np.eye(4)]),
        large=lambda: modelled((3, 4), lambda x: [x >= 0, cp.sum(x, axis=0) == 1, x[0] <= 0.6]),
        constraints=lambda x: [x >= 0, cp.sum(x, axis=0) == 1, x[0] <= 0.6],
        directions=100,
        exact_radius=False,
        exact_diameter=False,
        rtol=1e-8,
        certify_rtol=1e-8,
    ),
]
