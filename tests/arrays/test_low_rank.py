"""Matrices of low rank and sparse ones, and the method that keeps them, on every library."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from backends import Backend, every_backend
from wolfpack.arrays import LowRank, SparseMatrix, describe, inner, is_foreign, to_host
from wolfpack.sets.device import spectral

__all__ = ["every_backend"]

RNG = np.random.default_rng(0)
U, S, V = RNG.standard_normal((7, 3)), RNG.standard_normal(3), RNG.standard_normal((5, 3))
DENSE = (U * S) @ V.T
AT = np.sort(RNG.choice(35, 9, replace=False))
DATA = RNG.standard_normal(9)


def low_rank(backend: Backend) -> LowRank:
    return LowRank(*map(backend.array, (U, S, V)))


def sparse(backend: Backend) -> SparseMatrix:
    rows, columns = (backend.array(at) for at in (AT // 5, AT % 5))
    return SparseMatrix(rows, columns, backend.array(DATA), (7, 5))


def close(backend: Backend, found, expected):
    np.testing.assert_allclose(np.asarray(to_host(found)), expected, rtol=1e3 * backend.eps)


def test_a_matrix_of_low_rank_reads_like_an_array(backend: Backend):
    X = low_rank(backend)
    close(backend, X, DENSE)
    close(backend, X[2, 3], DENSE[2, 3])
    close(backend, X[-1], DENSE[-1])
    close(backend, X[1:4], DENSE[1:4])
    close(backend, X[:, [0, 3]], DENSE[:, [0, 3]])
    close(backend, X.T, DENSE.T)
    y = RNG.standard_normal((5, 2))
    close(backend, X @ backend.array(y), DENSE @ y)
    close(backend, X.sum(axis=0), DENSE.sum(axis=0))
    assert float(X.mean()) == pytest.approx(DENSE.mean(), rel=1e-5)
    assert X.norm() == pytest.approx(float(np.linalg.norm(DENSE)), rel=1e-5)
    assert describe(X) == describe(X.U)
    assert is_foreign(X) == is_foreign(X.U)
    assert type(X.on_host().U) is np.ndarray


def test_a_sparse_matrix_multiplies(backend: Backend):
    G, dense = sparse(backend), np.zeros(35)
    dense[AT] = DATA
    dense = dense.reshape(7, 5)
    x, y = RNG.standard_normal((5, 2)), RNG.standard_normal(7)
    close(backend, G, dense)
    close(backend, G @ backend.array(x), dense @ x)
    close(backend, G.T @ backend.array(y), dense.T @ y)
    close(backend, 2.0 * G - G, dense)
    assert inner(G, low_rank(backend)) == pytest.approx(float((dense * DENSE).sum()), rel=1e-5)
    assert inner(G, backend.array(DENSE)) == pytest.approx(float((dense * DENSE).sum()), rel=1e-5)


@pytest.mark.parametrize("limit", [1, 10_000])
def test_entries_in_blocks_and_one_by_one(backend: Backend, limit, monkeypatch):
    monkeypatch.setattr("wolfpack.arrays._structured._BLOCK", limit)
    monkeypatch.setattr("wolfpack.arrays._structured._DEVICE_CHUNK", 6)
    X, G = low_rank(backend), sparse(backend)
    for ratio in (0, 32):
        monkeypatch.setattr("wolfpack.arrays._structured._DENSE_RATIO", ratio)
        close(backend, X.entries(G.rows, G.columns), DENSE.reshape(-1)[AT])


def test_sparse_directions_of_few_pairs(backend: Backend):
    # Lanczos' method ends before it has as many vectors as it has asked for
    rows, columns = (backend.array(np.array(at)) for at in ((0, 1), (1, 0)))
    G = SparseMatrix(rows, columns, backend.array(np.array([2.0, 2.0])), (40, 40))
    for K, value in ((wp.sets.TraceNormBall((40, 40)), 2.0), (wp.sets.Spectrahedron(40), 2.0)):
        twin = K.at(G)
        answers = twin.k_best(G, 3)
        assert float(answers.take(0).dot(G)) == pytest.approx(-value, rel=1e-5)
        assert twin.certify(G, answers.take(0)) == pytest.approx(-value, rel=1e-3)


def completion(backend: Backend, n: int = 40):
    rng = np.random.default_rng(1)
    left, right = rng.standard_normal((n, 2)), rng.standard_normal((n, 2))
    at = np.sort(rng.choice(n * n, n * n // 3, replace=False))
    values = (left @ right.T).reshape(-1)[at]
    return wp.objectives.MatrixCompletion(at // n, at % n, backend.array(values), (n, n))


@pytest.mark.parametrize(
    "K",
    [wp.sets.TraceNormBall((40, 40), 50.0), wp.sets.Spectrahedron(40, 30.0, equality=False)],
    ids=["trace norm", "spectrahedron"],
)
def test_completion_finds_what_numpy_finds(backend: Backend, K):
    how = {"method": "corrective", "m": 4, "rtol": 1e-4, "max_rounds": 40}
    here = wp.minimize(completion(backend), K, **how)
    host = wp.minimize(completion(Backend("numpy", "numpy", np.float64)), K, **how)
    assert isinstance(here.x, LowRank)
    assert describe(here.x) == describe(backend.array(DATA))
    assert abs(here.fun - host.fun) <= here.gap + host.gap
    assert here.lower_bound <= host.fun
    assert here.gap <= (1e-4 if backend.name != "jax32" else 3e-2) * here.fun * 1.01
    assert K.contains(here.x, tol=1e-5)
    again = wp.minimize(completion(backend), K, x0=here.x, **{**how, "max_rounds": 1})
    assert again.fun <= here.fun * (1.0 + 1e-5)
    assert float(again.history["fun"][0]) == pytest.approx(here.fun, rel=1e-5)


def test_auto_keeps_low_rank_on_every_library(backend: Backend):
    K = wp.sets.TraceNormBall((400, 400), 50.0)
    rows = np.arange(5)
    f = wp.objectives.MatrixCompletion(rows, rows, backend.array(np.ones(5)), (400, 400))
    assert wp.explain(f, K.at(f.like)).method == "corrective"


def test_a_card_projects_and_answers_through_symmetric_matrices(backend: Backend, monkeypatch):
    X = RNG.standard_normal((80, 70))
    K, G = wp.sets.TraceNormBall(X.shape, 20.0), backend.array(X)
    plain = K.at(G).project(G), K.at(G).k_best(G, 3)
    monkeypatch.setattr(spectral, "_on_card", lambda x: True)
    twin = spectral.TraceTwin(K, G)
    if backend.library != "numpy":
        assert twin.cheap_projection
    found = to_host(twin.project(G)), to_host(plain[0])
    np.testing.assert_allclose(*found, rtol=0.0, atol=1e5 * backend.eps)
    values = to_host(twin.k_best(G, 3).dot(G)), to_host(plain[1].dot(G))
    np.testing.assert_allclose(*values, rtol=1e-4)
