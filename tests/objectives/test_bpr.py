"""Link costs: values, derivatives, the conjugate, and an equilibrium that Wardrop would accept."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import wolfpack as wp
from wolfpack.objectives import BPR

TIME = np.array([1.0, 2.0, 0.0, 3.0, 1.5])
CAPACITY = np.array([4.0, 5.0, 6.0, 7.0, 2.0])
B, POWER = np.array([0.15, 0.0, 0.15, 0.5, 0.2]), np.array([4.0, 4.0, 4.0, 1.0, 0.0])
FIXED = np.array([0.0, 0.5, 0.25, 0.0, 0.1])
F = BPR(TIME, CAPACITY, B, POWER, FIXED)
X = np.array([3.0, 2.0, 1.0, 8.0, 0.5])


def test_value_is_the_integral_of_the_gradient():
    total = 0.0
    for e in range(5):
        one = BPR(TIME[[e]], CAPACITY[[e]], B[e], POWER[e], FIXED[e])
        total += quad(lambda s, one=one: float(one.gradient(np.array([s]))[0]), 0, X[e])[0]
    assert F.value(X) == pytest.approx(total)
    np.testing.assert_allclose(F.gradient(X), TIME * (1 + B * (X / CAPACITY) ** POWER) + FIXED)


def test_second_derivatives():
    d, h = np.arange(1.0, 6.0), 1e-6
    difference = (F.gradient(X + h * d) - F.gradient(X - h * d)) / (2 * h)
    np.testing.assert_allclose(F.hessian_product(X, d), difference, atol=1e-7)
    assert np.isfinite(F.hessian_product(np.zeros(5), d)).all()


def test_the_conjugate_is_exact_and_bounds_averages():
    at = F.evaluate(X)
    assert F.conjugate_bound(at.dual) == pytest.approx(float(X @ at.gradient) - at.value)
    other = F.evaluate(2 * X)
    y = 0.3 * at.gradient + 0.7 * other.gradient
    scalars = [float(x @ e.gradient) - e.value for x, e in ((X, at), (2 * X, other))]
    assert F.conjugate_bound(y) <= 0.3 * scalars[0] + 0.7 * scalars[1] + 1e-12


def test_slightly_negative_flows_are_no_harm():
    at = F.evaluate(np.full(5, -1e-9))
    assert np.isfinite(at.value)
    np.testing.assert_allclose(at.gradient[:4], (TIME + FIXED)[:4])


def grid(n: int) -> list[tuple[int, int]]:
    """Links between neighbours, both ways."""
    right = [(i * n + j, i * n + j + 1) for i in range(n) for j in range(n - 1)]
    down = [(i * n + j, i * n + n + j) for i in range(n - 1) for j in range(n)]
    return right + down + [(b, a) for a, b in right + down]


@pytest.mark.parametrize("m", [1, 8])
def test_equilibrium_has_no_cheaper_path(m):
    # noise makes costs and even cycles negative, which collecting vertices must survive
    edges = grid(4)
    rng = np.random.default_rng(0)
    f = BPR(rng.uniform(1, 3, len(edges)), rng.uniform(2, 6, len(edges)))
    K = wp.sets.FlowPolytope(edges, [(0, 15, 8.0), (3, 12, 6.0), (15, 0, 5.0), (12, 3, 7.0)])
    res = wp.minimize(f, K, method="corrective", m=m, tol=1e-6, max_rounds=300)
    assert res.success
    cost = f.gradient(res.x)
    assert float(cost @ res.x) == pytest.approx(float(K.lmo(cost).dot(cost)), rel=1e-5)
    assert K.contains(res.x, 1e-6)


def test_sixteen_oracles_more_than_halve_the_rounds_to_an_equilibrium():
    # congested, in units so large that vertices lie 1e5 apart
    edges, rng = grid(5), np.random.default_rng(0)
    capacity = 1e3 * rng.uniform(5, 10, len(edges))
    f = BPR(rng.uniform(1, 3, len(edges)), capacity)
    pairs = rng.integers(0, 25, (120, 2))
    K = wp.sets.FlowPolytope(edges, [(a, b, 1e3 * rng.uniform(0.2, 2)) for a, b in pairs if a != b])
    x0 = K.lmo(f.gradient(np.zeros(K.shape))).to_dense()
    tol = 1e-5 * float(f.gradient(x0) @ x0)
    rounds = [wp.minimize(f, K, x0, method="corrective", m=m, tol=tol).nit for m in (1, 16)]
    assert rounds[0] <= 40
    assert 2.2 * rounds[1] <= rounds[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], [1.0]), "free_time must be a vector"),
        (([1.0, 2.0], [1.0, 0.0]), "capacity must be positive"),
        (([1.0, 2.0], [1.0]), r"capacity must be a number or of shape \(2,\)"),
        (([-1.0], [1.0]), "free_time must be nonnegative, found -1"),
        (([1.0], [1.0], 0.15, -2.0), "power must be nonnegative"),
        (([np.nan], [1.0]), "free_time has 1 NaN"),
    ],
)
def test_bad_links_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        BPR(*arguments)
