"""Cases of the combinatorial, polyhedral and composite sets."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from wolfpack import sets

from .case import Case
from .graphs import path_vectors, random_dag, tree_vectors


def lowest(vertices: np.ndarray):
    """Return g -> min <g, v> over the listed vertices."""
    return lambda g: float((vertices @ g.reshape(-1)).min())


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
]
