"""Decomposition-invariant conditional gradients: optima, linear rates, counts, saved states."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from problems import paper_simplex
from wolfpack.problem import Problem
from wolfpack.smoothing import Oracles

S = wp.sets
FORMS = [{}, {"blended": True}, {"lazy": True}]
RNG = np.random.default_rng(4)
EDGES = [(i, j) for i in range(7) for j in range(i + 1, min(i + 4, 7))]
REGIONS = {
    "simplex": S.Simplex(12, 2.0),
    "unit simplex": S.UnitSimplex(12, 2.0),
    "box": S.Box(-np.ones(12), np.linspace(0.1, 1.0, 12)),
    "l1": S.L1Ball(12, 1.5),
    "hypersimplex": S.Hypersimplex(12, 3),
    "unit hypersimplex": S.UnitHypersimplex(12, 3),
    "k-sparse": S.KSparse(12, 3, 0.5),
    "birkhoff": S.Birkhoff(4),
    "transport": S.TransportPolytope([1.0, 2.0, 0.5], [1.5, 1.0, 0.5, 0.5]),
    "flow": S.DagFlow(EDGES, 0, 6),
    "program": S.LinearProgram(A_ub=RNG.random((5, 12)), b_ub=np.ones(5)),
    "product": S.Product(S.Simplex(5), S.L1Ball(4), S.Hypersimplex(3, 2)),
}


def least_squares(K, seed=0):
    rng, d = np.random.default_rng(seed), K.dimension
    A = rng.standard_normal((d + 8, d))
    b = A @ rng.standard_normal(d)

    def f(x):
        r = A @ x.reshape(-1) - b
        return 0.5 * float(r @ r), (A.T @ r).reshape(x.shape)

    if len(K.shape) == 1:
        return wp.objectives.LeastSquares(A, b)
    return wp.objectives.Function(f, L=float(np.linalg.norm(A, 2) ** 2))


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("name", REGIONS)
def test_the_minimum_is_found_on_every_set_that_knows_its_faces(name, form):
    K, points = REGIONS[name], []
    f = least_squares(K)
    best = wp.minimize(f, K, method="fcfw", tol=1e-10, max_rounds=3000)
    res = wp.minimize(
        f, K, method="dicg", **form, tol=1e-7, callback=lambda r: points.append(r.state)
    )
    assert res.success
    assert abs(res.fun - best.fun) <= 1e-7 + best.gap
    assert res.lower_bound <= best.fun + 1e-9
    assert max(K.violation(state.x) for state in points) <= 1e-11
    values = np.array([state.at.value for state in points])
    assert np.all(np.diff(values) <= 1e-13 * abs(values[:-1]))
    assert res.active is None  # no vertex is kept


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_convergence_is_linear_on_the_paper_simplex(form):
    f, K, x0 = paper_simplex()
    res = wp.minimize(f, K, x0, method="dicg", **form, tol=1e-10, max_rounds=3000)
    assert res.success
    rounds, gap = res.history["round"], res.history["gap"]
    halving = [int(rounds[np.argmax(gap <= 10.0**-e)]) for e in (2, 4, 6, 8, 10)]
    assert max(np.diff(halving)) <= 4 * max(halving[0], 10)


def test_a_step_is_its_formula():
    K = S.Simplex(4)
    f = wp.objectives.Quadratic(1.0, np.array([-1.0, 0.3, 0.2, 0.1]))
    problem = Problem(f, K)
    solver, oracles = wp.solvers.DecompositionInvariant("short-step"), Oracles(problem)
    x = np.array([0.0, 0.2, 0.8, 0.0])
    state = solver.step(problem, solver.init(problem, x, oracles), oracles)
    # grad = (-1, 0.5, 1, 0.1): v = e_0, and a = e_2 in the face of e_1 and e_2; t = 2 / (1 * 2)
    np.testing.assert_allclose(state.x, [0.8, 0.2, 0.0, 0.0], atol=1e-15)
    assert problem.counts.nlmo == 3  # v, a, and v of the next round


def test_every_oracle_counts_and_laziness_saves_some():
    f, K, x0 = paper_simplex()
    given = {"method": "dicg", "tol": 0, "max_rounds": 40}
    assert wp.minimize(f, K, x0, **given).nlmo == 81
    assert wp.minimize(f, K, x0, blended=True, **given).nlmo == 121
    lazy = wp.minimize(f, K, x0, lazy=True, **given)
    assert lazy.nlmo < 121
    limited = wp.minimize(f, K, x0, method="dicg", tol=0, max_lmo=20)
    assert limited.status == "max_lmo"
    assert limited.nlmo <= 20


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_run_resumes_to_the_same_bits(form, tmp_path):
    K = REGIONS["birkhoff"]
    f = least_squares(K)
    given = {"method": "dicg", "tol": 0, **form}
    whole = wp.minimize(f, K, max_rounds=24, **given)
    wp.minimize(f, K, max_rounds=9, checkpoint=tmp_path / "run.ckpt", **given)
    rest = wp.resume(tmp_path / "run.ckpt", f, K, max_rounds=24)
    assert rest.x.tobytes() == whole.x.tobytes()
    assert rest.lower_bound == whole.lower_bound


def test_it_ends_at_rounding_and_serves_functions_that_are_not_convex():
    f, K = least_squares(REGIONS["simplex"]), REGIONS["simplex"]
    res = wp.minimize(f, K, method="dicg", tol=0, max_rounds=20_000)
    assert res.status in ("converged", "stalled")
    assert res.gap <= 1e-11

    def wavy(x):
        return float(np.cos(3 * x).sum()), -3 * np.sin(3 * x)

    res = wp.minimize(wavy, K, method="dicg", convex=False, tol=1e-6, max_rounds=2000)
    assert res.stationarity <= 1e-6


def test_sets_without_faces_are_one_sentence():
    f = wp.objectives.Quadratic(1.0, np.zeros(3))
    with pytest.raises(wp.CapabilityError, match="needs a set that knows its faces"):
        wp.minimize(f, S.L2Ball(3), method="dicg")
