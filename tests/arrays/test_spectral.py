"""Spectral sets at the place of their arrays, against the host's."""

import numpy as np
import pytest

import wolfpack as wp
from backends import Backend, every_backend
from wolfpack.arrays import to_host
from wolfpack.sets.device._lanczos import start_for, top_ritz

__all__ = ["every_backend"]

RNG = np.random.default_rng(3)
SETS = {
    "small trace ball": wp.sets.TraceNormBall((6, 4), 2.0),
    "tall trace ball": wp.sets.TraceNormBall((60, 40), 2.0),
    "wide trace ball": wp.sets.TraceNormBall((36, 50)),
    "small spectrahedron": wp.sets.Spectrahedron(5, 3.0),
    "spectrahedron": wp.sets.Spectrahedron(40),
    "trace at most": wp.sets.Spectrahedron(40, equality=False),
    "operator ball": wp.sets.OperatorNormBall((7, 5), 1.5),
    "schatten ball": wp.sets.SchattenBall((7, 5), 3.0),
    "frobenius ball": wp.sets.SchattenBall((7, 5), 2.0),
    "order one": wp.sets.SchattenBall((7, 5), 1.0),
}


@pytest.fixture(params=SETS)
def K(request):
    return SETS[request.param]


def least(K, g):
    """The host's own value, exact up to rounding."""
    return float(K.lmo(g).dot(g))


def test_answers_are_minimisers_of_the_same_type(backend: Backend, K):
    g = RNG.standard_normal(K.shape)
    answer = K.lmo(backend.array(g))
    dense = answer.to_dense()
    assert type(dense) is type(backend.array(g))
    assert dense.dtype == backend.array(g).dtype
    value = float(np.vdot(to_host(dense), g))
    assert value == pytest.approx(least(K, g), rel=3e2 * backend.eps)
    assert K.violation(to_host(dense).astype(float)) <= 1e2 * backend.eps * K.radius


def test_batches_are_answered_to_the_stated_residual(backend: Backend, K):
    batch = RNG.standard_normal((5, *K.shape))
    values = to_host(K.lmo(backend.array(batch)).dot(backend.array(batch)))
    for value, g in zip(values, batch, strict=True):
        # a residual of 1e-3 costs the value its square over the gap, and never more than itself
        assert value <= least(K, g) + 2e-3 * abs(least(K, g))


def test_certificates_hold_and_are_tight(backend: Backend, K):
    g = backend.array(RNG.standard_normal(K.shape))
    exact = least(K, to_host(g).astype(float))
    proved = K.at(g).certify(g, K.lmo(g))
    slack = (1e-10 + 1e2 * backend.eps) * abs(exact)
    # the Frobenius ball's answer is exact, and its value is rounded like any
    over = slack if getattr(K, "order", 0) == 2 else 1e-12 * abs(exact)
    assert exact - slack <= proved <= exact + over


def test_a_wrong_answer_proves_nothing_wrong(backend: Backend):
    K = SETS["tall trace ball"]
    g, other = (backend.array(RNG.standard_normal(K.shape)) for _ in range(2))
    assert K.at(g).certify(g, K.lmo(other)) <= least(K, to_host(g).astype(float))


@pytest.mark.parametrize("scale", [1e-30, 1e-18, 1e18, 1e30])
@pytest.mark.parametrize("name", ["tall trace ball", "spectrahedron"])
def test_no_unit_is_too_small_or_too_large(backend: Backend, name, scale):
    K, g = SETS[name], RNG.standard_normal(SETS[name].shape)
    value = K.lmo(backend.array(scale * g)).to_dense()
    assert float(np.vdot(to_host(value), g)) == pytest.approx(least(K, g), rel=1e3 * backend.eps)


def test_zero_gets_a_point_of_the_set(backend: Backend, K):
    answer = to_host(K.lmo(backend.array(np.zeros(K.shape))).to_dense())
    assert np.isfinite(answer).all()
    assert K.violation(answer.astype(float)) <= 1e2 * backend.eps


def test_the_best_few_are_the_leading_pairs(backend: Backend):
    for name in ("small trace ball", "spectrahedron", "trace at most"):
        K = SETS[name]
        g = (
            RNG.standard_normal(K.shape)
            + 10.0 * np.outer(*RNG.standard_normal((2, K.shape[0])))[:, : K.shape[1]]
        )
        found, expected = K.k_best(backend.array(g), 2), K.k_best(g, 2)
        np.testing.assert_allclose(to_host(found.dot(backend.array(g))), expected.dot(g), rtol=3e-3)


def test_projections_and_violations_are_the_hosts(backend: Backend, K):
    x = 3.0 * RNG.standard_normal(K.shape)
    here = backend.array(x)
    assert K.violation(here) == pytest.approx(K.violation(x), rel=1e2 * backend.eps)
    if K.has("project"):
        np.testing.assert_allclose(to_host(K.project(here)), K.project(x), atol=1e3 * backend.eps)


def test_a_space_that_is_exhausted_early_ends_well(backend: Backend):
    # three eigenvalues, all negative: after three steps nothing is left to find
    Q = np.linalg.qr(RNG.standard_normal((20, 20)))[0]
    A = backend.array((Q * np.repeat([-1.0, -2.0, -3.0], [5, 5, 10])) @ Q.T)
    found = top_ritz(
        lambda q: (A[None, ...] @ q[:, :, None])[:, :, 0], start_for(A[None, ...], 20), 1, 1e-3
    )
    assert float(found.values[0, 0]) == pytest.approx(-1.0, rel=1e3 * backend.eps)


def test_a_run_on_the_trace_ball_is_the_hosts(backend: Backend):
    C, D = RNG.standard_normal((50, 40)), RNG.standard_normal((50, 36))
    K = wp.sets.TraceNormBall((40, 36), 5.0)
    options = {"method": "anytime", "m": 4, "max_rounds": 8, "tol": 0, "progress": False}
    host = wp.minimize(wp.objectives.LeastSquares(C, D), K, **options)
    f = wp.objectives.LeastSquares(backend.array(C), backend.array(D))
    here = wp.minimize(f, K, **options)
    assert type(here.x) is type(backend.array(C))
    assert here.lower_bound <= host.fun
    assert host.lower_bound <= here.fun
    # numbers drawn in single precision are other numbers
    assert here.gap == pytest.approx(host.gap, rel=0.1 if backend.eps < 1e-10 else 0.5)
