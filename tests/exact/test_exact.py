"""Exact problems: optima that are proved with gap 0, bounds that hold, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction as F

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.exact.methods import _solved, length
from wolfpack.exact.objectives import ExactQuadratic

METHODS = ["fw", "fw-ls", "away", "pairwise", "bpcg", "corrective"]


def rational(values):
    values = np.asarray(values, dtype=object)
    return np.vectorize(F, otypes=[object])(values)


A = rational([[2, 1, 0], [1, 3, -1], [0, 1, 1], [1, 0, 2]])
b = np.array([F(1, 3), F(-2, 7), F(1, 2), F(5, 4)])
points = np.array([[F(0), F(1, 3), F(1)], [F(1), F(0), F(1, 7)], [F(-1, 2), F(2), F(0)]])
SETS = {
    "simplex": wp.sets.Simplex(3),
    "third": wp.sets.Simplex(3, F(1, 3)),
    "unit simplex": wp.sets.UnitSimplex(3, radius=F(2, 3)),
    "l1": wp.sets.L1Ball(3, F(1, 5)),
    "float box": wp.sets.Box([-0.5, 0.0, 0.25], [0.5, 1.0, 0.5]),
    "box": wp.sets.Box(rational([0, 0, 0]), np.array([F(1, 3), F(1, 7), F(1, 9)])),
    "hull": wp.sets.ConvexHull(points),
    "float hull": wp.sets.ConvexHull(points.astype(float)),
}


def in_floats(K):
    if not hasattr(K, "lmo"):
        return K.kind(**{name: value.astype(float) for name, value in K.arguments.items()})
    return K


@pytest.mark.parametrize("name", SETS)
def test_the_exact_optimum_is_proved_and_is_that_of_floats(name):
    res = wp.minimize(wp.objectives.LeastSquares(A, b), SETS[name])
    assert res.method == "corrective"
    assert (res.gap, res.status) == (F(0), "converged")
    assert {type(entry) for entry in [*res.x, res.fun, res.gap, res.lower_bound]} == {F}
    assert res.fun == ((A @ res.x - b) ** 2).sum() / 2
    floats = wp.objectives.LeastSquares(A.astype(float), b.astype(float))
    near = wp.minimize(floats, in_floats(SETS[name]), tol=1e-10)
    assert near.lower_bound - 1e-9 <= float(res.fun) <= near.fun + 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["third", "l1", "box", "hull"])
def test_the_bound_of_every_round_is_at_most_the_exact_minimum(method, name):
    f, K = wp.objectives.LeastSquares(A, b), SETS[name]
    minimum = wp.minimize(f, K).fun
    seen = []
    res = wp.minimize(f, K, method=method, max_rounds=25, tol=0, callback=seen.append)
    for part in [*seen, res]:
        assert part.lower_bound <= minimum <= part.fun
        assert part.gap == part.fun - part.lower_bound
        assert part.active is None or part.active.weights.sum() == 1
        assert part.fun == ((A @ part.x - b) ** 2).sum() / 2
    history = res.history
    assert all(F(bound) <= minimum for bound in history["lower_bound"])
    assert all(F(value) >= minimum for value in history["fun"])
    assert history["gap"][-1] >= 0
    assert len(history["step"]) == res.nit + 1


@pytest.mark.parametrize("method", ["fw-ls", "away", "pairwise", "bpcg"])
def test_steps_are_those_of_the_float_methods(method):
    target = np.array([F(3, 5), F(1, 2), F(-1, 5), F(1, 10)])
    start = rational([0, 0, 0, 1])
    f, K = wp.objectives.Quadratic(1, -target), wp.sets.Simplex(4)
    floats = wp.objectives.Quadratic(1.0, -target.astype(float))
    exact, near = [], []
    wp.minimize(f, K, start, method, tol=0, max_rounds=3, callback=lambda r: exact.append(r.fun))
    wp.minimize(
        floats,
        K,
        start.astype(float),
        method,
        tol=1e-14,
        max_rounds=3,
        record_every=1,
        callback=lambda r: near.append(r.fun),
    )
    count = 2 if method == "pairwise" else min(len(exact), len(near))  # then two scores are equal
    assert count >= 2
    assert np.allclose(np.array(exact[:count], float), near[:count], atol=1e-12)
    tol = F(1, 100) if method == "fw-ls" else F(1, 10**8)
    res = wp.minimize(f, K, start, method, tol=tol, max_rounds=1000)
    assert res.success
    assert abs(res.fun - F(wp.minimize(floats, K, tol=1e-9).fun)) <= 2 * tol


def test_open_loop_steps_by_hand():
    f, K = wp.objectives.Quadratic(2, rational([0, 0, 0])), wp.sets.Simplex(3)
    res = wp.minimize(f, K, rational([1, 0, 0]), "fw", max_rounds=2, tol=0)
    # the first step goes to e_2 in full, the second is 2/3 towards e_1
    assert list(res.x) == [F(2, 3), F(1, 3), F(0)]


def test_a_projection_with_a_known_answer():
    target = np.array([F(1, 3), F(1, 2), F(2, 7)])
    f = wp.objectives.Quadratic(1, -target, (target @ target) / 2)
    res = wp.minimize(f, wp.sets.Simplex(3))
    shift = (target.sum() - 1) / 3
    assert list(res.x) == list(target - shift)
    assert res.fun == 3 * shift**2 / 2
    active = res.active
    assert active.weights.sum() == 1
    assert list(active.point) == list(res.x)
    assert (active.weights > 0).all()


def test_quadratics_that_are_not_strictly_convex():
    f = wp.objectives.Quadratic(rational([[1, 1, 0], [1, 1, 0], [0, 0, 0]]), rational([0, 1, -1]))
    for K in SETS.values():
        res = wp.minimize(f, K)
        assert res.gap == 0
    res = wp.minimize(f, wp.sets.Box(rational([-1, -1, -1]), rational([1, 1, 1])))
    assert (list(res.x), res.fun) == ([F(1), F(-1), F(1)], F(-2))


def test_linear_systems():
    M = rational([[2, 1, 3], [1, 1, 2], [3, 2, 5]])  # of rank 2, with the kernel (1, 1, -1)
    u, solved = _solved(M, rational([3, 2, 5]))
    assert solved
    assert list(M @ rational(u)) == [3, 2, 5]
    u, solved = _solved(M, rational([1, 0, 0]))
    assert not solved
    assert not (M @ rational(u)).any()
    assert u[0] > 0


def test_long_steps_are_rounded_and_stay_in_range():
    f = ExactQuadratic(F(1), rational([0]), F(0))
    step = length(f, np.array([F(-(3**200), 2**330)]), rational([1]), F(1))
    true = F(3**200, 2**330)
    assert step.denominator < true.denominator
    assert abs(step / true - 1) <= F(1, 2**31)
    assert length(f, rational([-5]), rational([1]), F(2, 3)) == F(2, 3)
    assert length(f, rational([5]), rational([1]), F(2, 3)) == 0


def test_callables_of_fractions():
    def f(x):
        return (x**4).sum(), 4 * x**3

    K, start = wp.sets.Simplex(2), np.array([F(1, 4), F(3, 4)])
    res = wp.minimize(f, K, start, max_rounds=30, tol=F(1, 10))
    assert (res.method, res.status) == ("fw", "converged")
    assert res.lower_bound <= F(1, 8) <= res.fun
    for method in ("auto", "fw-ls", "away", "pairwise", "bpcg"):
        res = wp.minimize(f, K, start, method, L=12, tol=F(1, 10**6))
        assert res.success
        assert res.lower_bound <= F(1, 8) <= res.fun
    # one short step from (1, 0): <g, d> = -4 and L |d|^2 = 24
    res = wp.minimize(f, K, rational([1, 0]), "fw-ls", L=12, max_rounds=1)
    assert list(res.x) == [F(5, 6), F(1, 6)]


def test_a_function_that_is_not_convex_is_found_out():
    res = wp.minimize(lambda x: (-(x @ x), -2 * x), SETS["hull"], points.sum(axis=0) / 3)
    assert res.status == "contradiction"
    assert not res.success
    assert res.gap == np.inf


def test_errors_and_interruptions_keep_what_was_found():
    def f(x, error=ZeroDivisionError):
        if x[0] < 1:
            raise error
        return x @ x, 2 * x

    with pytest.raises(ZeroDivisionError) as caught:
        wp.minimize(lambda x: f(x), wp.sets.Simplex(2), rational([1, 0]))
    assert caught.value.result.fun == 1
    res = wp.minimize(lambda x: f(x, KeyboardInterrupt()), wp.sets.Simplex(2), rational([1, 0]))
    assert res.status == "interrupted"
    assert res.fun == 1

    def stop(_):
        raise StopIteration

    res = wp.minimize(wp.objectives.LeastSquares(A, b), SETS["l1"], callback=stop)
    assert (res.status, res.nit) == ("callback_stop", 0)
    with pytest.raises(wp.ConvergenceError):
        wp.minimize(
            wp.objectives.LeastSquares(A, b), SETS["l1"], max_rounds=0, raise_on_failure=True
        )


def test_results_of_fractions_are_shown_and_not_pickled(tmp_path):
    res = wp.minimize(wp.objectives.LeastSquares(A, b), SETS["third"])
    stored = json.loads(json.dumps(res.to_dict()))
    assert [F(entry) for entry in stored["x"]] == list(res.x)
    assert F(stored["fun"]) == res.fun
    assert "certified gap" in res._repr_html_()
    assert np.allclose(res.decompose().point, res.x.astype(float))
    with pytest.raises(wp.CapabilityError, match="array of Fractions, which npz files cannot hold"):
        res.save(tmp_path / "res")
    again = wp.minimize(wp.objectives.LeastSquares(A, b), SETS["third"], x0=res)
    assert (again.nit, again.fun) == (0, res.fun)


def test_sets_of_a_single_fraction_are_sets_of_floats_as_well():
    K = wp.sets.Simplex(3, F(1, 3))
    assert K.r == 1 / 3
    assert K.lmo(np.array([1.0, 2.0, 3.0])) is not None
    assert dict(wp.sets.Simplex(3).exact_arguments) == {}


f, simplex = wp.objectives.LeastSquares(A, b), wp.sets.Simplex(3)
floats = wp.objectives.LeastSquares(np.eye(3), np.ones(3))
half = np.array([F(1, 2), F(1, 2), F(0)])
REFUSED = {
    "A must be an array of Fractions.*dtype float64: floats and Fractions do not mix": (
        lambda: wp.objectives.LeastSquares(np.eye(4), b)
    ),
    r"c\[1\] must be a Fraction or an integer in exact problems, found 0.5": (
        lambda: wp.objectives.Quadratic(1, np.array([F(1), 0.5], dtype=object))
    ),
    "c must be an array of real numbers, found Python objects": (
        lambda: wp.objectives.Quadratic(1, np.array([1, 0.5], dtype=object))
    ),
    "Q must be a Fraction or an integer.*found 0.5": (
        lambda: wp.minimize(wp.objectives.Quadratic(0.5, b), wp.sets.Simplex(4))
    ),
    "Q must be symmetric": (
        lambda: wp.minimize(wp.objectives.Quadratic(rational([[1, 2], [0, 1]]), b[:2]), simplex)
    ),
    "Q must be positive semidefinite": (
        lambda: wp.minimize(wp.objectives.Quadratic(rational([[1, 2], [2, 1]]), b[:2]), simplex)
    ),
    "K must be a Simplex, UnitSimplex, L1Ball, Box or ConvexHull in exact problems": (
        lambda: wp.minimize(f, wp.sets.L2Ball(3))
    ),
    r"f and K must have one shape, found \(3,\) and \(4,\)": (
        lambda: wp.minimize(f, wp.sets.Simplex(4))
    ),
    "f must be a Quadratic or LeastSquares made of arrays of Fractions, or a callable": (
        lambda: wp.minimize(floats, simplex, half)
    ),
    "method must be one of 'auto', 'fw'.*found 'lazy'": lambda: wp.minimize(
        f, simplex, method="lazy"
    ),
    "exact problems have no use for engine, max_lmo": (
        lambda: wp.minimize(f, simplex, engine="threads", max_lmo=3)
    ),
    "x0 must be an array of Fractions.*dtype float64": (
        lambda: wp.minimize(f, simplex, half.astype(float))
    ),
    "x0 must be a point of K, found one outside": lambda: wp.minimize(f, simplex, 2 * half),
    "x0 must be a point of K, found one outside, in": lambda: wp.minimize(f, SETS["hull"], half),
    "lower must not exceed upper": (
        lambda: wp.minimize(f, wp.sets.Box(rational([1, 1, 1]), rational([0, 1, 1])))
    ),
    "needs a step length": (
        lambda: wp.minimize(lambda x: (x @ x, 2 * x), simplex, half, method="away")
    ),
    "method 'corrective' needs a Quadratic": (
        lambda: wp.minimize(lambda x: (x @ x, 2 * x), simplex, half, method="corrective")
    ),
    "the value of f must be a Fraction": (
        lambda: wp.minimize(lambda x: (float(x @ x), 2 * x), simplex, half)
    ),
    "f must be a function of floats here": lambda: wp.check(f, simplex),
    "K must be a set of floats here": lambda: wp.check(floats, SETS["hull"]),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_exact_problems_cannot_be(sentence):
    with pytest.raises((TypeError, ValueError, wp.CapabilityError), match=sentence):
        REFUSED[sentence]()


long = np.ones(3, dtype=np.longdouble)


@pytest.mark.skipif(long.itemsize == 24, reason="longdouble is float64 here")
@pytest.mark.parametrize(
    "door",
    [
        lambda: wp.objectives.Quadratic(1.0, long),
        lambda: wp.objectives.LeastSquares(np.diag(long), np.ones(3)),
        lambda: wp.sets.Box(-long, long),
        lambda: wp.sets.ConvexHull([long, 2 * long]),
        lambda: wp.minimize(floats, simplex, long / 3),
        lambda: wp.minimize(lambda x: (x @ x, (2 * x).astype(np.longdouble)), simplex),
        lambda: simplex.lmo(long),
        lambda: wp.minimize_composite(floats, wp.regularizers.SquaredNorm(0.1), y0=long),
    ],
)
def test_longdouble_is_refused_in_one_sentence(door):
    with pytest.raises(TypeError, match="float64 or float32, found float128, which would lose"):
        door()


def test_bounds_by_hand():
    f = wp.objectives.Quadratic(2, rational([0, 0, 0]))
    res = wp.minimize(f, simplex, rational([1, 0, 0]), "bpcg", max_rounds=0)
    # |x|^2 = 1 with the slope (2, 0, 0), of which the oracle's answer has 0
    assert (res.fun, res.lower_bound, res.gap) == (1, -1, 2)


def test_the_origin_is_a_vertex_of_the_unit_simplex():
    f = wp.objectives.Quadratic(1, rational([1, 2, 3]))
    res = wp.minimize(f, wp.sets.UnitSimplex(3))
    assert (list(res.x), res.fun, res.gap) == ([0, 0, 0], 0, 0)


def test_the_mean_of_squares_is_a_share_of_their_sum():
    mean = wp.minimize(wp.objectives.LeastSquares(A, b, reduction="mean"), SETS["l1"])
    total = wp.minimize(wp.objectives.LeastSquares(A, b), SETS["l1"])
    assert mean.fun == total.fun / 4
    assert list(mean.x) == list(total.x)
