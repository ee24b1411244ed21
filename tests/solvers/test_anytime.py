"""The anytime method: Theorem A1, the figures it must reach, its adaptations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wolfpack as wp
from problems import (
    minimum,
    paper_simplex,
    paper_trace_ball,
    projection,
    small_logistic,
    small_simplex,
)
from wolfpack.problem import Problem
from wolfpack.solvers.parts.tuner import Control


def gap_after(problem, rounds, **options):
    f, K, x0 = problem()
    run = {"method": "anytime", "tol": 0, "max_rounds": rounds, "record_every": 10}
    return wp.minimize(f, K, x0, **run, **options).gap


@pytest.mark.parametrize(
    ("m", "rounds", "target"),
    [(1, 1000, 5e-2), (16, 1000, 4e-3), ("exact", 1000, 4e-4), ("exact", 10_000, 4e-6)],
)
def test_reaches_on_the_paper_simplex(m, rounds, target):
    assert gap_after(paper_simplex, rounds, m=m) <= target


@pytest.mark.parametrize(("m", "target"), [(1, 3e-4), (16, 6e-5)])
def test_reaches_on_the_paper_trace_ball(m, target):
    assert gap_after(paper_trace_ball, 1000, m=m) <= target


@pytest.mark.parametrize(("m", "target"), [(16, 3e-4), (256, 2e-5), ("exact", 2e-7)])
def test_reaches_on_the_large_projection(m, target):
    f, _, x0 = projection()
    assert gap_after(projection, 1000, m=m) <= target * f.value(x0)


@pytest.mark.parametrize("options", [{"method": "fw"}, {"method": "fw-ls"}, {"noise": None}])
def test_one_vertex_a_round_cannot_follow_in_high_dimension(options):
    # after k rounds x has at most k + 1 nonzeros, and the minimiser has about d / 2
    f, K, x0 = projection()
    run = {"method": "anytime", "tol": 0, "max_rounds": 1000, "record_every": 100} | options
    assert wp.minimize(f, K, x0, **run).gap > 1e-3 * f.value(x0)


def l1_logistic():
    f, _, _ = small_logistic()
    return f, wp.sets.L1Ball(6, radius=3.0), np.zeros(6)


def birkhoff_quadratic():
    t = np.random.default_rng(5).random((5, 5)).reshape(-1)
    f = wp.objectives.Quadratic(1.0, -t.reshape(5, 5), 0.5 * float(t @ t))
    return f, wp.sets.Birkhoff(5), np.full((5, 5), 0.2)


def trace_logistic():
    """The logistic loss of <A_i, X> over a trace-norm ball."""
    rng = np.random.default_rng(2)
    features, labels = rng.standard_normal((40, 12)), rng.choice([-1, 1], 40)
    inner = wp.objectives.Logistic(features, labels)

    def fun(X):
        value, gradient = inner.value_and_gradient(X.reshape(-1))
        return value, gradient.reshape(4, 3)

    return wp.objectives.Function(fun, L=inner.L), wp.sets.TraceNormBall((4, 3)), np.zeros((4, 3))


CASES = {
    "simplex quadratic": (small_simplex, "ambient"),
    "simplex logistic": (small_logistic, "ambient"),
    "l1 logistic": (l1_logistic, "lifted"),
    "trace ball quadratic": (paper_trace_ball, "ambient"),
    "trace ball logistic": (trace_logistic, "ambient"),
    "birkhoff quadratic": (birkhoff_quadratic, "ambient"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("growth", ["constant", "linear", "exact"])
def test_theorem_a1(name, growth):
    problem, smoothing = CASES[name]
    f, K, x0 = problem()
    if growth == "exact" and not K.closed_forms:
        pytest.skip("no closed form")
    vertex = K.lmo(f.gradient(x0)).to_dense()
    first_gap = float(((x0 - vertex) * f.gradient(x0)).sum())
    way = wp.smoothing.make_smoothing(
        smoothing, f, K, None if smoothing == "lifted" else wp.noise.get(K.default_noise)
    )
    m = {"constant": 1, "linear": "theory", "exact": "exact"}[growth]
    gaps, last = [], 100
    for seed in range(4):
        run = {"method": "anytime", "m": m, "kappa": 1.0, "L": f.L, "tol": 0, "max_rounds": last}
        run["record_every"] = 1
        res = wp.minimize(f, K, x0, smoothing=smoothing, seed=seed, **run)
        gaps.append(res.history["fun"] - res.history["lower_bound"])
    rounds = np.array([10, 30, last])
    bound = wp.theory.bound_anytime(
        rounds + 1,
        L=f.L,
        R=K.radius,
        M=way.smoothness / K.radius,
        s1=way.bias,
        initial_gap=first_gap,
        m=(lambda k: k) if growth == "linear" else m,
    )
    assert np.all(np.mean(gaps, axis=0)[rounds] <= bound)


def test_exact_smoothing_has_the_accelerated_rate():
    gaps = [gap_after(paper_simplex, n, m="exact", kappa=0.3) for n in (100, 1000)]
    assert gaps[1] <= gaps[0] / 50  # 1/N^2 would be 100, 1/N only 10


def test_bounds_are_valid_and_iterates_feasible():
    for problem in (paper_simplex, paper_trace_ball, small_logistic):
        f, K, x0 = problem()
        best, outside = minimum(problem.__name__), []
        res = wp.minimize(
            f,
            K,
            x0,
            method="anytime",
            m=3,
            tol=0,
            max_rounds=200,
            record_every=1,
            callback=lambda r, K=K, seen=outside: seen.append(K.violation(r.state.x)),
        )
        assert max(outside) <= 1e-12
        assert np.all(res.history["lower_bound"] <= best + 1e-6)


def test_auto_m_uses_the_closed_form_where_there_is_one():
    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, method="anytime", tol=0, max_rounds=5)
    assert np.all(np.isinf(res.history["m"]))


def test_auto_m_is_at_least_two_and_never_above_its_limit():
    f, K, x0 = paper_trace_ball()
    res = wp.minimize(f, K, x0, method="anytime", tol=0, max_rounds=300, max_m=20)
    m = res.history["m"]
    assert m.min() == 2
    assert m.max() == 20


def test_auto_m_stays_small_where_answers_do_not_vary():
    # one coordinate is far better than the others: all perturbed answers agree
    f = wp.objectives.Quadratic(1.0, np.array([[-50.0, 0.0], [0.0, 0.0]]))
    K = wp.sets.TraceNormBall((2, 2))
    res = wp.minimize(f, K, method="anytime", tol=0, max_rounds=50)
    assert res.history["m"][1:].max() <= 8


def test_exact_asks_for_a_closed_form_by_name():
    f, K, x0 = paper_trace_ball()
    with pytest.raises(wp.CapabilityError, match="Simplex, L1Ball"):
        wp.minimize(f, K, x0, method="anytime", m="exact")


def steep(x):
    """A power like those of link costs: its curvature spans many orders along the path."""
    return float((x**5).sum()), 5 * x**4


def test_curvature_that_changes_by_orders_along_the_path():
    K = wp.sets.Simplex(20, radius=50.0)
    x0 = np.zeros(20)
    x0[0] = 50.0
    res = wp.minimize(steep, K, x0, method="anytime", tol=0, rtol=1e-3, max_rounds=3000)
    assert res.success
    assert res.fun == pytest.approx(20 * 2.5**5, rel=2e-3)
    assert res.state.L * res.state.control.kappa < 1e-2 * 20 * 50.0**3


def test_logistic_far_from_the_optimum():
    rng = np.random.default_rng(0)
    features = 30 * rng.standard_normal((50, 8))
    labels = np.where(features[:, 0] + 10 * rng.standard_normal(50) > 0, 1, -1)
    f = wp.objectives.Logistic(features, labels)
    K = wp.sets.L1Ball(8, radius=2.0)
    x0 = np.zeros(8)
    x0[0] = -2.0
    res = wp.minimize(f, K, x0, method="anytime", tol=1e-4, max_rounds=20_000)
    assert res.success


def test_wrong_first_guess_of_the_curvature_recovers():
    # flat between the start and the first answer's midpoint, steep beyond
    def fun(x):
        over = np.maximum(x - 0.6, 0.0)
        return float(1e3 * (over**2).sum() + 0.5 * (x @ x)), 2e3 * over + x

    K = wp.sets.Box(np.zeros(4), np.ones(4))
    target = np.full(4, 3.0)

    def shifted(x):
        value, gradient = fun(x)
        return value - float(target @ x), gradient - target

    res = wp.minimize(shifted, K, np.zeros(4), method="anytime", tol=1e-3, max_rounds=5000)
    assert res.success
    assert res.state.L * res.state.control.kappa > 10


def test_nonconvex_f_claims_no_gap():
    def wave(x):
        return float(np.cos(6 * x).sum()), -6 * np.sin(6 * x)

    K = wp.sets.Box(-np.ones(3), np.ones(3))
    with pytest.warns(UserWarning, match="not convex"):
        res = wp.minimize(wave, K, np.array([0.1, 0.0, -0.2]), method="anytime", max_rounds=100)
    assert not res.success
    assert np.isinf(res.gap)
    assert "not convex" in res.message
    assert K.contains(res.x)


def test_float32_runs_in_float32_and_states_its_floor():
    f, K, x0 = small_simplex()
    f32 = wp.objectives.LeastSquares(f.A.astype(np.float32), f.b.astype(np.float32))
    res = wp.minimize(
        f32, K, x0.astype(np.float32), method="anytime", tol=0, rtol=1e-5, max_rounds=5000
    )
    assert res.x.dtype == np.float32
    assert res.success
    # the bound is proved for the rounded data
    assert res.lower_bound <= minimum("small_simplex") * (1 + 1e-5)


def test_float32_at_its_floor_is_stalled():
    f, K, x0 = small_simplex()
    f32 = wp.objectives.LeastSquares(f.A.astype(np.float32), f.b.astype(np.float32))
    run = {"method": "anytime", "tol": 0, "max_rounds": 50_000, "record_every": 50}
    res = wp.minimize(f32, K, x0.astype(np.float32), **run)
    assert res.status == "stalled"
    assert "floor is about" in res.message
    assert res.gap <= 1e-4 * res.fun


def test_noise_per_coordinate():
    f, K, x0 = paper_trace_ball()
    law = wp.noise.Gaussian(scale=np.linspace(0.5, 2.0, 80).reshape(10, 8))
    res = wp.minimize(f, K, x0, method="anytime", m=8, noise=law, tol=1e-2)
    assert res.success


@pytest.mark.parametrize(
    ("before", "gap", "kappa"), [(1.0, 0.1, 0.255), (2.0, 1.0, 0.3), (1.0, 1.0, 0.45)]
)
def test_kappa_follows_the_certificate(before, gap, kappa):
    control = Control(0.3, fun=gap, gap=before).adapted(20, 0.0, bias=1.0)
    assert control.kappa == pytest.approx(kappa)
    assert control.next_check == 25


def test_kappa_does_not_grow_in_the_first_rounds():
    control = Control(0.3, fun=1.0, gap=1.0).adapted(12, 0.0, bias=1.0)
    assert control.kappa == 0.3


@pytest.mark.parametrize("problem", [small_simplex, small_logistic, l1_logistic])
def test_every_accepted_step_passes_the_step_test(problem):
    """Proposition A2's inequality, formed here anew from the definition of the divergences."""
    f, K, x0 = problem()
    noise = "lifted" if K.closed_forms[0] == "lifted" else "gumbel"
    states = []
    run = {"method": "anytime", "tol": 0, "max_rounds": 60, "record_every": 1}
    wp.minimize(f, K, x0, callback=lambda r: states.append(r.state), **run)
    for before, after in itertools.pairwise(states):
        tau, alpha = 3 / (before.k + 4), after.alpha
        v = (1 - tau) * before.y + tau * before.at.gradient
        slope = -K.smoothed(-v, alpha, noise)

        def divergence(y, v=v, alpha=alpha, slope=slope):
            values = [K.smoothed_support(-point, alpha, noise) for point in (y, v)]
            return values[0] - values[1] - float(slope @ (y - v))

        tangent = after.at.value + float(after.at.gradient @ (before.x - after.x))
        allowed = (1 - tau) * (before.at.value - tangent + divergence(before.y))
        assert divergence(after.y) <= allowed + 1e-12


