"""Contract cases of the sets made of other sets, and of users' own oracles."""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np

from wolfpack import sets
from wolfpack.atoms import OneHot

from .case import Case
from .tables import added, joined

# the parts of composite sets, with their vertices
SQUARE = np.array([[-1.0, 0.0], [-1.0, 2.0], [0.5, 0.0], [0.5, 2.0]])
CROSS = np.concatenate([0.5 * np.eye(2), -0.5 * np.eye(2)])
TRIANGLE = np.array([[0.0, 1.0], [2.0, 0.0], [-1.0, -1.0]])


def square():
    return sets.Box([-1.0, 0.0], [0.5, 2.0])


def cross():
    return sets.L1Ball(2, radius=0.5)


def triangle():
    return sets.ConvexHull(TRIANGLE)


def softly(table, y, alpha, count, rng):
    """Draw rows with independent Gumbel noise on their scores."""
    scores = table @ y + alpha * rng.gumbel(size=(count, len(table)))
    return table[scores.argmax(axis=1)]


def softly_joined(y, alpha, count, rng):
    halves = [softly(TRIANGLE, y[:2], alpha, count, rng), softly(CROSS, y[2:], alpha, count, rng)]
    return np.concatenate(halves, axis=1)


def softly_added(y, alpha, count, rng):
    return softly(TRIANGLE, y, alpha, count, rng) + softly(CROSS, y, alpha, count, rng)


def corner_of_cube(g):
    return np.where(g < 0, 1.0, -1.0)


def best_axis(g):
    return OneHot(g.argmin(axis=-1), 1.0, (4,))


MAP = np.array([[1.0, -2.0, 0.5, 0.0], [0.0, 1.0, 1.0, -1.0]])
WIDE = np.random.default_rng(3).standard_normal((6, 20))
TRANSPOSE = [[0, 3, 6, 1, 4, 7, 2, 5, 8]]


def symmetric_permutations():
    """Return the means of permutation matrices and their transposes."""
    tables = np.array([np.eye(3)[list(p)] for p in itertools.permutations(range(3))])
    return 0.5 * (tables + tables.transpose(0, 2, 1))


def softly_mapped(y, alpha, count, rng):
    return softly(TRIANGLE, MAP[:, :2].T @ y, alpha, count, rng) @ MAP[:, :2].T


def softly_averaged(y, alpha, count, rng):
    """Draw from all eight vertices of the ball, also where their means are equal."""
    mean = np.kron(np.diag([1.0, 0.0]), np.ones((3, 3)) / 3)[:4, :4] + np.diag([0.0, 0, 0, 1])
    return softly(np.concatenate([np.eye(4), -np.eye(4)]) @ mean, y, alpha, count, rng)


def best_mapped(g):
    return -np.linalg.norm(WIDE.T @ g)


