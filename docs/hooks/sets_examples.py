"""A small instance of every set, and the plane in which the gallery draws it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wolfpack import sets

FLAT = np.eye(2)
"""The plane itself, for sets of vectors with two entries."""

LEVEL = np.array([[-1.0, 1.0, 0.0], [-1.0, -1.0, 2.0]]) / np.sqrt([[2.0], [6.0]])
"""The plane x_1 + x_2 + x_3 = const, seen along (1, 1, 1)."""

MIRROR = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]) / np.sqrt([[2.0], [1.0]])
"""The plane x_1 = x_2."""


class Example(NamedTuple):
    """A set and two orthonormal directions, as rows: the picture is the shadow on their plane."""

    K: Any
    plane: np.ndarray


def view(across: float, above: float) -> np.ndarray:
    """Return the plane of a drawing of three dimensions, seen from two angles in degrees."""
    a, b = np.radians([across, above])
    right = [-np.sin(a), np.cos(a), 0.0]
    up = [-np.cos(a) * np.sin(b), -np.sin(a) * np.sin(b), np.cos(b)]
    return np.array([right, up])


def symmetric(across: float, above: float) -> np.ndarray:
    """Return a view of the matrices [[a, b], [b, c]] in the coordinates (a - c, 2b, a + c)."""
    axes = np.array([[1.0, 0.0, 0.0, -1.0], [0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]])
    return view(across, above) @ axes / np.sqrt(2.0)


def widest(K: Any, across: float = 25.0, above: float = 20.0) -> np.ndarray:
    """Return a view of the two or three dimensions in which K is widest."""
    directions = np.random.default_rng(0).standard_normal((300, *K.shape))
    points = K.lmo(directions).to_dense().reshape(300, -1)
    _, s, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    axes *= np.sign(axes[:, np.argmax(abs(axes), axis=1)].diagonal())[:, None]
    return axes[:2] if len(s) < 3 or s[2] < 1e-9 * s[0] else view(across, above) @ axes[:3]


def cut_disc(g: np.ndarray) -> np.ndarray:
    """Answer over the unit disc without its part right of 1/2: a user's own oracle."""
    v = -g / np.maximum(np.linalg.norm(g, axis=-1, keepdims=True), 1e-300)
    corner = np.stack([np.full(v.shape[:-1], 0.5), np.copysign(np.sqrt(0.75), v[..., 1])], axis=-1)
    return np.where(v[..., :1] <= 0.5, v, corner)


def two_but_not_both(elements: tuple[int, ...]) -> bool:
    """Tell whether there are at most two elements, and not both 0 and 1."""
    return len(elements) <= 2 and not {0, 1} <= set(elements)


def vectors() -> dict[str, Example]:
    """Return the examples of sets of vectors."""
    return {
        "Simplex": Example(sets.Simplex(3), LEVEL),
        "CappedSimplex": Example(sets.CappedSimplex(3, [0.75, 0.6, 0.5]), LEVEL),
        "UnitSimplex": Example(sets.UnitSimplex(2), FLAT),
        "Hypersimplex": Example(sets.Hypersimplex(4, 2), widest(sets.Hypersimplex(4, 2), 15, 20)),
        "UnitHypersimplex": Example(sets.UnitHypersimplex(3, 2), view(25, 20)),
        "Permutahedron": Example(sets.Permutahedron([1.0, 2.0, 3.0]), LEVEL),
        "L1Ball": Example(sets.L1Ball(2), FLAT),
        "WeightedL1Ball": Example(sets.WeightedL1Ball([1.0, 1.6]), FLAT),
        "L2Ball": Example(sets.L2Ball(2), FLAT),
        "Ellipsoid": Example(sets.Ellipsoid([0.5, 0.25], [[1.0, 0.4], [0.4, 0.5]]), FLAT),
        "LinfBall": Example(sets.LinfBall(2), FLAT),
        "LpBall": Example(sets.LpBall(2, 3), FLAT),
        "GroupL1Ball": Example(sets.GroupL1Ball([[0, 1], [2]]), view(20, 25)),
        "OrderedWeightedL1": Example(sets.OrderedWeightedL1([1.0, 0.5]), FLAT),
        "KNormBall": Example(sets.KNormBall(3, 2), view(25, 20)),
        "KSparse": Example(sets.KSparse(3, 2), view(25, 20)),
        "Knapsack": Example(sets.Knapsack([1.0, 2.0], 2.0), FLAT),
        "Box": Example(sets.Box([-1.0, -0.6], [1.0, 0.6]), FLAT),
    }