def test_step_test_doubles_a_kappa_that_is_too_small():
    f, K, x0 = paper_simplex()
    problem = Problem(f, K)
    way = wp.smoothing.make_smoothing("ambient", f, K, wp.noise.get("gumbel"))
    oracles = wp.smoothing.Oracles(problem, way)
    solver = wp.solvers.Anytime()
    state = solver.init(problem, x0, oracles)
    bold = state._replace(control=state.control._replace(kappa=1e-9))
    assert solver.step(problem, bold, oracles).control.kappa > 1e-4


@pytest.mark.parametrize(("floor", "fall"), [(0.0, 0.8), (0.24, 0.8), (0.26, 0.95), (0.9, 0.95)])
def test_kappa_falls_after_a_round_that_passes(floor, fall):
    """By a twentieth near the kappa that failed last, by a fifth far above it."""
    f, K, x0 = paper_simplex()
    problem = Problem(f, K)
    way = wp.smoothing.make_smoothing("ambient", f, K, wp.noise.get("gumbel"))
    oracles = wp.smoothing.Oracles(problem, way)
    solver = wp.solvers.Anytime()
    state = solver.init(problem, x0, oracles)
    state = state._replace(control=state.control._replace(kappa=1.0, floor=floor))
    control = solver.step(problem, state, oracles).control
    assert control.kappa == pytest.approx(fall)
    assert control.floor == pytest.approx(0.99 * floor)


