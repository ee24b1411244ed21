"""Oracles on minimal faces and longest steps, against lists of vertices and bisection."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

import wolfpack as wp

S = wp.sets
EDGES = [("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t"), ("b", "c"), ("c", "t")]


def subsets(n, k):
    return [
        np.isin(np.arange(n), chosen).astype(float)
        for chosen in itertools.combinations(range(n), k)
    ]


def paths():
    index = {edge: i for i, edge in enumerate(EDGES)}
    routes = ["sat", "sbt", "sabt", "sbct", "sabct"]
    return [np.isin(np.arange(7), [index[e] for e in itertools.pairwise(r)]) * 1.0 for r in routes]


def k_sparse(n, k, r):
    signs = [np.array(s) for s in itertools.product([-r, r], repeat=k)]
    out = []
    for chosen in itertools.combinations(range(n), k):
        for s in signs:
            out.append(np.zeros(n))
            out[-1][list(chosen)] = s
    return out


def corners(low, high):
    return [np.array(c) for c in itertools.product(*zip(low, high, strict=True))]


def transport():
    # all vertices, from random costs
    K = S.TransportPolytope([1.0, 2.0], [0.5, 1.0, 1.5])
    rng = np.random.default_rng(0)
    found = [np.asarray(K.lmo(rng.standard_normal((2, 3)))) for _ in range(400)]
    return K, [np.array(v).reshape(2, 3) for v in {tuple(v.round(9).reshape(-1)) for v in found}]


PERMUTATIONS = [np.eye(3)[list(p)] for p in itertools.permutations(range(3))]
CASES = {
    "simplex": (S.Simplex(4, 2.0), list(2.0 * np.eye(4))),
    "unit simplex": (S.UnitSimplex(4, 2.0), [*(2.0 * np.eye(4)), np.zeros(4)]),
    "box": (S.Box([-1.0, 0.0, 2.0], [1.0, 3.0, 2.5]), corners([-1, 0, 2.0], [1, 3, 2.5])),
    "linf": (S.LinfBall(3, 2.0), corners([-2.0] * 3, [2.0] * 3)),
    "hypersimplex": (S.Hypersimplex(5, 2), subsets(5, 2)),
    "unit hypersimplex": (
        S.UnitHypersimplex(4, 2),
        [v for k in range(3) for v in subsets(4, k)],
    ),
    "k-sparse": (S.KSparse(4, 2, 1.5), k_sparse(4, 2, 1.5)),
    "l1": (S.L1Ball(4, 1.5), k_sparse(4, 1, 1.5)),
    "birkhoff": (S.Birkhoff(3), PERMUTATIONS),
    "transport": transport(),
    "dag": (S.DagFlow(EDGES, "s", "t"), paths()),
    "lp": (S.LinearProgram(A_ub=[[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]], b_ub=[1.0, 1.0]), None),
    "product": (
        S.Product(S.Simplex(2), S.L1Ball(2)),
        [np.append(a, b) for a in np.eye(2) for b in k_sparse(2, 1, 1.0)],
    ),
    "scaled": (S.Scale(S.Simplex(3), -2.0), list(-2.0 * np.eye(3))),
    "moved": (S.Translate(S.Simplex(3), np.arange(3.0)), list(np.eye(3) + np.arange(3.0))),
}
LP = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]]
CASES["lp"] = CASES["lp"][0], [np.array(v, dtype=float) for v in LP]


def points(vertices, seed):
    """Mixtures of few and of many vertices, each with the vertices of its minimal face."""
    rng = np.random.default_rng(seed)
    V = np.array(vertices).reshape(len(vertices), -1)
    for size in (1, 2, 2, 3, len(V)):
        chosen = rng.choice(len(V), min(size, len(V)), replace=False)
        x = rng.dirichlet(np.ones(len(chosen))) @ V[chosen]
        yield x, V[support(V, x)]


def support(V, x):
    """The vertices that some representation of x uses.

    The largest sum of s_j <= min(1, w_j) over all multiples w of representations has s_j = 1 there.
    """
    m = len(V)
    last = np.concatenate([np.ones(m), np.zeros(m), [-1.0]])
    equations = np.vstack([np.hstack([V.T, np.zeros((V.shape[1], m)), -x[:, None]]), last])
    below = np.hstack([-np.eye(m), np.eye(m), np.zeros((m, 1))])
    found = linprog(
        np.concatenate([np.zeros(m), -np.ones(m), [0.0]]),
        A_ub=below,
        b_ub=np.zeros(m),
        A_eq=equations,
        b_eq=np.zeros(len(equations)),
        bounds=[(0, None)] * m + [(0, 1)] * m + [(1, None)],
    )
    return found.x[m : 2 * m] > 0.5


@pytest.mark.parametrize("name", CASES)
def test_the_best_vertex_of_the_minimal_face_is_found(name):
    K, vertices = CASES[name]
    rng = np.random.default_rng(1)
    for x, face in points(vertices, 2):
        x = x.reshape(K.shape)
        before = x.copy()
        for g in rng.standard_normal((6, *K.shape)):
            v = np.asarray(K.lmo_face(x, g))
            assert float((g * v).sum()) == pytest.approx((face @ g.reshape(-1)).min(), abs=1e-9)
            assert min(abs(face - v.reshape(-1)).max(axis=1)) <= 1e-9
            scaled = np.asarray(K.lmo_face(x, 1e150 * g))
            np.testing.assert_allclose(scaled, v, atol=1e-9)
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("name", CASES)
def test_the_longest_step_ends_at_the_boundary(name):
    K, vertices = CASES[name]
    V = [v.reshape(K.shape) for v in vertices]
    rng, moved = np.random.default_rng(3), 0
    for x, face in points(vertices, 4):
        x = x.reshape(K.shape)
        a = face[rng.integers(len(face))].reshape(K.shape)
        for d in (V[rng.integers(len(V))] - a, V[rng.integers(len(V))] - x):
            t = K.max_step(x, d)
            if abs(d).max() < 1e-12:
                assert t == math.inf or abs(d).max() > 0
                continue
            moved += t > 1e-9
            assert t > 0
            assert K.contains(x + t * d, tol=1e-9)
            assert not K.contains(x + (t + 1e-5) * d, tol=1e-9)
    assert moved > 2
    assert K.max_step(x, np.zeros(K.shape)) == math.inf


@pytest.mark.parametrize("name", ["simplex", "birkhoff", "dag", "transport", "hypersimplex"])
def test_no_step_leaves_the_affine_hull(name):
    K, vertices = CASES[name]
    x = np.mean(vertices, axis=0).reshape(K.shape)
    d = np.zeros(K.shape)
    d.flat[0] = 1.0
    assert K.max_step(x, d) == 0.0


def test_a_point_near_limits_that_no_point_meets_together():
    # x_0 is near 0, and near its other limit 3e-6, which the inequality gives
    K = S.LinearProgram(A_ub=[[-1.0, 0.0]], b_ub=[-3e-6], bounds=(0.0, 1.0))
    x = np.array([3e-6, 0.5], dtype=np.float32)
    v = np.asarray(K.lmo_face(x, np.array([1.0, -1.0])))
    np.testing.assert_allclose(v, [3e-6, 1.0], rtol=0, atol=1e-9)
    assert K.contains(v)


def test_arrays_of_other_libraries():
    torch = pytest.importorskip("torch")
    K = S.Hypersimplex(5, 2)
    x, g = np.array([1.0, 0.5, 0.5, 0.0, 0.0]), np.array([3.0, 2.0, 1.0, -5.0, -6.0])
    expected = np.asarray(K.lmo_face(x, g))
    found = K.lmo_face(torch.tensor(x), torch.tensor(g)).to_dense()
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), expected)
    d = torch.tensor([0.0, -1.0, 1.0, 0.0, 0.0], dtype=torch.float64)
    assert K.at(d).max_step(torch.tensor(x), d) == 0.5


def test_sets_without_faces_say_so():
    K = S.L2Ball(3)
    assert not K.has("lmo_face")
    assert not S.Product(S.Simplex(2), K).has("max_step")
    with pytest.raises(wp.CapabilityError, match="lmo_face"):
        K.lmo_face(np.zeros(3), np.ones(3))
    with pytest.raises(ValueError, match="shape"):
        S.Simplex(3).lmo_face(np.ones(4) / 4, np.ones(3))