def matrices() -> dict[str, Example]:
    """Return the examples of sets of matrices."""
    birkhoff, plans = sets.Birkhoff(3), sets.TransportPolytope([2, 1], [1, 1, 1])
    return {
        "TraceNormBall": Example(sets.TraceNormBall((2, 2)), symmetric(20, 25)),
        "OperatorNormBall": Example(sets.OperatorNormBall((2, 2)), symmetric(20, 25)),
        "SchattenBall": Example(sets.SchattenBall((2, 2), 4), symmetric(20, 25)),
        "Spectrahedron": Example(sets.Spectrahedron(2, equality=False), symmetric(20, 15)),
        "HermitianSpectrahedron": Example(sets.HermitianSpectrahedron(2), symmetric(20, 15)),
        "Fantope": Example(sets.Fantope(2, 1), symmetric(20, 25)),
        "Birkhoff": Example(birkhoff, widest(birkhoff, 70, 10)),
        "TransportPolytope": Example(plans, widest(plans)),
    }


def polyhedra() -> dict[str, Example]:
    """Return the examples of sets given by graphs, inequalities, points or a callable."""
    edges = [("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t")]
    dag = sets.DagFlow(edges, "s", "t")
    flows = sets.FlowPolytope(edges, [("s", "t", 2.0), ("a", "t", 1.0), ("s", "b", 1.0)])
    bases = sets.MatroidBase(two_but_not_both, n=4)
    trees = sets.SpanningTree([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    matchings = sets.Matching([(0, 1), (2, 1), (2, 3)])
    cloud = np.random.default_rng(5).standard_normal((9, 2))
    A, b = [[2.0, 1.0], [1.0, 3.0], [-2.0, 1.0]], [9.5, 12.5, 1.5]
    return {
        "DagFlow": Example(dag, widest(dag)),
        "FlowPolytope": Example(flows, widest(flows)),
        "MatroidBase": Example(bases, widest(bases, 60, 25)),
        "Matching": Example(matchings, widest(matchings)),
        "SpanningTree": Example(trees, widest(trees)),
        "ConvexHull": Example(sets.ConvexHull(cloud), FLAT),
        "LinearProgram": Example(sets.LinearProgram(A, b), FLAT),
        "MixedInteger": Example(sets.MixedInteger(A, b), FLAT),
        "Oracle": Example(sets.Oracle(cut_disc, shape=2, radius=1.0, batched=True), FLAT),
    }


def composites() -> dict[str, Example]:
    """Return the examples of sets made of others."""
    ball, cross = sets.L2Ball(2, 0.5), sets.L1Ball(2)
    mirrored = sets.Symmetric(sets.L1Ball(3), [[1, 0, 2]])
    prism = sets.Product(sets.Simplex(3), sets.Box([0.0], [1.0]))
    upright = np.block([[LEVEL, np.zeros((2, 1))], [np.zeros((1, 3)), np.ones((1, 1))]])
    return {
        "Product": Example(prism, view(35, 25) @ upright),
        "Translate": Example(sets.Translate(cross, [0.5, 0.25]), FLAT),
        "Scale": Example(sets.Scale(cross, 0.6), FLAT),
        "MinkowskiSum": Example(sets.MinkowskiSum(cross, ball), FLAT),
        "Image": Example(sets.Image([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]], sets.LinfBall(3)), FLAT),
        "Symmetric": Example(mirrored, MIRROR),
    }


def examples() -> dict[str, Example]:
    """Return one example per class, by the name of the class."""
    return {**vectors(), **matrices(), **polyhedra(), **composites()}