def test_a_kappa_that_failed_is_remembered_as_the_floor():
    f, K, x0 = paper_simplex()
    problem = Problem(f, K)
    way = wp.smoothing.make_smoothing("ambient", f, K, wp.noise.get("gumbel"))
    oracles = wp.smoothing.Oracles(problem, way)
    solver = wp.solvers.Anytime()
    state = solver.init(problem, x0, oracles)
    state = state._replace(control=state.control._replace(kappa=2.0**-40))
    control = solver.step(problem, state, oracles).control
    accepted = control.kappa / 0.95  # a power of two, just above the last one that failed
    assert np.log2(accepted) == pytest.approx(round(np.log2(accepted)))
    assert control.floor == pytest.approx(0.99 * accepted / 2)


def test_kappa_remembers_a_failure_for_a_while():
    failed = Control(0.3, fun=9.0, gap=9.0).adapted(20, 0.0, bias=1.0)
    again = failed._replace(fun=0.0).adapted(25, 0.0, bias=1.0)
    assert again.kappa == pytest.approx(0.95 * failed.kappa)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"m": 0}, "m must be an integer >= 1"),
        ({"m": 2.5}, "m must be an integer >= 1"),
        ({"m": "many"}, "'auto' or 'theory' or 'exact'"),
        ({"kappa": -1.0}, "kappa must be a positive finite number or 'auto'"),
        ({"theta": 1.0}, "theta must be a number in"),
        ({"order": 4}, "order must be 2 or 3"),
    ],
)
def test_bad_options(option, text):
    f, K, x0 = small_simplex()
    with pytest.raises(ValueError, match=text):
        wp.minimize(f, K, x0, method="anytime", **option)
