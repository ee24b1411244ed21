"""What all sequential methods promise: the minimum, feasible iterates, descent, saved states."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from problems import paper_simplex, paper_trace_ball
from rival_problems import CASES, case, iterates, minimum
from wolfpack.front.methods import METHODS
from wolfpack.loop.codec import Encoder
from wolfpack.problem import Problem
from wolfpack.smoothing import Oracles, make_smoothing

LINEAR = ["away", "pairwise", "bpcg", "fcfw"]
SUBLINEAR = ["lazy", "momentum", "cgs", "conjugate", "biconjugate"]
MONOTONE = [*LINEAR, "lazy", "conjugate", "biconjugate"]
AVERAGING = ["momentum"]  # they approach a vertex, and do not get there


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("method", LINEAR + SUBLINEAR)
def test_the_minimum_is_found_and_every_iterate_is_feasible(method, name):
    f, K = case(name)
    tol = 1e-8 if method in LINEAR else 2e-2 if method == "lazy" else 1e-3
    res, points = iterates(f, K, method=method, tol=tol, max_rounds=2000)
    assert res.success
    # the independent solver is accurate to about 1e-9
    assert minimum(name) - 1e-8 <= res.fun <= minimum(name) + res.gap + 1e-8
    assert res.lower_bound <= minimum(name) + 1e-8
    assert max(K.violation(x) for x in points) <= 1e-12


@pytest.mark.parametrize("method", MONOTONE)
@pytest.mark.parametrize("name", ["quadratic simplex", "logistic l1 ball"])
def test_f_never_increases(method, name):
    f, K = case(name)
    res = wp.minimize(f, K, method=method, tol=1e-6, max_rounds=300)
    values = res.history["fun"]
    assert len(values) > 3
    assert np.all(np.diff(values) <= 4 * np.finfo(float).eps * values[:-1])


@pytest.mark.parametrize("method", LINEAR)
def test_convergence_is_linear_on_the_paper_simplex(method):
    f, K, x0 = paper_simplex()
    res = wp.minimize(f, K, x0, method=method, tol=1e-10, max_rounds=2000)
    gap, calls = res.history["gap"], res.history["nlmo"]
    halving = [int(calls[np.argmax(gap <= 10.0**-e)]) for e in (2, 4, 6, 8, 10)]
    assert res.success
    # equal work for each two digits; plain Frank-Wolfe would need a hundred times more for each
    assert max(np.diff(halving)) <= 4 * max(halving[0], 10)


@pytest.mark.parametrize("method", LINEAR + SUBLINEAR)
def test_a_run_resumes_to_the_same_bits(method, tmp_path):
    f, K = case("logistic hull")
    whole = wp.minimize(f, K, method=method, tol=0, max_rounds=24)
    wp.minimize(f, K, method=method, tol=0, max_rounds=9, checkpoint=tmp_path / "run.ckpt")
    rest = wp.resume(tmp_path / "run.ckpt", f, K, max_rounds=24)
    assert rest.nit == whole.nit
    assert rest.x.tobytes() == whole.x.tobytes()
    assert rest.lower_bound == whole.lower_bound


OTHERS = ("block", "stochastic", "stochastic-anytime")  # tested with problems of their own
PURE: dict[str, Any] = {
    **{name: make() for name, make in METHODS.items() if name not in OTHERS},
    "corrective m=5": wp.solvers.Corrective(m=5),
    "lazy, a cache of two": wp.solvers.LazyFrankWolfe("backtracking", size=2),
    "bpcg, lazy": wp.solvers.BlendedPairwise("secant", lazy=True),
    "away, lazy": wp.solvers.AwayStep(lazy=True),
    "pairwise, lazy": wp.solvers.Pairwise(lazy=True),
    "heavy ball": wp.solvers.Momentum("heavy-ball"),
    "anytime m=4": wp.solvers.Anytime(m=4),
    "anytime, m by theory": wp.solvers.Anytime(m="theory", kappa=1.0),
    "r-pfw, by certificate": wp.solvers.RestartedParallelFrankWolfe(restart="certificate", m=3),
}


def bits(state: Any) -> tuple[str, list[bytes]]:
    """All that a state holds."""
    encoder = Encoder()
    tree = json.dumps(encoder.encode(state))
    return tree, [array.tobytes() for array in encoder.arrays.values()]


@pytest.mark.parametrize("name", ["quadratic box", "logistic simplex", "trace ball"])
@pytest.mark.parametrize("method", PURE)
def test_steps_are_pure(method, name):
    f, K = paper_trace_ball()[:2] if name == "trace ball" else case(name)
    if method == "conic" and name != "quadratic box":
        pytest.skip("no quadratic over linear constraints")
    if method == "nnls":
        pytest.skip("no quadratic over listed vertices")
    if method == "dicg" and not K.has("lmo_face"):
        pytest.skip("no oracle on faces")
    problem, solver = Problem(f, K), PURE[method]
    if hasattr(solver, "for_set"):
        solver = solver.for_set(K)
    oracles = Oracles(problem, make_smoothing("ambient", f, K, wp.noise.Gaussian()))
    states = [solver.init(problem, K.start(), oracles)]
    found = []
    for _ in range(8):
        if states[-1].at is None:
            states[-1] = solver.observe(problem, states[-1])
        state = solver.step(problem, states[-1], oracles)
        found.append(bits(state))
        states.append(state)
    for state, following in zip(states, found, strict=False):
        before = bits(state)
        assert bits(solver.step(problem, state, oracles)) == following
        assert bits(state) == before


@pytest.mark.parametrize("method", LINEAR)
def test_rounding_ends_a_run_that_asks_for_no_gap_at_all(method):
    f, K = case("quadratic simplex")
    res = wp.minimize(f, K, method=method, tol=0, max_rounds=20_000)
    assert res.status in ("converged", "stalled")
    assert res.gap <= 1e-12


EVERY = [
    *LINEAR,
    *SUBLINEAR,
    "fw",
    "fw-short",
    "fw-ls",
    "projected",
    "corrective",
    "anytime",
    "r-pfw",
    "auto",
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", EVERY)
def test_every_method_ends_at_the_rounding_of_a_vertex(method, dtype):
    target = np.zeros(8, dtype=dtype)
    target[2] = 2.0
    f, K = wp.objectives.LeastSquares(np.eye(8, dtype=dtype), target), wp.sets.Simplex(8)
    res = wp.minimize(f, K, K.start().astype(dtype), method=method, tol=0, max_rounds=4000)
    if method in AVERAGING or method == "anytime":
        assert res.gap <= 1e-4
    else:
        assert res.status == "stalled"
        assert "The floor is about" in res.message
        assert 0 < res.gap <= 120 * np.finfo(dtype).eps


@pytest.mark.parametrize("method", LINEAR)
def test_an_exact_fit_inside_the_set_ends_at_rounding_level(method):
    # grad f vanishes at the minimiser: the gap has no scale but rounding errors of grad f
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 6))
    f = wp.objectives.LeastSquares(A, A @ np.full(6, 0.1))
    res = wp.minimize(f, wp.sets.L1Ball(6, 2.0), method=method, tol=0, max_rounds=20_000)
    assert res.status in ("converged", "stalled")
    assert res.gap <= 1e-11


@pytest.mark.parametrize("method", LINEAR + SUBLINEAR)
def test_a_singleton_needs_no_step(method):
    f = wp.objectives.LeastSquares(np.eye(3), np.ones(3))
    K = wp.sets.ConvexHull([[0.1, 0.2, 0.3]])
    res = wp.minimize(f, K, method=method, tol=1e-12)
    assert res.success
    np.testing.assert_allclose(res.x, [0.1, 0.2, 0.3])


@pytest.mark.parametrize("method", LINEAR + SUBLINEAR)
def test_f_that_is_not_strongly_convex(method):
    # two equal columns and a zero one: a face of minimisers, affinely dependent images
    rng = np.random.default_rng(1)
    a = rng.standard_normal((10, 2))
    A = np.column_stack([a, a, np.zeros((10, 2))])
    f = wp.objectives.LeastSquares(A, a @ np.array([0.3, 0.1]))
    res = wp.minimize(f, wp.sets.Simplex(6), method=method, tol=1e-4, max_rounds=3000)
    assert res.success
    assert res.fun <= 1e-4


@pytest.mark.parametrize("method", LINEAR + SUBLINEAR)
def test_linear_objectives_end_at_a_vertex(method):
    c = np.array([3.0, -1.0, 2.0, -1.0])
    f = wp.objectives.Function(lambda x: (float(c @ x), c), L=1e-9)
    res = wp.minimize(f, wp.sets.Simplex(4), method=method, tol=1e-6, max_rounds=3000)
    assert res.success
    assert res.fun <= -1 + 1e-6


def inexact(error: float, seed: int = 0) -> tuple[wp.sets.Oracle, np.ndarray]:
    """An l1 ball whose oracle is wrong by up to ``error`` and answers no vertices."""
    rng = np.random.default_rng(seed)

    def lmo(g: np.ndarray) -> np.ndarray:
        v = np.zeros(9)
        i = np.argmax(abs(g) + error * rng.random(9))
        v[i] = -1.5 * np.sign(g[i])
        return (1 + error * rng.uniform(-1, 1)) * v

    return wp.sets.Oracle(lmo, shape=9, radius=1.5 * (1 + error)), np.zeros(9)


@pytest.mark.parametrize("method", LINEAR + SUBLINEAR)
@pytest.mark.parametrize("loss", ["quadratic", "logistic"])
def test_inexact_and_slightly_infeasible_answers_do_little_harm(method, loss):
    f, _ = case(f"{loss} l1 ball")
    K, x0 = inexact(1e-3)
    exact = minimum(f"{loss} l1 ball")
    scale = f.value(x0)
    res = wp.minimize(f, K, x0, method=method, tol=0, max_rounds=150)
    # nobody has said that answers are inexact, so that the run may find a contradiction
    assert math.isfinite(res.gap) != (res.status == "contradiction")
    assert abs(res.fun - exact) <= (0.01 if method in LINEAR else 0.05) * scale


@pytest.mark.parametrize("method", LINEAR)
def test_an_oracle_that_repeats_one_vertex_is_disproved(method):
    f, _ = case("quadratic simplex")
    K = wp.sets.Oracle(lambda g: np.eye(9)[0], shape=9, radius=1.0, contains=lambda x: True)
    res = wp.minimize(f, K, np.full(9, 1 / 9), method=method, tol=0, max_rounds=2000)
    assert res.status == "contradiction"  # x0 is better than the oracle's answer to its gradient
    assert res.nit < 2000


@pytest.mark.parametrize("method", [m for m in LINEAR + SUBLINEAR if m != "cgs"])
def test_spectral_sets_work_too(method):
    f, K, x0 = paper_trace_ball()
    first = wp.minimize(f, K, x0, method=method, tol=0, max_rounds=0).fun
    res = wp.minimize(f, K, x0, method=method, tol=0.05 * first, max_rounds=200)
    assert res.success
    assert K.contains(res.x)


@pytest.mark.parametrize("method", LINEAR + SUBLINEAR)
def test_single_precision_stays_single(method):
    f, K = case("quadratic simplex")
    f = wp.objectives.LeastSquares(f.A.astype(np.float32), f.b.astype(np.float32))
    x0 = np.full(9, 1 / 9, dtype=np.float32)
    res = wp.minimize(f, K, x0, method=method, tol=5e-2, max_rounds=500)
    assert res.success
    assert res.x.dtype == np.float32


@pytest.mark.parametrize("method", LINEAR + SUBLINEAR)
def test_no_warning_on_a_clean_run(method):
    f, K = case("logistic simplex")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wp.minimize(f, K, method=method, tol=1e-3, max_rounds=300)