CASES = [
    Case(
        "Product-gumbel",
        small=lambda: sets.Product(sets.Simplex(3), square()),
        vertices=lambda: joined(np.eye(3), SQUARE),
        large=lambda: sets.Product(sets.Simplex((4, 5)), sets.L2Ball(30), sets.Box([-1.0], [2.0])),
        constraints=lambda x: [
            *(x[:20] >= 0, cp.sum(x[:20]) == 1),
            *(cp.norm(x[20:50]) <= 1, x[50] >= -1, x[50] <= 2),
        ],
    ),
    Case(
        "Product-drawn",
        small=lambda: sets.Product(sets.Simplex(2), sets.Simplex((1, 3), radius=2.0)),
        vertices=lambda: joined(np.eye(2), 2 * np.eye(3)),
    ),
    Case(
        "Product-lifted",
        small=lambda: sets.Product(triangle(), cross()),
        vertices=lambda: joined(TRIANGLE, CROSS),
        perturbed=softly_joined,
    ),
    Case(
        "Translate",
        small=lambda: sets.Translate(sets.Simplex(3), [1.0, -2.0, 0.5]),
        vertices=lambda: np.add(np.eye(3), [1.0, -2.0, 0.5]),
        large=lambda: sets.Translate(sets.L2Ball((5, 6)), 3.0),
        constraints=lambda x: [cp.norm(x - 3.0, "fro") <= 1],
        exact_radius=False,
    ),
    Case(
        "Translate-lifted",
        small=lambda: sets.Translate(cross(), [1.0, 1.0]),
        vertices=lambda: CROSS + 1.0,
        exact_radius=False,
    ),
    Case(
        "Scale",
        small=lambda: sets.Scale(sets.Simplex(3, radius=2.0), 1.5),
        vertices=lambda: 3.0 * np.eye(3),
        large=lambda: sets.Scale(sets.Simplex(30), -4.0),
        constraints=lambda x: [x <= 0, cp.sum(x) == -4],
    ),
    Case(
        "Scale-reflected",
        small=lambda: sets.Scale(square(), -0.5),
        vertices=lambda: -0.5 * SQUARE,
    ),
    Case(
        "Scale-lifted",
        small=lambda: sets.Scale(triangle(), -2.0),
        vertices=lambda: -2.0 * TRIANGLE,
    ),
    Case(
        "MinkowskiSum",
        small=lambda: sets.MinkowskiSum(square(), sets.Scale(sets.Simplex(2), 1.5)),
        vertices=lambda: added(SQUARE, 1.5 * np.eye(2)),
        large=lambda: sets.MinkowskiSum(sets.L2Ball(20), sets.LinfBall(20), sets.L1Ball(20)),
        minimum=lambda g: -np.linalg.norm(g) - abs(g).sum() - abs(g).max(),
        exact_radius=False,
        exact_diameter=False,
    ),
    Case(
        "MinkowskiSum-lifted",
        small=lambda: sets.MinkowskiSum(triangle(), cross()),
        vertices=lambda: added(TRIANGLE, CROSS),
        perturbed=softly_added,
        exact_radius=False,
        exact_diameter=False,
    ),
    Case(
        "Oracle",
        small=lambda: sets.Oracle(corner_of_cube, 3, 3**0.5),
        vertices=lambda: np.array(list(itertools.product((-1.0, 1.0), repeat=3))),
    ),
    Case(
        "Oracle-batched",
        small=lambda: sets.Oracle(best_axis, 4, 1.0, diameter=2**0.5, batched=True),
        vertices=lambda: np.eye(4),
    ),
    Case(
        "Image",
        small=lambda: sets.Image(MAP, sets.Simplex((2, 2), radius=1.5)),
        vertices=lambda: 1.5 * MAP.T,
        exact_radius=False,
        exact_diameter=False,
    ),
    Case(
        "Image-lifted",
        small=lambda: sets.Image(MAP[:, :2], triangle()),
        vertices=lambda: TRIANGLE @ MAP[:, :2].T,
        perturbed=softly_mapped,
        exact_radius=False,
        exact_diameter=False,
    ),
    Case(
        "Image-ball",
        small=lambda: sets.Image(MAP, sets.L2Ball(4)),
        small_minimum=lambda g: -np.linalg.norm(MAP.T @ g),
        large=lambda: sets.Image(WIDE, sets.L2Ball(20)),
        minimum=best_mapped,
        exact_radius=False,
        exact_diameter=False,
        directions=150,
    ),
    Case(
        "Symmetric",
        small=lambda: sets.Symmetric(sets.Birkhoff(3), TRANSPOSE),
        vertices=symmetric_permutations,
        exact_radius=True,
        exact_diameter=False,
    ),
    Case(
        "Symmetric-ball",
        small=lambda: sets.Symmetric(sets.L1Ball(4), [[1, 2, 0, 3]]),
        vertices=lambda: np.array(
            [[s / 3] * 3 + [0] for s in (1, -1)] + [[0] * 3 + [s] for s in (1, -1)]
        ),
        perturbed=softly_averaged,
        large=lambda: sets.Symmetric(
            sets.L2Ball((4, 5)), [np.arange(20)[::-1], np.roll(np.arange(20), 5)]
        ),
        constraints=lambda x: [
            cp.norm(x, "fro") <= 1,
            *(cp.vec(x, order="C") == cp.vec(x, order="C")[::-1], x[1:] == x[:-1]),
        ],
        exact_radius=True,
        exact_diameter=False,
    ),
]
