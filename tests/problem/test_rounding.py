"""Theorem E1 and its lemmas (docs/theory/rounding.md) against exact rational numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.problem import Problem, accumulation
from wolfpack.problem.rounding import MODEL, Minorant

RNG = np.random.default_rng(7)
FRACTION = np.vectorize(Fraction, otypes=[object])


def exact(x):
    """The entries of a float array, as they are, in rational numbers."""
    return FRACTION(np.asarray(x, dtype=np.float64))


def least_squares(dtype, far=1.0):
    A, b = RNG.standard_normal((7, 4)).astype(dtype), (far * RNG.standard_normal(7)).astype(dtype)
    f = wp.objectives.LeastSquares(A, b)
    A, b = exact(A), exact(b)
    return f, lambda x: sum((A @ x - b) ** 2) / 2


def quadratic(dtype, far=1.0):
    B, c = RNG.standard_normal((4, 4)), (far * RNG.standard_normal(4)).astype(dtype)
    Q = (B @ B.T).astype(dtype)
    Q = (Q + Q.T) / 2
    f = wp.objectives.Quadratic(Q, c, 3.0)
    Q, c = exact(Q), exact(c)
    return f, lambda x: x @ Q @ x / 2 + c @ x + 3


def projection(dtype, far=1.0):
    t = (far * np.ones(4) + RNG.standard_normal(4)).astype(dtype)
    r = 0.5 * float(t.astype(float) @ t.astype(float))
    f, t = wp.objectives.Quadratic(1.0, -t, r), exact(t)
    return f, lambda x: x @ x / 2 - t @ x + Fraction(r)


FUNCTIONS = {"least squares": least_squares, "quadratic": quadratic, "projection": projection}


def random_case(name, dtype, far, width=1.0):
    f, true = FUNCTIONS[name](dtype, far)
    centre = np.full(4, far)
    K = wp.sets.Box(centre - width, centre + width)
    return f, true, K, (centre + width * RNG.uniform(-1, 1, 4)).astype(dtype)


@pytest.mark.parametrize("far", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_within_their_errors(name, dtype, far):
    worst = 0.0
    for _ in range(40):
        f, true, K, x = random_case(name, dtype, far)
        at = f.evaluate(x)
        error = f.value_error(x, at, K)
        off = abs(Fraction(at.value) - true(exact(x)))
        assert off <= Fraction(error)
        worst = max(worst, float(off) / error)
    # the allowance is of the size of the errors; those of float32 products are summed exactly
    assert worst > 1e-4 or (name, dtype) == ("projection", np.float32)


def highest_excess(name, dtype, far, averaged, width):
    """The largest computed lower bound less the function at some point of a small box."""
    excess = -math.inf
    for _ in range(20):
        f, true, K, x = random_case(name, dtype, far, width)
        problem = Problem(f, K)
        at = problem.evaluate(x)
        y, dual = at.gradient, at.dual
        for _ in range(10 if averaged else 0):
            step = dtype(RNG.uniform())
            near = K.start() + width * RNG.uniform(-1, 1, 4)
            other = problem.evaluate(near.astype(dtype))
            y = (1 - step) * y + step * other.gradient
            dual = (1 - step) * dual + step * other.dual
        vertex = K.lmo(y)
        bound = problem.dual_bound(y, dual, vertex, averaged)
        for point in (vertex.to_dense(), K.start()):
            excess = max(excess, Fraction(bound) - true(exact(point)))
    return excess


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("far", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bounds_are_below_the_function(name, dtype, far, averaged):
    for width in (1.0, 1e-6):
        assert highest_excess(name, dtype, far, averaged, width) <= 0


def without_allowance(monkeypatch):
    """Make all rounding errors 0, as if arithmetic were exact."""
    for cls in (wp.objectives.LeastSquares, wp.objectives.Quadratic):
        old = cls.minorant

        def minorant(self, dual, y, K, old=old):
            below = old(self, dual, y, K)
            return Minorant(below.level, below.centre, 0.0)

        monkeypatch.setattr(cls, "minorant", minorant)
        monkeypatch.setattr(cls, "value_error", lambda self, x, at, K: 0.0)
        monkeypatch.setattr(cls, "slope", lambda self, dual, averaged: None)
    for name in ("epsilon", "unit_of", "sum_unit"):
        monkeypatch.setattr(f"wolfpack.problem.constrained.{name}", lambda a: 0.0)
    monkeypatch.setattr("wolfpack.problem.constrained.UNIT", 0.0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_without_the_allowance_bounds_are_wrong(name, monkeypatch):
    without_allowance(monkeypatch)
    assert highest_excess(name, np.float32, 1e3, averaged=True, width=1e-6) > 0
    assert highest_excess(name, np.float64, 1e6, averaged=True, width=1e-9) > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("far", [1e3, 3e4, 1e6])
@pytest.mark.parametrize("method", ["auto", "fw", "fw-ls", "momentum", "anytime", "corrective"])
def test_gaps_of_projections_far_from_the_origin(method, far, dtype):
    f, true, K, x = random_case("projection", dtype, far)
    t = -f.c.astype(float)
    nearest = exact(np.clip(t, K.lower, K.upper))
    res = wp.minimize(f, K, x, method=method, tol=0, max_rounds=60)
    least = true(nearest)
    assert res.gap > 0
    assert res.gap == res.fun - res.lower_bound
    assert true(exact(res.x)) - least <= Fraction(res.gap)
    assert Fraction(res.lower_bound) <= least
    assert not res.success


def test_sums_of_any_order_are_covered():
    assert [accumulation(n) for n in (1, 2, 64)] == [1.0, 2.0, 64.0]
    assert accumulation(65) <= accumulation(66) == pytest.approx(8 * math.sqrt(66))
    for n in (10, 1000, 100_000):
        terms = RNG.standard_normal(n).astype(np.float32)
        total = np.float32(0.0)
        for term in terms:  # one after the other, the worst order
            total += term
        off = abs(float(total) - math.fsum(terms.tolist()))
        assert off <= accumulation(n) * 2.0**-24 * float(abs(terms.astype(float)).sum())


def test_a_tolerance_above_the_floor_is_met_and_one_below_it_is_not():
    t = np.full(3, 1e5)
    f, K = wp.objectives.Quadratic(1.0, -t, 0.5 * float(t @ t)), wp.sets.Box(t - 3, t - 1)
    floor = wp.minimize(f, K, tol=0).gap
    assert wp.minimize(f, K, tol=1.1 * floor).success
    res = wp.minimize(f, K, tol=0.5 * floor)
    assert res.status == "stalled"
    assert f"The floor is about {floor:.1e}" in res.message


def test_the_error_of_a_function_is_part_of_its_gap():
    t = np.full(3, 2.0)

    def half_distance(x):
        return 0.5 * float((x - t) @ (x - t)), x - t

    K = wp.sets.Simplex(3)
    fine = wp.minimize(half_distance, K, tol=0)
    rough = wp.minimize(wp.objectives.Function(half_distance, error=1e-6), K, tol=0)
    assert fine.gap <= 1e3 * MODEL * 2.0**-53
    assert 1e-6 * rough.fun <= rough.gap <= 1e-4
    with pytest.raises(ValueError, match="error must be a number >= 0, found -1"):
        wp.objectives.Function(half_distance, error=-1)


def test_a_declared_error_of_an_oracle_lowers_the_bound():
    f = wp.objectives.Quadratic(1.0, np.array([-2.0, 0.0]))

    def nearly(g):  # answers a vertex of the square, moved inwards by a hundredth
        return -0.99 * np.sign(g + 1e-300)

    options = {"shape": 2, "radius": math.sqrt(2), "contains": lambda x: True}
    wrong = wp.minimize(f, wp.sets.Oracle(nearly, **options), method="away", tol=1e-6)
    assert wrong.gap < 0.01 < wrong.fun + 1.5  # min f over the square is -1.5
    K = wp.sets.Oracle(nearly, inexact=0.02, **options)
    right = wp.minimize(f, K, method="away", tol=1e-6)
    assert right.fun + 1.5 <= right.gap
    assert right.lower_bound <= -1.5


def test_single_precision_is_certified_in_double():
    A = RNG.standard_normal((300, 80)).astype(np.float32)
    b = (A @ RNG.dirichlet(np.ones(80)) + RNG.standard_normal(300)).astype(np.float32)
    f, K = wp.objectives.LeastSquares(A, b), wp.sets.Simplex(80)
    assert f.in_double is not None
    assert f.in_double.A.dtype == f.in_double.b.dtype == np.float64
    assert wp.objectives.LeastSquares(A.astype(float), b).in_double is None
    res = wp.minimize(f, K, K.start().astype(np.float32), tol=0, max_rounds=500)
    best = wp.minimize(f.in_double, K, tol=1e-9)
    assert f.in_double.value(res.x.astype(float)) - best.fun <= res.gap
    assert res.gap <= 1e-5 * res.fun
