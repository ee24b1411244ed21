"""Composite problems on arrays of every library."""

import numpy as np
import pytest

import wolfpack as wp
from backends import Backend, every_backend
from wolfpack.arrays import describe, to_host

__all__ = ["every_backend"]

RNG = np.random.default_rng(6)
A = RNG.standard_normal((12, 5))
B = RNG.standard_normal(12)
TERMS = {
    "ridge": wp.regularizers.SquaredNorm(0.5),
    "elastic net": wp.regularizers.ElasticNet(0.3, 0.5),
    "entropy": wp.regularizers.Entropy(0.5),
    "groups": wp.regularizers.GroupLasso([[0, 1], [2, 3, 4]], 0.3, 0.5),
}


@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("method", ["accelerated", "converging"])
def test_finds_what_numpy_finds(backend: Backend, name, method):
    options = {"method": method, "max_rounds": 15, "tol": 1e-9}
    expected = wp.minimize_composite(wp.objectives.LeastSquares(A, B), TERMS[name], **options)
    G = wp.objectives.LeastSquares(backend.array(A), backend.array(B))
    found = wp.minimize_composite(G, TERMS[name], **options)
    assert describe(found.x) == describe(backend.array(B))
    np.testing.assert_allclose(to_host(found.x), expected.x, atol=1e4 * backend.eps)
    assert found.gap == pytest.approx(expected.gap, rel=1e-3, abs=1e4 * backend.eps)


def test_minibatches_are_those_of_the_host(backend: Backend):
    options = {"max_rounds": 15, "tol": 1e-9, "seed": 2}
    H = TERMS["ridge"]
    expected = wp.minimize_composite(wp.objectives.LeastSquares(A, B, batch=4), H, **options)
    G = wp.objectives.LeastSquares(backend.array(A), backend.array(B), batch=4)
    found = wp.minimize_composite(G, H, **options)
    np.testing.assert_allclose(to_host(found.x), expected.x, atol=1e4 * backend.eps)
