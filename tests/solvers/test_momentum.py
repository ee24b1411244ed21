"""Momentum: the printed steps, the bound on every round's certificate, acceleration on a ball."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from problems import paper_simplex, small_logistic, small_simplex
from wolfpack.problem import Problem
from wolfpack.smoothing import Oracles

KINDS = ["nesterov", "heavy-ball"]


def reference(f, x0, rounds, kind):
    """The printed iteration on the simplex."""
    x, theta = x0, f.gradient(x0)
    v = np.eye(len(x))[np.argmin(theta)]
    for k in range(rounds):
        delta = 2 / (k + 3)
        y = (1 - delta) * x + delta * v if kind == "nesterov" else x
        theta = (1 - delta) * theta + delta * f.gradient(y)
        v = np.eye(len(x))[np.argmin(theta)]
        x = (1 - delta) * x + delta * v
    return x


@pytest.mark.parametrize("kind", KINDS)
def test_the_steps_are_the_printed_ones(kind):
    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, method="momentum", kind=kind, tol=0, max_rounds=40)
    np.testing.assert_allclose(res.state.x, reference(f, x0, 40, kind), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [small_simplex, small_logistic, paper_simplex])
def test_the_gap_of_every_single_round_obeys_its_bound(kind, make):
    f, K, x0 = make()
    res = wp.minimize(f, K, x0, method="momentum", kind=kind, tol=0, max_rounds=200)
    k = res.history["round"]
    gap = res.history["fun"] - res.history["lower_bound"]
    bound = 2 * gap[0] / ((k + 1) * (k + 2)) + 2 * f.L * K.diameter**2 / (k + 2)
    assert np.all(gap <= bound + 1e-9)


def test_the_certificate_is_free():
    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, method="momentum", kind="heavy-ball", tol=0, max_rounds=30)
    assert (res.njev, res.nlmo) == (31, 31)
    ahead = wp.minimize(f, K, x0, method="momentum", tol=0, max_rounds=30, record_every=30)
    # the start, 30 gradients on the way, and f(x_30) for the record
    assert (ahead.njev, ahead.nlmo) == (32, 31)


def test_momentum_accelerates_on_the_ball_where_the_constraint_is_active():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 10))
    f = wp.objectives.LeastSquares(A, A @ rng.standard_normal(10) * 2)
    K = wp.sets.L2Ball(10)
    gap = wp.minimize(f, K, method="momentum", tol=0, max_rounds=1000, record_every=1).history[
        "gap"
    ]
    # a rate 1/k would give a tenth, 1/k^2 a hundredth
    assert gap[1000] <= gap[100] / 50


def test_other_kinds_are_refused():
    with pytest.raises(ValueError, match="kind must be 'nesterov' or 'heavy-ball', found 'polyak'"):
        wp.solvers.Momentum("polyak")


SETS = [wp.sets.Simplex(30), wp.sets.L1Ball(30), wp.sets.Box(-1.0, np.ones(30))]


@pytest.mark.parametrize("K", SETS, ids=lambda K: type(K).__name__)
def test_runs_end_close_to_where_certifying_every_round_ends_them(K):
    rounds, certified = {1: 0, "auto": 0}, 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        f = wp.objectives.LeastSquares(rng.standard_normal((60, 30)), rng.standard_normal(60))
        for every in rounds:
            res = wp.minimize(f, K, method="momentum", tol=0.2, max_rounds=5000, record_every=every)
            assert res.status == "converged"
            rounds[every] += res.nit
            certified += len(res.history["round"]) if every == "auto" else 0
    assert rounds["auto"] <= 1.02 * rounds[1]
    assert certified <= rounds["auto"] / 2


def test_what_is_foreseen_is_a_bound_and_close():
    rng = np.random.default_rng(0)
    f = wp.objectives.LeastSquares(rng.standard_normal((60, 30)), rng.standard_normal(60))
    problem = Problem(f, wp.sets.Simplex(30))
    oracles, solver = Oracles(problem), wp.solvers.Momentum()
    state = solver.init(problem, wp.sets.Simplex(30).start(), oracles)
    for _ in range(30):
        state = solver.step(problem, state, oracles)
        value, bound = solver.foresee(problem, state)
        assert bound == solver.lower_bound(problem, state, oracles)
        exact = f.evaluate(state.x).value
        assert state.tangent <= exact + 1e-9
        assert state.tangent <= value
        state = solver.observe(problem, state)._replace(at=None)
    assert abs(value - exact) <= 0.3 * (exact - bound)


@pytest.mark.parametrize("far", [0.0, 1e4], ids=["near", "far"])
@pytest.mark.parametrize("declared", [True, False], ids=["quadratic", "callable"])
def test_bounds_whose_proofs_cost_much_are_foreseen(declared, far):
    target = far + np.random.default_rng(0).random((4, 4))
    own = wp.objectives.Quadratic(1.0, -target, 0.5 * float(np.vdot(target, target)))

    def distance(x):
        return 0.5 * float(np.vdot(x - target, x - target)), x - target

    K = wp.sets.Translate(wp.sets.Birkhoff(4), np.full((4, 4), far))
    f = own if declared else wp.objectives.Function(distance)
    problem, solver = Problem(f, K), wp.solvers.Momentum()
    oracles = Oracles(problem)
    state = solver.init(problem, K.start(), oracles)
    for _ in range(10):
        state = solver.step(problem, state, oracles)
        proved = solver.lower_bound(problem, state, oracles)
        # the proof subtracts what rounding may have done, and no more
        assert 0.0 <= solver.foresee(problem, state)[1] - proved <= 1e-11 * max(1.0, far**2)
    assert wp.minimize(f, K, method="momentum", tol=1e-1 * (1 + far)).status == "converged"
