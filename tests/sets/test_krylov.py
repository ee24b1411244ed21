"""Eigenpairs of operators and the bounds on them, and sets asked with sparse directions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse as sp

import wolfpack as wp
from wolfpack.arrays import SparseMatrix
from wolfpack.sets._krylov import _is_small, top_eigenvalue_ceiling, top_eigenvectors

RNG = np.random.default_rng(0)


def symmetric(n: int) -> np.ndarray:
    G = RNG.standard_normal((n, n))
    return 0.5 * (G + G.T)


def cluster(n: int) -> np.ndarray:
    """Ten equal eigenvalues above a bulk."""
    U = np.linalg.qr(RNG.standard_normal((n, 10)))[0]
    B = RNG.standard_normal((n, n)) / (3 * np.sqrt(n))
    return U @ U.T + 0.1 * (B @ B.T)


MATRICES = {
    "random": symmetric(120),
    "random, semidefinite": (lambda G: G @ G.T)(RNG.standard_normal((90, 60))),
    "cluster": cluster(150),
    "negative": -np.diag(np.arange(1.0, 60.0)),
    "evenly spaced": np.diag(np.linspace(0, 1, 400)),
    "identity": np.eye(30),
    "rank one": np.diag(np.r_[np.zeros(40), 1e-6]),
    "zero": np.zeros((12, 12)),
    "one by one": np.array([[2.0]]),
}


@pytest.mark.parametrize("name", MATRICES)
def test_ceilings_are_above_and_near(name):
    A = MATRICES[name]
    values = np.linalg.eigvalsh(A)
    top, size = values[-1], abs(values).max()
    ceiling = top_eigenvalue_ceiling(lambda x: A @ x, len(A))
    assert top - 1e-13 * size <= ceiling <= top + 1e-7 * size


@pytest.mark.parametrize("name", MATRICES)
def test_top_vectors(name):
    A = MATRICES[name]
    values = np.linalg.eigvalsh(A)
    found = top_eigenvectors(lambda x: A @ x, len(A), 3)
    assert 1 <= len(found) <= 3
    np.testing.assert_allclose(found @ found.T, np.eye(len(found)), atol=1e-10)
    assert found[0] @ A @ found[0] >= values[-1] - 1e-7 * abs(values).max()


def test_a_tight_bound_costs_few_products():
    count = 0

    def apply(x: np.ndarray) -> np.ndarray:
        nonlocal count
        count += 1
        return A @ x

    A = MATRICES["cluster"]
    top_eigenvalue_ceiling(apply, len(A))
    assert count <= 100


def direction(p: int, q: int, density: float) -> SparseMatrix:
    M = sp.random(p, q, density, random_state=4, format="coo")
    order = np.lexsort((M.col, M.row))
    return SparseMatrix(M.row[order], M.col[order], M.data[order] - 0.5, (p, q))


@pytest.mark.parametrize("density", [0.02, 0.4])
@pytest.mark.parametrize(("p", "q"), [(60, 45), (45, 60), (50, 50)])
def test_trace_norm_balls_answer_sparse_directions(p, q, density):
    K, g = wp.sets.TraceNormBall((p, q), 2.0), direction(p, q, density)
    best = -2.0 * np.linalg.svd(np.asarray(g), compute_uv=False)[0]
    vertex = K._lmo(g)
    assert vertex.dot(g) == pytest.approx(best, rel=1e-7)
    assert best - 1e-7 <= K.certify(g, vertex) <= best
    pairs = K.k_best(g, 3)
    assert pairs.u.shape == (3, p)
    assert K.contains(pairs.take(2).to_dense())


@pytest.mark.parametrize("density", [0.02, 0.4])
@pytest.mark.parametrize("equality", [True, False])
def test_spectrahedra_answer_sparse_directions(density, equality):
    K, g = wp.sets.Spectrahedron(40, 1.5, equality), direction(40, 40, density)
    best = float(K.lmo(np.asarray(g)).dot(np.asarray(g)))
    vertex = K._lmo(g)
    assert vertex.dot(g) == pytest.approx(best, rel=1e-7)
    assert best - 1e-7 <= K.certify(g, vertex) <= best + 1e-12
    assert K.k_best(g, 3).u is not None


def test_both_bounds_are_used():
    kinds = [_is_small(direction(60, 45, density)) for density in (0.02, 0.4)]
    assert kinds == [False, True]
